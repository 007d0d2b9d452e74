import os
import sys
import zlib
from pathlib import Path

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parents[1] / "python")]

SHARE = 3
os.environ.setdefault("PTGC_CACHE", str(here.parents[1] / "build" / "native-cache"))  # of mode NATIVE

from ptgc import _lib

# What these tests say about results holds to the last places. Tests of other levels name them.
_lib.USUAL_MATH = "exact"


def pytest_configure(config):
    config.addinivalue_line("markers", f"sampled: of the parameters, one in {SHARE} is tried; all with PTGC_FULL=1")


def pytest_collection_modifyitems(config, items):
    """Of a test that is marked as sampled, the parameters are tried whose names' hash is PTGC_SHARE modulo SHARE, and
    two at least. tests/check.sh takes PTGC_SHARE from the commit; all are tried by SHARE numbers in a row. A parameter
    that is added changes nothing for the others. PTGC_FULL=1, a test that is named and -k try all."""
    if os.environ.get("PTGC_FULL", "0") != "0" or config.option.keyword or any("::" in a for a in config.args):
        return
    tests = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            tests.setdefault((item.path, item.originalname), []).append(item)
    left_out, share = set(), int(os.environ.get("PTGC_SHARE", "0"))
    for same in tests.values():
        # those of this share come first
        same.sort(key=lambda item: ((zlib.crc32(item.name.encode()) - share) % SHARE, item.name))
        tried = sum(zlib.crc32(item.name.encode()) % SHARE == share % SHARE for item in same)
        left_out.update(same[max(tried, 2) :])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
