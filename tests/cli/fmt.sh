# ptgc fmt: to standard output, in place, or only the names of files that would change
printf 'graph g( x:float64[n] )->(y){\n y=Exp( x )# kept\n}' >a.ptg
ptgc fmt a.ptg >b.ptg
cat b.ptg
ptgc fmt <a.ptg | cmp - b.ptg && echo same
ptgc fmt b.ptg | cmp - b.ptg && echo same
ptgc fmt --check a.ptg b.ptg
echo "= $?"
ptgc fmt --check b.ptg
echo "= $?"
touch -d '2020-01-01' b.ptg
ptgc fmt -i a.ptg b.ptg
echo "= $?"
cmp a.ptg b.ptg && echo same
find . -name b.ptg -newermt 2021-01-01
printf 'graph g(x: float64[n]) -> (y) {\n  y = Exp(x\n}\n' >broken.ptg
cp broken.ptg before.ptg
ptgc fmt -i broken.ptg a.ptg
echo "= $?"
cmp broken.ptg before.ptg && echo 'untouched'
ls -A
