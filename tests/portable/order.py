#!/usr/bin/env python3
"""
order.py [--why NAME...]: C leaves open which argument of a call is evaluated first, which element of {..., ...}, and
which side of a + b. So two calls that change a compilation (that make nodes, dims or names, that report or take a
number) must not stand side by side there, or the bytes of a model depend on the C compiler:

    add(b, neg(b, x), abs(b, y))             # which node is made first? gcc: abs; clang: neg

The sources are read as tokens. A function changes a compilation if it assigns to what it was handed a pointer to
(v->uses = 1), or calls a function that does, or one by a pointer. Memory that the function has just allocated is its own
business. A number that is handed back (*k = 1) is a change of the caller's variable: f(&k) + k is a find as well.

Prints these places; --why says why the functions NAME are said to change something. Exit status 1: there are any.
"""

import collections
import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]

TOKEN = re.compile(
    r"""(?P<space>\s+|/\*.*?\*/|//[^\n]*|\\\n) | "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | [A-Za-z_]\w* |
    \.?[0-9](?:[eEpP][+-]|[\w.])* | \.\.\. | <<= | >>= | -> | \+\+ | -- | && | \|\| | [-+*/%&|^<>=!]= | << | >> | .""",
    re.X | re.S)
ASSIGNS = set("= += -= *= /= %= &= |= ^= <<= >>=".split())
OPEN, CLOSE = set("([{"), set(")]}")
WORDS = set("if for while switch return sizeof do else case default goto break continue _Alignof offsetof defined".split())
TYPES = set("void char short int long float double bool unsigned signed struct union enum const static extern".split())

# They give memory: where it lies changes nothing.
FRESH = set("new new_array arena_alloc arena_grow arena_strdup arena_printf arena_vprintf vec_more tensor_new memcpy".split())
QUIET = FRESH | set("""
    arena_new arena_empty arena_free arena_trim mul_size bug
    sb_add sb_str sb_printf sb_vprintf sb_float
    load
    find op_sig cost_of_call prove value_info
""".split())
# Rows of QUIET: memory; a text that one function puts together; an element, into a variable of the caller's; what
# remembers what it found, and finds the same in any order.


class Token(str):
    line = 0


def is_name(t):
    return t[0].isalpha() or t[0] == "_"


def read_tokens(text, line=1):
    tokens = []
    for m in TOKEN.finditer(text):
        if not m["space"]:
            tokens.append(Token(m[0]))
            tokens[-1].line = line
        line += m[0].count("\n")
    return tokens


def closing(t, i):
    """The place of the bracket that closes the one at i"""
    depth = 0
    for j in range(i, len(t)):
        depth += (t[j] in OPEN) - (t[j] in CLOSE)
        if not depth:
            return j
    raise SyntaxError(f"line {t[i].line}: nothing closes {t[i]}")


def split(t, at):
    """The parts of t between tokens of `at` that are in no brackets"""
    parts, i = [[]], 0
    while i < len(t):
        end = closing(t, i) if t[i] in OPEN else i
        if t[i] in at:
            parts.append([])
        else:
            parts[-1] += t[i:end + 1]
        i = end + 1
    return parts


def statements(t):
    """The statements of a body, those of its blocks too; for (a; b; c) gives three. A {...} of values stays in its
    statement: it comes after =, a comma, a bracket, return or a (type)."""
    part, i = [], 0
    while i < len(t):
        if t[i] == ";":
            yield part
            part = []
        elif t[i] == "{" and not is_list(part):
            yield part
            part = []
            yield from statements(t[i + 1:closing(t, i)])
            i = closing(t, i)
        elif t[i] in OPEN:
            end = closing(t, i)
            if part and part[-1] in ("if", "for", "while", "switch"):
                yield from split(t[i + 1:end], {";"})
                part = []
            else:
                part += t[i:end + 1]
            i = end
        elif t[i] in ("return", "else", "do"):
            part = []
        else:
            part.append(t[i])
        i += 1
    yield part


def is_list(part):
    if not part:
        return False
    if part[-1] != ")":
        return part[-1] in ("=", ",", "(", "]", "&")
    depth, j = 1, len(part) - 1
    while depth:
        j -= 1
        depth += (part[j] in CLOSE) - (part[j] in OPEN)
    return is_type(part[j + 1:-1]) and not (j and is_name(part[j - 1]))


def is_type(t):
    return bool(t) and t[0] != "*" and all(is_name(x) or x in "*[]" or x.isdigit() for x in t) and \
        (len(t) == 1 or t[0] in TYPES or t[-1] in ("*", "]"))


class Function:
    def __init__(self, file, name, params, body, static):
        self.file, self.name, self.params, self.body, self.static = file, name, params, body, static
        self.why, self.calls = None, []  # why it changes a compilation, None: it does not; (name, by pointer, line)
        self.statements = [s for s in statements(body) if s]
        if name not in QUIET:
            self.read()

    def variables(self):
        """The names of structs and arrays that are the function's own, and of pointers to memory that it made"""
        own = {x for part in split(self.params, {","}) if "*" not in part and "[" not in part for x in part[-1:]}
        for s in self.statements:
            if len(s) < 2 or not is_name(s[0]) or s[0] in WORDS or not (is_name(s[1]) or s[1] == "*"):
                continue
            for part in split(s, {","}):
                k = next((k for k, x in enumerate(part) if x in ("=", "[")), len(part)) - 1
                if k >= 0 and is_name(part[k]) and "*" not in part[:k]:
                    own.add(part[k])
        for s in self.statements:
            for k, x in enumerate(s):
                if x == "=" and k and is_name(s[k - 1]) and (k < 2 or s[k - 2] not in ("->", ".")):
                    value = [y for y in s[k + 1:k + 6] if y not in ("(", "*")]
                    if value[:1] == ["&"] and value[1] in own or value and value[0] in FRESH:
                        own.add(s[k - 1])
        return own

    def read(self):
        own = self.variables()

        def changed(place, line):
            place = [x for x in place if x not in ("(", "*", "&", ")")]
            if "->" in place and place[0] not in own and not self.why:
                self.why = f"{self.file.name}:{line}: changes {''.join(place)}"

        for t in self.statements:
            for k, x in enumerate(t):
                if x in ASSIGNS or x in ("++", "--"):
                    before = place_before(t, k)
                    changed(before or place_after(t, k + 1), x.line)
                elif x == "(" and k and is_name(t[k - 1]) and t[k - 1] not in WORDS:
                    if t[k - 1] == "vec_push":
                        changed(split(t[k + 1:closing(t, k)], {","})[1], x.line)
                    self.calls.append((t[k - 1], k > 1 and t[k - 2] in ("->", "."), x.line))
                elif x == "*" and k and t[k - 1] == "(" and t[k + 2:k + 4] == [")", "("]:
                    self.calls.append((t[k + 1], True, x.line))


def place_before(t, k):
    """What stands before the = at k: v->at[i]"""
    j = k
    while j:
        if t[j - 1] in ("]", ")"):
            depth = 1
            j -= 1
            while depth:
                j -= 1
                depth += (t[j] in CLOSE) - (t[j] in OPEN)
        elif t[j - 1] in ("->", ".") or is_name(t[j - 1]) and (j == k or not is_name(t[j])):
            j -= 1
        else:
            break
    return t[j:k]


def place_after(t, k):
    """What stands behind the ++ before k"""
    j = k
    while j < len(t) and (t[j] in ("->", ".", "[", "(", "*") or is_name(t[j])):
        j = closing(t, j) + 1 if t[j] == "[" else j + 1
    return t[k:j]


def read_functions(file, text):
    macros = []

    def directive(m):
        d = re.match(r"\s*#\s*define\s+(\w+)\(([^)]*)\)", m[0])
        if d:
            macros.append(Function(file, d[1], [], read_tokens(m[0][d.end():]), True))
        return "\n" * m[0].count("\n")

    text = re.sub(r"^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", directive, text, flags=re.M | re.S)
    yield from macros
    if file.suffix == ".y":  # the actions, and the C behind the rules
        head, rules, code = text.split("\n%%\n")
        rules = re.sub(r"[$@](\$|\d+)", "yy", rules.replace("'", " "))
        text = "\n" * (head.count("\n") + 2) + rules + "\n\n" + code
    elif file.suffix == ".l":
        head, rules, code = text.split("\n%%\n")
        text = "\n" * (head.count("\n") + rules.count("\n") + 4) + code
    t, i, start = read_tokens(text), 0, 0
    while i < len(t):
        if t[i] == "{":
            end, head = closing(t, i), t[start:i]
            if ")" in head[-1:] and "=" not in head:
                at = next(k for k, x in enumerate(head) if x == "(" and closing(head, k) == len(head) - 1)
                yield Function(file, head[at - 1], head[at + 1:-1], t[i + 1:end], "static" in head)
            elif file.suffix == ".y":
                yield Function(file, "an action", [], t[i + 1:end], True)
            i = end
        if t[i] in (";", "}"):
            start = i + 1
        i += 1


class Program:
    def __init__(self, files):
        self.functions = [f for file, text in files for f in read_functions(file, text)]
        shared = {f.name: f for f in self.functions if not f.static or f.file.suffix == ".h"}
        own = collections.defaultdict(dict)
        for f in self.functions:
            own[f.file][f.name] = f
        self.called = lambda f, name: own[f.file].get(name) or shared.get(name)
        self.any_called = {f.name: f for f in self.functions}.get
        before = None
        while before != (before := sum(bool(f.why) for f in self.functions)):
            for f in self.functions:
                if not f.why and f.name not in QUIET:
                    f.why = next((f"{f.file.name}:{line}: calls {name}" for name, pointer, line in f.calls
                                  if name != f.name and self.changes(f, name, pointer)), None)

    def changes(self, f, name, by_pointer):
        if by_pointer:
            return True
        g = self.called(f, name)
        return bool(g and g.why)

    def finds(self, f):
        """(line, what) of places where the order is open"""
        self.found = set()
        if f.name not in QUIET:
            for s in f.statements:
                for part in split(s, {","}):  # declarators, or operands of a comma: one after the other
                    self.expression(f, part)
        return sorted(self.found)

    def expression(self, f, t):
        """The calls in t that change something. The sides of && || ? : come one after the other."""
        return [c for part in split(t, {"&&", "||", "?", ":"}) for c in self.operands(f, part)]

    def operands(self, f, t):
        sides, i = [], 0
        while i < len(t):
            if t[i] not in OPEN:
                i += 1
                continue
            end, before = closing(t, i), t[i - 1] if i else ""
            parts = split(t[i + 1:end], {","})
            if before in ("sizeof", "_Alignof", "offsetof"):
                i = end + 1
                continue
            inside = [self.expression(f, part) for part in parts]
            name = before if t[i] == "(" and before and is_name(before) and before not in WORDS else None
            by_pointer = t[i] == "(" and before == ")" and t[i - 3:i - 2] == ["*"] and t[i - 4:i - 3] == ["("]
            if name or by_pointer or t[i] == "{":
                self.side_by_side(t[i].line, inside)
                self.read_beside(t[i].line, parts)
            calls = [c for part in inside for c in part]
            if by_pointer or name and self.changes(f, name, i > 1 and t[i - 2] in ("->", ".")):
                calls = [name or t[i - 2]]
            sides.append(calls)
            i = end + 1
        self.side_by_side(t[0].line if t else 0, sides)
        return [c for side in sides for c in side]

    def side_by_side(self, line, sides):
        busy = [side[0] for side in sides if side]
        if len(busy) > 1:
            self.found.add((line, " | ".join(busy)))

    def read_beside(self, line, parts):
        """f(g(&k), k): is k what it was, or what g made of it?"""
        for part in parts:
            for name in self.handed_out(part):
                if any(x == name and (not k or other[k - 1] not in ("->", ".", "&"))
                       for other in parts if other is not part for k, x in enumerate(other)):
                    self.found.add((line, f"{name} is read beside a call that gets &{name}"))

    def handed_out(self, t):
        """The variables that calls in t get by &, so that they can change them"""
        for i in range(1, len(t)):
            if t[i] == "(" and is_name(t[i - 1]):
                g = self.any_called(t[i - 1])
                params = split(g.params, {","}) if g and g.params else []
                for k, arg in enumerate(split(t[i + 1:closing(t, i)], {","})):
                    if len(arg) == 2 and arg[0] == "&" and not (k < len(params) and "const" in params[k]):
                        yield arg[1]


def sources():
    files = [*(TOP / "src").rglob("*.[ch]"), *(TOP / "grammar").glob("*.[yl]")]
    return [(file, file.read_text()) for file in sorted(files)]


# What a body must give: how many finds. make(), look() and fill() are those below.
SAMPLE = """
#define vec_push(a, v) ((v)->len++, &(v)->at[0])
struct value *make(struct build *b, int x) { b->n = x; return b->v; }
int look(const struct build *b) { struct value *own = new(b->a, struct value); own->n = 1; return b->n; }
int fill(const struct build *b, int *k) { *k = b->n; return 1; }
struct value *outer(struct build *b) { return make(b, 1); }
void test(struct build *b, struct ops *ops, int k) { %s }
"""
CASES = {
    "f(make(b, 1), make(b, 2));": 1,
    "f(outer(b), g(h(make(b, 2))));": 1,
    "return make(b, make(b, 1)->n);": 0,
    "f(make(b, 1), look(b));": 0,
    "f(look(b), look(b));": 0,
    "struct value *v[] = {make(b, 1), outer(b)};": 1,
    "f((struct value *[]){make(b, 1), make(b, 2)}, 2);": 1,
    "struct value *v = make(b, 1), *w = make(b, 2);": 0,
    "k = make(b, 1)->n + make(b, 2)->n;": 1,
    "k = make(b, 1)->n && make(b, 2)->n;": 0,
    "k = look(b) ? make(b, 1) : make(b, 2);": 0,
    "f(k ? make(b, 1) : NULL, make(b, 2));": 1,
    "for (make(b, 1); make(b, 2); make(b, 3)) make(b, 4);": 0,
    "if (make(b, 1)) { make(b, 2); } else make(b, 3);": 0,
    "*vec_push(a, &b->list) = make(b, 1);": 1,
    "f(ops->first(b), make(b, 1));": 1,
    "f((*ops)(b), make(b, 1));": 1,
    "f((int)(k), (int)(k + 1));": 0,
    "f(fill(b, &k), k);": 1,
    "f(fill(b, &k)); g(k);": 0,
    "f(sizeof(make(b, 1)), make(b, 1));": 0,
}


def test():
    for body, count in CASES.items():
        program = Program([(pathlib.Path("sample.c"), SAMPLE % body)])
        found = program.finds(program.functions[-1])
        if len(found) != count:
            print(f"order.py finds {found} in: {body}")
            return 1
    return 0


def main():
    program = Program(sources())
    if sys.argv[1:2] == ["--why"]:
        for f in program.functions:
            if f.name in sys.argv[2:]:
                print(f"{f.file.relative_to(TOP)}: {f.name}: {f.why or 'no change'}")
        return 0
    finds = [(f, *find) for f in program.functions for find in program.finds(f)]
    for f, line, what in finds:
        print(f"{f.file.relative_to(TOP)}:{line}: {f.name}(): in which order? {what}")
    names = {f.name for f in program.functions}
    for name in QUIET - names - {"memcpy"}:
        print(f"order.py: there is no function {name}")
        finds.append(name)
    return test() or bool(finds)


if __name__ == "__main__":
    sys.exit(main())
