"""Draw the pictures of the README and the site: what commands print in a terminal, the pages they write, and figures.

    python tests/support/pictures.py [NAME ...]

Terminals become SVG by rich, figures by matplotlib; pages are photographed by Chromium, and kept as they are where it
is not installed.  The vocabularies are those of the package bpe-openai, and the texts stand here, so that everybody
draws the same.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from html import escape
from io import StringIO
from itertools import groupby
from pathlib import Path
from typing import Any

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


def photograph(name: str, page: Path, width: int, height: int) -> None:
    """Draw a page as a browser shows it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        sys.stderr.write(f"{name}: not drawn, as there is no Chromium\n")
        return
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        options += ["--disable-background-networking", "--no-first-run", "--disable-sync"]
        shot = [f"--window-size={width},{height}", f"--screenshot={FOLDER / name}.png", page.as_uri()]
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
    photograph("view", Path("view.html").absolute(), 1000, 450)


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


#: The pictures by their names.
PICTURES: dict[str, Callable[[], Any]] = {
    "show": show, "trace": trace, "lint": lint, "view": view, "eval": evaluation, "table": table
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
