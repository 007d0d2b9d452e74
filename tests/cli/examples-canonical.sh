# The examples and the library are in canonical form, as ptgc fmt writes them
cd "$TOP" || exit
find examples lib -name '*.ptg' -exec "$PTGC" fmt --check {} +
echo "= $?"
