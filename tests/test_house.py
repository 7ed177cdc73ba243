"""The house rules that a machine can check: layers, sizes, and what no file may name."""

import ast
import re
import shutil
import subprocess
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "bbpe"

# Wings from the ground up; imports point down, and never to another wing of the same line but on the ground floor.
WINGS = [
    {"errors", "types", "files", "atomic", "threads", "progress", "lazy", "text", "budget", "core"},
    {"splitting"},
    {"spec"},
    {"pipeline", "reference", "published"},
    {"formats", "corpus"},
    {"encoding", "counting"},
    {"tokenizer"},
    {"training", "loading", "encodings"},
    {"report"},
    {"compat"},
    {"tiktoken"},
    {"cli"},
    {"__main__", "__init__"},
]
# Folders of csrc from the ground up; a file includes its own folder and those before it.
C_FOLDERS = """base simd memory tables threads text split models/bpe models/vocab models models/normalise models/unigram
    models/wordpiece models/word_bpe pipeline train count decode encode""".split()


def level(name: str, layers: list[set[str]]) -> int:
    return next(index for index, layer in enumerate(layers) if name in layer)


def sources(*suffixes: str) -> list[Path]:
    found = [path for folder in ("bbpe", "csrc", "tests", "benchmarks") for path in (ROOT / folder).rglob("*")]
    generated = {PACKAGE / "core" / f"{pyx.stem}.c" for pyx in (PACKAGE / "core").glob("*.pyx")}
    generated.add(PACKAGE / "core" / "_cyutility.c")
    generated |= {ROOT / "csrc/text/uclass_table.h", ROOT / "csrc/text/characters_table.h"}
    return [path for path in found if path.suffix in suffixes and path not in generated]


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


MODULES = {module_of(path): path for path in sources(".py") if PACKAGE in path.parents}


def imported(path: Path) -> set[str]:
    """The modules of the package that a Python file imports, within functions and for type checkers too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            package = ["bbpe", *path.relative_to(PACKAGE).parts[:-1]]
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *(node.module.split(".") if node.module else [])]
            names = [[*module, alias.name] for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        else:
            continue
        for name in (".".join(name[1:]) for name in names if name[0] == "bbpe"):
            candidates = (name, name.rpartition(".")[0], f"{name}.__init__", f"{name.rpartition('.')[0]}.__init__")
            found.add(next((each for each in candidates if each in MODULES), name))
    return found - {module_of(path), ""}


@pytest.mark.parametrize("name", MODULES)
def test_imports_point_down(name):
    wing = name.partition(".")[0]
    for other in {other.partition(".")[0] for other in imported(MODULES[name])} - {wing}:
        below = level(other, WINGS) < level(wing, WINGS) or level(wing, WINGS) == 0 == level(other, WINGS)
        # the command line asks the package for its public names
        assert below or (wing, other) == ("cli", "__init__"), f"{name} imports {other}, which is not below it"


def test_imports_form_no_circle():
    waiting = {name: imported(path) & MODULES.keys() for name, path in MODULES.items()}
    while free := {name for name, others in waiting.items() if not others & waiting.keys()}:
        waiting = {name: others for name, others in waiting.items() if name not in free}
    assert not waiting


def test_the_hall_is_small():
    assert len(list(PACKAGE.glob("*.py"))) <= 16


def c_includes(path: Path) -> list[Path]:
    """The files of csrc that a C file includes, as paths within csrc."""
    return [Path(name) for name in re.findall(r'^#include "([\w/]+\.h)"', path.read_text("utf-8"), re.M)]


C_FILES = [path.relative_to(ROOT / "csrc") for path in sources(".c", ".h") if "csrc" in path.parts]


@pytest.mark.parametrize("path", C_FILES, ids=str)
def test_includes_point_down(path):
    for other in c_includes(ROOT / "csrc" / path):
        own, its = str(path.parent), str(other.parent)
        assert C_FOLDERS.index(its) <= C_FOLDERS.index(own), f"{path} includes {other}, which is above it"


def test_headers_of_a_folder_include_each_other_in_no_circle():
    includes = {path: c_includes(ROOT / "csrc" / path) for path in C_FILES}
    graph = {path: {other for other in includes[path] if other.parent == path.parent} for path in C_FILES}
    TopologicalSorter(graph).prepare()  # raises CycleError with the files of a circle


def test_csrc_has_folders_with_a_readme_each():
    assert [path.name for path in (ROOT / "csrc").iterdir() if path.is_file()] == ["README.md"]
    assert all((ROOT / "csrc" / folder / "README.md").exists() for folder in C_FOLDERS)


def test_a_folder_is_entered_by_its_own_header():
    """From outside `encode/` only `encode/encode.h` is included; a folder without such a header is a collection."""
    csrc, core = ROOT / "csrc", PACKAGE / "core"
    users = {path: c_includes(csrc / path) for path in C_FILES}
    for path in [*core.glob("*.pyx"), *core.glob("*.pxd")]:
        users[path] = [Path(name) for name in re.findall(r'extern from "([\w/]+/\w+\.h)"', path.read_text("utf-8"))]
    for path, others in users.items():
        for other in others:
            door = other.parent / f"{other.parent.name}.h"
            if path.parent != other.parent and (csrc / door).exists():
                assert other == door, f"{path} includes {other}; from outside its folder include {door}"


#: What is written in only a few places of csrc, and these: folders, or files without their suffix.
ONLY_IN = {
    r"__builtin_|__atomic_": {"base/bits", "base/atomic", "simd", "memory/pages", "threads/monitor"},
    r"#\s*(?:el)?if.*\b(?:_WIN32|__(?:linux|APPLE|x86_64|i386|aarch64|GLIBC|GNUC|clang)_?_?)\b": {
        "base/bits", "base/atomic", "simd", "memory/pages", "threads/monitor", "threads/cpu"
    },
    r"\b(?:malloc|calloc|realloc|free|mmap)\(": {"memory"},
    r"BBPE_ATOMIC_": {"base/atomic", "threads", "encode/shared_cache"},
}


@pytest.mark.parametrize("pattern", ONLY_IN)
def test_it_is_in_few_places(pattern):
    for path in C_FILES:
        found = re.findall(pattern, (ROOT / "csrc" / path).read_text("utf-8"))
        is_allowed = {str(path.with_suffix("")), str(path.parent)} & ONLY_IN[pattern]
        assert is_allowed or not found, f"{path}: {found}"


def test_only_memory_allocates():
    for path in sources(".c", ".h", ".pyx", ".pxd"):
        calls = re.findall(r"\b(?:malloc|calloc|realloc|free)\(", path.read_text("utf-8"))
        assert path.parent == ROOT / "csrc" / "memory" or not calls, f"{path}: {calls}"


def calls_of(objects: dict[Path, Path]) -> dict[Path, set[Path]]:
    """Of the objects of C files the files whose functions each calls, of its own folder and not itself."""
    tables = {}
    for path, built in objects.items():
        rows = subprocess.run(["nm", str(built)], check=True, capture_output=True, text=True).stdout.splitlines()
        tables[path] = [row.split()[-2:] for row in rows]
    home = {name: path for path, rows in tables.items() for kind, name in rows if kind == "T"}
    called = {path: {home.get(name) for kind, name in rows if kind == "U"} for path, rows in tables.items()}
    return {path: {other for other in called[path] - {None} if other.parent == path.parent} for path in objects}


def test_files_of_a_folder_call_each_other_in_no_circle():
    builds = [root for root in ROOT.glob("build/temp*/csrc") if shutil.which("nm")]
    objects = {path: root / path.with_suffix(".o") for root in builds for path in C_FILES if path.suffix == ".c"}
    if not objects or not all(built.exists() for built in objects.values()):
        pytest.skip("there is no nm, or no build of all C files")
    TopologicalSorter(calls_of(objects)).prepare()  # raises CycleError with the files of a circle


def test_the_header_for_callers_of_encoding_stays_short():
    assert len((ROOT / "csrc/encode/encode.h").read_text("utf-8").splitlines()) <= 90


@pytest.mark.parametrize("path", sources(".py", ".pyx", ".pxd", ".c", ".h"), ids=str)
def test_files_stay_small(path):
    text = path.read_text("utf-8")
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)] if path.suffix == ".py" else []
    docstrings = [ast.get_docstring(node, clean=False) or "" for node in nodes]
    lines = len(text.splitlines()) - sum(len(docstring.splitlines()) for docstring in docstrings)
    assert lines <= 420, f"{path}: split it, a concept wants a room"


@pytest.mark.parametrize("path", sources(".py"), ids=str)
def test_functions_stay_small(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            docstring = ast.get_docstring(node, clean=False) or ""
            lines = node.end_lineno - node.lineno + 1 - len(docstring.splitlines())
            assert lines <= 50, f"{path}:{node.lineno} {node.name} has {lines} lines"


def test_core_modules_have_stubs():
    for pyx in (PACKAGE / "core").glob("*.pyx"):
        assert pyx.with_suffix(".pyi").exists(), f"{pyx} has no stub"
