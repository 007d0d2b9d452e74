"""Puts the library and the command, built by the Makefile above, into the wheel."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
# The tree of C sources: around this folder or, in a source distribution, inside of it
TOP = HERE / "source" if (HERE / "source").exists() else HERE.parent
EXTENSION = "_native.abi3.so"
NEEDED = ["Makefile", "LICENSE", "grammar", "lib", "proto", "python/native", "src", "tools"]
STATIC = ["PROTOBUF_C_LIBS=-l:libprotobuf-c.a", "LDFLAGS=-Wl,--exclude-libs,ALL"]


def run_make(*variables: str) -> bool:
    """In a folder of its own: the wheel's library has protobuf-c inside of it if that can be."""
    targets = ["build/wheel/ptgc", "build/wheel/libptgc.so", f"build/wheel/{EXTENSION}"]
    where = ["-C", str(TOP), "B=build/wheel", f"PYTHON={sys.executable}"]
    done = subprocess.run(["make", *where, "CFLAGS=-O2", *targets, *variables])
    return done.returncode == 0


def built() -> Path:
    """The folder with libptgc.so and ptgc. PTGC_BUILD names one that is ready."""
    if given := os.environ.get("PTGC_BUILD"):
        return Path(given)
    if not (TOP / "Makefile").exists():
        raise SystemExit("ptgc is built from its source tree: pip install ./python")
    if not run_make(*STATIC) and not run_make():
        raise SystemExit("make failed; it needs gcc, flex, bison and protobuf-c (tools/setup.sh install)")
    return TOP / "build" / "wheel"


class Sdist(sdist):
    """With the C sources, which lie outside of this folder."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        target = Path(base_dir) / "source"
        for name in NEEDED:
            if (TOP / name).is_dir():
                shutil.copytree(TOP / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                target.mkdir(exist_ok=True)
                shutil.copy(TOP / name, target / name)


class Binary(Distribution):
    def has_ext_modules(self):
        return True


class BuildPy(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return  # the package finds build/libptgc.so by itself
        folder = built()
        for name in ("libptgc.so", "ptgc", EXTENSION):
            target = Path(self.build_lib) / "ptgc" / name
            if name == EXTENSION and not (folder / name).exists():
                print(f"warning: no Python.h, so no {EXTENSION}: the mode NATIVE will say that it is missing")
                continue
            shutil.copyfile(folder / name, target)
            shutil.copymode(folder / name, target)


class Wheel(bdist_wheel):
    """For one platform, but for any Python from 3.12 on: the library is used through ctypes, and the extension through
    the stable ABI."""

    def get_tag(self):
        return "cp312", "abi3", super().get_tag()[2]


setup(distclass=Binary, cmdclass={"build_py": BuildPy, "bdist_wheel": Wheel, "sdist": Sdist})
