"""Time and memory of a command.

    seconds, cpu, peak = measure(command, ...)

gives the time by the clock, the processor's time and the most memory resident, in bytes. It runs
from a small process of its own: a child counts as large as what it was started from.
"""

import json
import subprocess
import sys


def measure(*command):
    run = [sys.executable, "-S", "-E", __file__, *map(str, command)]
    return json.loads(subprocess.run(run, check=True, stdout=subprocess.PIPE).stdout)


def main(command):
    import os
    import time

    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, used = os.wait4(pid, 0)
    seconds = time.perf_counter() - start
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    print(json.dumps((seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)))


if __name__ == "__main__":
    main(sys.argv[1:])
