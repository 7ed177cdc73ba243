r"""The clauses of a split regex, as plain data.

A regex is an alternation of clauses.  A clause is a sequence of items, and an item is a set of characters with a
quantifier.  Equivalent spellings give equal clauses: `[\p{L}]` and `\p{L}`; `[\r\n]` and `[\n\r]`, escaped or literal;
`X{1,}` and `X+`; `(?i:'s|'t)` and `'(?i:[st])`; `X++` and `X+` where nothing that follows can fail.
The parser reads only the constructs that known split patterns use and raises `UnknownClauseError` on any other.
"""

from __future__ import annotations

from ..records import dataclass, replace

_SPACES = frozenset("\t\n\x0b\x0c\r ")
_ESCAPES = {"r": "\r", "n": "\n", "t": "\t", "f": "\f", "v": "\v"}
_DIGITS = {"x": 2, "u": 4}
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ")


class UnknownClauseError(Exception):
    """A regex has a construct that no known clause uses."""


@dataclass(frozen=True)
class Set:
    r"""A set of characters: `properties` such as `\p{L}` or `\s`, and `points`; if `negated`, all other characters.

    Characters with a property in `but` are excluded.  `points` are ranges of code points, both ends included, in
    ascending order, with gaps between them.
    """

    properties: frozenset[str] = frozenset()
    points: tuple[tuple[int, int], ...] = ()
    negated: bool = False
    but: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Words:
    """One of a few strings; a capital letter matches that letter in any case, and S matches U+017F (long s) too."""

    words: frozenset[str]


@dataclass(frozen=True)
class Item:
    r"""A set or words repeated `least` to `most` times (`None`: no limit), or a condition on the text that follows.

    The conditions are "$" and `(?!\S)`.  `possessive`: the item never backtracks, and that changes the matches.
    """

    what: Set | Words | str
    least: int = 1
    most: int | None = 1
    possessive: bool = False


Clause = tuple[Item, ...]


def parse_clauses(source: str) -> list[Clause]:
    r"""Return the clauses of a regex, in order.

    Raises `UnknownClauseError` on anything that known split patterns do not use.

    >>> parse_clauses(r"[\p{N}]{1,}") == parse_clauses(r"\p{N}++")
    True
    >>> [len(clause) for clause in parse_clauses(r" ?\p{L}+|\s+(?!\S)|\s+")]
    [2, 2, 1]
    """
    parser = _ClauseParser(source)
    clauses = parser.alternation()
    if parser.at < len(source):
        raise UnknownClauseError(source[parser.at :])
    return [_simplified(clause) for clause in clauses]


class _ClauseParser:
    """A recursive descent parser; `at` is its position in the source, `fold` whether case is ignored there."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.fold = False

    def take(self, *tokens: str) -> str:
        """Return the first of `tokens` that the source has at this position and move past it; "" when it has none."""
        for token in tokens:
            if self.source.startswith(token, self.at):
                self.at += len(token)
                return token
        return ""

    def next(self) -> str:
        """Take one character."""
        if self.at == len(self.source):
            raise UnknownClauseError("the regex ends too early")
        self.at += 1
        return self.source[self.at - 1]

    def ended(self) -> bool:
        return self.at == len(self.source) or self.source[self.at] in "|)"

    def alternation(self) -> list[Clause]:
        clauses: list[Clause] = []
        while True:
            clauses += self.clause()
            if not self.take("|"):
                return clauses

    def clause(self) -> list[Clause]:
        """Read one clause; return the alternatives of a group that makes up the whole clause."""
        items: list[Item] = []
        while not self.ended():
            atoms = self.atom()
            if isinstance(atoms, Item):
                items.append(self.quantified(atoms))
            elif not items and self.ended():
                return atoms
            else:
                items.append(self.quantified(_grouped(atoms, repeated=self.source.startswith("+", self.at))))
        return [tuple(items)]

    def atom(self) -> Item | list[Clause]:
        if condition := self.take("$", r"(?!\S)"):
            return Item(condition)
        if self.take("(?>"):
            clauses = self.group()
            if len(clauses) != 1 or len(clauses[0]) != 1:
                raise UnknownClauseError("an atomic group of more than one item")
            return [(replace(clauses[0][0], possessive=True),)]
        if self.take("(?i:"):
            outside, self.fold = self.fold, True
            clauses = self.group()
            self.fold = outside
            return clauses
        if self.take("(?:"):
            return self.group()
        if self.take("["):
            return self.item(self.char_class())
        char = self.next()
        if char == "\\":
            return self.item(self.escape())
        if char in "().*+?{}[]^":
            raise UnknownClauseError(char)
        return self.item(char)

    def group(self) -> list[Clause]:
        clauses = self.alternation()
        if not self.take(")"):
            raise UnknownClauseError("a group that is not closed")
        return clauses

    def item(self, what: Set | str) -> Item:
        """Return the item of a set or a character; where case is ignored, only a few ASCII characters are allowed."""
        chosen = _points(what) if isinstance(what, str) else what
        if not self.fold:
            return Item(chosen)
        chars = _chars(chosen)
        if chars is None or not chars.isascii():
            raise UnknownClauseError("ignored case for more than a few ASCII letters")
        return Item(Words(frozenset(chars.upper())))

    def quantified(self, item: Item) -> Item:
        """Read the quantifier after an item."""
        bounds = self.bounds()
        if bounds is None:
            return item
        if (item.least, item.most) != (1, 1) or item.possessive or isinstance(item.what, str):
            raise UnknownClauseError("a second quantifier")
        if self.take("?"):
            raise UnknownClauseError("a lazy quantifier")
        return Item(item.what, *bounds, possessive=bool(self.take("+")))

    def bounds(self) -> tuple[int, int | None] | None:
        sign = self.take("?", "*", "+", "{")
        if sign != "{":
            return {"": None, "?": (0, 1), "*": (0, None), "+": (1, None)}[sign]
        body, closing, _ = self.source[self.at :].partition("}")
        least, comma, most = body.partition(",")
        if not closing or not least.isdecimal() or (most and not most.isdecimal()) or not body.isascii():
            raise UnknownClauseError(f"{{{body}")
        self.at += len(body) + 1
        return int(least), int(most) if most else None if comma else int(least)

    def escape(self) -> Set | str:
        r"""Read the rest of an escape, after its backslash: `\p{L}`, `\s`, `\S`, or a character."""
        char = self.next()
        if char in "sS":
            return Set(frozenset({r"\s"}), negated=char == "S")
        if char in "pP" and self.take("{"):
            name, closing, _ = self.source[self.at :].partition("}")
            if not closing or not name.isalpha():
                raise UnknownClauseError(rf"\{char}{{{name}")
            self.at += len(name) + 1
            return Set(frozenset({rf"\p{{{name}}}"}), negated=char == "P")
        if char in _DIGITS:
            digits = self.source[self.at : self.at + _DIGITS[char]]
            if len(digits) < _DIGITS[char] or any(digit not in "0123456789abcdefABCDEF" for digit in digits):
                raise UnknownClauseError(rf"\{char}{digits}")
            self.at += len(digits)
            return chr(int(digits, 16))
        if char in _ESCAPES or char in _PUNCTUATION:
            return _ESCAPES.get(char, char)
        raise UnknownClauseError(rf"\{char}")

    def char_class(self) -> Set:
        negated = bool(self.take("^"))
        properties: set[str] = set()
        ranges: list[tuple[int, int]] = []
        but: frozenset[str] = frozenset()
        if self.source.startswith("]", self.at):
            raise UnknownClauseError("a class that begins with a bracket")
        while not self.take("]"):
            if self.take("&&["):
                others = self.char_class()
                but = others.properties
                if negated or others != Set(but, negated=True) or not self.source.startswith("]", self.at):
                    raise UnknownClauseError("an intersection")
                continue
            member = self.member()
            if isinstance(member, Set):
                if member.negated:
                    raise UnknownClauseError("a negated property in a class")
                properties |= member.properties
            else:
                ranges.append(self.range_from(member))
        if r"\s" in properties:
            ranges = [(first, last) for first, last in ranges if first != last or chr(first) not in _SPACES]
        return Set(frozenset(properties), _merged(ranges), negated, but)

    def member(self) -> Set | str:
        # some dialects read these as set operators or nested classes
        if self.take("[", "&&", "||", "--", "~~"):
            raise UnknownClauseError("an operator or a nested class in a class")
        char = self.next()
        return self.escape() if char == "\\" else char

    def range_from(self, first: str) -> tuple[int, int]:
        if not self.source.startswith("-", self.at) or self.source.startswith("-]", self.at):
            return ord(first), ord(first)
        self.at += 1
        last = self.member()
        if isinstance(last, Set) or last < first:
            raise UnknownClauseError("a range without a valid end")
        return ord(first), ord(last)


def _points(chars: str) -> Set:
    return Set(points=_merged([(ord(char), ord(char)) for char in chars]))


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(last, merged[-1][1])
        else:
            merged.append((first, last))
    return tuple(merged)


def _chars(chosen: Set) -> str | None:
    """Return the members of a set that lists at most a few characters, `None` for any other set."""
    if chosen.properties or chosen.negated or sum(last - first for first, last in chosen.points) > 32:
        return None
    return "".join(chr(point) for first, last in chosen.points for point in range(first, last + 1))


def _language(items: Clause) -> frozenset[str] | None:
    """Return the strings that a clause matches; `None` when there are more than 64 or one has a capital letter.

    `Words` would read a capital letter as that letter in any case.
    """
    words = [""]
    for item in items:
        if isinstance(item.what, str) or (item.least, item.most) != (1, 1):
            return None
        if isinstance(item.what, Words):
            more: frozenset[str] | str = item.what.words
        else:
            chars = _chars(item.what)
            if chars is None or chars.lower() != chars:
                return None
            more = chars
        words = [word + end for word in words for end in more]
        if len(words) > 64:
            return None
    return frozenset(words)


def _grouped(clauses: list[Clause], *, repeated: bool) -> Item:
    """Return the item that is equivalent to a group within a clause."""
    languages = [_language(clause) for clause in clauses]
    words = frozenset().union(*(language for language in languages if language is not None))
    if None not in languages and not _has_prefixes(words):
        return Item(Words(words))
    if len(clauses) == 1 and len(clauses[0]) == 1:
        item = clauses[0][0]
        if not repeated:
            return item
        if item.least == 1 and not item.possessive and not isinstance(item.what, str):
            return Item(item.what)  # (X{1,n})+ equals X+: both try the same ends in the same order
    raise UnknownClauseError("a group in a clause")


def _has_prefixes(words: frozenset[str]) -> bool:
    """Return whether one word is a prefix of another, so that the order of alternatives matters."""
    return any(a != b and b.casefold().startswith(a.casefold()) for a in words for b in words)


def _simplified(items: Clause) -> Clause:
    """Drop `possessive` where it changes nothing, and replace items that spell few strings by `Words`.

    An item of fixed size never backtracks, nor does one that is followed by optional items only.
    """
    clause: list[Item] = []
    optional = True
    for item in reversed(items):
        never_backtracks = optional or item.least == item.most
        clause.append(replace(item, possessive=False) if never_backtracks else item)
        optional = optional and item.least == 0
    clause.reverse()
    words = _language(tuple(clause))
    return tuple(clause) if not words or words == {""} else (Item(Words(words)),)
