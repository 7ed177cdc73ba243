"""Write the stubs of the compiled modules from their sources: `python tests/support/core_stubs.py [--check]`.

An argument's C type is its type in the stub. Where that says less than a caller needs, the source has an annotation,
which Cython ignores. `# stub:` begins a line that goes into the stub as it is, or the type of a `readonly object`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "bbpe" / "core"
#: Where the names of annotations come from; those of other compiled modules are found there.
HOMES = {
    "array": ["array"],
    "collections.abc": "Callable Iterable Iterator Mapping Sequence".split(),
    "io": ["FileIO"],
    "queue": ["SimpleQueue"],
    "threading": ["Lock"],
    "typing": "Any Literal Protocol Self TypeAlias TypeVar final".split(),
    "..text": "Buffer Text".split(),
    "..splitting.automaton_tables": ["Tables"],
    "..splitting.regexes": ["HostRegex"],
    "..splitting.scheme": ["Scheme"],
}
NUMBERS = {"double": "float", "float": "float", "bint": "bool"}
NUMBERS |= dict.fromkeys(
    "size_t Py_ssize_t int unsigned int64_t uint8_t uint16_t uint32_t uint64_t".split(), "int"
)
VIEW = re.compile(r"(?:const )?(\w+)\[::1\]|(?:const )?(\w+)\[:, ::1\]")
#: What Cython calls otherwise than Python, or nobody calls by name.
HIDDEN = {"__dealloc__", "__reduce__", "__releasebuffer__"}
OPERATORS = {"__contains__", "__getitem__"}


@dataclass(frozen=True)
class Function:
    """A function as its source has it, on one line each: decorators, signature without `:` and what `# ->` says."""

    name: str
    decorators: tuple[str, ...]
    arguments: str
    result: str | None


def python_type(c_type: str, is_optional: bool) -> str:
    """The type that a caller sees of an argument with this C type, "" if that says nothing."""
    view = VIEW.fullmatch(c_type)
    if view:
        name = (view[1] or view[2]).removesuffix("_t").replace("double", "float64")
        # what is only read may be any buffer of such numbers
        other = "bytes" if name == "uint8" else f"array[{'float' if name.startswith('float') else 'int'}]"
        kinds = f"npt.NDArray[np.{name}]" + (f" | {other}" if c_type.startswith("const ") else "")
        return f"{kinds} | None" if is_optional else kinds
    known = NUMBERS.get(c_type, c_type)
    return f"{known} | None" if is_optional and c_type not in NUMBERS and known else known


def split_arguments(text: str) -> list[str]:
    """Arguments by the commas that are in no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[({") - (char in "])}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def argument(text: str) -> str:
    """One argument of a stub."""
    if text in ("self", "cls", "*", "/") or text.startswith("**"):
        return text
    declared, has_default, default = text.partition("=")
    # a view of memory has colons of its own, in brackets
    declared, *annotation = (part.strip() for part in re.split(r"(?<=\w): ", declared.strip(), maxsplit=1))
    is_optional = not declared.endswith(" not None")
    c_type, _, name = declared.removesuffix(" not None").rpartition(" ")
    kind = annotation[0] if annotation else python_type(c_type.strip(), is_optional)
    if has_default:
        try:
            ast.literal_eval(default.strip())
        except ValueError:
            default = "..."
        return f"{name}: {kind} = {default.strip()}"
    return f"{name}: {kind}"


def signature(function: Function, indent: str) -> str:
    """One function of a stub."""
    name, result = function.name, function.result or "None"
    arguments = [argument(part) for part in split_arguments(function.arguments)]
    if name == "__cinit__":
        name, result, arguments[0] = "__new__", "Self", "cls"
    elif name == "__getbuffer__":
        name, result, arguments = "__buffer__", "memoryview", ["self", "flags: int", "/"]
    elif name in OPERATORS:
        arguments.append("/")
    lines = [f"{indent}@{decorator}\n" for decorator in function.decorators if decorator in ("property", "classmethod")]
    one = f"{indent}def {name}({', '.join(arguments)}) -> {result}: ...\n"
    if len(one) > 121:
        inner = "".join(f"{indent}    {part},\n" for part in arguments)
        one = f"{indent}def {name}(\n{inner}{indent}) -> {result}: ...\n"
    return "".join(lines) + one


def functions(lines: list[str], indent: str) -> Iterator[tuple[int, Function]]:
    """The functions that begin at this indent, and the numbers of their lines."""
    decorators: list[str] = []
    start = re.compile(rf"{indent}(?:def|cpdef (?:\w+ )?)\s*(\w+)\(")
    for number, line in enumerate(lines):
        if line.startswith(f"{indent}@"):
            decorators.append(line.strip()[1:])
        found = start.match(line)
        if not found:
            continue
        text = line
        for more in lines[number + 1 :]:
            if re.search(r":(  # -> .*)?$", text) and text.count("(") == text.count(")"):
                break
            text += " " + more.strip()
        end = re.search(r"\)(?: -> (?P<result>.*?))?:(?:  # -> (?P<comment>.*))?$", text)
        assert end is not None, text
        inside = text[found.end() : end.start()].strip().removesuffix(",")
        c_result = re.match(rf"{indent}cpdef (\w+) ", line)
        result = end["result"] or end["comment"] or (python_type(c_result[1], False) if c_result else None)
        yield number, Function(found[1], tuple(decorators), inside, result)
        decorators = []


def class_lines(lines: list[str], first: int) -> list[str]:
    """The lines of the class that begins at a line, without that."""
    rest = lines[first + 1 :]
    end = next((i for i, line in enumerate(rest) if line and not line.startswith((" ", "#"))), len(rest))
    return rest[:end]


def attributes(lines: list[str]) -> str:
    """The attributes of a class that Python may read."""
    found = ""
    for line in lines:
        match = re.match(r"    cdef readonly (\w+) (\w+)(?:.*# stub: (.*))?$", line)
        if match:
            found += f"    {match[2]}: {match[3] or python_type(match[1], False)}\n"
    return found


def members(lines: list[str], declared: list[str]) -> str:
    """The body of a class."""
    body = attributes(declared) + attributes(lines)
    for _, function in functions(lines, "    "):
        is_private = function.name.startswith("_") and not function.name.startswith("__")
        if not is_private and function.name not in HIDDEN and "staticmethod" not in function.decorators:
            body += signature(function, "    ")
    return body


def stub(path: Path) -> str:
    """The stub of one module."""
    lines = path.read_text("utf-8").splitlines()
    pxd = path.with_suffix(".pxd")
    declared = pxd.read_text("utf-8").splitlines() if pxd.exists() else []
    at = {number: signature(function, "") for number, function in functions(lines, "") if function.name[0] != "_"}
    body = ""
    for number, line in enumerate(lines):
        if line.startswith("# stub: "):
            body += line.removeprefix("# stub: ") + "\n"
        elif constant := re.match(r"([A-Z_]+: .*?) = ", line):
            body += constant[1] + "\n"
        elif number in at:
            body += at[number]
        elif (found := re.match(r"cdef class (\w+)(.*):$", line)) and found[1][0] != "_":
            twin = next((i for i, text in enumerate(declared) if text.startswith(f"cdef class {found[1]}")), None)
            inside = members(class_lines(lines, number), class_lines(declared, twin) if twin is not None else [])
            before = takewhile(lambda text: text.startswith("@"), reversed(lines[:number]))
            head = ("@final\n" if "@cython.final" in before else "") + f"class {found[1]}{found[2]}:"
            body += f"\n{head}\n{inside}\n" if inside else f"\n{head} ...\n\n"
    return imports(path, body) + re.sub(r"\n\n+", "\n\n", body).strip("\n") + "\n"


def imports(path: Path, body: str) -> str:
    """The imports that a stub needs."""
    used = set(re.findall(r"\b[A-Za-z_]\w*", body))
    if "array[" not in body:
        used.discard("array")  # it is the name of an argument
    found: dict[str, set[str]] = {home: used.intersection(names) for home, names in HOMES.items()}
    for other in CORE.glob("*.pyx"):
        text = other.read_text("utf-8")
        names = re.findall(r"^(?:cdef class |# stub: class |# stub: )(_?[A-Z]\w*)", text, re.M) if other != path else []
        found[f".{other.stem}"] = used.intersection(names)
    groups: list[list[str]] = [[], [], []]
    for home in sorted(found):
        if found[home]:
            group = 2 if home.startswith(".") else 0
            groups[group].append(f"from {home} import {', '.join(sorted(found[home]))}\n")
    groups[1] = ["import numpy as np\n"] * ("np" in used) + ["import numpy.typing as npt\n"] * ("npt" in used)
    for group in groups:
        group.sort(key=lambda row: row.replace("from ..", "from -"))
    text = "\n".join("".join(group) for group in groups if group)
    return text + "\n" if text else ""


def main(arguments: list[str]) -> int:
    """Write all stubs, or with `--check` name those that are not as they would be written."""
    stubs = {path.with_suffix(".pyi"): stub(path) for path in sorted(CORE.glob("*.pyx"))}
    stale = [path for path, text in stubs.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        sys.stderr.writelines(f"{path} is not what core_stubs.py writes\n" for path in stale)
        return 1 if stale else 0
    for path in stale:
        path.write_text(stubs[path], "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
