# Files of a folder of src/ whose functions call one another in a circle: no more than there were.
python3 "$TOP/tests/portable/circles.py" "${PTGC%/*}/obj"
