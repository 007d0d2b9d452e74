"""What ptgc writes does not depend on the locale of the program that it is part of, where a comma may stand in numbers.

0,1 in C would be two expressions, of which the second counts."""

import locale
import os
import struct
import subprocess
import sys

import pytest

TEXT = """ptg 1
graph g(x: float64[n], k: float32[3, 3]) -> (y, z) {
  y = x * 0.1 + Sum(x / 2.5) - Sum([0.25, 1.5, 1e-300])
  z = onnx.Gemm{alpha=0.3}(k, k, k)
}
"""
PROGRAM = f"""
import locale, sys
if sys.argv[1:]:
    locale.setlocale(locale.LC_NUMERIC, sys.argv[1])
    assert locale.localeconv()["decimal_point"] == ","
from ptgc import _lib
text = {TEXT!r}
print(_lib.compile_text(text, target="onnx").model)
print(_lib.compile_text(text, code=True).model.decode())
try:
    _lib.compile_text("ptg 1\\ngraph g(x: float32[3]) -> (y) {{ y = onnx.Range(0.1, 0.2, 0.0) + x }}")
except _lib.CompileError as e:
    print(e)
"""


def write_locale(folder):
    """A locale of glibc with a decimal comma: its LC_NUMERIC alone"""
    fields = [b",\0", b"\0", b"\x7f\0", struct.pack("=I", ord(",")), struct.pack("=I", 0), b"UTF-8\0"]
    at, offsets, data = 4 * (2 + len(fields)), [], b""
    for f in fields:
        data += b"\0" * (-len(data) % 4)
        offsets.append(at + len(data))
        data += f
    folder.mkdir()
    head = struct.pack(f"={2 + len(fields)}I", 0x20031115 ^ locale.LC_NUMERIC, len(fields), *offsets)
    (folder / "LC_NUMERIC").write_bytes(head + data)


def run(*args, **env):
    return subprocess.run([sys.executable, "-c", PROGRAM, *args], env=os.environ | env, check=True, capture_output=True).stdout


@pytest.mark.skipif(not os.confstr("CS_GNU_LIBC_VERSION"), reason="the locale is one of glibc")
def test_decimal_comma(tmp_path):
    write_locale(tmp_path / "comma")
    assert run("comma", LOCPATH=str(tmp_path)) == run()
