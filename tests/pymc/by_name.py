"""Functions that are tests, run one behind the other, all of them or those that are named."""

import time
import traceback


def run_tests(tests, names=()):
    """Runs each test and says whether it works. The exit code: 1 if a test failed, else 0."""
    failed, start = 0, time.time()
    for test in tests:
        if names and test.__name__ not in names:
            continue
        try:
            test()
            print(test.__name__, "works", f"{time.time() - start:.0f} s", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc(limit=-4)
            print(test.__name__, "fails", flush=True)
    return int(failed > 0)
