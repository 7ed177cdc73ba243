"""The steps of a trace as data."""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..records import dataclass

#: How tokens are made: merges, longest matches, the best path through a lattice, a look-up of the whole pretoken, or a
#: special token.
Kind: TypeAlias = Literal["merges", "longest", "lattice", "whole", "special"]


@dataclass(frozen=True)
class Step:
    """A step: what was done, and the symbols after it.

    Attributes:
        place: The number of the first symbol that the step joins or takes.
        made: The bytes of the token that it makes.
        id: The id of the token, None if it has none.
        rank: The priority of the merge, 0 first; None for other models.
        symbols: All symbols after the step; of a longest match the tokens so far and the rest.

    """

    place: int
    made: bytes
    id: int | None
    rank: int | None
    symbols: tuple[bytes, ...]


@dataclass(frozen=True)
class Edge:
    """A token that fits into a pretoken: from and to which byte, its score, and whether the best path takes it."""

    start: int
    end: int
    id: int | None
    score: float
    is_best: bool


@dataclass(frozen=True)
class PretokenTrace:
    """How the tokens of one pretoken are made.

    Attributes:
        pretoken: Its bytes, after normalization.
        kind: "merges", "longest", "lattice", "whole" (a token as it is) or "special".
        start: The symbols before the first step.
        steps: The steps of merges and longest matches.
        edges: The lattice of a Unigram model.
        ids: The ids that it becomes.

    """

    pretoken: bytes
    kind: Kind
    start: tuple[bytes, ...]
    steps: tuple[Step, ...]
    edges: tuple[Edge, ...]
    ids: tuple[int, ...]
