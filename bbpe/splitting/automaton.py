"""Build the deterministic automaton of a regex, which finds the matches that the `regex` package finds.

`automaton_nodes` makes a nondeterministic automaton of the regex, `automaton_states` a deterministic one of that, and
`automaton_tables` the arrays that the C code reads.  If there are too many states, `automaton_rows` has what a search
needs to make those it comes to.
"""

from __future__ import annotations

from functools import lru_cache

from ..core.automaton import Automaton as CompiledAutomaton
from ..records import dataclass
from .automaton_atomic import AtomicSearcher
from .automaton_nodes import MATCH, Nodes, Shared, least_length
from .automaton_rows import StateMaker, made_rows
from .automaton_states import Marker, Searcher, TooManyStatesError
from .automaton_tables import PackedRows, Tables, TooManyClassesError, pack, pack_look, packed
from .character_sets import partition
from .regex_syntax import parse_regex
from .regex_tree import Node, UnsupportedRegexError
from .regexes import HostRegex, compiled

#: A byte that is not UTF-8 is a character; it is in the sets in which `regex` has this surrogate.
_INVALID = 0xDC80


@dataclass(frozen=True)
class RegexTables:
    """The tables of a regex, or the reason why it has none."""

    tables: Tables | None
    reason: str = ""


@lru_cache(maxsize=256)
def automaton_of(source: str, *, of_alphabet: bool = False) -> RegexTables:
    r"""Return the automaton of a regex that `Regex` accepts, from a cache.

    `of_alphabet`: the texts are bytes in GPT-2's byte alphabet, and the automaton reads the bytes.

    >>> automaton_of(r"\s+(?!\S)|\s+").tables is not None
    True
    >>> automaton_of(r"(a)\1").reason
    'the escape \\1'
    """
    try:
        return RegexTables(tables_of(parse_regex(source), of_alphabet=of_alphabet))
    except UnsupportedRegexError as error:
        return RegexTables(None, str(error))
    except TooManyClassesError:
        return RegexTables(None, "too many classes of characters")
    except RecursionError:
        return RegexTables(None, "deep nesting")


def matcher_of(source: str, *, of_alphabet: bool = False) -> CompiledAutomaton:
    """Return what finds the matches of a regex in C, by its automaton or, where it has none, by the `regex` package."""
    tables = automaton_of(source, of_alphabet=of_alphabet).tables
    return CompiledAutomaton(HostRegex(source, of_alphabet) if tables is None else tables)


def may_begin_empty(source: str) -> bool:
    r"""Return whether a regex may match the empty string where a text begins that is not empty.

    >>> may_begin_empty("(?=a)"), may_begin_empty("(?<=a)"), may_begin_empty(r"\s*$")
    (True, False, False)
    """
    tables = automaton_of(source).tables
    if tables is None:
        return next(compiled(source).find(""), None) is not None
    if isinstance(tables.maker, StateMaker):
        return tables.maker.begins_empty
    width = tables.class_count + 1
    start = memoryview(tables.starts).cast("I")[width - 1 if tables.looks_behind else 0]
    rows = memoryview(tables.rows).cast("I")
    whole = width << len(tables.looks)
    following = (rows[start + at] for at in range(whole) if at % width < tables.class_count)
    # the match ends before the first character
    return any(entry == whole or entry >= tables.first_ending for entry in following)


def tables_of(tree: Node, *, of_alphabet: bool) -> Tables:
    """Return the tables of the automaton of a tree; raises `UnsupportedRegexError` and `TooManyClassesError`."""
    shared = Shared()
    nodes = Nodes(shared)
    start = nodes.add(tree, MATCH)
    has_groups = any(nodes.group)
    if has_groups and any(nodes.ends_line):
        nodes = Nodes(shared, looks_for_end=True)
        start = nodes.add(tree, MATCH)
    parts = partition(shared.sets)
    if any(_INVALID < point < _INVALID + 128 for point in parts.points):
        raise UnsupportedRegexError("a set with some of the surrogates that stand for bytes which are not UTF-8")
    looks = tuple(
        pack_look(_packed(Marker(each, first, parts, number), first, nullable=False), reads_back)
        for number, (each, first, reads_back) in enumerate(shared.looks)
    )
    nullable = least_length(tree) == 0
    if has_groups:  # whether an automaton can follow them is known when all states are made
        rows = packed(AtomicSearcher(nodes, parts, len(looks)).rows(start, nullable=nullable))
    else:
        rows = _packed(Searcher(nodes, parts, len(looks)), start, nullable=nullable)
    return pack(rows, parts, _INVALID, of_alphabet, looks)


def _packed(searcher: Searcher, start: int, *, nullable: bool) -> PackedRows:
    """Return the rows of a searcher, or those of its first states if there are too many."""
    try:
        return packed(searcher.rows(start, nullable=nullable))
    except TooManyStatesError:
        return made_rows(searcher, start, nullable=nullable)
