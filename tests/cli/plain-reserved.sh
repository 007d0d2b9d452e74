# The words of C are looked up by halving: they stand in order.
sed -n '/reserved\[\] = {/,/};/p' "$TOP/src/c/text.c" | grep -o '"[^"]*"' | tr -d '"' | LC_ALL=C sort -c && echo in order
