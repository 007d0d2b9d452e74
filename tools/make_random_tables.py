"""Writes lib/random/tables.ptg: the tables of NumPy's ziggurats, that of a logarithm, and those that PCG64 jumps
ahead by.

    python tools/make_random_tables.py numpy/random/src/distributions/ziggurat_constants.h \\
        optimized-routines/math/log_data.c >lib/random/tables.ptg

A recomputation of the ziggurat tables differs from NumPy's in the last bits, so they are taken as they are.
"""
import re
import sys

A = {"pcg64": 0x2360ED051FC65DA44385DF649FCCF645, "pcg64dxsm": 0xDA942042E4DD58B5}
LEVELS = 4


def numpy_table(name, text):
    body = re.search(name + r"\[\] = \{(.*?)\}", text, re.S).group(1)
    cells = [x.strip() for x in body.split(",") if x.strip()]
    assert len(cells) == 256, name
    return [int(x.removesuffix("ULL"), 0) if x.startswith("0x") else float(x).hex() for x in cells]


def statement(name, dtype, cells):
    lines, line = [], "   "
    for x in cells:
        x = f"{x:.0f}.0" if isinstance(x, float) else x if isinstance(x, str) else hex(x)
        if len(line) + len(x) > 98:
            lines.append(line)
            line = "   "
        line += f" {x},"
    lines.append(line.rstrip(","))
    return f"  {name} = {dtype}([\n" + "\n".join(lines) + "\n  ])"


def geometric(a, m):
    """1 + a + a^2 + ... + a^(m-1) modulo 2^128"""
    total, sum_b, pow_b = 0, 1, a
    while m:
        if m & 1:
            total = total * pow_b + sum_b
        sum_b = sum_b * (pow_b + 1)
        pow_b = pow_b * pow_b
        m >>= 1
        total, sum_b, pow_b = (x % 2 ** 128 for x in (total, sum_b, pow_b))
    return total


text = open(sys.argv[1]).read()
print("""ptg 1 infix=onnx

# Written by tools/make_random_tables.py.

# ---- NumPy's ziggurats. Copyright (c) 2005-2025, NumPy Developers; see LICENSE.
# Layer i is used as it is below k[i]; w[i] is its width divided by 2^52 (2^53 for the exponential), f[i] its height.""")
for fn, k, w, f in (("_Ziggurat_normal", "ki", "wi", "fi"), ("_Ziggurat_exponential", "ke", "we", "fe")):
    print(f"\nfn {fn}() -> (k: float64[256], w: float64[256], f: float64[256]) {{")
    print(statement("k", "float64", [float(x) for x in numpy_table(k + "_double", text)]))
    print(statement("w", "float64", numpy_table(w + "_double", text)))
    print(statement("f", "float64", numpy_table(f + "_double", text)))
    print("}")
rows = re.search(r"#elif N == 128\n(\{0x1.7.*?)#endif", open(sys.argv[2]).read(), re.S).group(1)
rows = re.findall(r"\{([^,]*), ([^}]*)\}", rows)
assert len(rows) == 128
print("""
# ---- The logarithm of the GNU C library. Copyright (c) 2018-2025, Arm Limited; see LICENSE.
# Near the middle of a range of numbers 1/c and log(c) of a c.
""")
print("fn _Log_table() -> (inverse: float64[128], log: float64[128]) {")
print(statement("inverse", "float64", [a.strip() for a, _ in rows]))
print(statement("log", "float64", [b.strip() for _, b in rows]))
print("}")
print("""
# ---- The linear congruential generator of PCG64 is s' = a s + c modulo 2^128. After m steps s is
# s + (1 + a + ... + a^(m-1)) d with d = (a - 1) s + c. Level j has these sums for the m of 0, 256^j, 2 256^j, ...,
# 255 256^j, and level 0 for 256 too, as high and low halves.""")
for kind, a in A.items():
    for level in range(LEVELS):
        n = 256 if level else 257
        sums = [geometric(a, k * 256 ** level) for k in range(n)]
        print(f"\nfn _Jumps_{kind}_{level}() -> (high: uint64[{n}], low: uint64[{n}]) {{")
        print(statement("high", "uint64", [x >> 64 for x in sums]))
        print(statement("low", "uint64", [x % 2 ** 64 for x in sums]))
        print("}")
