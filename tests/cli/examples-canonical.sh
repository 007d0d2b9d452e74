# The examples are in canonical form, as ptgc fmt writes them
cd "$TOP" || exit
find examples -name '*.ptg' -exec "$PTGC" fmt --check {} +
echo "= $?"
