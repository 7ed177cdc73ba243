"""Pages can be read by everyone: axe-core finds nothing wrong with them, and their colours have contrast."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import browser
import pytest

import bbpe
from bbpe.report import chat_view, trace_view
from bbpe.report.serve import Playground
from bbpe.report.tables import STYLE, page
from bbpe.report.view import to_html

TEXTS = ["see my eyes first, see my dogs", "low lower lowest 世界"] * 5
TOK = bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<|end|>"])
OTHER = bbpe.train_from_iterator(TEXTS, 270)
WORDS = bbpe.train_from_iterator(TEXTS, 60, model="wordpiece")
PIECES = bbpe.train_from_iterator(TEXTS, 300, model="unigram")
MIXED = "<b>é😀\t\r\n<|end|> see my dogs, low "
SCHEMES = ("light", "dark")
CHAT = TOK.encode_chat(
    [{"role": role, "content": MIXED} for role in ("system", "user", "assistant", "tool", "critic")],
    chat_template="{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>\n{% endfor %}",
)


def in_notebook(shown: str) -> str:
    return page("Notebook", f"<main><h1>Notebook</h1>{shown}</main>")


PAGES = {
    "view": lambda: to_html(MIXED * 8, {"a": TOK, "<b>": OTHER}, allowed_special={"<|end|>"}),
    "to_html": lambda: TOK.to_html(MIXED),
    "evaluate": lambda: bbpe.evaluate({"a": TOK, "b": OTHER}, texts={"x": TEXTS, "y": TEXTS[:4]}).to_html(),
    "compare": lambda: bbpe.compare(TOK, OTHER, texts=TEXTS).to_html(),
    "lint": lambda: in_notebook(bbpe.lint(TOK, texts=TEXTS)._repr_html_()),
    "merges": lambda: TOK.trace("see lowest").to_html(),
    "longest": lambda: WORDS.trace("see lowest").to_html(),
    "lattice": lambda: PIECES.trace("see lowest").to_html(),
    "chat": lambda: CHAT.to_html(),
    "chat in a notebook": lambda: in_notebook(CHAT._repr_html_()),
    "trace in a notebook": lambda: in_notebook(TOK.trace("see lowest")._repr_html_()),
    "tokenizer": lambda: in_notebook(TOK._repr_html_()),
    "rows": lambda: in_notebook(TOK.encode_batch_to_numpy(TEXTS)._repr_html_()),
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Browser]:
    if browser.PATH is None:
        pytest.skip("needs Chromium")
    if browser.AXE is None:
        pytest.skip("needs axe-core: pip install --no-deps axe-playwright-python")
    with browser.Browser() as found:
        yield found


@pytest.mark.parametrize("name", PAGES)
def test_pages(chromium: browser.Browser, tmp_path: Path, name: str) -> None:
    file = tmp_path / "page.html"
    file.write_text(PAGES[name](), "utf-8")
    chromium.open(file.as_uri())
    for scheme in SCHEMES:
        chromium.dark(scheme)
        assert chromium.violations() == []


def test_the_playground(chromium: browser.Browser) -> None:
    with Playground({"a": lambda: TOK, "<b>": lambda: OTHER}, ["a"], 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        for scheme in SCHEMES:
            chromium.dark(scheme)
            chromium.open(server.url)
            chromium.until("document.querySelectorAll('.token').length > 0")
            assert chromium.violations() == []
        server.shutdown()
        thread.join()


def test_faults_are_found(chromium: browser.Browser, tmp_path: Path) -> None:
    wrong = "<main><h1>a</h1><input><p style='color: #aaa; background: #fff'>pale text of a page</p></main>"
    (tmp_path / "page.html").write_text(page("a", wrong), "utf-8")
    chromium.dark("light")
    chromium.open((tmp_path / "page.html").as_uri())
    assert {each.partition(":")[0] for each in chromium.violations()} == {"critical label", "serious color-contrast"}


def contrast(one: str, other: str) -> float:
    """The ratio of two colours by WCAG 2."""
    lights = []
    for colour in (one, other):
        digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
        shares = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] + 0.05)
    return max(lights) / min(lights)


def mixed(ink: str, back: str, share: float) -> str:
    """The colour of ink that covers a background by a share."""
    pairs = zip(bytes.fromhex(ink[1:]), bytes.fromhex(back[1:]), strict=True)
    return "#" + bytes(round(top * share + under * (1 - share)) for top, under in pairs).hex()


@pytest.mark.parametrize("scheme", [0, 1])
def test_contrast(scheme: int) -> None:
    # axe-core does not judge the colours of short tokens
    colours = dict(re.findall(r"--([\w-]+): (#\w+)", STYLE.split("@media")[1] if scheme else STYLE.split("@media")[0]))
    backs = [colours[f"c{number}"] for number in range(6)]
    css = (Path(trace_view.__file__).parent / "boxes.css").read_text("utf-8")
    (opacity,) = map(float, re.findall(r"\.blank { opacity: ([.\d]+) }", css))
    pairs = [
        *((colours["ink"], back) for back in (*backs, colours["back"], colours["panel"])),
        *((mixed(colours["ink"], back, opacity), back) for back in backs),
        (colours["soft"], colours["back"]), (colours["accent"], colours["back"]), (colours["part"], colours["back"]),
        (colours["special-ink"], colours["special"]), (colours["back"], colours["ink"]),
    ]  # fmt: skip
    assert [pair for pair in pairs if contrast(*pair) < 4.5] == []


@pytest.mark.parametrize("scheme", [0, 1])
def test_contrast_of_chats(scheme: int) -> None:
    backs = [chat_view.BACK, *chat_view.COLOURS.values()]
    assert [back for back in backs if contrast(chat_view.INK[scheme], back[scheme]) < 7] == []
