"""Programs with one mistake: .ptg files of this project in which one token is lost, doubled,
swapped with the next one or replaced by another. Seeded: the same programs on every run."""
import ctypes
import random
import re
from pathlib import Path

from ptgc import _lib

TOP = Path(__file__).resolve().parents[2]
TOKEN = re.compile(
    r"""`[^`\n]*`|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[A-Za-z_]\w*|\d[\w.]*(?:[eE][+-]\d+)?"""
    r"""|->|//|\*\*|\.\.\.|[=!<>]=|[^\s\w]""")
OTHERS = """( ) [ ] { } , : = -> . ... ? == < | & + - * / // @ ** ~ if else None True loop while in next
until state fn graph 0 1 7 0.5 -1 n m x y q Exp Sum Reshape float64 float32 int8 bool "a" inf""".split()
GRAPH = "\ngraph only_graph(x: float64[2]) -> (y) { y = Exp(x) }\n"
WAYS = ("delete", "double", "swap", "replace")


def sources():
    """What is mutated: (path, text, tokens as pairs of offsets)."""
    for path in sorted([*TOP.glob("tests/op/*.ptg"), *TOP.glob("examples/*/*.ptg"), *TOP.glob("lib/*/*.ptg")]):
        text = path.read_text()
        if path.parents[1].name == "lib":
            text += GRAPH
        if compile(text, path)[0]:  # not without a mistake here: for another opset, or of fns that only the library may have
            continue
        bare = re.sub(r"#[^\n]*", lambda m: " " * len(m[0]), text)
        yield path, text, [m.span() for m in TOKEN.finditer(bare)]


def mutate(text, tokens, i, way, rng):
    """Tokens do not grow together: blanks go round what is put somewhere else."""
    a, b = tokens[i]
    if way == "delete":
        return text[:a] + (" " if text[a - 1 : a].isalnum() and text[b : b + 1].isalnum() else "") + text[b:]
    if way == "double":
        return text[:b] + " " + text[a:]
    if way == "replace":
        return text[:a] + " " + rng.choice(OTHERS) + " " + text[b:]
    if i + 1 == len(tokens):
        return text
    c, d = tokens[i + 1]
    return text[:a] + " " + text[c:d] + " " + text[b:c] + text[a:b] + " " + text[d:]


def mutants(per_file, seed):
    """(name, path, text) of each: `name` is file:line:col way."""
    for path, text, tokens in sources():
        rng = random.Random(f"{seed} {path.name}")
        for _ in range(per_file):
            i, way = rng.randrange(len(tokens)), rng.choice(WAYS)
            mutant = mutate(text, tokens, i, way, rng)
            if mutant == text:
                continue
            at = tokens[i][0]
            line, column = text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1
            yield f"{path.relative_to(TOP)}:{line}:{column} {way} {text[slice(*tokens[i])]}", path, mutant


def compile(text, path):
    """The status of a compilation, its diagnostics and their text; 0: a model was made."""
    data = text.encode()
    flags = _lib.strings(["Wno-unused"])
    o = _lib.Options(size=ctypes.sizeof(_lib.Options), file_name=path.name.encode(),
                     directory=str(path.parent).encode(), flags=flags)
    result = _lib.Result(_lib.lib().ptgc_compile(data, len(data), ctypes.byref(o)))
    return (_lib.lib().ptgc_status(result.handle), _lib.diagnostics(result.handle),
            _lib.lib().ptgc_messages(result.handle, False).decode(errors="replace"), result)
