# the page of all ops is made from the table: 'make doc' after a change of src/ops/ops.def
ptgc --ops=markdown | cmp - "$TOP/doc/ops.md" && echo same
ptgc --ops | grep -A 1 '^  Sum{'
