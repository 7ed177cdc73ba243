"""The site: it builds without a warning, its pages show all of the reference, and its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest
from browser import PATH, Browser

import bbpe

ROOT = Path(__file__).resolve().parent.parent
NEEDED = ("mkdocs", "material", "mkdocstrings", "griffe")

pytestmark = pytest.mark.skipif(
    any(find_spec(name) is None for name in NEEDED), reason="needs the packages of the group docs"
)

#: Tags that our pages may have. `<s>`, `<unk>` or `<pad>` would be a token that Markdown has taken for HTML.
TAGS = set(
    "a article aside b br button code dd del details div dl dt em form h1 h2 h3 h4 h5 h6 hr i img input kbd label li "
    "mark nav ol p path picture pre section small source span strong sub summary sup svg table tbody td th thead tr "
    "ul".split()
)


SVG = set("circle g rect style text title".split())


class Page(HTMLParser):
    """The text, tags, ids and links of a page; those of its content alone where this matters."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self._inside = 0
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := named.get(name))}
        self.links += [value for name in ("href", "src", "srcset") if (value := named.get(name))]
        self._inside += tag == "article"
        if self._inside:
            self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        self._inside -= tag == "article"

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.text += data


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build; a warning is an error."""
    options = ["--strict", "--config-file", str(config), "--site-dir", str(site)]
    command = [sys.executable, "-m", "mkdocs", "build", *options]
    paths = os.pathsep.join([str(config.parent), str(ROOT)])
    return subprocess.run(command, capture_output=True, encoding="utf-8", env={**os.environ, "PYTHONPATH": paths})


def leads_nowhere(page: Page, pages: dict[Path, Page], site: Path) -> list[str]:
    """Return the links of a page to files or anchors that are not there."""
    dead = []
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link.startswith("data:") or page.path.name == "404.html":
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        target = target / "index.html" if target.is_dir() else target
        anchors = pages[target].ids if target in pages else set()
        if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors | {"__skip"}):
            dead.append(f"{page.path.relative_to(site)}: {link}")
    return dead


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    given = pytestconfig.getoption("site")
    site = Path(given or tmp_path_factory.mktemp("built") / "site").resolve()
    built = build(ROOT / "mkdocs.yml", site)
    assert built.returncode == 0, built.stderr
    return site


def test_the_site(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html")}
    reference = [page for path, page in pages.items() if path.is_relative_to(site / "reference")]

    rendered = {name for page in reference for name in page.ids}
    methods = {f"Tokenizer.{name}" for name in dir(bbpe.Tokenizer) if not name.startswith("_")}
    errors = {f"errors.{name}" for name in bbpe.__all__ if name.endswith("Error")}
    names = {name for name in bbpe.__all__ if not name.endswith("Error")} | methods | errors
    assert {f"bbpe.{name}" for name in names} - rendered == set()

    # a doctest that is no code is a nest of quotations; a token that is no code is a tag that nobody knows
    assert [page.path for page in reference if "blockquote" in page.tags] == []
    # pages of the course have pictures in them
    tags = [page.tags if "course" not in path.parts else set(page.tags) - SVG for path, page in pages.items()]
    assert {tag for each in tags for tag in each} - TAGS - {"blockquote"} == set()
    text = " ".join(page.text for page in reference)
    assert "<|endoftext|>" in text
    assert '"<s>"' in text
    assert ">>> tok.encode(" in text
    assert "doctest: +SKIP" not in text

    # the pages that are made when the site is built
    for path in sorted((ROOT / "examples" / "course").glob("*.ipynb")):
        chapter = pages[site / "course" / path.stem / "index.html"]
        assert "Exercise." in chapter.text
        assert ("text" in chapter.tags) == (path.stem in {"2_bpe", "4_unigram"})  # a trace is a picture
    index = pages[site / "reference" / "index.html"]
    linked = {re.sub(r"^.*#bbpe\.(?:errors\.)?", "", link) for link in index.links}
    assert {name.removeprefix("errors.") for name in names} <= linked
    assert "name the field with the text by text_field=" in pages[site / "errors" / "index.html"].text
    guide = (site / "llms.txt").read_text("utf-8")
    assert guide.startswith(f"# bbpe {bbpe.__version__}\n\n> ")
    listed = re.findall(r"^- \[[^]]+\]\(([^)]+)\): [A-Z`*].{10}", guide, re.MULTILINE)
    assert all((site / link).is_dir() for link in listed)
    # all but the changelog say what they are for
    assert len(listed) == (ROOT / "mkdocs.yml").read_text("utf-8").count(".md\n") - 1
    assert "- [Training](training): Train a tokenizer on your own texts" in guide

    narrow = {path.name for path in (ROOT / "docs").glob("*-narrow.svg")}
    assert len(narrow) == 4
    assert narrow == {Path(link).name for page in pages.values() for link in page.links} & narrow

    assert [dead for page in pages.values() for dead in leads_nowhere(page, pages, site)] == []


#: What people ask, and the pages that answer it.
QUESTIONS = {
    "count tokens chat": ("chats/", "faq/"),
    "detokenize": ("faq/", "encoding/"),
    "stop strings": ("encoding/", "chats/"),
    "split document into chunks": ("faq/", "encoding/"),
    "pad token": ("faq/", "encoding/"),
    "gpt-4o": ("faq/",),
    "offline": ("faq/",),
    "speed up hugging face": ("migrating/",),
    "out of memory": ("errors/", "faq/"),
    "tool_calls": ("chats/",),
}
_TYPE = """(() => {
    const input = document.querySelector("[data-md-component=search-query]");
    // a result of the question before would be taken for its own
    if (input.value !== QUESTION) document.querySelectorAll(".md-search-result__item").forEach(each => each.remove());
    input.focus();
    input.value = QUESTION;
    for (const event of ["input", "keyup"]) input.dispatchEvent(new Event(event, { bubbles: true }));
    return document.querySelector(".md-search-result__item > a")?.getAttribute("href").split("?")[0] ?? "";
})()"""


@pytest.mark.skipif(PATH is None, reason="needs Chromium")
def test_the_search_answers_questions_by_a_guide(site: Path) -> None:
    """The first page that is found, asked as a reader types: its index is loaded by a worker, over HTTP."""
    handler = partial(Quiet, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, Browser() as browser:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        browser.open(address)
        for question, answers in QUESTIONS.items():
            typed = _TYPE.replace("QUESTION", repr(question))
            browser.until(f"{typed} !== ''")
            found = browser.run(typed).removeprefix(address)
            assert found.startswith(answers), (question, found)
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """Files of a folder, without a word to standard error."""

    def log_message(self, *_: object) -> None:
        pass


MODULE = '''
def wrong(text: str) -> str:
    """Return the text.

    Args:
        {name}: A text.
    """
    return text
'''


@pytest.mark.parametrize(
    ("page", "name", "complaints"),
    [
        ("# Page\n\n::: planted.wrong\n", "text", []),
        (
            "# Page\n\n::: planted.wrong\n\n[dead](nowhere.md)\n\n[dead](#nowhere)\n\n[dead][bbpe.nowhere]\n",
            "txt",
            ["Parameter 'txt' does not appear in the function signature", "nowhere.md", "#nowhere", "bbpe.nowhere"],
        ),
        ("# Page\n\n::: planted.nowhere\n", "text", ["planted.nowhere"]),  # which ends the build
    ],
)
def test_a_warning_fails_the_build(page: str, name: str, complaints: list[str], tmp_path: Path) -> None:
    """Each of them counts, so that each alone fails the build."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(page)
    (tmp_path / "planted.py").write_text(MODULE.format(name=name))
    extension = ROOT / "docs" / "extensions" / "docstrings.py"
    plugins = f"[mkdocstrings: {{handlers: {{python: {{paths: [.], options: {{extensions: [{extension}]}}}}}}}}]"
    config = f"INHERIT: {ROOT / 'mkdocs.yml'}\nnav: [{{Page: index.md}}]\nhooks: []\nplugins: {plugins}\n"
    (tmp_path / "mkdocs.yml").write_text(config)
    built = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert (built.returncode == 0) == (not complaints), built.stderr
    assert all(complaint in built.stderr for complaint in complaints), built.stderr
    if len(complaints) > 1:
        count = built.stderr.count("WARNING -")
        assert count >= len(complaints)
        assert f"Aborted with {count} warnings in strict mode" in built.stdout + built.stderr
