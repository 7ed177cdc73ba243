"""The house rules that a machine can check: layers, sizes, and what only a few places may name."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections import Counter
from graphlib import TopologicalSorter

import house
import pytest
from house import C_FILES, CSRC, MODULES, PACKAGE, ROOT, included, sources

from bbpe.cli import COMMANDS
from bbpe.formats import FORMATS

LAYERS, C_FOLDERS = house.layers(), house.c_folders()
#: Patterns, and the folders of csrc, or files without a suffix, that may have them.
ONLY_IN = {
    r"__builtin_|__atomic_": {"base/bits", "base/atomic", "simd", "memory/pages", "threads/monitor"},
    r"#\s*(?:el)?if.*\b(?:_WIN32|__(?:linux|APPLE|x86_64|i386|aarch64|GLIBC|GNUC|clang)_?_?)\b": {
        "base/bits", "base/atomic", "simd", "memory/pages", "threads/monitor",
    },
    r"\b(?:malloc|calloc|realloc|free|mmap)\(": {"memory"},
    r"BBPE_ATOMIC_": {"base/atomic", "threads", "simd/cpu_level"},
    # a mask of eight or sixteen lanes as a number, which GCC 12 may read from where it wrote less
    r"(?:\w+_t|unsigned|int)\s+\w+ = _mm\d*_\w+_ep[iu](?:32|64)_mask": {"simd"},
    r"_mm\d*_movepi(?:32|64)_mask|_cvtmask(?:8|16)_u32": {"simd"},
}


#: Names of other libraries, which classes here have because they stand for theirs.
OTHERS_NAMES = {
    "ByteLevel", "Decoder", "Encoding", "Metaspace", "Model", "Normalizer", "SentencePieceNormalizer", "Strip",
    "Tokenizer", "WordPiece",
}  # fmt: skip

#: Modules that may have fewer than 80 lines, as globs, and why.
FAMILIES = {
    "__main__.py": "what `python -m bbpe` runs",
    "__init__.py": "the door of a folder",
    **{f"cli/{name}.py": "one file a command" for name in COMMANDS},
    **{f"formats/{name}.py": "one file a format" for name in FORMATS},
    "cli/conversion.py": "one file an action of a command",
    "formats/gguf/characters.py": "one file a model of GGUF",
    "formats/gguf/pieces.py": "one file a model of GGUF",
    "formats/huggingface/*.py": "one file a part of a tokenizer.json",
    "shards/formats/*.py": "one file a format of shards",
    "shards/readers/*.py": "one file a kind of files of ids",
    "loading.py": "a module that users import",
    "ray.py": "a module that users import",
    "sglang.py": "one file a server",
    "vllm.py": "one file a server",
    "tiktoken/*.py": "the modules that tiktoken has",
    "compat/columns.py": "what the folders of several libraries share",
}  # fmt: skip

#: The files beside the folders, which everybody sees first.
AT_THE_TOP = {
    ".gitignore", ".pre-commit-config.yaml", "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "LICENSE",
    "MANIFEST.in", "Makefile", "README.md", "SECURITY.md", "mkdocs.yml", "pyproject.toml", "setup.py",
}  # fmt: skip

#: What messages count, and the folders whose messages are for people.
THINGS = "token|document|record|part|byte|id|time|merge|text|file|line|character|word|thread|row|pretoken"
COUNTING = {"cli", "counting", "report", "shards", "training"}


def test_imports_point_down():
    """To a lower layer, never to another module or folder of the same row but in the last one."""
    wrong = []
    for name, path in MODULES.items():
        own = name.partition(".")[0]
        for other in {other.partition(".")[0] for other in house.imported(path)} - {own}:
            below = LAYERS[other] < LAYERS[own] or LAYERS[own] == 0 == LAYERS[other]
            # the command line asks the package for its public names
            if not below and (own, other) != ("cli", "__init__"):
                wrong.append(f"{name} imports {other}, which is not below it")
    assert wrong == []


def test_nothing_imports_the_reference():
    """The slow definitions judge the product, so the product has no use for them."""
    found = {name: {other.partition(".")[0] for other in house.imported(path)} for name, path in MODULES.items()}
    users = {name for name, others in found.items() if "reference" in others}
    assert {name for name in users if name.partition(".")[0] != "reference"} == set()
    assert "reference.pipeline" in users


def test_imports_form_no_circle():
    TopologicalSorter({name: house.imported(path) & MODULES.keys() for name, path in MODULES.items()}).prepare()


def bare_plurals(source):
    """Numbers in f-strings before a plural, which are "1 tokens" some day; no limits, such as "at most {n} tokens"."""
    for text in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.JoinedStr)):
        before = ""
        for value, after in zip(text.values, [*text.values[1:], None], strict=True):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant):
                call = isinstance(value.value, ast.Call) and getattr(value.value.func, "id", "")
                decimals = value.format_spec is not None and "f" in ast.unparse(value.format_spec)[2:-1]
                is_limit = re.search(r"(?:more|fewer|less) than $|at (?:most|least) $|\d to $", before)
                plural = re.match(rf" (?:(?!several|has)[a-z]+ )?(?:{THINGS})s\b", after.value)
                if plural and not is_limit and call not in ("counted", "shown") and not (decimals or constant(value)):
                    yield value.lineno, ast.unparse(text)
            before = value.value if isinstance(value, ast.Constant) else ""


def constant(value):
    return isinstance(value.value, ast.Name) and value.value.id.strip("_").isupper()


def test_one_thing_is_no_plural():
    names = [name for name in MODULES if name.partition(".")[0] in COUNTING]
    found = {name: plurals for name in names if (plurals := list(bare_plurals(MODULES[name].read_text("utf-8"))))}
    assert found == {}, "expected bbpe.text.counted(number, noun), which knows 1 token"


@pytest.mark.parametrize(
    ("message", "count"),
    [
        ('f"{n} tokens"', 1), ('f"has {len(x):,} unused tokens; {a} and {b:,} bytes"', 2), ('f"{n} of {m} parts"', 1),
        ('f"at most {n} tokens"', 0), ('f"{n:.1f} bytes"', 0), ('f"{counted(n, 1)} of parts"', 0), ('f"{_N} ids"', 0),
    ],
)  # fmt: skip
def test_bare_plurals_are_found(message, count):
    assert len(list(bare_plurals(message))) == count


def test_the_hall_is_small():
    assert len(list(PACKAGE.glob("*.py"))) <= 17


def test_a_small_module_is_of_a_family():
    """A concept of few lines has its room in the module that it belongs to."""
    small = {name: path for name, path in MODULES.items() if len(path.read_text("utf-8").splitlines()) < 80}
    places = {name: path.relative_to(PACKAGE) for name, path in small.items()}
    others = {name for name, place in places.items() if not any(map(place.match, FAMILIES))}
    assert others == set(), "join them to a neighbour: to split a file is not to simplify it"


def test_no_two_classes_have_one_name():
    paths = [path for path in sources(".py", ".pyx") if PACKAGE in path.parents]
    found = Counter(re.findall(r"^(?:cdef )?class (\w+)", "\n".join(path.read_text("utf-8") for path in paths), re.M))
    assert {name for name, count in found.items() if count > 1} <= OTHERS_NAMES


def test_a_tokenizer_is_used_by_its_parts():
    """The other private names of a `Tokenizer` are its own."""
    pattern = re.compile(r"\btokenizer\._(?!_|parts\b|tokenizer\b)\w+")  # the last one is of transformers
    found = {name: pattern.findall(path.read_text("utf-8")) for name, path in MODULES.items()}
    assert {name: private for name, private in found.items() if private} == {}, "use these by _parts"


def test_what_is_of_one_library_is_in_its_folder():
    assert {path.name for path in (PACKAGE / "compat").glob("*.py")} <= {"__init__.py", "classic.py", "columns.py"}


def test_includes_point_down():
    pairs = [(path, other) for path in C_FILES for other in included(CSRC / path)]
    level = C_FOLDERS.index
    wrong = [(path, other) for path, other in pairs if level(str(other.parent)) > level(str(path.parent))]
    assert wrong == [], "the first of each pair includes the other, which is above it"


def test_headers_of_a_folder_include_each_other_in_no_circle():
    folder = {path: {other for other in included(CSRC / path) if other.parent == path.parent} for path in C_FILES}
    TopologicalSorter(folder).prepare()


def test_csrc_has_folders_with_a_readme_each():
    assert [path.name for path in CSRC.iterdir() if path.is_file()] == ["README.md"]
    assert all((CSRC / path.parent / "README.md").exists() for path in C_FILES)


def test_a_folder_is_entered_by_its_own_header():
    """From outside `encode/` only `encode/encode.h` is included; a folder without such a header is a collection."""
    wrong = []
    for path in [*(CSRC / path for path in C_FILES), *sources(".pyx", ".pxd")]:
        for other in included(path):
            door = other.parent / f"{other.parent.name}.h"
            if path.parent != CSRC / other.parent and (CSRC / door).exists() and other != door:
                wrong.append(f"{path} includes {other}; from outside its folder include {door}")
    assert wrong == []


def test_a_header_for_callers_is_short():
    for path in C_FILES:
        if path.name == f"{path.parent.name}.h":
            assert len((CSRC / path).read_text("utf-8").splitlines()) <= 90, path


@pytest.mark.parametrize("pattern", ONLY_IN)
def test_it_is_in_few_places(pattern):
    for path in C_FILES:
        found = re.findall(pattern, (CSRC / path).read_text("utf-8"))
        assert not found or {str(path.with_suffix("")), str(path.parent)} & ONLY_IN[pattern], f"{path}: {found}"


def test_only_memory_allocates():
    for path in sources(".c", ".h", ".pyx", ".pxd"):
        calls = re.findall(r"\b(?:malloc|calloc|realloc|free)\(", path.read_text("utf-8"))
        may = path.parent == CSRC / "memory" or path.name == "failing_malloc.c"  # the allocator of a test
        assert may or not calls, f"{path}: {calls}"


def test_files_of_a_folder_call_each_other_in_no_circle():
    builds = [root for root in ROOT.glob("build/temp*/csrc") if shutil.which("nm")]
    objects = {path: root / path.with_suffix(".o") for root in builds for path in C_FILES if path.suffix == ".c"}
    if not objects or not all(built.exists() for built in objects.values()):
        pytest.skip("there is no nm, or no build of all C files")
    TopologicalSorter(house.c_calls(objects)).prepare()


def test_files_stay_small():
    most = {PACKAGE / "tokenizer.py": 505}  # one class, the only public one, and the types of its views
    paths = sources(".py", ".pyx", ".pxd", ".c", ".h")
    # docstrings do not count; few files are too long with them
    long = [path for path in paths if len(path.read_text("utf-8").splitlines()) > most.get(path, 420)]
    large = [str(path) for path in long if house.lines_without_docstrings(path) > most.get(path, 420)]
    assert large == [], "split them: one concept, one file"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a checkout: git says what ships")
def test_no_stray_file_ships():
    """What a shell or a compiler leaves at the top is no part of the project."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {path for path in listed.split("\n") if path and "/" not in path} == AT_THE_TOP


def test_functions_stay_small():
    large = []
    for path in sources(".py"):
        for node in house.statements(path):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1 - house.docstring_lines(node)
                large += [f"{path}:{node.lineno} {node.name} has {lines} lines"] if lines > 45 else []
    assert large == []


def test_core_modules_have_stubs():
    assert all(pyx.with_suffix(".pyi").exists() for pyx in (PACKAGE / "core").glob("*.pyx"))


def test_no_sum_has_an_effect_on_its_own_name():
    """`a += f()` reads `a` first; if `f` changes `a`, the change is lost."""
    found = [(path, node) for path in MODULES.values() for node in house.written_while_read(house.statements(path))]
    wrong = [f"{path}:{node.lineno}: {ast.unparse(node)}; call first, then add" for path, node in found]
    assert wrong == []


def test_a_sum_with_an_effect_on_its_own_name_is_found():
    methods = "def byte(self): self.at += 1\n  def number(self): return self.byte()\n  def bad(self): self.at += "
    for value, count in {"self.number()": 1, "1 if self.done else self.byte()": 1, "self.done": 0}.items():
        assert len(house.written_while_read([*ast.parse(f"class Reader:\n  {methods}{value}").body])) == count
