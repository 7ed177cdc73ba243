"""The tables of a deterministic automaton, in the layout that the C code reads."""

from __future__ import annotations

from array import array
from itertools import pairwise

from ..records import dataclass
from ..text import bytes_to_alphabet
from .character_sets import Partition

#: Code points with one entry in the table of blocks.
BLOCK = 128
#: The class of a byte that is a part of a longer character, or of no character.
BEYOND = 255


class TooManyClassesError(Exception):
    """A regex tells apart more classes of characters than a byte can number."""


@dataclass(frozen=True)
class TransitionRows:
    """The transitions of a deterministic automaton by state and class of the next character.

    A transition is the next state, -1 for none, and whether a match ends before that character.  The last class is the
    end of the text, with 1 where a match ends there, or 2 where it ends before a line feed there.  A row has all
    classes `choices` times, by which lookarounds are true before the character.

    `starts[0]` has the first state by the class of the character before the search, the last entry for the beginning of
    the text.  `starts[1]`, if any, has the first states that refuse an empty match.  With `goes_on`, `starts[2]` has
    those after the place where the search begins.
    """

    table: list[list[tuple[int, int]]]
    starts: list[list[int]]
    choices: int
    looks_behind: bool
    may_be_empty: bool
    goes_on: bool


@dataclass(frozen=True)
class LookTables:
    """The automaton of a lookaround, which reads the whole text from the row `start` on, or back from the text's end.

    `rows` and `first_ending` are as in `Tables`.  The lookaround is true where the next character leads to an entry
    from `first_ending` on.  A row has the choices of the lookarounds before this one.  `maker` as in `Tables`.
    """

    rows: bytes
    start: int
    first_ending: int
    reads_back: bool
    maker: object = None


@dataclass(frozen=True)
class Tables:
    """An automaton as arrays of bytes.

    `bytes_to_class`: the class of each ASCII character, or of each byte when `reads_bytes`; `BEYOND` for other bytes.
    `blocks` (uint16) and `values` (uint8): the classes of all code points.  `invalid`: the class of bytes that are not
    UTF-8.

    `rows` (uint32): for each state the next one by class, as the index of its first entry; the last class is the end of
    the text, as in `TransitionRows`.  A row has all classes once for each choice of `looks` that are true.  State 0 has
    no way on; nor has state 1, which a character leads to if a match ends before it.  From entry `first_ending` on a
    match ends before the character that led to a state.

    `maker`: the `StateMaker` that makes rows while a search comes to them, in place of `rows`; or `None`.

    `starts` (uint32): `TransitionRows.starts`.  `idle[c]`: no match begins before a character of class c.  `looks`: the
    lookarounds of more than one character, each after those in it.
    """

    bytes_to_class: bytes
    blocks: bytes
    values: bytes
    invalid: int
    rows: bytes
    first_ending: int
    starts: bytes
    idle: bytes
    class_count: int
    state_count: int
    may_be_empty: bool
    looks_behind: bool
    reads_bytes: bool
    goes_on: bool
    looks: tuple[LookTables, ...]
    maker: object = None


@dataclass(frozen=True)
class PackedRows:
    """The rows of an automaton, and their part of `Tables`; `starts` has the first entries of the first states."""

    rows: bytes
    first_ending: int
    starts: tuple[int, ...]
    idle: bytes
    width: int
    state_count: int
    may_be_empty: bool
    looks_behind: bool
    goes_on: bool
    maker: object = None


def packed(rows: TransitionRows) -> PackedRows:
    """Return rows that are all made."""
    table, first_ending, offsets = _ordered(rows)
    first = {state for states in rows.starts for state in states}
    row = len(rows.table[0])
    width, nowhere = row // rows.choices, [(-1, 0)] * rows.choices
    idle = bytes(all(rows.table[state][c::width] == nowhere for state in first) for c in range(width - 1))
    starts = tuple(offsets[state] for states in rows.starts for state in states)
    return PackedRows(
        table.tobytes(), first_ending, starts, idle, width, len(table) // row, rows.may_be_empty, rows.looks_behind,
        rows.goes_on,
    )  # fmt: skip


def pack_look(rows: PackedRows, reads_back: bool) -> LookTables:
    """Return the tables of a lookaround's automaton."""
    return LookTables(rows.rows, rows.starts[0], rows.first_ending, reads_back, rows.maker)


def pack(
    rows: PackedRows, parts: Partition, invalid: int, of_alphabet: bool, looks: tuple[LookTables, ...]
) -> Tables:
    """Return the tables of an automaton over classes of characters.

    `invalid`: the code point that stands for bytes that are not UTF-8.  `of_alphabet`: the automaton reads bytes as
    characters of GPT-2's byte alphabet.  Raises `TooManyClassesError`.
    """
    count = rows.width - 1
    if count >= BEYOND:
        raise TooManyClassesError
    ranges = zip(parts.classes, pairwise(parts.points), strict=True)
    points = b"".join([bytes((number,)) * (end - start) for number, (start, end) in ranges])
    numbers = [ord(char) for char in bytes_to_alphabet(bytes(range(256)))] if of_alphabet else range(128)
    bytes_to_class = bytes([points[number] for number in numbers]).ljust(256, bytes([BEYOND]))
    blocks, values = _two_stages(points)
    return Tables(
        bytes_to_class, blocks, values, points[invalid], rows.rows, rows.first_ending,
        array("I", rows.starts).tobytes(), rows.idle, count, rows.state_count, rows.may_be_empty, rows.looks_behind,
        of_alphabet, rows.goes_on, looks, rows.maker,
    )  # fmt: skip


def _two_stages(points: bytes) -> tuple[bytes, bytes]:
    numbers: dict[bytes, int] = {}
    blocks = [numbers.setdefault(points[at : at + BLOCK], len(numbers)) for at in range(0, len(points), BLOCK)]
    return array("H", blocks).tobytes(), b"".join(numbers)


def _ordered(rows: TransitionRows) -> tuple[array[int], int, list[int]]:
    """Return the rows in the order of `Tables`, the first entry with an end, and the first entry of each state."""
    pairs = {pair for row in rows.table for pair in row} | {(state, 0) for states in rows.starts for state in states}
    nowhere = {(-1, 0), (-1, 1), (-1, 2)}
    order = [(-1, 0), (-1, 1), *sorted(pairs - nowhere, key=lambda pair: (pair[1], pair[0]))]
    width = len(rows.table[0])
    offset = {pair: number * width for number, pair in enumerate(order)}
    table = array("I", bytes(2 * width * array("I").itemsize))
    step = width // rows.choices
    for state, _ in order[2:]:
        entries = [offset.get(pair, 0) for pair in rows.table[state]]
        entries[step - 1 :: step] = [end for _, end in rows.table[state][step - 1 :: step]]
        table.extend(entries)
    first = next((number for number, pair in enumerate(order[2:], 2) if pair[1]), len(order))
    return table, first * width, [offset.get((state, 0), 0) for state in range(len(rows.table))]
