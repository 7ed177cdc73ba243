r"""Parse regexes of the `regex` package into the trees of `regex_tree`.

The parser knows the constructs that an automaton can follow, and raises `UnsupportedRegexError` on any other.  A regex
must have been accepted by `regex` before.  Which characters belong to a property is asked of `regex` itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ..lazy import lazy_regex, regex
from .character_sets import (
    EVERYTHING,
    NOTHING,
    CharacterSet,
    combined,
    complement,
    folded,
    is_representable,
    members,
    members_of_package,
    single,
    spelled,
    union,
    with_cases,
)
from .regex_tree import (
    NEWLINE,
    Alternation,
    Atomic,
    LastLineEnd,
    Look,
    LookAround,
    Node,
    OneCharacter,
    Repeat,
    SearchStart,
    Sequence,
    UnsupportedRegexError,
    look_around,
)

_CONTROLS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_NAMED_SETS = lazy_regex(r"\\[dDwWsSh]|\\[pP](?:\{[^{}]*\}|\w)|\[:[^:]*:\]")
_HEX = {"x": 2, "u": 4, "U": 8}
_OPERATORS: tuple[tuple[str, Callable[[int], bool]], ...] = (
    ("||", bool),
    ("~~", lambda inside: inside in (1, 2)),
    ("&&", lambda inside: inside == 3),
    ("--", lambda inside: inside == 1),
)
#: A class without members; the `regex` package takes `[^\s\S]` for every character.
NO_CHARACTER = r"[^\U00000000-\U0010FFFF]"
#: A comment after its parenthesis.
COMMENT = r"\?#(?:\\[\s\S]|[^)\\])*\)"


def parse_regex(source: str) -> Node:
    """Return the tree of a regex; raises `UnsupportedRegexError`.

    >>> parse_regex("[0-9]")
    OneCharacter(chosen=(48, 58))
    """
    parser = _RegexParser(source)
    while parser.match(r"\(\?([imsuax]+)\)"):
        parser.set_flags(parser.found[1])
    node = parser.alternation()
    if parser.at < len(source):
        raise UnsupportedRegexError("a parenthesis that closes no group")
    return node


class _RegexParser:
    """A recursive descent parser; `at` is its position in the source, `found` the last match of `match`."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.is_new = "&&" in source  # the syntax of the package's version 1, as `Regex` chooses it
        self.flags = int(regex.V1 if self.is_new else regex.V0)
        self.folds = 0  # characters so far whose case is ignored in the new syntax
        self.found: regex.Match[str]

    def match(self, pattern: str) -> bool:
        """Return whether the source goes on with a match of a pattern, and move past it."""
        found = _compiled(pattern).match(self.source, self.at)
        if found is None:
            return False
        self.found, self.at = found, found.end()
        return True

    def take(self, token: str) -> bool:
        if not self.source.startswith(token, self.at):
            return False
        self.at += len(token)
        return True

    def next(self) -> str:
        if self.at == len(self.source):
            raise UnsupportedRegexError("an end within a construct")
        self.at += 1
        return self.source[self.at - 1]

    def set_flags(self, on: str, off: str = "") -> None:
        for flag in on:
            self.flags |= int(getattr(regex, flag.upper()))
        for flag in off:
            self.flags &= ~int(getattr(regex, flag.upper()))

    # -- sequences ---------------------------------------------------------------------------------------------

    def alternation(self) -> Node:
        items = [self.sequence()]
        while self.take("|"):
            items.append(self.sequence())
        return items[0] if len(items) == 1 else Alternation(tuple(items))

    def sequence(self) -> Node:
        items: list[Node] = []
        run = ""
        while self.skip_comments() and self.at < len(self.source) and self.source[self.at] not in "|)":
            start, before = self.at, self.folds
            items.append(self.quantified(self.atom()))
            run = self.folded_run(run, self.source[start]) if self.folds > before else ""
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def skip_comments(self) -> bool:
        """Move past comments, and white space that does not count."""
        while self.match(r"\(" + COMMENT) or (self.flags & regex.VERBOSE and self.match(r"[ \t\n\r\f\v]+|#[^\n]*")):
            pass
        return True

    def folded_run(self, run: str, char: str) -> str:
        """Return adjacent characters whose case is ignored in the new syntax, with one more.

        There one character, such as U+00DF, can match two of them.
        """
        is_group_beside = bool(run) and "(" in (run[0], char)
        run += char.casefold()
        if is_group_beside or any(each in run for each in _expansions()):
            raise UnsupportedRegexError("ignored case together with set operations, which folds one character to many")
        return run

    def quantified(self, item: Node) -> Node:
        self.skip_comments()
        if self.match(r"[?*+]"):
            bounds = {"?": (0, 1), "*": (0, None), "+": (1, None)}[self.found[0]]
        elif self.match(r"\{(\d+)\}"):
            bounds = int(self.found[1]), int(self.found[1])
        elif self.match(r"\{(\d*),(\d*)\}"):
            bounds = int(self.found[1] or 0), int(self.found[2]) if self.found[2] else None
        elif self.flags & regex.VERBOSE and self.source.startswith("{", self.at):
            raise UnsupportedRegexError("a brace in a regex with white space that does not count")
        else:
            return item
        kind = self.found[0] if self.match(r"[?+]") else ""
        if bounds[1] is not None and bounds[1] < bounds[0]:
            raise UnsupportedRegexError("a quantifier with a maximum below its minimum")
        self.skip_comments()
        if self.match(r"[?*+{]"):
            raise UnsupportedRegexError("a quantifier after a quantifier")
        return item if bounds == (1, 1) else Repeat(item, *bounds, kind)

    def atom(self) -> Node:
        char = self.next()
        if char == "(":
            return self.group()
        if char == "[":
            return OneCharacter(self.character_class())
        if char == "\\":
            return self.escape()
        if char == ".":
            return OneCharacter(EVERYTHING if self.flags & regex.DOTALL else complement(NEWLINE))
        if char == "^":
            is_line = bool(self.flags & regex.MULTILINE)
            return Look(NEWLINE if is_line else NOTHING, behind=True, edge=True)
        if char == "$":
            return Look(NEWLINE, behind=False, edge=True) if self.flags & regex.MULTILINE else LastLineEnd()
        if char in "?*+":
            raise UnsupportedRegexError(f"a {char!r} that repeats nothing")
        return OneCharacter(self.literal(char))

    def group(self) -> Node:
        outside = self.flags
        look: str | None = None
        is_atomic, start = False, self.at
        if self.match(r"\?(<?[=!])"):
            look = self.found[1]
        elif self.take("?>"):
            is_atomic = True
        elif self.match(r"\?([imsux]*)(?:-([imsx]+))?:"):
            self.set_flags(self.found[1], self.found[2] or "")
        elif self.source.startswith(("?", "*"), self.at) and not self.match(r"\?P?<\w+>"):
            raise UnsupportedRegexError(f"a group that begins with '({self.source[self.at : self.at + 2]}'")
        node = self.alternation()
        if not self.take(")"):
            raise UnsupportedRegexError("a group that is not closed")
        self.flags = outside
        if look is not None:
            looked = look_around(node, behind="<" in look, negative="!" in look)
            if isinstance(looked, LookAround) and looked.behind and r"\R" in self.source[start : self.at]:
                raise UnsupportedRegexError(r"the escape \R in a lookbehind of more than one character")
            return looked
        return Atomic(node) if is_atomic else node

    # -- characters --------------------------------------------------------------------------------------------

    def literal(self, char: str) -> CharacterSet:
        if not self.flags & regex.IGNORECASE:
            return single(ord(char))
        if self.is_new:
            self.folds += 1
        return folded(char, self.flags)

    def escape(self) -> Node:
        if self.take("A"):
            return Look(NOTHING, behind=True, edge=True)
        if self.match("[Zz]"):
            return Look(NOTHING, behind=False, edge=True)
        if self.match("[bB]"):
            return self.boundary(self.found[0] == "b")
        if self.take("G"):
            return SearchStart()
        if self.take("R"):
            line_ends = union((single(10, 13), single(0x85), single(0x2028, 0x2029)))  # with the flag "a", too
            both = Sequence((OneCharacter(single(13)), OneCharacter(NEWLINE)))
            alone = combined((line_ends, single(13)), lambda inside: inside == 1)
            at_return = Sequence((OneCharacter(single(13)), Look(complement(NEWLINE), behind=False, edge=True)))
            return Alternation((both, at_return, OneCharacter(alone)))
        if self.match("[1-9gKLXmM]"):
            raise UnsupportedRegexError(rf"the escape \{self.found[0]}")
        found = self.member_escape()
        self.refuse_folded_set()
        return OneCharacter(self.literal(found) if isinstance(found, str) else found)

    def refuse_folded_set(self) -> None:
        """Raise an error about a set in the new syntax whose case is ignored, or a character that is written as one."""
        if self.is_new and self.flags & regex.IGNORECASE:
            raise UnsupportedRegexError("ignored case together with set operations, which folds one character to many")

    def boundary(self, is_boundary: bool) -> Node:
        word = members(r"\w", self.flags & ~regex.IGNORECASE)
        other = complement(word)
        before, after = Look(word, behind=True, edge=False), Look(word, behind=False, edge=False)
        no_before, no_after = Look(other, behind=True, edge=True), Look(other, behind=False, edge=True)
        pairs = ((before, no_after), (no_before, after)) if is_boundary else ((before, after), (no_before, no_after))
        return Alternation(tuple(Sequence(pair) for pair in pairs))

    def member_escape(self) -> CharacterSet | str:
        """Read the rest of an escape after its backslash: a set, or a character."""
        if self.match(r"[dDwWsSh]|[pP](?:\{\^?[\w \-:=.&/]*\}|\w)"):
            return members("\\" + self.found[0], self.flags)
        if self.match(r"([xuU])"):
            count = _HEX[self.found[1]]
            if self.match(rf"[0-9a-fA-F]{{{count}}}"):
                return chr(int(self.found[0], 16))
        elif self.match(r"[0-7]{1,3}"):
            return chr(int(self.found[0], 8))
        elif self.match(r"[afnrtvb]"):
            return _CONTROLS[self.found[0]]
        elif self.match(r"[^a-zA-Z0-9]"):
            return str(self.found[0])
        raise UnsupportedRegexError(rf"the escape \{self.source[self.at : self.at + 1]}")

    def character_class(self) -> CharacterSet:
        """Read the rest of a class after its bracket."""
        start = self.at
        self.refuse_folded_set()
        negated = self.take("^")
        chosen = self.operation(0) if self.is_new else self.plain_union()
        self.next()
        if self.flags & regex.IGNORECASE:
            source = "[" + self.source[start : self.at]
            if all(self.agrees(found[0]) for found in _NAMED_SETS.finditer(source)):
                if is_representable(chosen):
                    return members_of_package(source, self.flags)
                raise UnsupportedRegexError("ignored case for characters of the planes 4 to 16")
            # the package ignores case for a property alone as without brackets
            chosen = chosen if _NAMED_SETS.fullmatch(source[1 + negated : -1]) else with_cases(chosen, self.flags)
        return complement(chosen) if negated else chosen

    def agrees(self, named: str) -> bool:
        """Return whether the installed package gives the members of Unicode 16 to a named set."""
        named = f"[{named}]" if named[0] == "[" else named
        return members(named, self.flags) == members_of_package(named, self.flags)

    def operation(self, level: int) -> CharacterSet:
        """Read a chain of one set operator, whose operands have the operators that bind more strongly."""
        if level == len(_OPERATORS):
            return self.plain_union()
        token, keep = _OPERATORS[level]
        chosen = self.operation(level + 1)
        while self.take(token):
            chosen = combined((chosen, self.operation(level + 1)), keep)
        return chosen

    def plain_union(self) -> CharacterSet:
        sets = [self.members()]
        while not self.source.startswith("]", self.at):
            if self.is_new and any(self.source.startswith(token, self.at) for token, _ in _OPERATORS):
                break
            sets.append(self.members())
        return union(sets)

    def members(self) -> CharacterSet:
        """Read a member of a class or a range."""
        first = self.member()
        if not isinstance(first, str):
            return first
        before = self.at
        if not self.take("-"):
            return single(ord(first))
        if (self.is_new and self.take("-")) or self.source.startswith("]", self.at):
            self.at = before
            return single(ord(first))
        last = self.member()
        if not isinstance(last, str):
            return union((single(ord(first)), single(ord("-")), last))
        if last < first:
            raise UnsupportedRegexError("a range whose end is below its beginning")
        return single(ord(first), ord(last))

    def member(self) -> CharacterSet | str:
        if self.match(r"\[:\^?[\w \-=.&]*:\]"):
            return members(f"[{self.found[0]}]", self.flags)
        char = self.next()
        if char == "[" and self.is_new:
            return self.character_class()
        return self.member_escape() if char == "\\" else char


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.ASCII)


@cache
def _expansions() -> frozenset[str]:
    """Return the texts of several characters that equal one character where case is ignored."""
    return frozenset(text for text in (chr(point).casefold() for point in range(0x20000)) if len(text) > 1)


def by_unicode_16(source: str, flags: int) -> str:
    r"""Return a regex that matches by Unicode 16 where the installed `regex` package would not.

    Properties, and classes with these, in which the two differ become lists of characters.  `flags` are those of the
    compiled regex.  Raises `UnknownPropertyError` on a property that Unicode 16 does not have.
    """
    return _PropertyReader(source, flags).regex()


class _PropertyReader(_RegexParser):
    """Reads a regex with any constructs, and replaces sets of characters."""

    def __init__(self, source: str, flags: int) -> None:
        super().__init__(source)
        self.flags = flags

    def regex(self) -> str:
        parts: list[str] = []
        outside: list[int] = []
        chosen: CharacterSet | str
        while self.at < len(self.source):
            start, chosen = self.at, ""
            char = self.next()
            if char == "[":
                chosen = self.character_class()
            elif char == "\\" and self.source[self.at : self.at + 1] in tuple("dDwWsShpP"):
                chosen = self.member_escape()
            elif char == "\\":
                self.next()
            elif char == "(" and not self.match(COMMENT):
                outside.append(self.flags)
                if self.match(r"\?([imsuaxw]*)(?:-([imsxw]+))?([:)])"):
                    self.set_flags(self.found[1], self.found[2] or "")
                    if self.found[3] == ")":
                        outside.pop()
            elif char == ")" and outside:
                self.flags = outside.pop()
            elif char == "#" and self.flags & regex.VERBOSE:
                self.match(r"[^\n]*")
            parts.append(self.replaced(self.source[start : self.at], chosen))
        return "".join(parts)

    def refuse_folded_set(self) -> None:
        """Refuse none: no automaton reads these."""

    def replaced(self, source: str, chosen: CharacterSet | str) -> str:
        if not isinstance(chosen, tuple) or _NAMED_SETS.search(source) is None:
            return source
        flags = self.flags & (regex.IGNORECASE | regex.ASCII | regex.V0 | regex.V1)
        if members_of_package(source, int(flags)) == chosen:
            return source
        return f"(?-i:[{spelled(chosen)}])" if chosen else NO_CHARACTER
