import os
import sys
import zlib
from pathlib import Path

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parents[1] / "python")]

SHARE = 3

from ptgc import _lib  # noqa: E402

# What these tests say about results holds to the last places. Tests of other levels name them.
_lib.USUAL_MATH = "exact"


def pytest_configure(config):
    config.addinivalue_line("markers", f"sampled: of the parameters, one in {SHARE} is tried; all with PTGC_FULL=1")


def pytest_collection_modifyitems(config, items):
    """Of a test that is marked as sampled, one in SHARE of the parameters is tried, and two at least: always the same
    ones, by a hash of their names. PTGC_FULL=1, a test that is named and -k try all."""
    if os.environ.get("PTGC_FULL", "0") != "0" or config.option.keyword or any("::" in a for a in config.args):
        return
    tests = {}
    for item in items:
        if item.get_closest_marker("sampled"):
            tests.setdefault((item.path, item.originalname), []).append(item)
    left_out = set()
    for same in tests.values():
        same.sort(key=lambda item: (zlib.crc32(item.name.encode()), item.name))
        left_out.update(same[max(2, -(-len(same) // SHARE)) :])
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
