# the page of all ops is made from the table: 'make doc' after a change of src/ops/ops.def
ptgc --ops=markdown | cmp - "$TOP/doc/ops.md" && echo same
ptgc --ops | grep -A 1 '^  Sum{'
# one op, in any case: its row, the dtypes that it takes, and an example that compiles
ptgc --ops sum
ptgc --ops=LU
ptgc --ops LU | sed -n '/^graph/,$p' >m.ptg && ptgc m.ptg && echo compiled
ptgc --ops QZ
ptgc --ops Cast
ptgc --ops ReLU
ptgc --ops Argmin
ptgc --ops Sotfmax
