"""Build the deterministic automaton of a regex, which finds the matches that the `regex` package finds.

`automaton_nodes` makes a nondeterministic automaton of the regex, `automaton_states` a deterministic one of that, and
`automaton_tables` the arrays that the C code reads.
"""

from __future__ import annotations

from functools import lru_cache

from ..core.automaton import Automaton as CompiledAutomaton
from ..records import dataclass
from .automaton_nodes import MATCH, Nodes, least_length
from .automaton_states import Determinizer
from .automaton_tables import Tables, TooManyClassesError, pack
from .character_sets import partition
from .regex_syntax import Node, UnsupportedRegexError, parse_regex
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
    >>> automaton_of(r"(?<=ab)c").reason
    'a lookaround of more than one character'
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
    rows, width = memoryview(tables.rows).cast("I"), tables.class_count + 1
    starts = memoryview(tables.starts).cast("I")
    start = starts[width - 1 if tables.looks_behind else 0]
    following = rows[start : start + tables.class_count]
    # the match ends before the first character
    return any(entry == width or entry >= tables.first_ending for entry in following)


def tables_of(tree: Node, *, of_alphabet: bool) -> Tables:
    """Return the tables of the automaton of a tree; raises `UnsupportedRegexError` and `TooManyClassesError`."""
    nodes = Nodes()
    start = nodes.add(tree, MATCH)
    parts = partition(nodes.sets)
    if any(_INVALID < point < _INVALID + 128 for point in parts.points):
        raise UnsupportedRegexError("a set with some of the surrogates that stand for bytes which are not UTF-8")
    return pack(Determinizer(nodes, parts).rows(start, nullable=least_length(tree) == 0), parts, _INVALID, of_alphabet)
