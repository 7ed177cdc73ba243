"""What `import bbpe` costs, and that public names are where the package says."""

from __future__ import annotations

import ast
import json
import re
import resource
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest
from charsmap_tables import compiled_table
from house import MODULES
from small_hf import KINDS

import bbpe
from bbpe.cli import COMMANDS

#: Calls that need neither numpy nor regex, one after the other, and the libraries that each imported.
WITHOUT_LIBRARIES = """
import sys
import bbpe
path = sys.argv[1]
tok = None
def load():
    global tok
    tok = bbpe.load(path)
calls = {
    "import": lambda: None,
    "load": load,
    "encode": lambda: tok.encode("some words in a row"),
    "bytes": lambda: tok.encode(b"some words, \\xff"),
    "long": lambda: tok.encode("some words in a row, " * 4000),
    "count_tokens": lambda: tok.count_tokens("some words in a row"),
    "decode": lambda: tok.decode(tok.encode("some words in a row")),
}
for name, call in calls.items():
    call()
    print(name, *({"numpy", "regex"} & sys.modules.keys()))
"""

#: The help of each command, and the libraries and the commands that are imported by then.
HELP = """
import sys
from bbpe.cli import COMMANDS, main
for command in ("", *COMMANDS):
    print(file=sys.stderr)
    try:
        main([command, "--help"] if command else ["--help"])
    except SystemExit as end:
        assert end.code == 0
    known = {"numpy", "regex", "concurrent.futures", *(f"bbpe.cli.{name}" for name in COMMANDS)}
    print(command or "bbpe", *sorted(known & sys.modules.keys()), file=sys.stderr, end="")
"""

#: Each first call, and what it imported that is not of this package.
FIRST_CALLS = """
import sys
import concurrent.futures.thread, numpy  # as a program with threads and arrays has them
import bbpe
tok = bbpe.load(sys.argv[1])
text = "some words in a row, " * 60_000
texts = [text, text[:50], "", text]
calls = {
    "encode": lambda: tok.encode(text),
    "encode_to_numpy": lambda: tok.encode_to_numpy(text, threads=2),
    "encode_batch": lambda: tok.encode_batch(texts, threads=2),
    "encode_batch_to_numpy": lambda: tok.encode_batch_to_numpy(texts, threads=2),
    "count_tokens_batch": lambda: tok.count_tokens_batch(texts, threads=2),
    "decode": lambda: tok.decode(ids),
    "decode_batch": lambda: tok.decode_batch([ids, ids[:9]], threads=2),
}
for name, call in calls.items():
    before = set(sys.modules)
    ids = call()
    print(name, *(module for module in sys.modules.keys() - before if not module.startswith("bbpe.")))
    ids = tok.encode(text)
"""


def fresh(code: str, *args: str) -> str:
    return subprocess.run([sys.executable, "-c", code, *args], check=True, capture_output=True, text=True).stdout


def cpu_seconds(*command: str) -> float:
    """The CPU time of a process of Python; the least of three, as the machine may be busy."""
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *command], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def test_importing_is_quick() -> None:
    """Of other packages, and of the standard library, almost nothing is imported."""
    code = "import sys; before = set(sys.modules); import bbpe; print(*sorted(set(sys.modules) - before))"
    new = {name.partition(".")[0] for name in fresh(code).split()}
    # each of these may be there already: a package's .pth file may have imported it
    assert new <= {"bbpe", "atexit", "collections", "contextlib", "encodings", "functools", "typing", "_typing"}


def test_importing_imports_no_room() -> None:
    rooms = fresh("import sys, bbpe; print(*sorted(name for name in sys.modules if name.startswith('bbpe.')))")
    # the registry of views alone
    assert rooms.split() == ["bbpe.lazy"]


def test_loading_leaves_training_alone() -> None:
    code = "import sys, bbpe; bbpe.load; print(*sorted(name for name in sys.modules if name.startswith('bbpe.')))"
    rooms = set(fresh(code).split())
    assert "bbpe.tokenizer" in rooms
    assert not rooms & {"bbpe.training.train", "bbpe.counting.count", "bbpe.counting.spill", "bbpe.compat.classic"}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A vocabulary with a known pattern."""
    path = tmp_path_factory.mktemp("import") / "tokenizer.tiktoken"
    bbpe.train_from_iterator(["some words in a row"], 270, pattern="cl100k").save(path, drop=["pattern"])
    return str(path)


def test_a_file_needs_no_table_of_published_names(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    bbpe.train_from_iterator(["some words in a row"], 270).save(path)
    code = "import sys, bbpe; bbpe.load(sys.argv[1]).encode('some words'); print(*sys.modules)"
    rooms = set(fresh(code, str(path)).split())
    assert "bbpe.loading" in rooms
    assert not [name for name in rooms if name.startswith(("bbpe.published", "bbpe.encodings", "pkgutil"))]


def test_the_first_lists_need_neither_numpy_nor_regex(vocabulary: str) -> None:
    lines = fresh(WITHOUT_LIBRARIES.replace("load(path)", "load(path, pattern='cl100k')"), vocabulary).splitlines()
    assert len(lines) == 7
    assert [line for line in lines if len(line.split()) > 1] == []


def test_no_kind_of_vocabulary_needs_numpy_for_lists(tmp_path: Path) -> None:
    """Loading and calls with texts and lists alone, in one process; rules, regexes and tables of normalizers too."""
    pytest.importorskip("tokenizers")
    paths = []
    for name, make in KINDS.items():
        paths.append(str(tmp_path / f"{name}.json"))
        make().save(paths[-1])
    document = json.loads(Path(paths[[*KINDS].index("unigram")]).read_text("utf-8"))
    table = b64encode(compiled_table({"\ufb01": "fi"})).decode()
    rules = [{"type": "Precompiled", "precompiled_charsmap": table}]
    rules.append({"type": "Replace", "pattern": {"Regex": r"\p{N}{2,}(?=\s)"}, "content": "0"})
    document["normalizer"] = {"type": "Sequence", "normalizers": rules}
    paths.append(str(tmp_path / "rules.json"))
    Path(paths[-1]).write_text(json.dumps(document), "utf-8")
    code = "import sys, bbpe\nfor path in sys.argv[1:]:\n    tok = bbpe.load(path, cache=False)\n"
    code += "    tok.decode(tok.encode('some words 12 ')), tok.encode_batch(['a', 'b']), tok.count_tokens('a')\n"
    code += "    print(path.rpartition('/')[2], 'numpy' in sys.modules)"
    assert fresh(code, *paths).splitlines() == [f"{Path(path).name} False" for path in paths]


#: Trainings on files and texts, whose vocabulary is saved and used, and whether NumPy is imported by then.
TRAININGS = """
import sys
import bbpe
folder = sys.argv[1]
lines = bbpe.Counting(document="line", threads=2)
calls = {
    "file": lambda: bbpe.train(folder + "/a.txt", 300),
    "folder": lambda: bbpe.train(folder, 300, special_tokens=["<|end|>"], counting=lines),
    "iterator": lambda: bbpe.train_from_iterator(["low lower", "lowest"], 260),
    "lists": lambda: bbpe.train_from_iterator(["low lower" * 99] * 20, 260, special_tokens=["low"]),
    "counts": lambda: bbpe.train_from_counts(bbpe.count(folder, pattern="cl100k", special_tokens=["<|end|>"]), 300),
}
for name, call in calls.items():
    tok = call()
    tok.save(sys.argv[2]), tok.decode(tok.encode("low lower"))
    print(name, len(tok), "numpy" in sys.modules)
"""


def test_training_on_texts_needs_no_numpy(tmp_path: Path) -> None:
    # large enough for two threads, whose tables are added up
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_text("some words in a row, and numbers 123 <|end|>\n" * 100_000)
    lines = fresh(TRAININGS, str(folder), str(tmp_path / "made.json")).splitlines()
    assert [line.split()[::2] for line in lines] == [
        [name, "False"] for name in ("file", "folder", "iterator", "lists", "counts")
    ]


def test_counting_on_the_command_line_needs_neither_numpy_nor_regex(vocabulary: str, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("some words in a row, " * 1000)
    code = "import sys; from bbpe.cli import main; main(sys.argv[1:]); print(*{'numpy', 'regex'} & sys.modules.keys())"
    arguments = ("tokens", "-t", vocabulary, "--pattern", "cl100k", str(tmp_path / "text.txt"))
    assert fresh(code, *arguments).endswith(".txt\n\n")


def test_help_imports_each_command_alone() -> None:
    done = subprocess.run([sys.executable, "-c", HELP], check=True, capture_output=True, text=True)
    expected: dict[str, set[str]] = {"bbpe": set()}
    for name in COMMANDS:
        expected[name] = {*expected[[*expected][-1]], f"bbpe.cli.{name}"}
    found = {name: set(modules) for name, *modules in map(str.split, done.stderr.strip().splitlines())}
    # `bench` starts processes
    assert {name: modules - {"concurrent.futures"} for name, modules in found.items()} == expected


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_options_of_the_command_line_take_little_time(option: str) -> None:
    assert cpu_seconds("-m", "bbpe", option) <= 4 * cpu_seconds("-c", "pass")


def test_first_calls_import_no_other_library(tmp_path: Path) -> None:
    """Not even parts of numpy that it imports when they are asked for, for 10 ms."""
    path = tmp_path / "tokenizer.json"
    bbpe.train_from_iterator(["some words in a row"], 270, pattern="cl100k").save(path)
    called = [line.split() for line in fresh(FIRST_CALLS, str(path)).splitlines()]
    assert len(called) == 7
    assert [line for line in called if len(line) > 1] == []


@pytest.mark.parametrize("name", bbpe.__all__)
def test_names_are_there(name: str) -> None:
    assert getattr(bbpe, name) is not None
    assert name in dir(bbpe)


@pytest.mark.parametrize("name", ["ray", "reference", "sglang", "tiktoken", "vllm"])
def test_public_modules_are_there_without_an_import(name: str) -> None:
    assert name in dir(bbpe)
    assert fresh(f"import bbpe\nprint(bbpe.{name}.__name__)") == f"bbpe.{name}\n"


def test_nothing_but_public_names_is_listed() -> None:
    private = {"Any", "Callable", "TYPE_CHECKING", "attrgetter", "os", "sys", "VIEWS"}
    assert private & set(dir(bbpe)) == set()
    assert {name for name in dir(bbpe) if name.startswith("_")} == {"__version__"}


def test_the_tour_names_what_is_there() -> None:
    """`help(bbpe)` begins with it."""
    named = re.findall(r"`(tok\.)?(\w+)", bbpe.__doc__ or "")
    assert len(named) > 40
    missing = [name for method, name in named if not hasattr(bbpe.Tokenizer if method else bbpe, name)]
    # methods after the first of a line stand without `tok.`
    assert [name for name in missing if not hasattr(bbpe.Tokenizer, name) and name != "bbpe"] == []
    assert len((bbpe.__doc__ or "").splitlines()) <= 25


def test_the_table_has_all_names() -> None:
    assert sorted(bbpe._MODULE_OF) == sorted(bbpe.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trian'"):
        bbpe.trian  # noqa: B018


def test_importing_compiles_no_regex():
    """`lazy_re` and `lazy_regex` compile one when it is first used."""
    for name, path in MODULES.items():
        waiting = list(ast.parse(path.read_text("utf-8")).body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                waiting += node.decorator_list if hasattr(node, "decorator_list") else []
                continue
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in ("re.compile", "regex.compile"), f"{name}:{node.lineno} compiles a regex"
            waiting += ast.iter_child_nodes(node)


def test_packages_that_are_not_there() -> None:
    code = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(('jinja2', 'transformers', 'tokenizers')))\n"
        "import bbpe\n"
        "tok = bbpe.train_from_iterator(['a'], 256)\n"
        "given = {'messages': [{'role': 'user', 'content': 'a'}], 'chat_template': '{{ a }}'}\n"
        "chats = (lambda: tok.apply_chat_template(**given), lambda: tok.encode_chat(**given))\n"
        "for call in (*chats, bbpe.patch_transformers):\n"
        "    try: call()\n"
        "    except ImportError as error: print('pip install' in str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "True\n" * 3
