"""Every example in the documentation runs."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pkgutil
import re
import subprocess
import sys
import textwrap
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from processes import package_env

import bbpe

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
MODULES = [module.name for module in pkgutil.walk_packages(bbpe.__path__, "bbpe.") if module.name != "bbpe.__main__"]
EXAMPLES = ROOT / "examples"
#: What only some examples need: libraries that they compare with, and those whose columns and data frames they encode.
OPTIONAL = {"tiktoken", "tokenizers", "sentencepiece", "gigatoken", "google", "transformers"}
OPTIONAL |= {"langchain_text_splitters", "llama_index", "pyarrow", "polars", "duckdb", "datasets", "ray", "pyspark"}
OPTIONAL |= {"torch", "trl", "fastapi", "vllm", "sglang"}
#: The package of the test extra that carries the vocabulary which examples ask for by name.
CARRIER = "bpe_openai"


#: An example, and the text that stands directly under it, in tabs too.
EXAMPLE = re.compile(r"^( *)```python\n(.*?)^\1```\n(?:\n?\1```text\n(.*?)^\1```)?", re.DOTALL | re.MULTILINE)


def examples_of(page: Path) -> list[tuple[str, str]]:
    """The Python examples of a page, and what each of them prints."""
    found = EXAMPLE.findall(page.read_text("utf-8"))
    return [(textwrap.dedent(block), textwrap.dedent(printed)) for _, block, printed in found]


def blocks_of(page: Path) -> list[str]:
    """The Python examples of a page."""
    return [block for block, _ in examples_of(page)]


def missing(block: str) -> set[str]:
    """The optional packages that a block imports and that are not there."""
    names = set()
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
        elif isinstance(node, ast.Attribute) and node.attr == "get_encoding":
            names.add(CARRIER)
    return {name for name in names & {*OPTIONAL, CARRIER} if find_spec(name) is None}


@pytest.mark.parametrize("name", ["bbpe", *MODULES])
def test_docstrings(name: str) -> None:
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"bbpe": bbpe})
    assert failed == 0


@pytest.mark.filterwarnings("ignore::DeprecationWarning:(ray|pyspark)")
@pytest.mark.filterwarnings("ignore::FutureWarning:(ray|pyspark|transformers)")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)], ids=lambda page: page.name)
def test_pages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after another and share what they define; without a peer, its part is left out.

    What a block prints is the text under it.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    # tiktoken keeps copies of files by the path that is given, and would read those of an earlier state of a page
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
    space: dict[str, Any] = {}
    absent: set[str] = set()
    for number, (block, printed) in enumerate(examples_of(page), 1):
        absent |= missing(block)
        if not missing(block) | absent & {name for name in OPTIONAL if re.search(rf"\b{name}\b", block)}:
            with redirect_stdout(StringIO()) as shown:
                exec(compile(block, f"{page.name}, example {number}", "exec"), space)
            assert shown.getvalue() == printed, f"{page.name}, example {number}: the text under it is what it prints"


def run_example(name: str, *arguments: object) -> str:
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    environment = package_env()
    found = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A corpus, and a tokenizer that the first example trained on it."""
    folder = tmp_path_factory.mktemp("examples")
    corpus, path = folder / "corpus", folder / "tok.json"
    corpus.mkdir()
    (corpus / "a.txt").write_text("see my eyes first\nsee my dogs\n" * 10)
    (corpus / "b.txt").write_text("my dogs see me\n")
    assert "2 documents" in run_example("train_on_files.py", corpus, path, 280)
    return corpus, path


def test_example_encodes_a_corpus(trained: tuple[Path, Path], tmp_path: Path) -> None:
    corpus, path = trained
    assert "2 documents" in run_example("encode_corpus.py", path, corpus, tmp_path / "out")
    ids, offsets = np.load(tmp_path / "out.ids.npy"), np.load(tmp_path / "out.offsets.npy")
    tok = bbpe.load(path)
    assert ids.dtype == np.uint16
    second = ids[offsets[1] : offsets[2]]
    assert tok.decode(second) == "my dogs see me\n<|endoftext|>"


def test_example_decodes_a_stream(trained: tuple[Path, Path]) -> None:
    assert run_example("stream_decode.py", trained[1], "see 東京 dogs") == "see 東京 dogs\n"


def test_example_compares_tokenizers(trained: tuple[Path, Path]) -> None:
    corpus, path = trained
    printed = run_example("compare_tokenizers.py", path, path, corpus / "a.txt")
    assert "bytes per token" in printed
    assert "'Ġeyes'" in printed


def test_example_makes_padded_batches(trained: tuple[Path, Path]) -> None:
    corpus, path = trained
    lines = run_example("padded_batches.py", path, corpus).splitlines()
    assert len(lines) == 2 * 3  # 21 lines in batches of 8, twice
    assert lines[0].startswith("epoch 0: ids (8, ")


def test_example_patches_what_a_server_loads() -> None:
    pytest.importorskip("tokenizers")
    if find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    assert run_example("serve_patched.py", "platform").strip()


def test_example_streams_from_a_server(trained: tuple[Path, Path]) -> None:
    for name in ("fastapi", "httpx"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    lines = run_example("fastapi_stream.py", trained[1], "see 東京 dogs, my dogs", "\n", "dogs", "東").split("\n\n")
    events = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert "".join(event["text"] for event in events[:-1]) == "see "
    assert events[-1]["stopped"] == "東"
    assert all(line.startswith("data: ") for line in lines[:-1])
    assert lines[-1] == ""


def test_a_server_counts_and_stops(trained: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fastapi", "httpx"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed")
    from fastapi.testclient import TestClient

    monkeypatch.syspath_prepend(str(EXAMPLES))
    client = TestClient(importlib.import_module("fastapi_stream").server(bbpe.load(trained[1])))
    for stop, text in (([], "see my dogs"), (["my dogs"], "see "), (["x", "dog"], "see my ")):
        assert client.get("/text", params={"prompt": "see my dogs", "stop": stop}).text == text
    chat = [{"role": "user", "content": "see my dogs"}]
    counted = client.post("/count", json={"messages": chat, "model": "gpt-4o"})
    assert counted.json() == bbpe.load(trained[1]).count_messages(chat, model="gpt-4o")
    refused = client.post("/count", json={"messages": [{"role": "user", "content": 5}], "model": "gpt-4o"})
    assert (refused.status_code, "messages[0].content is int 5" in refused.text) == (422, True)


def test_every_example_is_run() -> None:
    source = Path(__file__).read_text("utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'run_example("{path.name}"' in source
        assert f"({path.name})" in (EXAMPLES / "README.md").read_text("utf-8")


def test_the_citation_has_the_version() -> None:
    assert f"\nversion: {bbpe.__version__}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", EXAMPLES / "README.md"], ids=lambda page: page.name)
def test_every_fence_names_its_language(page: Path) -> None:
    """A page without colours reads worse; `py` is Python that does not run by itself."""
    fences = re.findall(r"^ *```(.*)$", page.read_text("utf-8"), re.MULTILINE)
    assert len(fences) % 2 == 0
    assert set(fences[0::2]) <= {"python", "py", "text", "bash", "json", "toml", "yaml"}, "a language is missing"
    assert set(fences[1::2]) <= {""}


#: The most characters of a line that the column of the site shows at 1300 pixels.
COLUMN = 88


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_fits_into_the_column(page: Path) -> None:
    """The site wraps long lines of output, but neither those of code nor those of output with columns."""
    fences = re.findall(r"^( *)```(\w+)\n(.*?)^\1```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = [(lang, line.removeprefix(indent)) for indent, lang, code in fences for line in code.splitlines()]
    wide = [line for lang, line in lines if len(line) > COLUMN and (lang != "text" or re.search(r"\S {2,}\S", line))]
    assert wide == [], "divide the line"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_table_has_a_head(page: Path) -> None:
    """A blank line ends a table, and rows after it are shown as text with bars."""
    text = re.sub(r"^( *)```.*?^\1```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    tables = re.findall(r"(?:^ *\|.*\n?)+", text, re.MULTILINE)
    assert [table[:60] for table in tables if not re.match(r" *\|.*\n *\|(?: ?:?-+:? ?\|)+(?:\n|$)", table)] == []


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "changelog.md"], ids=lambda page: page.name)
def test_every_page_begins_with_what_it_is_for(page: Path) -> None:
    """A sentence under the title: no table, no code, no further heading."""
    text = re.sub(r"\A---\n.*?\n---\n", "", page.read_text("utf-8"), flags=re.DOTALL).strip()
    title, _, rest = text.partition("\n")
    assert re.fullmatch(r"# \S.*", title)
    assert re.match(r"[\w`*\[(]", rest.lstrip()), rest.lstrip()[:40]


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").split()) < 900


def test_the_readme_and_the_guides_have_examples() -> None:
    assert {page.name for page in PAGES if blocks_of(page)} >= {
        "README.md",
        "index.md",
        "training.md",
        "encoding.md",
        "migrating.md",
        "formats.md",
    }


def test_the_site_leads_to_every_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = set(re.findall(r": ([\w/-]+\.md)$", nav, flags=re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.name != "README.md"}
    made = {f"course/{path.stem}.md" for path in (EXAMPLES / "course").glob("*.ipynb")} | {"reference/index.md"}
    assert listed == pages | made  # docs/extensions/hooks.py makes pages when the site is built


def test_the_reference_has_every_public_name() -> None:
    """An entry `::: bbpe.NAME` of a page under docs/reference for every public name and every method of `Tokenizer`."""
    pages = "".join(page.read_text("utf-8") for page in (ROOT / "docs" / "reference").glob("*.md"))
    entries = set(re.findall(r"^::: bbpe\.([\w.]+)$", pages, flags=re.MULTILINE))
    methods = {f"Tokenizer.{name}" for name in dir(bbpe.Tokenizer) if not name.startswith("_")}
    expected = {name for name in bbpe.__all__ if not name.endswith("Error")} | methods | {"errors", "tiktoken.Encoding"}
    assert expected - entries == set(), "add an entry to a page under docs/reference"


def test_each_place_for_a_newcomer_is_guarded() -> None:
    """Each row of the tables of CONTRIBUTING.md names tests, or files of them, that are there."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    section = page.partition("\n## Where a newcomer looks\n")[2].partition("\n## ")[0]
    cells = [re.split(r"(?<!\\)\|", line) for line in section.splitlines() if line.startswith("| ")]
    guards = {row[1].strip(): row[3] for row in cells if not row[3].startswith(" guarded by")}
    assert len(guards) > 35
    for question, named in guards.items():
        tests = re.findall(r"`([\w/]+\.(?:py|c))?(?:::(\w+))?`", named)
        assert tests, question
        path = ""
        for file, name in tests:
            path = file or path
            source = (ROOT / "tests" / path).read_text("utf-8")
            assert not name or f"def {name}(" in source, (question, path, name)


def test_files_that_the_guide_for_contributors_names_are_there() -> None:
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    named = re.findall(r"`((?:bbpe|csrc|tests|docs|benchmarks)/[\w/.]+)`", page)
    assert len(named) > 80
    assert [name for name in named if not (ROOT / name).exists()] == []
