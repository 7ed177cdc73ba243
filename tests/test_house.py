"""The house rules that a machine can check: layers, sizes, and what no file may name."""

import ast
import re
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
C_LAYERS = [
    {"common"},
    {"cpu", "pages", "atomic", "target", "id_array", "hash", "utf8", "symbols", "uclass_table", "base64", "bert_table"}
    | {"ends", "places", "vector_avx2", "vector_avx512", "vector_neon"},
    {"memory"},
    {"room", "uclass", "pair_table", "merge_table", "pretoken_table", "token_bytes", "heap", "cache", "transcode"}
    | {"offsets", "bert", "monitor"}
    | {"segments", "token_strings", "neighbours", "positions", "pair_counts", "count_table"},
    {"count_sum", "steps", "tasks"}
    | {"split_scheme", "split_words", "bpe", "cut_points", "trie", "vocab", "rank_file", "train", "substrings"},
    {"parts", "split_token", "split", "cut_units", "transcode_loop", "token_text", "train_find", "train_merge"}
    | {"bpe_merge", "bpe_lanes", "bpe_match", "bpe_settle"}
    | {"model", "wordpiece", "charsmap", "charsmap_keys", "train_words"}
    | {"unigram", "unigram_train", "unigram_words", "unigram_ways"},
    {"split_words_masks", "split_class_masks", "split_masks", "split_fill", "split_cut"}
    | {"encode", "encode_stage", "word_bpe"},
    {"split_scalar", "split_avx2", "split_avx512", "split_neon", "encode_unit", "encode_seed", "encode_text"}
    | {"encode_stage_avx2", "encode_stage_avx512", "cut_units_blocks"},
    {"encode_batch", "encode_parts", "encode_pending", "bpe_lanes_avx2", "bpe_lanes_avx512"}
    | {"cut_units_avx2", "cut_units_avx512"},
    {"transcode_scalar", "transcode_sse2", "transcode_avx2", "transcode_avx512"},
]


def level(name: str, layers: list[set[str]]) -> int:
    return next(index for index, layer in enumerate(layers) if name in layer)


def sources(*suffixes: str) -> list[Path]:
    found = [path for folder in ("bbpe", "csrc", "tests", "benchmarks") for path in (ROOT / folder).rglob("*")]
    generated = {PACKAGE / "core" / f"{pyx.stem}.c" for pyx in (PACKAGE / "core").glob("*.pyx")}
    generated.add(PACKAGE / "core" / "_cyutility.c")
    generated |= {ROOT / "csrc" / "uclass_table.h", ROOT / "csrc" / "bert_table.h"}
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


@pytest.mark.parametrize("path", [path for path in sources(".c", ".h") if "csrc" in path.parts], ids=str)
def test_includes_point_down(path):
    for other in re.findall(r'#include "(\w+)\.h"', path.read_text("utf-8")):
        assert level(other, C_LAYERS) <= level(path.stem, C_LAYERS), f"{path} includes {other}, which is above it"


def test_only_memory_allocates():
    for path in sources(".c", ".h", ".pyx", ".pxd"):
        calls = re.findall(r"\b(?:malloc|calloc|realloc|free)\(", path.read_text("utf-8"))
        assert path.name == "memory.h" or not calls, f"{path}: {calls}"


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
