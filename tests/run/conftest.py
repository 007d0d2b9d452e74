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
    """Of a test that is marked as sampled, one in SHARE of the parameters is tried, and two at least, in the order of
    a hash of their names. PTGC_SHARE, a number that tests/check.sh takes from the commit, says from which one on; all
    are tried by SHARE numbers in a row. PTGC_FULL=1, a test that is named and -k try all."""
    if os.environ.get("PTGC_FULL", "0") != "0" or config.option.keyword or any("::" in a for a in config.args):
        return
    tests = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            tests.setdefault((item.path, item.originalname), []).append(item)
    left_out, first = set(), int(os.environ.get("PTGC_SHARE", "0")) % SHARE
    for same in tests.values():
        same.sort(key=lambda item: (zlib.crc32(item.name.encode()), item.name))
        turned = same[first:] + same[:first]
        left_out.update(set(same) - set(turned[::SHARE] if len(same) > SHARE else turned[:2]))
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
