"""The result of an evaluation as tables, data, pages and figures."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ..records import dataclass, flag
from ..text import counted, first_few
from .figures import STYLE, Bar, bars, definitions
from .measures import Measures
from .metrics import INTERVAL, METRICS, SPREAD, Metric, gini, lost_text, metric_of
from .plots import save_evaluation
from .tables import NOTHING, Table, csv_of, number, of_rows, page
from .terminal import line_columns, wrapped

_TEXT = ("documents", "bytes", "characters", "words")
#: The headers of intervals.
_INTERVALS = {"bytes_per_token": "95 % interval", "cost_ratio": "cost interval"}
_HOW = "Totals are divided, not averaged over documents."


@dataclass(frozen=True)
class Evaluation:
    """The figures of tokenizers on corpora; iteration and `len` work on its rows, one for each tokenizer and corpus.

    `str` is a table of one figure for a terminal, and a notebook shows it as HTML.

    Attributes:
        rows: The measures of each tokenizer on each corpus.
        reference: The name of the corpus that `parity` compares with; None without one.

    Example:
        >>> tok = bbpe.train_from_iterator(["low lower lowest"], 258)
        >>> result = bbpe.evaluate(tok, texts={"test": ["lower", "low"]})
        >>> row = result.rows[0]
        >>> row.tokens, row.bytes_per_token, row.fertility
        (4, 2.0, 2.0)
        >>> print(result.table("fertility").text())
        corpus  tokenizer 1
        test          2.000

    """

    rows: tuple[Measures, ...]
    reference: str | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Measures]:
        return iter(self.rows)

    def row(self, tokenizer: str, corpus: str) -> Measures:
        """Return the measures of a tokenizer on a corpus, by their names; `KeyError` when there are none."""
        for row in self.rows:
            if (row.tokenizer, row.corpus) == (tokenizer, corpus):
                return row
        known = ", ".join(repr((row.tokenizer, row.corpus)) for row in self.rows)
        raise KeyError(f"there is no row of {(tokenizer, corpus)!r:.80}; expected a tokenizer and a corpus: {known}")

    def table(self, metric: str | None = None, *, wide: bool = False) -> Table:
        """Return a table: a line for each corpus, a column for each tokenizer, and one figure in each cell.

        Figures that have an interval say half of it after `±`, and the best figure of a line is marked. The lines of
        parity are a ranking, from the corpus with the fewest tokens to the one with the most.

        Args:
            metric: The name of a figure, such as "fertility" or "cost_ratio": an attribute of `Measures`. None is
                "parity" if there is a reference corpus, and else "bytes_per_token".
            wide: Whether to return all figures instead, in a line for each corpus and tokenizer.

        Returns:
            The table: `text()`, `markdown()`, `latex()` and `html()` render it.

        Raises:
            ValueError: There is no such figure, or both a figure and `wide` are given.

        """
        if not flag("wide", wide):
            return self._compact(metric_of(metric, self.rows))
        if metric is not None:
            raise ValueError(f"metric is {metric!r} and wide is True; expected one of them: wide has all figures")
        several, columns = len(self._tokenizers()) > 1, list[Any]()
        for name, each in METRICS.items():
            if several or name not in ("cost_ratio", "changed_share"):
                columns.append((each.title, each.shown))
                if each.interval:
                    columns.append((_INTERVALS[name], lambda row, each=each: _between(each.interval_of(row))))
        sizes: Any = [(name, lambda row, name=name: number(getattr(row.text, name))) for name in _TEXT]
        names: Any = [("corpus", lambda row: row.corpus), ("tokenizer", lambda row: row.tokenizer)]
        return of_rows(self.rows, [*names, *sizes, *columns], left=2)

    def _tokenizers(self) -> list[str]:
        return list(dict.fromkeys(row.tokenizer for row in self.rows))

    def _lines(self, metric: Metric) -> list[tuple[str, list[Measures]]]:
        """Return the rows of each corpus, those of parity ranked by the first tokenizer."""
        corpora: dict[str, list[Measures]] = {}
        for row in self.rows:
            corpora.setdefault(row.corpus, []).append(row)
        found = list(corpora.items())
        return sorted(found, key=lambda line: metric.of(line[1][0]) or 0.0) if metric.name == "parity" else found

    def _compact(self, metric: Metric) -> Table:
        lines, best = list[tuple[str, ...]](), set[tuple[int, int]]()
        for corpus, rows in self._lines(metric):
            best |= {(len(lines), at) for at, is_best in enumerate(self._best(metric, corpus, rows), 1) if is_best}
            lines.append((corpus, *(metric.shown(row, spread=True) for row in rows)))
        if metric.name == "parity":
            spread = list(self.ginis().values())
            losing = {row.tokenizer for row in self.rows if row.loses_text}
            kept = [None if name in losing else each for name, each in self.ginis().items()]
            least = min((each for each in kept if each is not None), default=None)
            if len(spread) > 1 and least is not None:
                best |= {(len(lines), at) for at, each in enumerate(kept, 1) if each == least}
            lines.append(("Gini", *map(number, spread)))
        return Table(("corpus", *self._tokenizers()), tuple(lines), 1, frozenset(best), across=True)

    def _best(self, metric: Metric, corpus: str, rows: Sequence[Measures]) -> list[bool]:
        """Return which rows of a corpus have the best figure: none of the reference, whose parity is always 1."""
        is_base = metric.name == "parity" and corpus == self.reference
        return [False] * len(rows) if is_base else metric.best(rows)

    def ginis(self) -> dict[str, float | None]:
        """Return how unequal the tokens of the corpora are, by tokenizer: the Gini coefficient, from 0 to 1.

        Corpora with the same content in several languages have 0 if all languages need the same number of tokens.
        """
        names = self._tokenizers()
        return {name: gini([row.tokens for row in self.rows if row.tokenizer == name]) for name in names}

    def notes(self, metric: str | None = None, *, wide: bool = False) -> list[str]:
        """Return sentences that define the figures of a table; the arguments are those of `table`."""
        chosen = list(METRICS.values()) if flag("wide", wide) else [metric_of(metric, self.rows)]
        shown = set(self.table(wide=True).header) if wide else {each.title for each in chosen}
        found = [each.explained() for each in chosen if each.title in shown]
        if any(each.interval_of(row) is not None for each in chosen for row in self.rows):
            found.append(INTERVAL if wide else SPREAD)
        if not wide and chosen[0].name == "parity":
            found.append(f"reference: {self.reference}")
            found.append("Gini: how unequal the tokens of all corpora are; 0 if each needs as many, at most 1")
            found += self._unlike()
        found += lost_text(self.rows)
        if not wide and self.table(metric).best:
            found.append("*: the best of its line")
        return found

    def _unlike(self) -> Iterator[str]:
        """Yield what makes it doubtful that corpora have the same content."""
        lines = {row.corpus: row.text.lines for row in self.rows}
        base = lines.get(self.reference or "", 0)
        others = [f"{name} {counted(count, 'line')}" for name, count in lines.items() if count != base]
        if others:
            yield (
                f"note: {self.reference} has {counted(base, 'line')}, {first_few(others, 3)}; "
                "parity needs the same content in each corpus"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return all counts and figures as data for JSON."""
        found: dict[str, Any] = {"rows": [row.as_dict() for row in self.rows]}
        return found if self.reference is None else {**found, "reference": self.reference, "gini": self.ginis()}

    def to_csv(self) -> str:
        """Return all counts and figures as CSV, a line for each corpus and tokenizer; intervals have two columns."""
        return csv_of([_flat(row.as_dict()) for row in self.rows])

    def to_markdown(self, metric: str | None = None, *, wide: bool = False) -> str:
        """Return the table in Markdown; the arguments are those of `table`."""
        return self.table(metric, wide=wide).markdown()

    def to_latex(self, metric: str | None = None, *, wide: bool = False) -> str:
        """Return the table for LaTeX, with the package booktabs, below comments that define its figures.

        The arguments are those of `table`.
        """
        notes = self.notes(wide=True) if wide else self._notes_of_page(metric)
        return self.table(metric, wide=wide).latex(notes)

    def to_text(self, metric: str | None = None, *, wide: bool = False) -> str:
        """Return the table for a terminal, with definitions below; the arguments are those of `table`."""
        most = line_columns()
        table = self.table(metric, wide=wide).text(most)
        title = [] if wide else [metric_of(metric, self.rows).label, ""]
        notes = [part for note in self.notes(metric, wide=wide) for part in wrapped(note, most, 2)]
        return "\n".join([*title, table, "", *notes])

    def to_html(self, metric: str | None = None) -> str:
        """Return a page of HTML with a figure, tables and definitions, which needs no other file.

        Args:
            metric: The figure that is drawn, as in `table`.

        """
        chosen = metric_of(metric, self.rows)
        notes = [*self._notes_of_page(metric), *self.notes(wide=True)]
        body = (
            f"<main><h1>Evaluation</h1>{self._figure(chosen)}{self.table(metric).html()}"
            f"<h2>All figures</h2>{self.table(wide=True).html()}<p>{_HOW}</p>"
            f"{definitions(dict.fromkeys(notes))}</main>"
        )
        return page("Evaluation", body, style=STYLE)

    def _notes_of_page(self, metric: str | None) -> list[str]:
        return [note.replace("*:", "bold:") for note in self.notes(metric)]

    def _figure(self, metric: Metric) -> str:
        groups = []
        for corpus, rows in self._lines(metric):
            marks = self._best(metric, corpus, rows)
            groups.append((corpus, [
                Bar(row.tokenizer, metric.of(row), metric.shown(row), metric.interval_of(row), is_best)
                for row, is_best in zip(rows, marks, strict=True)
            ]))  # fmt: skip
        return bars(metric.label, groups)

    def plot(self, path: str | os.PathLike[str], metric: str | None = None) -> None:
        """Write a figure: bars of each tokenizer on each corpus.

        Args:
            path: The file, .svg, .pdf or .png.
            metric: The figure that is drawn, as in `table`.

        Raises:
            ImportError: `matplotlib` (the extra `plot`) is not installed.
            ValueError: The path has another suffix.
            OSError: The file cannot be written.

        """
        save_evaluation(self.rows, path, metric_of(metric, self.rows))

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self, metric: str | None = None) -> str:
        title = metric_of(metric, self.rows).label
        return f"<p>{title}</p>{self.table(metric).html()}{definitions(self._notes_of_page(metric))}"


def _between(interval: tuple[float, float] | None) -> str:
    return NOTHING if interval is None else f"{interval[0]:.3f}-{interval[1]:.3f}"


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record in which each interval is two values, so that all are numbers or names."""
    found: dict[str, Any] = {"corpus": record["corpus"], "tokenizer": record["tokenizer"]}
    for name, value in record.items():
        if name.endswith("_interval"):
            ends: Sequence[float | None] = value or (None, None)
            found |= {f"{name}_low": ends[0], f"{name}_high": ends[1]}
        else:
            found[name] = value
    return found
