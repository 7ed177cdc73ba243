r"""Translate the regexes of a split pattern into a `Scheme` that splits every text in the same way.

The recogniser looks up each clause of a regex in a table and compares the order of the clauses with the order in which
a `Scheme` tries them.  Two clauses may be in a different order only if no text can begin with both.
The result is `None` for an unknown clause, a missing clause and an order that matters.  The `regex` package splits
then, so recognition never changes the pretokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from ..records import dataclass
from .clauses import Clause, Item, UnknownClauseError, Words, parse_clauses
from .scheme import Scheme


@dataclass(frozen=True)
class _Role:
    """The role of a clause in a scheme, and the fields that it sets."""

    kind: str
    fields: Mapping[str, Any]


def _one(source: str) -> Clause:
    (clause,) = parse_clauses(source)
    return clause


def _words(source: str) -> frozenset[str]:
    (item,) = _one(source)
    assert isinstance(item.what, Words)
    return item.what.words


# No contraction is a prefix of another, so their order and the number of clauses that hold them do not matter.
_LEAD = _words("'(?:[sdmt]|ll|ve|re)")
_FOLD = _words("(?i:'(?:[sdmt]|ll|ve|re))")

_PREFIXES = {"space": " ?", "any": r"[^\r\n\p{L}\p{N}]?", "no_punct": r"[^\r\n\p{L}\p{P}\p{S}]?"}
_LETTERS = {"L": r"\p{L}", "LM": r"\p{L}\p{M}"}
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_RESTS = {"not_sLN": r"[^\s\p{L}\p{N}]", "not_sLMN": r"[^\s\p{L}\p{M}\p{N}]", "PS": r"[\p{P}\p{S}]"}
_TAILS = {"none": "", "newlines": r"[\r\n]*", "newlines_slash": r"[\r\n/]*"}


def _rows() -> Iterator[tuple[str, _Role]]:
    """Yield each known clause and its role."""
    yield r"\p{Han}+", _Role("han", {"han_run": True})
    yield r"""[!-/:-@\[-`{-~][A-Za-z]+""", _Role("ascii_word", {"ascii_word": True})
    yield from _word_rows()
    for tail, rest in product(_TAILS, _RESTS):
        for blank in (" ?", " ?+"):  # no set of rest has a blank, so the optional blank never backtracks
            yield f"{blank}{_RESTS[rest]}+{_TAILS[tail]}", _Role("rest", {"rest": rest, "tail": tail})
    # A run of white space up to the end of the text never backtracks, because "$" would not match before its end.
    # ("$" also matches before the last line end of a text, but the run includes that line end.)
    for source in (r"\s+$", r"\s++$"):
        yield source, _Role("end", {})
    # \s* takes everything up to the last line end of the run, so [\r\n]+ never matches more than one character.
    for source in (r"\s*[\r\n]", r"\s*[\r\n]+"):
        yield source, _Role("newline", {"newline": True})
    yield r"\s+(?!\S)", _Role("inner", {})
    # After "inner" a run of white space has one character, because "inner" takes all but the last of a longer run.
    for source in (r"\s", r"\s+"):
        yield source, _Role("last", {})


def _word_rows() -> Iterator[tuple[str, _Role]]:
    for (prefix, before), (suffix, after), han in product(
        _PREFIXES.items(), (("none", ""), ("suffix_fold", "(?i:'(?:[sdmt]|ll|ve|re))?")), (False, True)
    ):
        but = r"&&[^\p{Han}]" if han else ""
        fields = {"prefix": prefix, "suffix": suffix, "but_han": han}
        for word, letters in _LETTERS.items():
            yield f"{before}[{letters}{but}]+{after}", _Role("word", {**fields, "word": word})
            if prefix == "space" or word == "L":  # words have no character of the prefix, so it never backtracks
                yield f"{before}+[{letters}{but}]+{after}", _Role("word", {**fields, "word": word})
        upper, lower = f"[{_UPPER}{but}]", f"[{_LOWER}{but}]"
        fields |= {"word": "LM", "cased": True}
        yield f"{before}{upper}*{lower}+{after}", _Role("word", fields)
        yield f"{before}{upper}+{lower}*{after}", _Role("upper_word", fields)


_TABLE = {_one(source): role for source, role in _rows()}

_NUMBER = _one(r"\p{N}")[0].what
_BLANKS = {_one(source + "x")[0] for source in (" ?", " ?+")}
_MOST = 2**31  # the compiled splitter counts up to this
_CJK = _one("[\u4e00-\u9fa5\u3040-\u30ff]+")


def recognise_scheme(steps: tuple[str, ...], drops_gaps: bool) -> Scheme | None:
    r"""Return the scheme that splits every text as a chain of regexes does, `None` when no scheme is known to.

    `drops_gaps`: text that no regex matches is dropped.

    >>> gpt2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    >>> recognise_scheme((gpt2,), False) == Scheme(contraction="lead", number_space=True)
    True
    >>> recognise_scheme((r"\w+|\s+",), False) is None
    True
    """
    try:
        chain = [parse_clauses(step) for step in steps]
    except (UnknownClauseError, RecursionError):
        return None
    if not chain:
        return None
    earlier = _earlier_fields(chain[:-1])
    roles = [_role_of(clause) for clause in chain[-1]]
    if earlier is None or None in roles:
        return None
    scheme = _scheme([role for role in roles if role is not None], earlier)
    if scheme is None or not _is_supported(scheme):
        return None
    # a scheme keeps gaps, so it fits a pattern that drops them only if there are none
    return None if drops_gaps and (len(steps) > 1 or _leaves_gaps(scheme)) else scheme


def _role_of(clause: Clause) -> _Role | None:
    """Return the role of a clause, `None` for an unknown clause."""
    found = _TABLE.get(clause)
    if found is not None:
        return found
    if len(clause) == 1 and isinstance(clause[0].what, Words) and (clause[0].least, clause[0].most) == (1, 1):
        return _Role("contraction", {"words": clause[0].what.words})
    limit = _number_limit(clause[-1:])
    # numbers have no blank, so the optional blank never backtracks
    if limit is None or len(clause) > 2 or (len(clause) == 2 and clause[0] not in _BLANKS):
        return None
    return _Role("number", {"number_max": limit, "number_space": len(clause) == 2})


def _number_limit(clause: Clause) -> int | None:
    r"""Return the n of `\p{N}{1,n}`, 0 for `\p{N}+`, and `None` for any other clause."""
    if len(clause) != 1:
        return None
    item = clause[0]
    if item != Item(_NUMBER, 1, item.most) or not 0 < (item.most or 1) <= _MOST:
        return None
    return item.most or 0


def _earlier_fields(steps: list[list[Clause]]) -> dict[str, Any] | None:
    """Return the fields set by all steps before the last; `None` for an unknown step or two of one kind.

    The order of these steps does not matter, because numbers and CJK runs are disjoint.
    """
    fields: dict[str, Any] = {}
    for clauses in steps:
        limit = _number_limit(clauses[0]) if len(clauses) == 1 else None
        key = "numbers_apart" if limit is not None else "cjk_apart" if clauses == [_CJK] else None
        if key is None or key in fields:
            return None
        fields[key] = True
        if limit is not None:
            fields["number_max"] = limit
    return fields


def _scheme(roles: list[_Role], earlier: dict[str, Any]) -> Scheme | None:
    """Combine the fields of all steps; `None` unless the last step has all required clauses, and in order."""
    positions = {role.kind: position for position, role in reversed([*enumerate(roles)])}
    last_positions = {role.kind: position for position, role in enumerate(roles)}
    words = [word for role in roles if role.kind == "contraction" for word in role.fields["words"]]
    if len(positions) + sum(role.kind == "contraction" for role in roles) - ("contraction" in positions) != len(roles):
        return None  # there are two clauses of one kind
    fields: dict[str, Any] = {}
    for role in roles:
        if role.kind == "upper_word" and any(fields.get(key) != value for key, value in role.fields.items()):
            return None
        fields |= role.fields if role.kind != "contraction" else {}
    contraction = _contraction(words, fields.pop("suffix", "none"))
    if contraction is None or fields.pop("but_han", False) != fields.get("han_run", False):
        return None
    if ("upper_word" in positions) != fields.get("cased", False):
        return None
    if not {"word", "rest", "inner", "last"} <= positions.keys():
        return None
    limit = _limit(fields, earlier)
    if limit is None:
        return None
    end_first = "end" in positions and "newline" in positions and positions["end"] < positions["newline"]
    scheme = Scheme(**{**fields, **earlier, "number_max": limit, "contraction": contraction, "end_first": end_first})
    in_order = all(
        last_positions[first] < positions[then]
        for first, then in _precedence(scheme)
        if first in positions and then in positions
    )
    return scheme if in_order else None


def _contraction(words: list[str], suffix: str) -> str | None:
    """Return the field `contraction`: contractions before words or after them; `None` for unknown contractions."""
    if not words:
        return suffix
    if suffix != "none" or len(words) != len(_LEAD):
        return None
    return {_LEAD: "lead", _FOLD: "lead_fold"}.get(frozenset(words))


def _limit(fields: dict[str, Any], earlier: dict[str, Any]) -> int | None:
    """Return the most numbers in a pretoken, 0 for no limit, `None` when the steps have no common limit.

    The last step splits the pieces of an earlier step again: pieces of 4 into pieces of 2, for example.
    """
    limit: int | None = fields.get("number_max")
    if "number_max" not in earlier:
        return limit
    first: int = earlier["number_max"]
    if not limit or 0 < first <= limit:
        return first
    return limit if first % limit == 0 else None


def _precedence(scheme: Scheme) -> Iterator[tuple[str, str]]:
    """Yield pairs of kinds of clauses that can match at the same position, in the order of the scheme.

    No text begins with both clauses of any other pair.  A prefix or a blank is followed by a character that is not
    white space.  So words, numbers and rest exclude all white space clauses except the last: "end" and "newline" need
    more white space or a line end (no prefix is a line end), and "inner" needs a run of two or the end of the text.
    """
    # Han marks, numbers and symbols can also be prefixes, numbers and rest
    yield from (("han", kind) for kind in ("word", "upper_word", "number", "rest"))
    # an apostrophe is punctuation, and a prefix of the kind "any"
    yield from (("contraction", "ascii_word"), ("contraction", "rest"), ("ascii_word", "rest"))
    if scheme.prefix == "any":
        yield from ((kind, word) for kind in ("contraction", "ascii_word") for word in ("word", "upper_word"))
    # `_scheme` takes no "upper_word" before the "word" whose fields it has
    for word in ("word", "upper_word"):
        if scheme.prefix == "no_punct":
            yield (word, "number")  # numbers can be prefixes
        # a prefix or a mark at the beginning of a word can also begin rest
        is_disjoint = scheme.prefix == "space" or (scheme.prefix == "no_punct" and scheme.rest == "PS")
        if not is_disjoint or (scheme.word == "LM" and scheme.rest == "not_sLN"):
            yield (word, "rest")
        yield (word, "last")
    yield from (("rest", "last"), ("newline", "inner"), ("newline", "last"), ("inner", "last"))
    if scheme.number_space:
        yield ("number", "last")


def _leaves_gaps(scheme: Scheme) -> bool:
    """Return whether there are characters that no clause matches."""
    return scheme.rest == "PS" or (scheme.rest == "not_sLMN" and scheme.word == "L")


def _is_supported(scheme: Scheme) -> bool:
    """Return whether the compiled splitter supports a combination; no known pattern uses any other."""
    if scheme.han_run and scheme.numbers_apart:
        return False  # a Han number would belong to both
    if scheme.cjk_apart and (scheme.contraction == "suffix_fold" or scheme.tail == "newlines_slash"):
        return False  # the compiled splitter looks for these after the end of the piece
    # a gap ends where a clause begins, except numbers and Han runs
    return not _leaves_gaps(scheme) or (scheme.numbers_apart and not scheme.han_run)
