"""A model as C, compiled and called: what tests/c and bench/native.py have in common.

In: a .ptg text. Out: Native, which takes and gives dicts of arrays as an ONNX Runtime session does.
"""

import ctypes as C
import hashlib
import os
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np

TOP = Path(__file__).resolve().parents[2]
PTGC = os.environ.get("PTGC", TOP / "build" / "ptgc")
FLAGS = ("-O1", "-ffp-contract=off", "-fno-math-errno", "-fsanitize=undefined", "-fno-sanitize-recover=undefined")
LONG = 3000  # lines of C from which -O1 with the sanitizer takes many seconds: 40 for SVD's 11,000, and 4 with -O0
ADDRESS = ("-O1", "-g", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
PROMISED = ("-O3", "-ffp-contract=off")  # what the first line of the C names: all compilers give the same bits
BY = {  # compiler and language by the name that --by of same.py takes
    "gcc": ("gcc", "-std=c99"), "clang": ("clang", "-std=c99"), "g++": ("g++", "-std=c++11", "-xc++"),
    "address": ("gcc", "-std=c99"),
}
EMULATED = {"aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64")}  # compiler and emulator of another machine
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror")
CANARY = 0xA5
FIELD = re.compile(r"\t(const )?(\w+) (\*?)(\w+);(?: /\* (\w+)\[(.*?)\](?:; .*)? \*/)?")
SIZE = re.compile(r"\tint64_t (\w+); /\* (?:size (\w+)|axis (\d+) of (\w+))(?:, which must be .*)? \*/", re.M)
TYPES = {
    "double": C.c_double, "float": C.c_float, "int64_t": C.c_int64, "int32_t": C.c_int32, "int16_t": C.c_int16,
    "int8_t": C.c_int8, "uint64_t": C.c_uint64, "uint32_t": C.c_uint32, "uint16_t": C.c_uint16,
    "uint8_t": C.c_uint8,
}


class Refused(Exception):
    """ptgc has no C for the text."""


class Failed(Exception):
    """A run gave the number of a check."""


def to_c(path, *options):
    r = subprocess.run([PTGC, "--target=c", "-o", "-", *options, str(path)], capture_output=True, text=True)
    if r.returncode:
        raise Refused(r.stderr)
    return r.stdout


def compiled(code, flags=FLAGS, folder=None, by=None):
    """The path of a shared library of the code. by: a name of BY; None: by $CC, or gcc"""
    folder = Path(folder or tempfile.mkdtemp())
    flags = tuple("-O0" if f == "-O1" and code.count("\n") > LONG else f for f in flags)
    at = folder / hashlib.sha1((code + repr((by, flags))).encode()).hexdigest()[:16]
    at.with_suffix(".c").write_text(code)
    cc = BY[by] if by else (os.environ.get("CC", "gcc"), "-std=c99")
    if "clang" in cc[0]:  # it links a shared library without the functions that would print what was found
        flags = *flags, "-fsanitize-trap=undefined"
    r = subprocess.run([*cc, *flags, *WARNINGS, "-shared", "-fPIC", "-o", f"{at}.so", f"{at}.c", "-lm"],
                       capture_output=True, text=True)
    if r.returncode:
        raise AssertionError(r.stderr[:3000])
    return f"{at}.so"


def environment(by):
    """Of a process that loads libraries made by `by`: the address sanitizer stands before all else."""
    if by != "address":
        return os.environ

    def library(name):
        return subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()

    # it looks for C++'s throw as it starts, and ONNX Runtime comes later
    preload = f"{library('libasan.so')}:{library('libstdc++.so.6')}"
    return os.environ | {"LD_PRELOAD": preload, "ASAN_OPTIONS": "detect_leaks=0"}


class Native:
    SLACK = 64  # bytes behind the workspace and each output, of which none may change

    def __init__(self, code, library, name=None):
        self.name = name or self.name_of(code)
        self.inputs, self.outputs = (self.fields(code, kind) for kind in ("in", "out"))
        body = re.search(rf"^struct {self.name}_in \{{\n(.*?)^\}};", code, re.M | re.S).group(1)
        self.sizes = {(of or (name, int(axis))): field for field, of, axis, name in SIZE.findall(body)}
        self.dll = C.CDLL(str(library))
        self.run = getattr(self.dll, f"{self.name}_run")
        self.message = getattr(self.dll, f"{self.name}_message")
        self.message.restype = C.c_char_p
        self.In, self.Out = (self.struct(f) for f in (self.inputs, self.outputs))

    @staticmethod
    def name_of(code):
        return re.search(r"^struct (\w+)_in \{", code, re.M).group(1)

    def fields(self, code, kind):
        body = re.search(rf"^struct {self.name}_{kind} \{{\n(.*?)^\}};", code, re.M | re.S).group(1)
        found = []
        for line in body.splitlines():
            if (m := FIELD.match(line)) and m[2] != "char":
                const, ctype, pointer, name, dtype, dims = m.groups()
                dims = [] if not dims else [d.strip() for d in split_dims(dims)]
                found.append((name, ctype, bool(pointer), bool(const), dtype, dims))
        return found

    @staticmethod
    def struct(fields):
        items = [(n, C.c_void_p if p else TYPES[t]) for n, t, p, *_ in fields] or [("unused", C.c_char)]
        return type("Struct", (C.Structure,), {"_fields_": items})

    def shapes(self, arrays):
        """The sizes of the inputs by name, from arrays: those that stand alone first, then one in each sum or product.
        Failed, if there are none"""
        found, left = {}, []
        for name, _, _, _, dtype, dims in self.inputs:
            for i, d in enumerate(dims if dtype else ()):
                length, key = arrays[name].shape[i], (name, i) if (name, i) in self.sizes else d.lstrip("?")
                if key in self.sizes:
                    found.setdefault(key, length)
                else:
                    left.append((d, length))
        for d, length in sorted(left, key=lambda x: len(re.findall(r"[^\W\d]\w*", x[0]))):
            new = set(re.findall(r"[^\W\d]\w*", d)) - {"max", "min"} - found.keys()
            if len(new) == 1:
                name, known = new.pop(), {k: v for k, v in found.items() if isinstance(k, str)}
                found[name] = next((v for v in range(length + 9) if eval(d, {name: v} | known) == length), 0)
        known = {k: v for k, v in found.items() if isinstance(k, str)}
        for d, length in left:  # run() would read what is not there
            names = set(re.findall(r"[^\W\d]\w*", d)) - {"max", "min"}
            if names and names <= known.keys() and eval(d, known.copy()) != length:
                raise Failed(f"no sizes give arrays of these lengths: {d} is not {length}")
        return {self.sizes[k]: v for k, v in found.items() if k in self.sizes}

    def structs(self, arrays, lengths):
        """The structs of a call, the memory of its outputs by name, and what must live as long."""
        given, taken, keep = self.In(), self.Out(), []
        for k, v in self.shapes(arrays).items():
            setattr(given, k, v)
        for name, _, pointer, _, dtype, _ in self.inputs:
            if dtype is None:
                continue
            a = np.require(arrays[name], requirements=["C", "A"])
            a = a.view(np.uint16) if a.dtype == np.float16 else a.view(np.uint8) if a.dtype == bool else a
            keep.append(a)
            setattr(given, name, a.ctypes.data if pointer else a[()].item())
        results = {}
        for name, ctype, pointer, const, dtype, _ in self.outputs:
            if dtype is None or const or not pointer:
                continue
            n = int(np.prod(lengths[name])) * C.sizeof(TYPES[ctype])
            results[name] = room = np.full(n + self.SLACK, CANARY, np.uint8)
            setattr(taken, name, room.ctypes.data)
        return given, taken, results, keep

    def prepared(self, arrays, lengths):
        """The arguments of run() but the last, with a workspace that is large enough; and what must live as long."""
        given, taken, results, keep = self.structs(arrays, lengths)
        need, work = C.c_size_t(0), np.zeros(64, np.uint8)
        while self.run(C.byref(given), C.byref(taken), C.c_void_p(work.ctypes.data), C.c_size_t(len(work) - 64),
                       C.byref(need)) == -1:
            work = np.zeros(need.value + 64, np.uint8)
        need.value = len(work) - 64
        call = C.byref(given), C.byref(taken), C.c_void_p(work.ctypes.data), C.c_size_t(need.value)
        return call, (given, taken, results, keep, work)

    def __call__(self, arrays, lengths=None):
        """lengths: shapes of the outputs by name, but of those whose size only the run knows"""
        given, taken, results, keep = self.structs(arrays, lengths)
        need, bytes_ = C.c_size_t(0), 0
        for _ in range(100):
            work = np.full(bytes_ + self.SLACK, CANARY, np.uint8)
            code = self.run(C.byref(given), C.byref(taken), C.c_void_p(work.ctypes.data), C.c_size_t(bytes_), C.byref(need))
            assert (work[bytes_:] == CANARY).all(), "written behind the workspace"
            if code != -1:
                break
            assert need.value > bytes_
            if need.value > 1 << 33:
                raise Failed("more memory than there is")
            bytes_ = need.value
        if code:
            raise Failed(self.message(code).decode())
        out = {}
        for name, ctype, pointer, const, dtype, dims in self.outputs:
            if dtype is None:
                continue
            memory = np.dtype({"bool": np.bool_}.get(dtype, dtype))
            if not pointer:
                v = np.array(getattr(taken, name), TYPES[ctype]).view(memory)
            elif const:
                shape = [getattr(taken, f"{name}_{i}") for i in range(len(dims))]
                n = int(np.prod(shape))
                v = np.ctypeslib.as_array(C.cast(getattr(taken, name), C.POINTER(TYPES[ctype])), (max(n, 1),))[:n]
                v = v.copy().view(memory).reshape(shape)
            else:
                shape = lengths[name]
                n = int(np.prod(shape)) * memory.itemsize
                assert (results[name][n:] == CANARY).all(), f"written behind {name}"
                v = results[name][:n].view(memory).reshape(shape)
            out[name] = v
        return out


class Emulated:
    """A model as a program of another machine: called as its twin, a Native, is"""

    def __init__(self, twin, code, folder, machine):
        compiler, self.emulator = EMULATED[machine]
        self.inputs, self.outputs = ([f for f in fields if f[4]] for fields in (twin.inputs, twin.outputs))
        source = Path(folder) / f"{hashlib.sha1(code.encode()).hexdigest()[:16]}.c"
        source.write_text(code)
        self.program = source.with_suffix(f".{machine}")
        r = subprocess.run([compiler, "-std=c99", *PROMISED, "-static", f"-DNAME={twin.name}", "-o", self.program, source,
                            TOP / "tests/c/emulated.c", "-lm"], capture_output=True, text=True)
        if r.returncode:
            raise AssertionError(r.stderr[:3000])

    def __call__(self, arrays, lengths=None):
        """lengths: the program finds them itself"""
        given = b"".join(np.array(arrays[f[0]].shape, np.int64).tobytes() + arrays[f[0]].tobytes() for f in self.inputs)
        r = subprocess.run([self.emulator, self.program], input=given, capture_output=True)
        if r.returncode == 1:
            raise Failed(r.stderr.decode())
        assert r.returncode == 0, f"{self.emulator}: {r.returncode} {r.stderr[:300]}"
        out, at = {}, 0
        for name, _, _, _, dtype, dims in self.outputs:
            shape = np.frombuffer(r.stdout, np.int64, len(dims), at)
            at += shape.nbytes
            d = np.dtype({"bool": np.bool_}.get(dtype, dtype))
            out[name] = np.frombuffer(r.stdout, d, int(np.prod(shape)), at).reshape(shape)
            at += out[name].nbytes
        return out


def split_dims(text):
    """At commas that stand in no parentheses."""
    depth, parts = 0, [""]
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return parts
