"""Files that are written completely or not at all, under temporary names that runs which were killed leave behind.

Names and locks are those of libptgc's command (src/emit/write.c and sweep.c), so that each removes what the other left.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from mmap import ACCESS_READ, mmap
from pathlib import Path

try:
    from fcntl import LOCK_EX, LOCK_NB, flock
except ImportError:  # no locks on this system: nothing is swept
    flock = None  # type: ignore[assignment]

PIECE = 1 << 24  # bytes that are written at once; a ^C waits for the end of it
TEMPORARY = re.compile(r"\.ptgc-\d+-\d+\.tmp\Z", re.ASCII)


def locked(file) -> bool:
    """Locks an open file. False if another process has its lock, or has removed the file."""
    if flock is None:
        return True
    try:
        flock(file, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks: others cannot lock it either
        pass
    return os.fstat(file.fileno()).st_nlink > 0


def remove_unlocked(path: Path) -> None:
    """Removes a regular file unless someone is writing it. What cannot be removed now, a later run removes."""
    if flock is None:
        return
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(fd, "rb") as f:
            flock(f, LOCK_EX | LOCK_NB)
            here = os.fstat(fd)
            if stat.S_ISREG(here.st_mode) and os.path.samestat(here, os.lstat(path)):
                path.unlink()
    except OSError:
        pass


def open_temporary(folder: Path):
    """A new file in the folder, locked as long as it is open."""
    for entry in os.scandir(folder):
        if TEMPORARY.match(entry.name):
            remove_unlocked(folder / entry.name)
    for i in range(1000):
        try:
            file = open(folder / f".ptgc-{os.getpid()}-{i}.tmp", "xb")  # noqa: SIM115
        except FileExistsError:
            continue
        if locked(file):
            return file
        file.close()  # the sweep of another process was faster, and removes it
    raise FileExistsError(f"no free name for a temporary file in {folder}")


def write_all(files: Iterable[tuple[Path, bytes]]) -> None:
    """Writes all of the files or none, and renames them in the order given. Symbolic links and devices are written
    through, and an existing file keeps its mode."""
    ready: list[tuple[Path, Path]] = []
    devices: list[tuple[Path, bytes]] = []
    with ExitStack() as locks:
        try:
            for path, data in files:
                path = path.resolve() if path.is_symlink() else path
                if path.is_dir():
                    raise IsADirectoryError(f"is a directory: {path}")
                if path.exists() and not path.is_file():
                    devices.append((path, data))
                    continue
                with open_temporary(path.parent) as f:
                    ready.append((Path(f.name), path))
                    locks.callback(os.close, os.dup(f.fileno()))
                    for at in range(0, len(data), PIECE):
                        f.write(memoryview(data)[at : at + PIECE])
                if path.exists():
                    os.chmod(f.name, stat.S_IMODE(path.stat().st_mode))
            for path, data in devices:
                path.write_bytes(data)
            while ready:
                temporary, path = ready[0]
                os.replace(temporary, path)
                ready.pop(0)
        except BaseException:
            for temporary, _ in ready:
                temporary.unlink(missing_ok=True)
            raise


def write_model(
    path: Path, model: bytes, external_name: str, external: bytes | memoryview, header: Sequence[tuple[Path, bytes]] = ()
) -> None:
    """Writes a model, and before it its weights if there are any, and the header of one that is C. Weights of earlier
    runs, ``model.onnx-<hash>.data``, are removed but for those of this model and of the one that it replaces, which a
    reader may have opened."""
    ours = re.compile(re.escape(path.name) + r"-[0-9a-f]{16}\.data\Z")
    others = [e.name for e in os.scandir(path.parent) if ours.match(e.name) and e.name != external_name]
    with ExitStack() as stack:
        old = None
        if others and path.is_file() and path.stat().st_size:
            old = stack.enter_context(mmap(stack.enter_context(open(path, "rb")).fileno(), 0, access=ACCESS_READ))
        write_all([*([(path.parent / external_name, external)] if external else ()), *header, (path, model)])
        for name in others:
            if old is None or old.find(name.encode()) < 0:
                remove_unlocked(path.parent / name)
