"""python -m ptgc: the command line of ptgc, and verify, which needs ONNX Runtime and a C compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path


def command() -> str | None:
    here = Path(__file__).resolve().parent
    for path in (os.environ.get("PTGC"), here / "ptgc", here.parents[1] / "build" / "ptgc"):
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return str(path)
    return shutil.which("ptgc")


def main() -> int:
    if sys.argv[1:2] == ["verify"]:
        from ptgc import verifying

        return verifying.main(sys.argv[2:])
    path = command()
    if path is None:
        print("ptgc: the command is not built: run 'make' in the source tree", file=sys.stderr)
        return 2
    if os.name == "posix":
        os.execv(path, ["ptgc", *sys.argv[1:]])
    return subprocess.run([path, *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
