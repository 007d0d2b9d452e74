"""The opsets that tests try which do not try all: what differs between opsets shows at one of these."""

from ptgc import _lib

OLDEST, NEWEST = _lib.opsets()
SOME_OPSETS = (OLDEST, 18, NEWEST)  # 18: the usual one
