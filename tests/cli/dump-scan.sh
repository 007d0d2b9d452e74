# The parameters of a Scan have names of their own in a dump, not that of the op, at whose place they stand.
$PTGC --dump=lowered "$TOP/examples/pymc/garch.ptg" | grep -A1 ' = onnx.Scan' | grep -c '(%[0-9]*: float64\[\], %[0-9]*: float64\[\], %[0-9]*: float64\[\]) ->'
