"""The messages of errors, read from the source: what the page on errors lists.

A message is a template: literal text, and gaps for what differs.  It stands in a call of the class, in a variable of
the function around it, or in what a function returns that makes messages.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict, deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
#: What stands for a gap; names that readers know are shown.
GAP = "…"
_SHOWN = {"path": "FILE", "_path": "FILE", "file": "FILE", "folder": "FOLDER", "url": "URL", "argument": "ARGUMENT"}
#: The fewest letters of a template that say something: others pass on what another message says.
_LEAST = 12
#: The most templates that one call may have, as its gaps can be several texts.
_MOST = 6


class Message(NamedTuple):
    """A kind of message, and the module that raises it."""

    kind: str
    text: str
    module: str

    @property
    def found(self) -> str:
        """The first half: what is wrong."""
        return self._halves()[0]

    @property
    def way(self) -> str:
        """The second half: what was expected, or what to do; empty if the message has none."""
        return self._halves()[1]

    def _halves(self) -> tuple[str, str]:
        found, _, way = self.text.partition("; ")
        return found, way

    def matches(self, message: str) -> bool:
        """Return whether a message is of this kind, whatever stands in front of it, such as a file and a place."""
        marks = "|".join([GAP, *sorted(set(_SHOWN.values()))])
        parts = [re.escape(part) for part in re.split(rf"{GAP}|\b(?:{marks})\b", self.text)]
        return re.search(".*".join(parts), message, re.DOTALL) is not None


class _Module:
    """One file: its tree, its texts by their names, and its functions."""

    def __init__(self, path: Path, tree: ast.Module) -> None:
        self.name = path.relative_to(ROOT).as_posix()
        self.tree = tree
        self._assigned: dict[ast.AST, dict[str, list[ast.expr]]] = {}
        #: All nodes, those near the root first, and the function around each, or the module.
        self.around: dict[ast.AST, ast.AST] = {tree: tree}
        found: deque[ast.AST] = deque([tree])
        while found:
            node = found.popleft()
            for child in ast.iter_child_nodes(node):
                self.around[child] = child if isinstance(child, ast.FunctionDef) else self.around[node]
                found.append(child)
        self.functions = [node for node in self.around if isinstance(node, ast.FunctionDef)]

    def texts(self, scope: ast.AST, name: str) -> list[ast.expr]:
        """Return the texts that a variable of a function, or a constant of the module, gets."""
        if scope not in self._assigned:
            self._assigned[scope] = _assigned(scope)
        return self._assigned[scope].get(name, [])


def messages(kinds: set[str]) -> list[Message]:
    """Return the messages of classes, each once for a module, in the order of their modules and texts."""
    modules = list(_modules(kinds))
    made = _makers(modules)
    raisers = _raisers(modules, kinds)
    found = set()
    for module in modules:
        for node in module.around:
            if isinstance(node, ast.Call):
                name = _name(node.func)
                kind, at = (name, 0) if name in kinds else raisers.get(name, ("", 0))
                if name == "warn" and len(node.args) > 1:
                    kind = _name(node.args[1]) if _name(node.args[1]) in kinds else ""
                for given in node.args[at : at + 1] if kind else []:
                    found |= {Message(kind, each, module.name) for each in _texts(given, module, made) if _says(each)}
    return sorted(found, key=lambda each: (each.kind, each.module, each.text))


def _modules(kinds: set[str]) -> Iterator[_Module]:
    for path in sorted((ROOT / "bbpe").rglob("*.py")):
        if path.name != "errors.py":
            yield _Module(path, ast.parse(path.read_text("utf-8")))
    for path in sorted((ROOT / "bbpe").rglob("*.pyx")):
        # Cython is no Python, but its calls are
        source = path.read_text("utf-8")
        calls = [_call(source, each.start()) for each in re.finditer(rf"\b(?:{'|'.join(kinds)})\(", source)]
        yield _Module(path, ast.Module([ast.Expr(call) for call in calls if call is not None], []))


def _call(source: str, start: int) -> ast.expr | None:
    """Return the call that begins at a place of a source."""
    for end in re.finditer(r"\)", source[start : start + 1000]):
        try:
            return ast.parse(source[start : start + end.end()], mode="eval").body
        except SyntaxError:
            continue
    return None


def _makers(modules: list[_Module]) -> dict[str, list[tuple[ast.expr, _Module]]]:
    """The return expressions of functions that return a text, by function name."""
    made = defaultdict(list)
    for module in modules:
        for node in module.functions:
            if _unparsed(node.returns) in ("str", "str | None"):
                for each in ast.walk(node):
                    if isinstance(each, ast.Return) and each.value is not None:
                        made[node.name].append((each.value, module))
    return made


def _says(text: str) -> bool:
    # a text that only says what was expected is a part of a message
    part = text.startswith("expected") and not re.search(r"found|[:;]", text)
    return len(re.sub(r"[^a-z]", "", text)) >= _LEAST and not part


def _raisers(modules: list[_Module], kinds: set[str]) -> dict[str, tuple[str, int]]:
    """The functions that raise or make an error of a text that they are given: the class, and which argument it is."""
    found = {}
    for module in modules:
        for node in module.functions:
            if node.returns is None:
                continue
            given = [each.arg for each in node.args.args if each.arg != "self"]
            for call in (each for each in ast.walk(node) if isinstance(each, ast.Call) and each.args):
                if (kind := _name(call.func)) in kinds and (passed := _passed_on(call.args[0])) in given:
                    found[node.name] = kind, given.index(passed)
    return found


def _passed_on(node: ast.expr) -> str:
    """Return the variable whose text ends a message that says nothing more."""
    if isinstance(node, ast.JoinedStr):
        written = "".join(str(each.value) for each in node.values if isinstance(each, ast.Constant))
        last = node.values[-1]
        node = last.value if isinstance(last, ast.FormattedValue) and not _says(written) else ast.Constant("")
    return node.id if isinstance(node, ast.Name) else ""


def _unparsed(node: ast.expr | None) -> str:
    return "" if node is None else ast.unparse(node)


def _name(node: ast.expr) -> str:
    """Return the last name of a dotted one, or nothing."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _texts(
    node: ast.expr, module: _Module, made: dict[str, list[tuple[ast.expr, _Module]]], depth: int = 0
) -> list[str]:
    """Return the texts that an expression can be."""
    gap = [_SHOWN.get(_name(node), GAP)] if isinstance(node, ast.Name | ast.Attribute) else [GAP]
    if depth > 4:
        return gap
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    if isinstance(node, ast.JoinedStr):
        return _joined([_texts(each, module, made, depth) for each in node.values])
    if isinstance(node, ast.FormattedValue):
        # repr() and formats change what they show
        plain = node.conversion == -1 and node.format_spec is None
        return _texts(node.value, module, made, depth + 1) if plain else [GAP]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined([_texts(each, module, made, depth) for each in (node.left, node.right)])
    if isinstance(node, ast.IfExp):
        return _long([text for each in (node.body, node.orelse) for text in _texts(each, module, made, depth)], gap)
    if isinstance(node, ast.Name):
        values = [value for scope in (module.around[node], module.tree) for value in module.texts(scope, node.id)]
        return _long([text for each in values for text in _texts(each, module, made, depth + 1)], gap)
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        tables = [each for each in module.texts(module.tree, node.value.id) if isinstance(each, ast.Dict)]
        values = [value for each in tables for value in each.values]
        return _long([text for each in values for text in _texts(each, module, made, depth)], gap)
    if isinstance(node, ast.Call) and depth < 4 and (returned := made.get(_name(node.func))):
        return _long([text for value, home in returned for text in _texts(value, home, made, depth + 2)], gap)
    return gap


def _long(texts: list[str], gap: list[str]) -> list[str]:
    """Return texts that say something; shorter ones, such as a unit, are one gap."""
    return list(dict.fromkeys(text if _says(text) else gap[0] for text in texts)) or gap


def _assigned(scope: ast.AST) -> dict[str, list[ast.expr]]:
    """Return the texts that each variable of a function, or each constant of a module, gets."""
    found = defaultdict(list)
    for node in ast.walk(scope) if isinstance(scope, ast.FunctionDef) else ast.iter_child_nodes(scope):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name):
            if isinstance(node.value, ast.JoinedStr | ast.Constant | ast.IfExp | ast.BinOp | ast.Dict):
                found[target.id].append(node.value)
        elif isinstance(node, ast.NamedExpr):
            found[node.target.id].append(node.value)
    return found


def _joined(parts: list[list[str]]) -> list[str]:
    """Return each combination of texts for the parts of a whole."""
    whole = [""]
    for part in parts:
        # where there are too many, what differs is a gap
        chosen = part if len(whole) * len(part) <= _MOST else [GAP]
        whole = [before + text for before in whole for text in chosen]
    return [re.sub(rf"{GAP}(?:{GAP})+", GAP, text) for text in whole]
