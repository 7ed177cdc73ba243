"""A mixture of shards: how many tokens of each source are wanted, and how many there are in the end."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import isfinite
from typing import Any, TypeAlias

from ..records import asdict, dataclass, real
from ..text import aligned

#: A weight as the caller wrote it: 0.6 is three fifths.
Weight: TypeAlias = Fraction


@dataclass(frozen=True)
class Share:
    """One source of a mixture in a plan: the folder, its weight, and the tokens that are wanted of it."""

    folder: str
    weight: float
    tokens: int


@dataclass(frozen=True)
class Recipe:
    """What a plan says about a mixture: its sources in order, and whether each ends at the very token."""

    shares: tuple[Share, ...]
    exact: bool

    @staticmethod
    def from_json(record: dict[str, Any]) -> Recipe:
        """Read what `asdict` made; `KeyError` or `TypeError` on anything else."""
        return Recipe(tuple(Share(**share) for share in record["shares"]), record["exact"])


@dataclass(frozen=True)
class MixtureSource:
    """The tokens and documents that a mixture has from one source.

    Attributes:
        folder: The folder of the source.
        weight: The weight that was asked for.
        wanted: The tokens that the weight stands for.
        tokens: The tokens in the mixture.
        documents: The documents in the mixture; a document that is there twice counts twice.
        source_tokens: The tokens of the source.
        source_documents: The documents of the source.
        share: The share of the tokens of the mixture.

    Example:
        >>> MixtureSource("out/web", 1.0, 300, 298, 20, 200, 14, 1.0).epochs
        1.49

    """

    folder: str
    weight: float
    wanted: int
    tokens: int
    documents: int
    source_tokens: int
    source_documents: int
    share: float

    @property
    def epochs(self) -> float:
        """How often the source is read: 1.0 is once."""
        return self.tokens / self.source_tokens if self.source_tokens else 0.0


@dataclass(frozen=True)
class Mixture:
    """The sources of a mixture in order; iteration and `len` are theirs, and `str` is a table.

    Attributes:
        sources: The wanted and the actual tokens of each source.
        exact: Whether one document of each source was cut, so that it has exactly its tokens.

    Example:
        >>> mixture = Mixture((MixtureSource("out/web", 1.0, 300, 298, 20, 200, 14, 1.0),), False)
        >>> print(mixture)
        source   weight  documents  wanted  tokens   share  epochs
        out/web       1         20     300     298  100.0%    1.49

    """

    sources: tuple[MixtureSource, ...]
    exact: bool

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[MixtureSource]:
        return iter(self.sources)

    def as_dict(self) -> dict[str, Any]:
        """Return the mixture as data for JSON."""
        rows = [{**asdict(source), "epochs": source.epochs} for source in self.sources]
        return {"exact": self.exact, "sources": rows}

    @staticmethod
    def from_json(record: dict[str, Any]) -> Mixture:
        """Read what `as_dict` made; `KeyError` or `TypeError` on anything else."""
        rows = [{name: value for name, value in row.items() if name != "epochs"} for row in record["sources"]]
        return Mixture(tuple(MixtureSource(**row) for row in rows), record["exact"])

    @staticmethod
    def of(recipe: Recipe, counts: Sequence[Sequence[int]]) -> Mixture:
        """Return a mixture by its recipe; `counts` are documents and tokens of each source, taken and in all."""
        total = sum(tokens for _, tokens, _, _ in counts)
        rows = [
            MixtureSource(
                share.folder, share.weight, share.tokens, tokens, documents, its_tokens, its_documents,
                tokens / total if total else 0.0,
            )
            for share, (documents, tokens, its_documents, its_tokens) in zip(recipe.shares, counts, strict=True)
        ]  # fmt: skip
        return Mixture(tuple(rows), recipe.exact)

    def __str__(self) -> str:
        header = ("source", "weight", "documents", "wanted", "tokens", "share", "epochs")
        rows = [
            (
                source.folder, f"{source.weight:g}", f"{source.documents:,}", f"{source.wanted:,}",
                f"{source.tokens:,}", f"{source.share:.1%}", f"{source.epochs:.2f}",
            )
            for source in self.sources
        ]  # fmt: skip
        return aligned([header, *rows])


def weight_of(name: str, value: Any) -> Weight:
    """Return a weight; `TypeError` or `ValueError` naming it unless it is a finite number above 0.

    A float stands for the number that Python writes for it, so that 0.6 : 0.3 : 0.1 are 6 : 3 : 1.

    >>> weight_of("folders[0]", 0.6), weight_of("folders[0]", 2)
    (Fraction(3, 5), Fraction(2, 1))
    """
    number = real(f"the weight of {name}", value)
    if not (isinstance(number, int) or isfinite(number)) or number <= 0:
        raise ValueError(f"the weight of {name} is {number}; expected a finite number above 0")
    return Fraction(number) if isinstance(number, int) else Fraction(repr(float(number)))


def is_pair(value: object) -> bool:
    """Return whether this is a folder and a weight, not a folder.

    >>> is_pair(("web", 0.6)), is_pair("ab")
    (True, False)
    """
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | os.PathLike)


def most_tokens(weights: Sequence[Weight], had: Sequence[int]) -> int:
    """Return the tokens of the largest mixture for which no source is read twice.

    >>> most_tokens([Fraction(3), Fraction(1)], [30, 40])
    40
    """
    total = sum(weights)
    return int(min(tokens * total / weight for weight, tokens in zip(weights, had, strict=True)))


def wanted_of(weights: Sequence[Weight], tokens: int) -> list[int]:
    """Divide tokens by weights; the tokens left over by rounding go to the largest remainders, the first ones first.

    >>> wanted_of([Fraction(1), Fraction(1), Fraction(1)], 100)
    [34, 33, 33]
    """
    total = sum(weights)
    shares = [weight * tokens / total for weight in weights]
    wanted = [int(share) for share in shares]
    order = sorted(range(len(shares)), key=lambda number: (wanted[number] - shares[number], number))
    for number in order[: tokens - sum(wanted)]:
        wanted[number] += 1
    return wanted
