r"""Recognise a split pattern: from the clauses of its regexes to its scheme.

Each clause of a regex is looked up in a table of clauses, and their order is compared with the order of
the sentence that a `Scheme` is.  Two clauses may stand in another order where no text can begin with both.
A clause that is not in the table, one that is missing, and an order that matters give `None`: the `regex`
package splits then.  Never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from .clauses import Clause, Item, UnknownClauseError, Words, parse_clauses
from .scheme import Scheme


@dataclass(frozen=True, slots=True)
class _Part:
    """What a clause is in the sentence, and the fields it sets."""

    kind: str
    fields: Mapping[str, Any]


def _one(source: str) -> Clause:
    (clause,) = parse_clauses(source)
    return clause


def _words(source: str) -> frozenset[str]:
    (item,) = _one(source)
    if not isinstance(item.what, Words):
        raise TypeError(f"{source!r} is no list of words")
    return item.what.words


# No contraction begins another one, so that their order and the number of clauses do not matter.
_LEAD = _words("'(?:[sdmt]|ll|ve|re)")
_FOLD = _words("(?i:'(?:[sdmt]|ll|ve|re))")

_PREFIXES = {"space": " ?", "any": r"[^\r\n\p{L}\p{N}]?", "no_punct": r"[^\r\n\p{L}\p{P}\p{S}]?"}
_LETTERS = {"L": r"\p{L}", "LM": r"\p{L}\p{M}"}
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_RESTS = {"not_sLN": r"[^\s\p{L}\p{N}]", "not_sLMN": r"[^\s\p{L}\p{M}\p{N}]", "PS": r"[\p{P}\p{S}]"}
_TAILS = {"none": "", "newlines": r"[\r\n]*", "newlines_slash": r"[\r\n/]*"}


def _rows() -> Iterator[tuple[str, _Part]]:
    """Yield each known clause and what it is; why it is so where that is not plain."""
    yield r"\p{Han}+", _Part("han", {"han_run": True})
    yield r"""[!-/:-@\[-`{-~][A-Za-z]+""", _Part("ascii_word", {"ascii_word": True})
    yield from _word_rows()
    for tail, rest in product(_TAILS, _RESTS):
        for blank in (" ?", " ?+"):  # a blank is in no set of rest: the optional one never has to be given back
            yield f"{blank}{_RESTS[rest]}+{_TAILS[tail]}", _Part("rest", {"rest": rest, "tail": tail})
    # White space.  All of the run, which reaches the end of the text: given back, the end would not be there.
    # ($ also matches before the last line end of the text, but the run takes that too.)
    for source in (r"\s+$", r"\s++$"):
        yield source, _Part("end", {})
    # [\r\n] takes the last line end of the run, \s* all before it, so that more of them never follow.
    for source in (r"\s*[\r\n]", r"\s*[\r\n]+"):
        yield source, _Part("newline", {"newline": True})
    yield r"\s+(?!\S)", _Part("inner", {})
    # Behind "inner" a run of white space is one character: of a longer one "inner" has taken all but the last.
    for source in (r"\s", r"\s+"):
        yield source, _Part("last", {})


def _word_rows() -> Iterator[tuple[str, _Part]]:
    for (prefix, before), (suffix, behind), han in product(
        _PREFIXES.items(), (("none", ""), ("suffix_fold", "(?i:'(?:[sdmt]|ll|ve|re))?")), (False, True)
    ):
        but = r"&&[^\p{Han}]" if han else ""
        fields = {"prefix": prefix, "suffix": suffix, "but_han": han}
        for word, letters in _LETTERS.items():
            yield f"{before}[{letters}{but}]+{behind}", _Part("word", {**fields, "word": word})
            if prefix == "space" or word == "L":  # the prefix is no part of words: it never has to be given back
                yield f"{before}+[{letters}{but}]+{behind}", _Part("word", {**fields, "word": word})
        upper, lower = f"[{_UPPER}{but}]", f"[{_LOWER}{but}]"
        fields |= {"word": "LM", "cased": True}
        yield f"{before}{upper}*{lower}+{behind}", _Part("word", fields)
        yield f"{before}{upper}+{lower}*{behind}", _Part("upper_word", fields)


_TABLE = {_one(source): part for source, part in _rows()}

_NUMBER = _one(r"\p{N}")[0].what
_BLANKS = {_one(source + "x")[0] for source in (" ?", " ?+")}
_MOST = 2**31  # what the compiled splitter can count to
_CJK = _one("[\u4e00-\u9fa5\u3040-\u30ff]+")


def recognise_scheme(steps: tuple[str, ...], drops_gaps: bool) -> Scheme | None:
    r"""Return the scheme that splits every text as a chain of regexes does, `None` when it is not known to.

    `drops_gaps`: whether text that no regex matches is dropped.

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
    apart = _apart(chain[:-1])
    parts = [_part(clause) for clause in chain[-1]]
    if apart is None or None in parts:
        return None
    scheme = _scheme([part for part in parts if part is not None], apart)
    if scheme is None or not _works(scheme):
        return None
    # with gaps dropped, only one step that leaves no gap is the same
    return None if drops_gaps and (len(steps) > 1 or _leaves_gaps(scheme)) else scheme


def _part(clause: Clause) -> _Part | None:
    """Look a clause up."""
    found = _TABLE.get(clause)
    if found is not None:
        return found
    if len(clause) == 1 and isinstance(clause[0].what, Words) and (clause[0].least, clause[0].most) == (1, 1):
        return _Part("contraction", {"words": clause[0].what.words})
    limit = _number_limit(clause[-1:])
    # numbers hold no blank: the optional one never has to be given back
    if limit is None or len(clause) > 2 or (len(clause) == 2 and clause[0] not in _BLANKS):
        return None
    return _Part("number", {"number_max": limit, "number_space": len(clause) == 2})


def _number_limit(clause: Clause) -> int | None:
    r"""Return the n of `\p{N}{1,n}`, 0 for `\p{N}+`, and `None` for any other clause."""
    if len(clause) != 1:
        return None
    item = clause[0]
    if item != Item(_NUMBER, 1, item.most) or not 0 < (item.most or 1) <= _MOST:
        return None
    return item.most or 0


def _apart(steps: list[list[Clause]]) -> dict[str, Any] | None:
    """Return the fields that all steps but the last set: each kind at most once.

    What they cut off is disjoint, so that their order does not matter.
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


def _scheme(parts: list[_Part], apart: dict[str, Any]) -> Scheme | None:
    """Unite the fields of the clauses of the last step, and check that all are there and in order."""
    places = {part.kind: place for place, part in reversed([*enumerate(parts)])}
    last_places = {part.kind: place for place, part in enumerate(parts)}
    words = [word for part in parts if part.kind == "contraction" for word in part.fields["words"]]
    if len(places) + sum(part.kind == "contraction" for part in parts) - ("contraction" in places) != len(parts):
        return None  # a kind of clause stands twice
    fields: dict[str, Any] = {}
    for part in parts:
        if part.kind == "upper_word" and any(fields.get(key) != value for key, value in part.fields.items()):
            return None
        fields |= part.fields if part.kind != "contraction" else {}
    contraction = _contraction(words, fields.pop("suffix", "none"))
    if contraction is None or fields.pop("but_han", False) != fields.get("han_run", False):
        return None
    if ("upper_word" in places) != fields.get("cased", False) or not {"word", "rest", "inner", "last"} <= set(places):
        return None
    limit = _limit(fields, apart)
    if limit is None:
        return None
    end_first = "end" in places and "newline" in places and places["end"] < places["newline"]
    scheme = Scheme(**{**fields, **apart, "number_max": limit, "contraction": contraction, "end_first": end_first})
    in_order = all(
        last_places[first] < places[then]
        for first, then in _precedence(scheme)
        if first in places and then in places
    )
    return scheme if in_order else None


def _contraction(words: list[str], suffix: str) -> str | None:
    """Return the field of contractions that stand in front, or behind words; `None` for any but the known ones."""
    if not words:
        return suffix
    if suffix != "none" or len(words) != len(_LEAD):
        return None
    return {_LEAD: "lead", _FOLD: "lead_fold"}.get(frozenset(words))


def _limit(fields: dict[str, Any], apart: dict[str, Any]) -> int | None:
    """Return how many numbers make a pretoken at most, `None` when that is no such rule.

    The last step cuts what an earlier one has cut off: into pieces of 2, say, what comes in pieces of 4.
    """
    limit: int | None = fields.get("number_max")
    if "number_max" not in apart:
        return limit
    first: int = apart["number_max"]
    if not limit or 0 < first <= limit:
        return first
    return limit if first % limit == 0 else None


def _precedence(scheme: Scheme) -> Iterator[tuple[str, str]]:
    """Yield the kinds of clauses that may begin at the same place, in the order of the sentence.

    Of two kinds that are not here no text begins with both.  Behind a prefix or a blank stands something that
    is no white space, so words, numbers and rest exclude all white space clauses but the last: "end" and
    "newline" need white space or a line end next (no prefix is a line end), "inner" a run of two or the end.
    """
    # Han marks, numbers and symbols are also prefixes, numbers and rest
    yield from (("han", kind) for kind in ("word", "upper_word", "number", "rest"))
    # an apostrophe is punctuation, and a prefix of the kind "any"
    yield from (("contraction", "ascii_word"), ("contraction", "rest"), ("ascii_word", "rest"))
    if scheme.prefix == "any":
        yield from ((kind, word) for kind in ("contraction", "ascii_word") for word in ("word", "upper_word"))
    yield ("word", "upper_word")
    for word in ("word", "upper_word"):
        if scheme.prefix == "no_punct":
            yield (word, "number")  # numbers are prefixes too
        # a prefix or a mark that begins a word may also begin rest
        apart = scheme.prefix == "space" or (scheme.prefix == "no_punct" and scheme.rest == "PS")
        if not apart or (scheme.word == "LM" and scheme.rest == "not_sLN"):
            yield (word, "rest")
        yield (word, "last")
    yield from (("rest", "last"), ("newline", "inner"), ("newline", "last"), ("inner", "last"))
    if scheme.number_space:
        yield ("number", "last")


def _leaves_gaps(scheme: Scheme) -> bool:
    """Whether there are characters that no clause takes."""
    return scheme.rest == "PS" or (scheme.rest == "not_sLMN" and scheme.word == "L")


def _works(scheme: Scheme) -> bool:
    """Whether the compiled splitter follows a combination; what it does not nobody has been seen to use."""
    if scheme.han_run and scheme.numbers_apart:
        return False  # Han numbers are both
    if scheme.cjk_apart and (scheme.contraction == "suffix_fold" or scheme.tail == "newlines_slash"):
        return False  # both are looked for beyond the piece
    # a gap ends where a clause begins, except numbers and Han runs
    return not _leaves_gaps(scheme) or (scheme.numbers_apart and not scheme.han_run)
