"""Files that later processes take in place of work done: shared libraries (_cc.py) and rewritten graphs (_kept.py).

The cache is the folder ``PTGC_CACHE``, or ``ptgc`` in ``XDG_CACHE_HOME`` or ``~/.cache``. The name of a file is a hash of
all that its content depends on. A file is complete or not there, and ends with a hash of what is before it: one that
something damaged is made anew.
"""

import hashlib
import os
from pathlib import Path

from ptgc._files import write_all

DIGEST = hashlib.sha256().digest_size


def folder() -> Path:
    if given := os.environ.get("PTGC_CACHE"):
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and os.path.isabs(base) else Path.home() / ".cache") / "ptgc"


def file_of(key: bytes, suffix: str) -> Path:
    """The file for what the key says."""
    name = hashlib.sha256(key).hexdigest()[:32]
    return folder() / name[:2] / f"{name}.{suffix}"


def content(file: Path) -> bytes | None:
    """What was kept in the file; None: it is not there, or is damaged."""
    try:
        data = file.read_bytes()
    except OSError:
        return None
    whole = len(data) > DIGEST and hashlib.sha256(data[:-DIGEST]).digest() == data[-DIGEST:]
    return data[:-DIGEST] if whole else None


def keep(file: Path, data: bytes) -> None:
    """OSError: the folder cannot be written."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_all([(file, data + hashlib.sha256(data).digest())])
