"""The faults that mutants.py can plant in a source: each changes one place as a slip would.

Python is read with `ast`.  Cython and C are read line by line, with comments and texts blanked out.  Declarations,
includes, contracts and hints to the processor stay as they are, and so do the texts of errors, which are no behaviour,
and code for another system, which nothing compiles here.  Contracts are BBPE_ASSERT, `assert`, `raise AssertionError`
and the `strict` of zip: what they forbid cannot happen, so no test can make it happen.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias


@dataclass(frozen=True)
class Edit:
    """A fault: `source[start:end]` of a file becomes `new`."""

    path: str
    line: int
    what: str
    start: int
    end: int
    new: str

    def applied(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.end :]

    def shown(self, source: str) -> str:
        """The lines that it changes, before and after."""
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        last = len(source) if last < 0 else last
        after = source[first : self.start] + self.new + source[self.end : last]
        before, after = source[first:last].splitlines(), after.splitlines()
        return "\n".join([f"  - {line.strip()}" for line in before[:3]] + [f"  + {line.strip()}" for line in after[:3]])


def edits_of(path: str, source: str) -> list[Edit]:
    """Every fault that can be planted in a file, in the order of its lines."""
    found = _Python(path, source).found() if path.endswith(".py") else _of_lines(path, source)
    different = [edit for edit in found if source[edit.start : edit.end] != edit.new]
    return sorted(different, key=lambda edit: (edit.start, edit.end, edit.new))


def body_of(edit: Edit, source: str) -> int:
    """The first line of the body of the innermost function of Python that a fault is in; 0 if it is in none."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    starts = [node.body[0].lineno for node in nodes if node.body[0].lineno <= edit.line <= (node.end_lineno or 0)]
    return max(starts, default=0)


_COMPARISONS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "//"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "//"),
    ast.LShift: ("<<", ">>"), ast.RShift: (">>", "<<"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"),
    ast.Div: ("/", "*"),
}  # fmt: skip
_TEXTS = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
# what only names a type or words a warning, and late imports, which tests/test_lazy.py reads in the source
_PLAIN = {"cast", "TypeVar", "TypeAlias", "NewType", "Literal", "Callable", "Union", "Optional", "warn", "safe_import"}
_SILENT = {"__repr__", "_repr_html_", "__rich_repr__"}
_NO_CODE = {"annotation", "returns", "decorator_list", "bases"}
_DROPPED = (ast.Raise, ast.AugAssign, ast.Delete)


def _is_contract(node: ast.AST) -> bool:
    """Whether a statement or an argument states what cannot be otherwise."""
    if isinstance(node, ast.keyword):
        return node.arg == "strict"
    error = node.exc if isinstance(node, ast.Raise) else None
    name = error.func if isinstance(error, ast.Call) else error
    return isinstance(node, ast.Assert) or (isinstance(name, ast.Name) and name.id == "AssertionError")


class _Python:
    """The faults of one module of Python."""

    def __init__(self, path: str, source: str) -> None:
        self.path, self.source = path, source
        self.starts = [0]
        for line in source.split("\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.lines = source.split("\n")

    def found(self) -> Iterator[Edit]:
        yield from self._within(ast.parse(self.source))

    def _at(self, line: int, column: int) -> int:
        """The place of a node in the source; its columns count bytes."""
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self._at(node.lineno, node.col_offset)

    def _end(self, node: ast.expr | ast.stmt) -> int:
        return self._at(node.end_lineno or 0, node.end_col_offset or 0)

    def _edit(self, what: str, start: int, end: int, new: str) -> Edit:
        return Edit(self.path, self.source.count("\n", 0, start) + 1, what, start, end, new)

    def _replaced(self, node: ast.expr | ast.stmt, what: str, new: str) -> Edit:
        return self._edit(what, self._start(node), self._end(node), new)

    def _text(self, node: ast.AST) -> str:
        return self.source[self._start(node) : self._end(node)]  # type: ignore[arg-type]

    def _within(self, node: ast.AST) -> Iterator[Edit]:
        """The faults of a node and of what is in it, but for what only names types or words an error."""
        if _is_contract(node) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            return
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name in _SILENT or any("overload" in ast.unparse(each) for each in node.decorator_list):
                return
            yield from self._of_signature(node)
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "__slots__"):
            return
        of_kind = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if of_kind is not None:
            yield from of_kind(node)
        if isinstance(node, _DROPPED):
            yield self._replaced(node, "statement dropped", "pass")
        yield from self._of_tests(node)
        for name, value in ast.iter_fields(node):
            if name in _NO_CODE or isinstance(node, ast.Raise | ast.JoinedStr):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and not self._is_plain(child):
                    yield from self._within(child)

    def _is_plain(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in _PLAIN

    def _of_tests(self, node: ast.AST) -> Iterator[Edit]:
        tests = [node.test] if isinstance(node, ast.If | ast.While | ast.IfExp) else []
        for test in tests + (node.ifs if isinstance(node, ast.comprehension) else []):
            text = self._text(test)
            yield self._replaced(test, "condition negated", f"not ({text})")
            if not isinstance(node, ast.While):
                yield self._replaced(test, "branch always", "True")
                yield self._replaced(test, "branch never", "False")
        if isinstance(node, ast.For | ast.While) and node.body:
            last = node.body[-1]
            if not isinstance(last, ast.Return | ast.Raise | ast.Break | ast.Continue) and last.lineno > node.lineno:
                end, indent = self._end(last), " " * node.body[0].col_offset
                yield self._edit("early break", end, end, f"\n{indent}break")

    def _of_compare(self, node: ast.Compare) -> Iterator[Edit]:
        sides = [node.left, *node.comparators]
        for i, operator in enumerate(node.ops):
            old, new = _COMPARISONS[type(operator)]
            yield from self._operator(self._end(sides[i]), self._start(sides[i + 1]), old, new, "comparison")
        for side in node.comparators:
            if isinstance(side, ast.Constant) and isinstance(side.value, str) and side.value:
                yield self._replaced(side, "constant", repr(side.value + "_"))

    def _operator(self, start: int, end: int, old: str, new: str, what: str) -> Iterator[Edit]:
        between = re.sub(r"#.*", lambda comment: " " * len(comment[0]), self.source[start:end])
        at = between.find(old)
        if at >= 0:
            yield self._edit(what, start + at, start + at + len(old), new)

    def _of_binop(self, node: ast.BinOp) -> Iterator[Edit]:
        for side in (node.left, node.right):
            is_text = isinstance(side, ast.Constant) and not isinstance(side.value, int | float)
            is_class = isinstance(side, ast.Name | ast.Attribute) and ast.unparse(side).rpartition(".")[2][:1].isupper()
            if isinstance(side, _TEXTS) or is_text or (is_class and isinstance(node.op, ast.BitOr)):
                return
        old, new = _ARITHMETIC.get(type(node.op), ("", ""))
        if old:
            yield from self._operator(self._end(node.left), self._start(node.right), old, new, "arithmetic")

    def _of_boolop(self, node: ast.BoolOp) -> Iterator[Edit]:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            yield from self._operator(self._end(left), self._start(right), old, new, "condition")

    def _of_unaryop(self, node: ast.UnaryOp) -> Iterator[Edit]:
        if isinstance(node.op, ast.Not):
            yield self._replaced(node, "condition negated", f"bool({self._text(node.operand)})")

    def _of_constant(self, node: ast.Constant) -> Iterator[Edit]:
        if isinstance(node.value, bool):
            yield self._replaced(node, "constant", str(not node.value))
        elif isinstance(node.value, int):
            yield self._replaced(node, "off by one", str(node.value + 1))
            if node.value > 0:
                yield self._replaced(node, "off by one", str(node.value - 1))

    def _of_slice(self, node: ast.Slice) -> Iterator[Edit]:
        for bound in (node.lower, node.upper):
            if bound is not None and not isinstance(bound, ast.Constant | ast.UnaryOp):
                yield self._replaced(bound, "off by one", f"{self._text(bound)} + 1")

    def _of_expr(self, node: ast.Expr) -> Iterator[Edit]:
        if isinstance(node.value, ast.Call | ast.Yield | ast.YieldFrom | ast.Await) and not self._is_plain(node.value):
            yield self._replaced(node, "statement dropped", "pass")

    def _of_assign(self, node: ast.Assign) -> Iterator[Edit]:
        if isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            yield self._replaced(node, "statement dropped", "pass")

    def _of_return(self, node: ast.Return) -> Iterator[Edit]:
        if node.value is not None and not isinstance(node.value, ast.Constant):
            yield self._replaced(node, "return replaced", "return None")

    def _of_break(self, node: ast.Break) -> Iterator[Edit]:
        yield self._replaced(node, "break dropped", "continue")

    def _of_continue(self, node: ast.Continue) -> Iterator[Edit]:
        yield self._replaced(node, "early break", "break")

    def _of_try(self, node: ast.Try) -> Iterator[Edit]:
        for handler in node.handlers:
            first, last = handler.body[0], handler.body[-1]
            if ast.unparse(first) != "raise":
                yield self._edit("exception not handled", self._start(first), self._end(last), "raise")
            if not isinstance(first, ast.Pass | ast.Raise):
                yield self._edit("exception swallowed", self._start(first), self._end(last), "pass")
        if node.finalbody:
            first, last = node.finalbody[0], node.finalbody[-1]
            yield self._edit("clean-up dropped", self._start(first), self._end(last), "pass")

    def _of_call(self, node: ast.Call) -> Iterator[Edit]:
        if ast.unparse(node.func) in ("range", "min", "max", "len"):
            yield self._replaced(node, "off by one", f"{self._text(node)}[1:]" if ast.unparse(node.func) == "range" else
                                 f"({self._text(node)} + 1)")  # fmt: skip
        for keyword in node.keywords:
            if keyword.arg is not None and not _is_contract(keyword) and len(node.args) + len(node.keywords) > 1:
                start, end = self._at(keyword.lineno, keyword.col_offset), self._end(keyword.value)
                after = re.match(r"\s*,\s*", self.source[end:])
                before = re.search(r",\s*\Z", self.source[:start])
                if after or before:
                    cut = (start, end + after.end()) if after else (before.start(), end)  # type: ignore[union-attr]
                    yield self._edit(f"argument {keyword.arg} ignored", *cut, "")

    def _of_signature(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Edit]:
        """An optional argument is always what it is without a value given."""
        body = node.body[1:] if ast.get_docstring(node) else node.body
        ordered = [*node.args.posonlyargs, *node.args.args]
        optional = list(zip(ordered[len(ordered) - len(node.args.defaults) :], node.args.defaults, strict=True))
        named = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        optional += [(argument, default) for argument, default in named if default is not None]
        if body and body[0].lineno > node.lineno and ast.unparse(body[0]) != "...":
            start, indent = self._start(body[0]), " " * body[0].col_offset
            for argument, default in optional:
                new = f"{argument.arg} = {self._text(default)}\n{indent}"
                yield self._edit(f"argument {argument.arg} ignored", start, start, new)


_MASKED = {
    "c": re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL),
    "cython": re.compile(r'""".*?"""|f?b?"(?:\\.|[^"\\\n])*"|b?\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', re.DOTALL),
}
#: Lines of Cython and C that are no statements, or whose effect is none.
_IDLE = re.compile(
    r"\s*(#|_Static_assert|typedef|extern|cimport|from |import |ctypedef|cdef (?!inline)[^=]*\Z|raise |@|def |cpdef |"
    r"class |cdef class|case |default:|goto |__asm__|struct |enum|with |else:?\Z|try:|finally:)|"
    r".*(BBPE_ASSERT|BBPE_DEFINE|PREFETCH|_Static_assert|fetch\(|not None)"
)
#: Blocks that hold declarations, or what only a checked build has: `cdef enum:` and `enum {`.
_DECLARES = re.compile(r"\s*(cdef (enum|struct|extern)|ctypedef struct|(typedef )?(enum|struct)\b.*\{\s*\Z)")
_SWAPS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "+", "/": "*",
    "%": "/", "<<": ">>", ">>": "<<", "&": "|", "|": "&", "&&": "||", "||": "&&", "+=": "-=", "-=": "+=", "|=": "&=",
    "and": "or", "or": "and", "^": "|",
}  # fmt: skip
_OPERATOR = re.compile(r"(?<= )(<<|>>|[<>=!]=|&&|\|\||[-+|]=|[-<>+*/%&|^]|and|or)(?= )")
_NUMBER = re.compile(r"(?<![\w.])(\d+)(?=u?\b(?![\w.]))")
_ARGUMENT = re.compile(r"(?<=, )(\w+)(?=[,)])")
_WORDS = {
    "true": "false", "false": "true", "True": "False", "False": "True", "break;": "continue;", "continue;": "break;",
}  # fmt: skip
_STATEMENT = re.compile(
    r"\s+(?!return|const |static |else|for |if |while |do |switch |cdef |pass|yield)"
    r"[\w.>\[\]()*&+-]+( [-+|&]?= .*|\(.*|\+\+|--);?\Z"
)
_RETURN = re.compile(r"(?<=return )([^;]+?)(?=;?\Z)")


#: What a line between `#if` and `#endif` is compiled for.
_Branch: TypeAlias = Literal["here", "elsewhere", "any"]
_SYSTEMS = {"linux": "__linux__", "darwin": "__APPLE__", "win32": "_WIN32"}


def _branch(code: str) -> _Branch:
    """Whether code after an `#if` is for this system, or for another one, another processor or a checked build."""
    if re.search("BBPE_CHECKED|__aarch64__", code):
        return "elsewhere"
    named = {system for system, macro in _SYSTEMS.items() if macro in code}
    return "any" if not named else "here" if sys.platform in named else "elsewhere"


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _of_lines(path: str, source: str) -> Iterator[Edit]:
    is_c = Path(path).suffix in (".c", ".h")
    text = _MASKED["c" if is_c else "cython"].sub(_blank, source)
    at, skipped, branches = 0, -1, list[_Branch]()
    for number, line in enumerate(text.split("\n"), 1):
        start, at = at, at + len(line) + 1
        code = line.rstrip(" \\")
        indent = len(line) - len(line.lstrip())
        if code.startswith("#if"):
            branches.append(_branch(code))
        elif code.startswith(("#elif", "#else")):
            branches[-1] = "elsewhere" if branches[-1] == "here" else _branch(code)
        elif code.startswith("#endif"):
            branches.pop()
        if skipped >= 0 and (not code or indent > skipped or (is_c and "}" not in code)):
            continue
        skipped = indent if _DECLARES.match(code) else -1
        is_idle = _IDLE.match(code) or (is_c and _is_declared(code))
        if not code or not indent or "elsewhere" in branches or skipped >= 0 or is_idle:
            continue
        for what, first, last, new in _of_line(code, is_c):
            yield Edit(path, number, what, start + first, start + last, new)


def _is_declared(code: str) -> bool:
    """Whether a line of C only declares: a field, a variable without a value, an element of an initialiser."""
    field = re.fullmatch(r"\s+[\w ]+[ *]+\w+(\[[^=]*\])?( = \{0?\})?;", code)
    return field is not None or not re.search(r"[;{}&|(]", code)


def _of_line(code: str, is_c: bool) -> Iterator[tuple[str, int, int, str]]:
    in_head = code.lstrip().startswith("for ")
    for match in _OPERATOR.finditer(code):
        before, after = code[: match.start()].rstrip(), code[match.end() :]
        if not (match[1] == "*" and re.search(r"(\bconst|\w_t|\bvoid|\bchar)\Z", before)) and after.strip():
            yield "operator", *match.span(1), _SWAPS[match[1]]
    for match in _NUMBER.finditer(code):
        if not re.search(r"\w\[\Z", code[: match.start()]) or " = " in code[: match.start()]:
            yield "off by one", *match.span(1), str(int(match[1]) + 1)
    for match in re.finditer(r"(?<!\w)(true|false|True|False|break;|continue;)(?!\w)", code):
        yield "constant", *match.span(1), _WORDS[match[1]]
    for match in _ARGUMENT.finditer(code) if not in_head else ():
        if not match[1].isdigit() and not re.match(r"\s+(static|const|cdef|BBPE_)", code):
            yield f"argument {match[1]} ignored", *match.span(1), "0"
    condition = re.search(r"\b(if|while|elif) (.*)", code)
    if condition is not None:
        yield from _of_condition(code, condition, is_c)
    returned = _RETURN.search(code)
    if returned is not None and code.count("(") == code.count(")"):
        yield "return replaced", *returned.span(1), _other_value(returned[1])
    is_whole = code.count("(") == code.count(")") and code.count("[") == code.count("]") and code.endswith(";") is is_c
    if is_whole and _STATEMENT.match(code):
        yield "statement dropped", len(code) - len(code.lstrip()), len(code), "(void)0;" if is_c else "pass"


def _other_value(returned: str) -> str:
    return {"0": "1", "BBPE_OK": "BBPE_NO_MEMORY", "NULL": "NULL", "true": "false", "false": "true"}.get(returned, "0")


def _of_condition(code: str, condition: re.Match[str], is_c: bool) -> Iterator[tuple[str, int, int, str]]:
    start = condition.start(2)
    if not is_c:
        if code.endswith(":"):
            yield "condition negated", start, len(code) - 1, f"not ({code[start:-1]})"
        return
    depth = 0
    for end in range(start, len(code)):
        depth += (code[end] == "(") - (code[end] == ")")
        if depth == 0:
            yield "condition negated", start, end + 1, f"(!{code[start : end + 1]})"
            if condition[1] == "if":
                yield "branch never", start, end + 1, "(0)"
            return
