"""`PretokenCounts`: the counted pretokens of a corpus, to add up, to save and to train from."""

from __future__ import annotations

import json
import math
import os
import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any, Literal, TypeAlias

from ..core.count import PretokenTable
from ..core.temporary import Folder
from ..corpus.rowfiles import ROWS, RowDigest, Rows, metadata_of, read_rows, regrouped, writing
from ..errors import CorpusError
from ..lazy import safe_import
from ..records import asdict, check_suffix, checked_path, dataclass, fields, kind, real, replace, whole
from ..splitting.patterns import Pattern, get_pattern, recognise
from ..text import counted

Document: TypeAlias = Literal["file", "line"]

#: The suffixes of files of counts.
COUNTS = (".parquet",)
#: The key of our metadata in a Parquet file, and the version of what it holds.
_KEY = "bbpe"
_VERSION = 2
#: Says that the file had `_KEY` when it was written.
_WRITER = {"writer": "bbpe"}


@dataclass(frozen=True)
class Summary:
    """The texts that counting read, and the texts that it left out: all of them are counted here.

    `files`, `documents` and `bytes`: the texts that were read. `pretokens` and `unique`: the pretokens that were
    counted, and the different ones. `left_out`: documents that the sample left out. `skipped`: records without text
    (null). `refused`: records that cannot be read and that `on_error="skip"` left out. `special_tokens_found`: special
    tokens, which separate texts and are not counted. `cut`: pretokens longer than `max_pretoken_bytes`. `dropped`:
    bytes between pretokens, for patterns that drop them. `duplicates`: documents that `unique` left out.
    """

    files: int = 0
    documents: int = 0
    bytes: int = 0
    pretokens: int = 0
    unique: int = 0
    left_out: int = 0
    skipped: int = 0
    refused: int = 0
    special_tokens_found: int = 0
    cut: int = 0
    dropped: int = 0
    duplicates: int = 0

    def __add__(self, other: Summary) -> Summary:
        return Summary(*map(add, vars(self).values(), vars(other).values()))

    def __str__(self) -> str:
        source = f"{counted(self.documents, 'document')} of {counted(self.files, 'file')}"
        parts = [f"{source}, {counted(self.bytes, 'byte')}"]
        parts.append(f"{counted(self.pretokens, 'pretoken')}, {self.unique:,} unique")
        for number, what, which in (
            (self.left_out, "document", " left out by the sample"),
            (self.duplicates, "duplicate", " left out"),
            (self.skipped, "record", " without text skipped"),
            (self.refused, "record", " that cannot be read skipped"),
            (self.special_tokens_found, "special token", ""),
            (self.cut, "pretoken", " cut"),
            (self.dropped, "byte", " between pretokens dropped"),
        ):
            if number:
                parts.append(f"{counted(number, what)}{which}")
        return "; ".join(parts)


@dataclass(frozen=True)
class CountingSpec:
    """How a corpus was cut into pretokens; only counts of one spec add up."""

    pattern: Pattern
    special_tokens: tuple[str, ...] = ()
    document: Document = "file"
    max_pretoken_bytes: int | None = None
    unicode: str | None = None
    normalisation: str | None = None

    def differences(self, other: CountingSpec) -> list[str]:
        """Say what differs, naming both."""
        rows: list[tuple[str, Any, Any]] = [
            ("pattern", self.pattern.steps, other.pattern.steps),
            ("pattern drops gaps", self.pattern.drops_gaps, other.pattern.drops_gaps),
            ("Unicode version", self.unicode, other.unicode),
            ("normalisation", self.normalisation, other.normalisation),
            ("special tokens", sorted(self.special_tokens), sorted(other.special_tokens)),
            ("document", self.document, other.document),
            ("max_pretoken_bytes", self.max_pretoken_bytes, other.max_pretoken_bytes),
        ]
        shown = {"pattern": (str(self.pattern), str(other.pattern))}
        return [
            "{} {!r} and {!r}".format(name, *shown.get(name, (mine, theirs)))
            for name, mine, theirs in rows
            if mine != theirs
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the spec as plain data."""
        pattern = {"name": self.pattern.name, "steps": self.pattern.steps, "drops_gaps": self.pattern.drops_gaps}
        return {**{row.name: getattr(self, row.name) for row in fields(self)}, "pattern": pattern}

    @staticmethod
    def from_json(record: dict[str, Any]) -> CountingSpec:
        """Read the spec from plain data; `ValueError`, `KeyError` or `TypeError` on what `as_json` does not make."""
        row = record["pattern"]
        named = get_pattern(row["name"]) if row["name"] is not None else None
        steps, special_tokens, longest = tuple(row["steps"]), record["special_tokens"], record["max_pretoken_bytes"]
        named_by = (record["unicode"], record["normalisation"])
        texts = [*steps, *special_tokens, *(text for text in named_by if text is not None)]
        is_pattern = bool(steps) or named is not None
        if not is_pattern or not all(isinstance(text, str) for text in texts) or not isinstance(longest, int | None):
            raise TypeError(f"expected texts and a number, not {texts!r} and {longest!r}")
        if record["document"] not in ("file", "line"):
            raise ValueError(f"document is {record['document']!r}; expected 'file' or 'line'")
        if named is None or named.steps != steps or named.drops_gaps != row["drops_gaps"]:
            named = recognise(steps) if not row["drops_gaps"] else Pattern(None, steps, True)
        rest = {name: record[name] for name in ("document", "max_pretoken_bytes", "unicode", "normalisation")}
        return CountingSpec(named, tuple(special_tokens), **rest)


class _Spilled:
    """Counts that were too many for memory, in a Parquet file; its folder goes with them."""

    def __init__(self, path: Path, folder: Folder) -> None:
        self.path = path
        weakref.finalize(self, folder.discard)


class PretokenCounts:
    """The pretokens of a corpus and how often each occurs, in the order of their first appearance.

    `counts_a + counts_b` are the counts of both corpora, a's first, and `sum` adds up any number of counts. All must
    have the same spec, and no count may pass 64 bits (`OverflowError`). Iterating yields `(pretoken, count)`: bytes and
    int. `len` is the number of unique pretokens, and `total` the number of all. `pattern`, `special_tokens` and
    `document` say how they were counted, and `summary` which texts were read. Counts that did not fit `max_memory` lie
    in a temporary file, which is deleted with this object.

    >>> import bbpe
    >>> counts = bbpe.count_from_iterator(["a b a"], pattern="gpt2")
    >>> list(counts + counts)
    [(b'a', 2), (b' b', 2), (b' a', 2)]
    """

    def __init__(self, store: PretokenTable | _Spilled, spec: CountingSpec, summary: Summary) -> None:
        self._store, self.spec, self.summary = store, spec, summary

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (list(self.batches()), self.spec, self.summary)

    def __repr__(self) -> str:
        return f"<PretokenCounts of {self.spec.pattern.name or 'a regex'}: {self.summary}>"

    @property
    def pattern(self) -> str:
        """The name of the pattern, or its regex."""
        return str(self.spec.pattern)

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The special tokens that separated texts and were not counted."""
        return self.spec.special_tokens

    @property
    def document(self) -> Document:
        """Whether a file was one text, or each of its lines; it changes pretokens, and with them merges."""
        return self.spec.document

    def __len__(self) -> int:
        return self.summary.unique

    @property
    def total(self) -> int:
        """How many pretokens were counted, equal ones too."""
        return self.summary.pretokens

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        for rows in self.batches():
            data, offsets = rows.data.tobytes(), rows.offsets.tolist()
            for start, stop, count in zip(offsets[:-1], offsets[1:], rows.counts.tolist(), strict=True):
                yield data[start:stop], count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        same_kind = not self.spec.differences(other.spec) and len(self) == len(other)
        return same_kind and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def batches(self) -> Iterator[Rows]:
        """Yield the counts as arrays, some rows at a time."""
        if isinstance(self._store, _Spilled):
            yield from read_rows(self._store.path)
            return
        whole = Rows(*self._store.arrays())
        for start in range(0, len(whole), ROWS):
            yield whole.slice(start, min(start + ROWS, len(whole)))

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """Return the n most common pretokens and their counts, or all if n is None; equal counts in order."""
        if n is None:
            return sorted(self, key=lambda item: -item[1])
        most = whole("n", n, 0, expected="an int or None")
        safe_import("heapq")
        from heapq import nsmallest

        return nsmallest(most, self, key=lambda item: -item[1])

    def scale(self, weight: float) -> PretokenCounts:
        """Return counts times a weight, for mixtures: products rounded half to even, and at least 1.

        Raises `ValueError` on a weight that is not positive and finite, `OverflowError` beyond 64 bits.

        >>> import bbpe
        >>> list(bbpe.count_from_iterator(["aaa", "aaa", "aaa", "b"], pattern="gpt2").scale(0.5))
        [(b'aaa', 2), (b'b', 1)]
        """
        weight = real("weight", weight)
        if not (weight > 0 and math.isfinite(weight)):
            raise ValueError(f"a weight is {weight}; expected more than 0, and finite")
        return counts_of(self.table().scale(float(weight)), self.spec, self.summary)

    def __radd__(self, other: int) -> PretokenCounts:
        # what `sum` begins with
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __add__(self, other: PretokenCounts) -> PretokenCounts:
        if not isinstance(other, PretokenCounts):
            return NotImplemented
        different = self.spec.differences(other.spec)
        if different:
            raise ValueError(f"counts of different kinds cannot be added up: {', '.join(different)}")
        table = _table_of(chain(self.batches(), other.batches()))
        return counts_of(table, self.spec, self.summary + other.summary)

    def table(self) -> PretokenTable:
        """Return the counts as the table that training takes; it must not be changed."""
        return self._store if isinstance(self._store, PretokenTable) else _table_of(self.batches())

    def pretoken_bytes(self) -> int:
        """Return how many bytes the unique pretokens have."""
        return sum(rows.data.nbytes for rows in self.batches())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a Parquet file with the columns `pretoken` (binary) and `count` (uint64), in order.

        How the counts were made is in its metadata, key "bbpe", as JSON, with a digest of all of it: `load_counts`
        refuses a file that was changed.  To a URL the whole file is uploaded.  Raises `ImportError` without pyarrow,
        `OSError` naming the file, `ValueError` naming a URL to which nothing can be written, or a name with the suffix
        of another kind of file than ".parquet".
        """
        check_suffix(checked_path("path", path), "counts", COUNTS)
        digest, metadata = RowDigest(), self.metadata()
        with writing(path) as file:
            for rows in regrouped(self.batches()):
                digest.add(rows)
                file.write(rows)
            file.annotate({_KEY: json.dumps({**json.loads(metadata), "digest": digest.hex(metadata)}), **_WRITER})

    def metadata(self) -> str:
        """Return the metadata of a saved file as JSON, without the digest."""
        record = {"version": _VERSION, **self.spec.as_json(), "summary": asdict(self.summary)}
        return json.dumps(record)

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the counts take; nearly none if they are in a file."""
        return self._store.nbytes if isinstance(self._store, PretokenTable) else 0

    @staticmethod
    def of_table(table: PretokenTable, spec: CountingSpec) -> PretokenCounts:
        """Make counts of a table that nobody changes any more."""
        return counts_of(table, spec, Summary())


def counts_of(table: PretokenTable, spec: CountingSpec, summary: Summary) -> PretokenCounts:
    """Return counts that lie in a table; the summary's totals are taken from it."""
    return PretokenCounts(table, spec, replace(summary, pretokens=table.total, unique=len(table)))


def _restore(batches: list[Rows], spec: CountingSpec, summary: Summary) -> PretokenCounts:
    return PretokenCounts(_table_of(batches), spec, summary)


def _table_of(batches: Iterable[Rows]) -> PretokenTable:
    table = PretokenTable()
    for rows in batches:
        try:
            table.add_arrays(rows.data, rows.offsets, rows.counts)
        except OverflowError as error:
            # of the limits of a table only that of a count needs so many
            if table.total + sum(rows.counts.tolist()) >= 2**64:
                raise OverflowError("the sum of the counts of a pretoken passes 64 bits") from error
            raise
    return table


def spilled_counts(path: Path, folder: Folder, spec: CountingSpec, summary: Summary) -> PretokenCounts:
    """Return counts that lie in a file of rows in order; the temporary folder of the file is removed with them."""
    return PretokenCounts(_Spilled(path, folder), spec, summary)


def load_counts(
    path: str | os.PathLike[str],
    *,
    pattern: str | Sequence[str] | None = None,
    special_tokens: Sequence[str] | None = None,
    document: Document | None = None,
) -> PretokenCounts:
    """Load counts from a Parquet file that `save`, or any other program, wrote.

    A file needs the columns `pretoken` (binary or string) and `count` (whole numbers); rows with the same pretoken
    add up.  One that `save` did not write says nothing of how it was made: pass `pattern`, and `special_tokens` and
    `document` if they differ from `count`'s defaults.

    Raises `CorpusError` naming the file when it is not such a file; `ValueError` when it has no pattern and none is
    given, or has a pattern that differs from the given one; `ImportError` without pyarrow; `OSError` naming the file.
    """
    kind("special_tokens", special_tokens, list | tuple | None, "a list of strings or None")
    found = metadata_of(checked_path("path", path))
    if _KEY not in found:
        if found.items() >= _WRITER.items():
            raise CorpusError(f"{path}: the file was changed, its metadata {_KEY!r} is gone; take another copy")
        if pattern is None:
            raise ValueError(f"{path}: the file does not say the pattern of its pretokens; pass pattern=")
        chosen = get_pattern(pattern)
        spec = CountingSpec(chosen, tuple(special_tokens or ()), document or "file", None, chosen.unicode_version)
        return counts_of(_read_table(path, None), spec, Summary())
    spec, summary, digest = _read_metadata(path, found[_KEY])
    asked = replace(
        spec,
        pattern=spec.pattern if pattern is None else get_pattern(pattern),
        special_tokens=spec.special_tokens if special_tokens is None else tuple(special_tokens),
        document=document or spec.document,
    )
    different = spec.differences(asked)
    if different:
        raise ValueError(f"{path}: the file and the arguments differ: {', '.join(different)}")
    return counts_of(_read_table(path, digest), spec, summary)


def _read_table(path: str | os.PathLike[str], sealed: tuple[str, str] | None) -> PretokenTable:
    """Read the counts of a file; `sealed`, its metadata and the digest of both, is compared with what was read."""
    digest = RowDigest()

    def batches() -> Iterator[Rows]:
        for rows in read_rows(path):
            if sealed is not None:
                digest.add(rows)
            yield rows

    try:
        table = _table_of(batches())
    except OverflowError as error:
        raise OverflowError(f"{path}: {error}") from error
    if sealed is not None and digest.hex(sealed[0]) != sealed[1]:
        raise CorpusError(
            f"{path}: the counts are not those that were saved, the file was changed; take another copy, or, if it "
            f"was changed on purpose, remove the metadata {_KEY!r}, and pass pattern="
        )
    return table


def _read_metadata(path: str | os.PathLike[str], metadata: str) -> tuple[CountingSpec, Summary, tuple[str, str]]:
    """Return the spec, the summary, and the metadata less the digest with the digest."""
    try:
        record = json.loads(metadata)
        if record["version"] != _VERSION:
            raise CorpusError(f"{path}: counts of version {record['version']}; this bbpe reads version {_VERSION}")
        digest = record.pop("digest")
        summary = Summary(**record["summary"])
        if not all(type(getattr(summary, row.name)) is int for row in fields(summary)):
            raise TypeError(f"expected numbers, not {record['summary']!r}")
        return CountingSpec.from_json(record), summary, (json.dumps(record), digest)
    except CorpusError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CorpusError(f"{path}: the metadata {_KEY!r} is broken: {error!r}") from error
