"""Bytes a token of each model at the same size: `python -m benchmarks.which_model FOLDER` prints docs/which-model.md's
table, and with `--plot FILE` draws it as SVG, in a narrow variant for phones too: NAME-narrow.svg beside NAME.svg.

FOLDER has texts NAME.txt.  A tokenizer is trained on the first nine tenths of a text and measured on the last one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bbpe

Trained = Callable[[list[str], int], bbpe.Tokenizer]

CORPORA = ["en", "code", "multi", "ja", "zh"]


MODELS: dict[str, Trained] = {
    "byte BPE": lambda texts, size: bbpe.train_from_iterator(texts, size),
    "character BPE": lambda texts, size: bbpe.train_from_iterator(
        texts, size, model=bbpe.BPE(alphabet="chars", end_of_word="</w>")
    ),
    "WordPiece": lambda texts, size: bbpe.train_from_iterator(texts, size, model=bbpe.WordPiece(score="frequency")),
    "Unigram": lambda texts, size: bbpe.train_from_iterator(texts, size, model="unigram"),
}


def measure(train: Trained, text: str, size: int) -> tuple[float, float]:
    """Bytes a token on what was held back, and seconds of training."""
    lines = text.splitlines(keepends=True)
    first = len(lines) - len(lines) // 10
    start = time.process_time()
    tok = train(["".join(lines[:first])], size)
    seconds = time.process_time() - start
    held_back = "".join(lines[first:])
    return round(len(held_back.encode()) / len(tok.encode_to_numpy(held_back)), 2), seconds


def table(rows: dict[str, dict[str, tuple[float, float]]]) -> str:
    """The table in Markdown: bytes a token, seconds of training in brackets."""
    names = list(next(iter(rows.values())))
    lines = [f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for model, cells in rows.items():
        shown = [f"{cell[0]:.2f} ({cell[1]:.1f} s)" for cell in cells.values()]
        lines.append(f"| {model} | {' | '.join(shown)} |")
    return "\n".join(lines)


_COLOURS = ["#4c72b0", "#dd8452", "#55a868", "#c44e52"]


def _svg(width: int, height: int, parts: list[str]) -> str:
    look = f'width="{width}" height="{height}" font-family="sans-serif" font-size="12"'
    style = "<style>text{fill:#1f2328}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" {look}>{style}{"".join(parts)}</svg>\n'


def plot(rows: dict[str, dict[str, tuple[float, float]]]) -> str:
    """The same as bars, in SVG."""
    names = list(next(iter(rows.values())))
    parts, group = [], 24 * len(rows) + 30
    for number, (model, cells) in enumerate(rows.items()):
        parts.append(f'<rect x="{10 + 130 * number}" y="6" width="12" height="12" fill="{_COLOURS[number]}"/>')
        parts.append(f'<text x="{26 + 130 * number}" y="17">{model}</text>')
        for place, cell in enumerate(cells.values()):
            x, height, fill = 20 + place * group + 24 * number, 40 * cell[0], _COLOURS[number]
            parts.append(f'<rect x="{x}" y="{290 - height:.1f}" width="22" height="{height:.1f}" fill="{fill}"/>')
            parts.append(f'<text x="{x + 1}" y="{286 - height:.1f}" font-size="9">{cell[0]:.2f}</text>')
    for place, name in enumerate(names):
        parts.append(f'<text x="{20 + place * group}" y="306">{name}</text>')
    return _svg(20 + group * len(names), 316, parts)


def narrow_plot(rows: dict[str, dict[str, tuple[float, float]]]) -> str:
    """Return the plot for phones: horizontal bars, one corpus below the other."""
    names = list(next(iter(rows.values())))
    parts = []
    for number, model in enumerate(rows):
        x, y = 10 + 170 * (number % 2), 6 + 20 * (number // 2)
        parts.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{_COLOURS[number]}"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 11}">{model}</text>')
    top = 16 + 20 * ((len(rows) + 1) // 2)
    group = 18 * len(rows) + 14
    for place, name in enumerate(names):
        parts.append(f'<text x="10" y="{top + group * place + 18 * len(rows) / 2 + 4:.0f}">{name}</text>')
        for number, cells in enumerate(rows.values()):
            y, width = top + group * place + 18 * number, 40 * cells[name][0]
            parts.append(f'<rect x="50" y="{y}" width="{width:.1f}" height="16" fill="{_COLOURS[number]}"/>')
            parts.append(f'<text x="{54 + width:.1f}" y="{y + 12}" font-size="11">{cells[name][0]:.2f}</text>')
    return _svg(340, top + group * len(names), parts)


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False, description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", type=int, default=32_000)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rows: dict[str, dict[str, tuple[float, float]]] = {model: {} for model in MODELS}
    for name in CORPORA:
        text = (options.folder / f"{name}.txt").read_text("utf-8", "replace").replace("\0", "")
        for model, train in MODELS.items():
            rows[model][name] = measure(train, text, options.size)
    print(table(rows))
    if options.plot is not None:
        options.plot.write_text(plot(rows), "utf-8")
        options.plot.with_stem(options.plot.stem + "-narrow").write_text(narrow_plot(rows), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
