"""Draw the pictures of the README and the site: what commands print in a terminal, the pages they write, and figures.

    python tests/support/pictures.py [NAME ...]

Terminals become SVG by rich, figures by matplotlib; pages are photographed by Chromium, and kept as they are where it
is not installed.  The vocabularies are those of the package bpe-openai, and the texts stand here, so that everybody
draws the same.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from html import escape
from io import StringIO
from itertools import groupby
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "pictures"
_COLUMNS = 100

CONTRACT = """\
The Supplier shall deliver the goods within 14 days of the order, unless both parties agree otherwise in writing.
"""
CODE = """\
def encode(self, text: str) -> list[int]:
    return [token.id for token in self.split(text)]
"""
CHINESE = "人工智能正在改变我们的生活,也改变了我们学习语言的方式。\n"
#: Corpora of several kinds by their names: files that figures and reports measure.
TEXTS = {"contract.txt": CONTRACT, "code.py": CODE, "chinese.txt": CHINESE}

#: Pixels of a character of a terminal, of half the width of a Chinese one, and of the frame around the lines.
_WIDTH, _HEIGHT, _FRAME, _SIZE = 8.4, 19, 14, 14
_FONT = "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, Noto Sans Mono CJK SC, monospace"


def printed(*arguments: str) -> str:
    """Return what a command of bbpe prints in a terminal with colours; errors end the program."""
    environment = os.environ | {"COLUMNS": str(_COLUMNS), "PYTHONPATH": str(ROOT), "NO_COLOR": ""}
    command = [sys.executable, "-m", "bbpe", *arguments]
    return subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environment).stdout


def terminal(name: str, shown: str, output: str) -> None:
    """Draw a terminal in which a command was typed.

    Each run of one style stands where its cells are, as the fonts of readers differ in their widths.
    """
    from rich.cells import cell_len
    from rich.console import Console
    from rich.text import Text

    console = Console(width=_COLUMNS, file=StringIO(), color_system="truecolor", force_terminal=True)
    text = Text.assemble((f"$ {shown}\n", "bold"), Text.from_ansi(output.rstrip("\n")))
    drawn = []
    lines = console.render_lines(text, pad=False)
    for number, line in enumerate(lines):
        top, at = _FRAME + number * _HEIGHT, 0
        for segment in line:
            style, cells = segment.style, cell_len(segment.text)
            if style is not None and style.bgcolor is not None:
                place = f'x="{_FRAME + at * _WIDTH:.1f}" y="{top}" width="{cells * _WIDTH:.1f}" height="17"'
                drawn.append(f'<rect {place} fill="{style.bgcolor.get_truecolor().hex}"/>')
            bold = ' font-weight="bold"' if style is not None and style.bold else ""
            # wide characters come from another font, whose widths are not twice those of the first
            for cells, characters in groupby(segment.text, cell_len):
                run = "".join(characters)
                place = f'x="{_FRAME + at * _WIDTH:.1f}" y="{top + _SIZE}" textLength="{cells * len(run) * _WIDTH:.1f}"'
                # viewers of SVG join plain blanks
                blanks = escape(run).replace(" ", "\N{NO-BREAK SPACE}")
                if run.strip():
                    drawn.append(f'<text {place} lengthAdjust="spacingAndGlyphs"{bold}>{blanks}</text>')
                at += cells * len(run)
    width, height = 2 * _FRAME + _COLUMNS * _WIDTH, 2 * _FRAME + len(lines) * _HEIGHT
    head = f'<svg viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" xmlns="http://www.w3.org/2000/svg" role="img">'
    frame = '<rect width="100%" height="100%" rx="6" fill="#ffffff" stroke="#c8c8c8"/>'
    font = f'<g font-family="{_FONT}" font-size="{_SIZE}" fill="#1b1b1b">'
    title = f"<title>{escape(shown)}</title>"
    whole = "\n".join([head, title, frame, font, *drawn, "</g>", "</svg>"])
    (FOLDER / f"{name}.svg").write_text(whole + "\n", "utf-8")


def photograph(name: str, address: str, width: int, height: int) -> None:
    """Draw a page as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.stderr.write(f"{name}: not drawn, as there is no Chromium\n")
        return
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        options += ["--virtual-time-budget=3000", "--disable-background-networking", "--no-first-run", "--disable-sync"]
        shot = [f"--window-size={width},{height}", f"--screenshot={FOLDER / name}.png", address]
        subprocess.run([browser, *options, *shot], check=True, capture_output=True)


def show() -> None:
    """The tokens of a text by two vocabularies."""
    text = CONTRACT[:65] + "\n" + CODE.partition("\n")[0] + "\n" + CHINESE[:6]
    arguments = ["-t", "gpt2", "-t", "o200k_base"]
    output = printed("show", text, *arguments, "--color", "always")
    terminal("show", "bbpe show < text.txt " + " ".join(arguments), output)


def trace() -> None:
    """How merges make the tokens of a text."""
    output = printed("show", "学中文", "-t", "o200k_base", "--trace", "--color", "always")
    terminal("trace", "bbpe show 学中文 -t o200k_base --trace", output)


def lint() -> None:
    """What is unusual about a vocabulary."""
    output = printed("lint", "-t", "cl100k_base", "--quiet")
    terminal("lint", "bbpe lint -t cl100k_base", output)


def view() -> None:
    """The page that shows the tokens of a file."""
    Path("contract.txt").write_text(CONTRACT + CODE + CHINESE, "utf-8")
    printed("view", "contract.txt", "-t", "cl100k_base", "-t", "o200k_base", "-o", "view.html")
    photograph("view", Path("view.html").absolute().as_uri(), 1000, 450)


def serve() -> None:
    """The playground: a text that is typed, and its tokens."""
    import bbpe
    from bbpe.report.serve import Playground

    names = ("cl100k_base", "o200k_base")
    state = urlencode([("text", CONTRACT[:65] + "\n" + CHINESE.rstrip()), *(("t", name) for name in names)])
    with Playground({name: partial(bbpe.get_encoding, name) for name in names}, list(names), 0) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        photograph("serve", f"{server.url}#{state}", 1000, 560)
        server.shutdown()
        thread.join()


def evaluation() -> None:
    """The cost of texts of several kinds by three vocabularies."""
    printed("eval", *_measured(), "--plot", str(FOLDER / "eval.svg"))


def table() -> None:
    """The same as a table."""
    words = _measured()
    terminal("table", " ".join(["bbpe eval", *words]), printed("eval", *words, "--quiet"))


def _measured() -> list[str]:
    """Write the texts, and return their names and those of three vocabularies as words of a command line."""
    for name, text in TEXTS.items():
        Path(name).write_text(text, "utf-8")
    return [*TEXTS, *(word for name in ("gpt2", "cl100k_base", "o200k_base") for word in ("-t", name))]


def curves() -> None:
    """The cost of texts by smaller and larger vocabularies."""
    sizes, texts = "1k,2k,5k,10k,20k,50k,100k", _measured()[: len(TEXTS)]
    printed("eval", *texts, "-t", "cl100k_base", "--sizes", sizes, "--plot", str(FOLDER / "curves.svg"))


def plan() -> None:
    """How a plan cuts files into parts, and what each part writes."""
    import bbpe

    Path("corpus").mkdir()
    for name, count in (("books.jsonl", 60), ("code.jsonl", 25), ("web.jsonl", 140)):
        record = json.dumps({"text": CONTRACT}) + "\n"
        Path("corpus", name).write_text(record * count, "utf-8")
    tok = bbpe.train("corpus", 300, special_tokens=["<eos>"])
    bbpe.plan_shards("corpus", "out", tok, eos="<eos>", part_size=12_000)
    parts = json.loads(Path("out/plan.json").read_text("utf-8"))["parts"]
    whole = sum(each["read"] for part in parts for each in part)
    colours = ["#7fb3d5", "#f0b27a", "#82c09a", "#c39bd3"]
    width, left = 640.0, 90.0
    drawn, files, at = [], [], left
    for number, part in enumerate(parts):
        start = at
        for each in part:
            span = each["read"] / whole * width
            drawn.append(_box(at, 34, span, colours[number], f"{each['start']:,}"))
            if each["start"] == 0:
                files.append(_words(at, 26, Path(each["path"]).name, "start"))
            at += span
        middle = (start + at) / 2
        drawn.append(f'<path d="M{middle:.0f} 64V98" class="line"/>')
        drawn.append(_box(start + 4, 98, at - start - 8, colours[number], ""))
        drawn.append(_words(middle, 118, f"part-{number:05}", "middle", "#1b1b1b"))
        drawn.append(f'<path d="M{middle:.0f} 128V162" class="line"/>')
    drawn.append(_box(left, 162, width, "#d5d8dc", ""))
    totals = "manifest.json: the totals, when all parts are there"
    drawn.append(_words(left + width / 2, 182, totals, "middle", "#1b1b1b"))
    rows = [("corpus", 53), ("parts", 118), ("shards", 182)]
    drawn += [_words(10, top, name, "start") for name, top in rows]
    style = (
        "text{font:13px system-ui,sans-serif;fill:#1f2328}.line{stroke:#8b929b;fill:none;stroke-width:1.5}"
        "@media(prefers-color-scheme:dark){text{fill:#e6edf3}}"
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 204" width="740" height="204" role="img">'
    title = f"<title>Three files, {len(parts)} parts, one manifest</title>"
    whole_picture = "\n".join([head, title, f"<style>{style}</style>", *files, *drawn, "</svg>"])
    (FOLDER / "plan.svg").write_text(whole_picture + "\n", "utf-8")


def _box(left: float, top: float, width: float, colour: str, word: str) -> str:
    box = f'<rect x="{left:.1f}" y="{top}" width="{width - 1:.1f}" height="30" rx="3" fill="{colour}"/>'
    return box + (_words(left + 5, top + 20, f"byte {word}", "start", "#1b1b1b") if word else "")


def _words(left: float, top: float, words: str, anchor: str, colour: str = "") -> str:
    fill = f' style="fill:{colour}"' if colour else ""
    return f'<text x="{left:.1f}" y="{top}" text-anchor="{anchor}"{fill}>{escape(words)}</text>'


#: The pictures by their names.
PICTURES: dict[str, Callable[[], Any]] = {
    "show": show, "trace": trace, "lint": lint, "view": view, "serve": serve, "eval": evaluation, "table": table,
    "curves": curves, "plan": plan,
}  # fmt: skip


def main() -> int:
    """Draw the pictures that are named, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in sys.argv[1:] or PICTURES:
            PICTURES[name]()
        os.chdir(ROOT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
