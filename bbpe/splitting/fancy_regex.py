r"""Translate regexes of fancy-regex, the dialect of tiktoken's `pat_str`, into the dialect of the `regex` package.

Regexes such as the published ones mean the same in both and stay as they are.  Elsewhere sets of characters become
lists, and options are applied: `\h` is a hexadecimal digit, POSIX brackets are ASCII, `$` is the end of the text alone,
and U+0130 equals no other letter.  Constructs without a translation are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import PatternError
from ..lazy import lazy_regex, regex
from .automaton_nodes import prefers_empty, repeats_empty
from .character_sets import (
    NOTHING,
    CharacterSet,
    UnknownPropertyError,
    combined,
    complement,
    members,
    single,
    spelled,
    union,
    with_cases,
)
from .pattern_limits import check_size
from .patterns import Pattern, recognise
from .regex_syntax import COMMENT, NO_CHARACTER, _RegexParser, parse_regex
from .regex_tree import UnsupportedRegexError

#: Names of properties that mean something else in the two.
_OTHER_NAMES = r"(?i:idc|graph|print)"
_ESCAPE = rf"\\(?:[pP](?:\{{\^?(?!{_OTHER_NAMES}\}})\w+\}}|[A-Z])|[dDwWsSntrf]|[^\w<>\s])"
_ITEMS = rf"\^?+(?!\])(?:{_ESCAPE}|[^\[\]\\&~-]|([&~-])(?!\1))+"
_AGREED = lazy_regex(
    rf"""(?x)(?: {_ESCAPE} | \[{_ITEMS}\] | \[(?!\^)(?:{_ESCAPE})+&&\[\^(?:{_ESCAPE})+\]\]
    | \((?!\?) | \(\?(?: [:>=!] | <[=!] ) | [).^|]
    | \(\?i:(?:'?(?:[A-HJ-Za-hj-z]|\[[A-HJ-Za-hj-z]+\])+\|?)+\)
    | (?:[?*+]|\{{\d+(?:,\d*)?\}})[?+]?+(?![?*+{{]) | (?<=\\s[+*]\+)\$
    | [^\\\[\](){{}}.*+?^$|]
    )*+"""
)
_OPERATORS: dict[str, Callable[[int], bool]] = {
    "&&": lambda inside: inside == 3, "--": lambda inside: inside == 1, "~~": lambda inside: inside in (1, 2),
}  # fmt: skip
_HEX = (48, 58, 65, 71, 97, 103)
_LETTERS = (65, 91, 97, 123)
#: The members of POSIX brackets.
_POSIX: dict[str, CharacterSet] = {
    "alnum": (48, 58, *_LETTERS), "alpha": _LETTERS, "ascii": (0, 128), "blank": (9, 10, 32, 33),
    "cntrl": (0, 32, 127, 128), "digit": (48, 58), "graph": (33, 127), "lower": (97, 123), "print": (32, 127),
    "punct": (33, 48, 58, 65, 91, 97, 123, 127), "space": (9, 14, 32, 33), "upper": (65, 91),
    "word": (48, 58, 65, 91, 95, 96, 97, 123), "xdigit": _HEX,
}  # fmt: skip
_CONTROLS = {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_END = r"(?![\s\S])"
_BORDERS = {
    "A": r"(?<![\s\S])", "z": _END, "Z": rf"(?=\n*{_END})", "b": r"\b", "B": r"\B", "G": r"\G",
    "<": r"(?<!\w)(?=\w)", "b{start}": r"(?<!\w)(?=\w)", ">": r"(?<=\w)(?!\w)", "b{end}": r"(?<=\w)(?!\w)",
    "R": r"(?>\r\n|[\n\x0b\f\r\x85\u2028\u2029])",
}  # fmt: skip
#: U+0130 and U+0131, which the `regex` package takes for the letter i where case is ignored.
_TURKIC = (0x130, 0x132)
_CASE, _DOT, _LINES, _LAZY, _SPACED = "i", "s", "m", "U", "x"


def from_fancy_regex(source: str) -> str:
    r"""Return a regex of fancy-regex in the dialect of the `regex` package; raises `PatternError`.

    >>> from_fancy_regex(r"\p{L}+|\s++$"), from_fancy_regex(r"[[:digit:]]+|a$")
    ('\\p{L}+|\\s++$', '[\\U00000030-\\U00000039]+|a(?![\\s\\S])')
    """
    check_size((source,))
    if _AGREED.fullmatch(source) is not None:
        return source
    reader = _FancyReader(source)
    try:
        return reader.regex()
    except RecursionError:
        raise PatternError(f"pattern {source[:40]!r}... is nested too deeply; expected fewer nested classes") from None
    except (UnsupportedRegexError, UnknownPropertyError) as problem:
        raise PatternError(
            f"pattern {source!r} has {problem}, before character {reader.at}, which bbpe does not translate from "
            "tiktoken's regexes; write it without, or give bbpe.Tokenizer.from_ranks a pattern of the `regex` package"
        ) from None


def tiktoken_pattern(source: str) -> Pattern:
    r"""Return the pattern of tiktoken's `pat_str`, which drops text that no match covers; raises `PatternError`.

    >>> tiktoken_pattern(r"\w+").drops_gaps
    True
    """
    pattern = recognise((from_fancy_regex(source),))
    if pattern.scheme is not None:
        return pattern
    _check_empty(source, *pattern.steps)
    return Pattern(None, pattern.steps, drops_gaps=True)


def _check_empty(source: str, translated: str) -> None:
    """Refuse a regex after whose empty matches, or empty rounds of repetitions, the two dialects go on differently."""
    try:
        tree = parse_regex(translated)
    except (UnsupportedRegexError, RecursionError):
        return
    if prefers_empty(tree) or repeats_empty(tree):
        part = "the regex" if prefers_empty(tree) else "a repeated group"
        raise PatternError(
            f"pattern {source!r}: {part} may match the empty string where it could match a longer one, after which "
            "tiktoken's regexes and those of the `regex` package go on differently; expected the empty match to be "
            "tried last"
        )


class _FancyReader(_RegexParser):
    """Reads a regex and writes it anew, without options."""

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.is_new, self.on = True, ""

    def regex(self) -> str:
        parts: list[str] = []
        outside: list[str | None] = []  # the options after a group; `None` for those at its end
        while self.at < len(self.source):
            if _SPACED in self.on and self.match(r"\s+|#[^\n]*"):
                continue
            char = self.next()
            if char == "(":
                before = self.on
                parts.append(self.opened())
                if parts[-1]:  # options within any other group last beyond it
                    outside.append(before if parts[-1] == "(?:" else None)
            elif char == ")":
                after = outside.pop() if outside else None
                self.on = self.on if after is None else after
                parts.append(char)
            elif char == "|" or (char in "?*+{" and (repeat := self.repeat(char))):
                parts.append(char if char == "|" else repeat)
            else:
                parts.append(self.one(char))
        return "".join(parts)

    def opened(self) -> str:
        """Read the rest of the beginning of a group."""
        if self.match(COMMENT):
            return ""
        if self.match(r"\?([imsxuUR]*)(?:-([imsxuUR]+))?([:)])"):
            on, off = self.found[1], self.found[2] or ""
            if "R" in on or "u" in off:
                raise UnsupportedRegexError(f"the options {on + off!r}")
            self.on = "".join(set(self.on + on) - set(off))
            return "(?:" if self.found[3] == ":" else ""
        if self.match(r"\?(?:[=!>]|<[=!]|P?<\w+>|\(\d+\)|\(<\w+>\))|(?!\?|\*)"):
            return "(" + str(self.found[0]).replace("(<", "(").replace(">)", ")")
        raise UnsupportedRegexError(f"a group that begins with '({self.source[self.at : self.at + 3]}'")

    def repeat(self, char: str) -> str:
        """Read the rest of a quantifier; the result is empty at a brace that is none."""
        if char == "{":
            gap = r"\s*" if _SPACED in self.on else ""
            if not self.match(rf"{gap}(?=[\d,])(\d*){gap}(?:(,){gap}(\d*){gap})?\}}"):
                return ""
            char = f"{{{self.found[1] or 0}{self.found[2] or ''}{self.found[3] or ''}}}"
        kind = self.found[0] if self.match("[?+]") else ""
        if _LAZY in self.on and kind != "+":
            kind = "" if kind else "?"
        if self.match(r"[?*+]|\{\d"):
            raise UnsupportedRegexError("a quantifier after a quantifier")
        return char + kind

    def one(self, char: str) -> str:
        """Read the rest of what matches a character, or the place between two."""
        start = self.at - 1
        if char == "[":
            return self.written(self.character_class(), start)
        if char == ".":
            return r"[\s\S]" if _DOT in self.on else r"[^\n]"
        if char in "^$" and _LINES in self.on:
            return r"(?<![^\n])" if char == "^" else r"(?![^\n])"
        if char in "^$":
            return r"(?<![\s\S])" if char == "^" else _END
        if char == "\\":
            if self.match(r"b\{(?:start|end)\}|[AzZbBG<>R](?!\{)"):
                return _BORDERS[self.found[0]]
            if self.match(r"k<(\w+)>|k'(\w+)'|([1-9]\d*)"):
                if _CASE in self.on:
                    raise UnsupportedRegexError("a back reference that ignores case")
                name = self.found[1] or self.found[2] or self.found[3]
                return rf"(?:\{name})" if name.isdigit() else f"(?P={name})"
            found = self.member_escape()
            return self.written(self.literal(found) if isinstance(found, str) else found, start)
        return self.written(self.literal(char), start)

    def written(self, chosen: CharacterSet, start: int) -> str:
        source = self.source[start : self.at]
        if _SPACED not in self.on and _AGREED.fullmatch(source) is not None:
            if _CASE not in self.on:
                return source
            shorter = self.with_others(source, chosen)
            if shorter:
                return shorter
        points = chosen[::2]
        if chosen[1::2] == tuple(point + 1 for point in points) and all(chr(point).isalnum() for point in points[:9]):
            return f"[{''.join(map(chr, points))}]" if len(points) < 9 and points else self.listed(chosen)
        return self.listed(chosen)

    def listed(self, chosen: CharacterSet) -> str:
        return f"[{spelled(chosen)}]" if chosen else NO_CHARACTER

    def with_others(self, source: str, chosen: CharacterSet) -> str:
        """Return a class with the members that a set has without options and those that case adds, if there is one."""
        if source[0] not in "[\\":
            return ""
        inner = source[1:-1] if source[0] == "[" else source
        if inner[:2] in (r"\P", r"\W", r"\D", r"\S") and source[0] == "\\":
            inner = "^\\" + inner[1].lower() + inner[2:]
        reader = _FancyReader(f"{inner}]")
        outside = reader.character_class()
        other = combined((outside, chosen), lambda inside: inside in (1, 2))
        rest = combined((outside, chosen), lambda inside: inside == (1 if inner[0] == "^" else 2))
        return f"[{inner}{spelled(other)}]" if other == rest else ""

    # -- sets --------------------------------------------------------------------------------------------------

    def literal(self, char: str) -> CharacterSet:
        return self.closed(single(ord(char)))

    def closed(self, chosen: CharacterSet) -> CharacterSet:
        """Return a set with all that equals one of it by simple case folding, where case is ignored."""
        if _CASE not in self.on:
            return chosen
        plain = combined((chosen, _TURKIC), lambda inside: inside == 1)
        found = with_cases(plain, int(regex.IGNORECASE | regex.V0))
        both = combined((found, _TURKIC), lambda inside: inside == 1)
        return union((both, combined((chosen, _TURKIC), lambda inside: inside == 3)))

    def member_escape(self) -> CharacterSet | str:
        if self.match(r"[dDwWsS]|[pP](?:\{\^?[^{}]*\}|\w)"):
            return self.named(self.found[0])
        if self.match("[hHNO]"):
            others = {"H": _HEX, "N": single(10), "O": NOTHING}
            return _HEX if self.found[0] == "h" else complement(others[self.found[0]])
        if self.match(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|[xuU]\{([0-9A-Fa-f]{1,6})\}"):
            return chr(int(next(filter(None, self.found.groups())), 16))
        if self.match("[aefnrtv]"):
            return _CONTROLS[self.found[0]]
        if self.match(r"[^a-zA-Z0-9]"):
            return str(self.found[0])
        raise UnsupportedRegexError(rf"the escape \{self.source[self.at : self.at + 1]}")

    def named(self, escape: str) -> CharacterSet:
        escape = regex.sub(r"(?i)\bidc\}", "ID_Continue}", escape)
        if regex.search(rf"(?i)\{{(?:\^?in|age[=:])|\b{_OTHER_NAMES}\}}", escape) is not None:
            raise UnsupportedRegexError(f"the property \\{escape}")
        # case is ignored before a set is negated
        chosen = self.closed(members("\\" + escape[0].lower() + escape[1:].replace("{^", "{"), 0))
        return complement(chosen) if escape[0].isupper() != escape.startswith("{^", 1) else chosen

    def character_class(self) -> CharacterSet:
        negated = self.take("^")
        chosen = self.operand(first=True)
        while (keep := _OPERATORS.get(self.source[self.at : self.at + 2])) is not None:
            self.at += 2
            chosen = combined((chosen, self.operand()), keep)
        self.next()
        return complement(chosen) if negated else chosen

    def operand(self, *, first: bool = False) -> CharacterSet:
        """Read the union of members up to an operator, or the end of a class."""
        sets = [self.literal("-") for _ in iter(lambda: first and self.take("-"), False)]
        if first and not sets and self.take("]"):
            sets.append(self.literal("]"))
        while not self.source.startswith("]", self.at) and self.source[self.at : self.at + 2] not in _OPERATORS:
            sets.append(self.members())
        return union(sets) if sets else NOTHING

    def members(self) -> CharacterSet:
        if self.match(rf"\[:(\^?)({'|'.join(_POSIX)}):\]"):
            chosen = self.closed(_POSIX[self.found[2]])
            return complement(chosen) if self.found[1] else chosen
        if self.take("["):
            return self.character_class()
        first = self.character()
        if not isinstance(first, str):
            return first
        if not self.source.startswith("-", self.at) or self.source[self.at + 1 : self.at + 2] in ("-", "]"):
            return self.literal(first)
        self.at += 1
        last = self.character()
        if not isinstance(last, str) or last < first:
            raise UnsupportedRegexError("a range without a valid end")
        return self.closed(single(ord(first), ord(last)))

    def character(self) -> CharacterSet | str:
        char = self.next()
        if char != "\\":
            return char
        return "\b" if self.take("b") else self.member_escape()
