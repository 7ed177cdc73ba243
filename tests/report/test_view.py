"""Pages of tokens: hostile text stays text, and a browser shows every token, by mouse and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import browser
import pytest

import bbpe
from bbpe.cli import main
from bbpe.report.terminal import sample
from bbpe.report.view import boxes, to_html

TEXTS = ["see my eyes first, see my dogs", "low lower lowest 世界"] * 5
TOK = bbpe.train_from_iterator(TEXTS, 300, special_tokens=["<|end|>"])
OTHER = bbpe.train_from_iterator(TEXTS, 270)
WORDS = bbpe.train_from_iterator(TEXTS, 60, model="wordpiece")
HOSTILE = "</script><script>window.bad=1</script><img src=x onerror='window.bad=1'>&amp;\"'<!--\u2028<|end|> é😀\t\r\n"
needs_browser = pytest.mark.skipif(browser.PATH is None, reason="needs Chromium")


def test_hostile_text_is_data() -> None:
    page = TOK.to_html(HOSTILE)
    body = page.partition("<body>")[2]
    assert body.count("</script>") == 1
    assert "<img" not in body
    assert "<!--" not in body
    nonce = re.search(r"'nonce-([\w-]+)'", page)
    assert nonce is not None
    assert f'<script nonce="{nonce[1]}">' in body
    assert "http" not in page.replace("http-equiv", "")


def test_boxes() -> None:
    (found,) = boxes("é<|end|>", {"a": TOK}, allowed_special="all")
    rows = found.as_dict()
    kinds = [rows["kinds"][number] for number in rows["order"]]
    assert [kind[1] for kind in kinds] == ["<0xC3>", "<0xA9>", "<|end|>"]
    assert [kind[3] for kind in kinds] == [2, 2, 1]
    assert kinds[0][2] == "c3"
    both = boxes("see <|end|>", {"a": TOK, "b": OTHER}, allowed_special={"<|end|>"})
    assert both[0].ids == TOK.encode("see <|end|>", allowed_special="all")
    assert both[1].ids == OTHER.encode("see <|end|>")
    (words,) = boxes("see my", {"w": WORDS})
    assert words.spans is not None
    assert (words.spans[0][0], words.spans[-1][1]) == (0, 6)


def test_limits() -> None:
    with pytest.raises(ValueError, match="there are 6 tokenizers"):
        to_html("a", {str(number): TOK for number in range(6)})


@pytest.mark.parametrize(("names", "shown"), [("a", "a"), ("a<", "a and &lt;"), ("abc", "a, b and c")])
def test_a_page_names_its_tokenizers(names: str, shown: str) -> None:
    page = to_html("see", dict.fromkeys(names, TOK))
    assert f"<title>Tokens by {shown}</title>" in page
    assert f"<h1>Tokens by {shown}</h1>" in page


def test_notebooks() -> None:
    shown = TOK._repr_html_()
    assert "&lt;|end|&gt;" in shown
    assert "<|end|>" not in shown
    rows = TOK.encode_batch_to_numpy(["see my dogs " * 40, ""] * 50)
    assert repr(rows) == f"<bbpe.Ragged: 100 rows, {len(rows.ids):,} ids>"
    assert len(rows._repr_html_()) < 2000


def test_terminals(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert sample([b"a", b"<s>"], colour=True, special=[False, True]) == (
        "\x1b[48;5;153;38;5;16ma\x1b[0m\x1b[1;7m<s>\x1b[0m"
    )
    TOK.save(tmp_path / "a.json")
    assert main(["show", "see my\x1b[31m", "-t", str(tmp_path / "a.json"), "--ids"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("a: ")
    assert "\x1b" not in printed
    assert str(TOK.encode("see")[0]) in printed
    assert main(["show", "see", "-t", str(tmp_path / "a.json"), "--trace"]) == 0
    assert "rank" in capsys.readouterr().out
    assert main(["show", "see", "-t", str(tmp_path / "a.json"), "--json"]) == 0
    assert main(["show", "see", "-t", str(tmp_path / "a.json"), "--color", "always"]) == 0
    assert "\x1b[48;5;153" in capsys.readouterr().out


@pytest.fixture(scope="module")
def chromium() -> Iterator[browser.Browser]:
    if browser.PATH is None:
        pytest.skip("needs Chromium")
    with browser.Browser() as found:
        yield found


def texts_of(chromium: browser.Browser, place: int = 0) -> str:
    boxes = f"[...document.querySelectorAll('.text')[{place}].querySelectorAll('.token')]"
    return chromium.run(f"{boxes}.map(box => box.textContent).join('')")


@needs_browser
def test_a_page_in_a_browser(chromium: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(to_html(HOSTILE + "see my dogs", {"a": TOK, "<b>": OTHER}, allowed_special={"<|end|>"}), "utf-8")
    chromium.open(page.as_uri())
    assert chromium.run("window.bad") is None
    assert [url for url in chromium.requests() if not url.startswith(("file:", "about:", "data:"))] == []
    assert "␣my␣dogs" in texts_of(chromium)
    assert chromium.run("document.querySelectorAll('.special').length") == 1
    assert chromium.run("document.querySelectorAll('h2')[1].textContent") == "<b>"
    assert chromium.run("document.querySelectorAll('.part').length") >= 6
    assert chromium.run("document.querySelector('h1').textContent") == "Tokens by a and <b>"
    assert chromium.run("document.querySelectorAll('textarea').length") == 0
    chromium.run("document.querySelectorAll('summary')[1].click()")
    chromium.until("document.querySelectorAll('textarea').length === 1")
    assert chromium.run("document.querySelector('textarea').value") == " ".join(
        map(str, OTHER.encode(HOSTILE + "see my dogs")))
    chromium.run("document.querySelector('.text').focus()")
    chromium.press("ArrowRight")
    chromium.press("ArrowRight")
    assert chromium.run("document.getElementById('tip').textContent").startswith("id ")
    assert chromium.run("document.activeElement.dataset.number") == "1"
    chromium.press("Escape")
    assert not chromium.run("document.getElementById('tip').classList.contains('on')")
    special = "document.querySelector('.special').getBoundingClientRect()"
    place = chromium.run(f"(box => [box.left + 2, box.top + 5])({special})")
    chromium.move(*place)
    chromium.until("document.getElementById('tip').textContent.includes('special')")


@needs_browser
def test_a_megabyte_stays_quick(chromium: Any, tmp_path: Path) -> None:
    page = tmp_path / "large.html"
    page.write_text(to_html(("see my dogs, low 世界 " * 45_000)[:1_000_000], {"a": TOK}), "utf-8")
    chromium.open(page.as_uri())
    chromium.until("document.querySelectorAll('.token').length > 0")
    assert chromium.run("document.querySelectorAll('.token').length") < 10_000
    chromium.run("(text => { text.scrollTop = text.scrollHeight })(document.querySelector('.text'))")
    chromium.until("[...document.querySelectorAll('.page')].at(-1).firstChild !== null")
    assert chromium.run("document.querySelectorAll('.token').length") < 10_000


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TOK.save(tmp_path / "a.json")
    (tmp_path / "x.txt").write_text("see my 世界" * 10)
    arguments = ["view", str(tmp_path / "x.txt"), "-t", str(tmp_path / "a.json"), "-o", str(tmp_path / "o.html")]
    assert main([*arguments, "--max-bytes", "8"]) == 0
    assert "first 8 bytes" in capsys.readouterr().err
    assert "Content-Security-Policy" in (tmp_path / "o.html").read_text()
    assert main([*arguments[:-1], str(tmp_path / "x.txt")]) == 1


def test_sizes_are_bytes_and_added_tokens_are_special() -> None:
    known = {bytes([byte]): byte for byte in range(256)}
    spec = replace(bbpe.Tokenizer.from_ranks(known, pattern="gpt2").spec, added_tokens={"<a>": 300})
    (found,) = boxes("é<a>", {"t": bbpe.Tokenizer(spec)}, allowed_special="all")
    assert (found.size, found.summary) == (5, "3 tokens, 1.67 bytes per token")
    assert found.special == {300}
    assert [kind[3] for kind in found.as_dict()["kinds"]] == [2, 2, 1]
    assert found.as_dict()["bytes"] == 5
