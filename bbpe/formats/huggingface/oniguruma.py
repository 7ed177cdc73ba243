r"""Translate regexes between Oniguruma, the dialect of `tokenizer.json`, and the dialect of the `regex` package.

Most constructs of split patterns mean the same in both.  When a file is read, constructs that mean something else in
the `regex` package are translated: in Oniguruma `\p{N}{1,3}+` repeats a group, but in `regex` it is possessive; in
Oniguruma `^` and `$` match at every line; `\w`, `\b`, `\h`, nested classes and `(?i)` match other characters.
Constructs without a translation are refused by name.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PatternError
from ...files import StrPath
from ...lazy import lazy_regex, regex
from ...records import dataclass, replace
from ...splitting.pattern_limits import check_size
from .oniguruma_classes import UnknownSyntaxError, character, escape_outside, joins, literal, named_property, read_class

_ESCAPE = r"\\(?:[pP]\{\^?\w+\}|[sSdDrntf]|u[0-9A-Fa-f]{4}|x[0-7][0-9A-Fa-f]|[|.*+?()\[\]{}^$\\/\-\"!#&=~:;,@% ])"
_AGREED = lazy_regex(
    rf"""(?x)(?: {_ESCAPE}
    | \[\^?+(?!\])(?:{_ESCAPE}|[^\[\]\\&|~-]|([&|~-])(?!\1))+\]
    | \(\?(?:[:>=!]|<[=!]) | \((?!\?) | [).|]
    | \(\?i:(?:'?(?:[A-Za-z]|\[[A-Za-z]+\])+\|?)+\)
    | [?*+][?+]?+ | \{{\d+,\d*\}}\?(?![+?*]) | \{{\d+(?:,\d*)?\}}(?![+?])
    | (?<=\\s[+*]\+)\$ | \\[1-9](?![0-9])
    | [^\\\[\](){{}}.*+?^$|]
    )"""
)
_WORD_CLASS = escape_outside(r"\w", 0)[0]  # type: ignore[index]
# constructs that match the empty string, spelled for both dialects
_ANCHORS = {
    "$": r"(?![^\n])",  # the end of each line
    "^": r"(?<![^\n])(?:(?=[\s\S])|(?<![\s\S]))",  # the start of each line except an empty last one
    r"\A": r"(?<![\s\S])",
    r"\G": r"\G",  # where the match before ends
    r"\z": r"(?![\s\S])",
    r"\Z": r"(?:(?=\n(?![\s\S]))|(?![\s\S]))",
    r"\b": rf"(?:(?<={_WORD_CLASS})(?!{_WORD_CLASS})|(?<!{_WORD_CLASS})(?={_WORD_CLASS}))",
    r"\B": rf"(?:(?<={_WORD_CLASS})(?={_WORD_CLASS})|(?<!{_WORD_CLASS})(?!{_WORD_CLASS}))",
}
_BACK_REFERENCES = [rf"\{number}" for number in range(1, 10)]
_PROPERTIES = lazy_regex(r"\\[pP]\{")
_LOOKS = lazy_regex(r"\(\?<[=!]")
_NEW_LINE = r"(?>\r\n|[\n\x0b\f\r\u0085\u2028\u2029])"
_OPTIONS = lazy_regex(r"\(\?([im]*)(?:-([im]+))?([:)])")
_NAMED_GROUP, _COMMENT = lazy_regex(r"\(\?<[A-Za-z_]\w*>"), lazy_regex(r"\(\?#[^)]*\)")
_SOME = lazy_regex(r"\{(\d*)(,?)(\d*)\}")
_REPEATED = lazy_regex(r"\{\d+(?:,\d*)?\}(?=[+*])")
_FOLDED = lazy_regex(r"(?i)\(\?i:[^)]*(?:ss|ff|fi|fl|st)")


def check_agreed(source: str) -> None:
    """Raise `PatternError` on a regex of the `regex` package that may mean something else in Oniguruma."""
    where = "tokenizer.json cannot hold this pattern: "
    _check_empty(source, [*_agreed(source, where)], where)


def translated(source: str, *, path: StrPath, place: str) -> str:
    """Return a regex of Oniguruma in the dialect of the `regex` package; the errors are those of `from_oniguruma`."""
    where = f"{path}: {place}: "
    try:
        check_size((source,))
    except PatternError as error:
        raise PatternError(where + str(error)) from None
    tokens = _RegexReader(source, where).tokens()
    _check_empty(source, [token for token, _ in tokens], where)
    parts: list[str] = []
    opened: list[int] = []
    atom = 0  # the next quantifier repeats the parts from this index
    for token, repeated in tokens:
        if repeated:
            parts[atom:] = ["(?:" + "".join(parts[atom:]) + token + ")"]
            continue
        if token == ")":
            atom = opened.pop() if opened else 0
        elif token[0] not in "?*+{":
            atom = len(parts)
        if token[0] == "(" and token[-1] != ")":
            opened.append(len(parts))
        parts.append(token)
    return "".join(parts)


def _agreed(source: str, where: str) -> Iterator[str]:
    """Yield the tokens of a regex; `PatternError` on one that does not mean the same in both dialects."""
    at = 0
    while at < len(source):
        token = _AGREED.match(source, at)
        if token is None:
            raise _differs(source, at, where)
        yield token.group()
        at = token.end()
    folded = _FOLDED.search(source)
    if folded is not None:
        raise PatternError(
            f"{where}in the regex {source!r}, {folded.group()!r} at character {folded.start()} ignores case and has "
            "letters that Oniguruma also matches as one character but the `regex` package does not"
        )


def _differs(source: str, at: int, where: str, problem: str = "") -> PatternError:
    return PatternError(
        f"{where}in the regex {source!r}, {problem or _found(source[at:])} at character {at} does not mean the same in "
        "Oniguruma, the dialect of tokenizer.json, and in the `regex` package"
    )


@dataclass
class _Scope:
    """The options of an open group, and how many groups in it an option has opened, which end with it."""

    ignores_case: bool = False
    is_dotall: bool = False
    is_behind: bool = False  # in a look-behind
    added: int = 0


class _RegexReader:
    """Reads the tokens of a regex of Oniguruma, each with whether it is a quantifier that is itself repeated."""

    def __init__(self, source: str, where: str) -> None:
        self._source, self._where, self._at = source, where, 0
        self._scopes = [_Scope()]
        self._groups = 0  # that a number can refer to
        self._out: list[tuple[str, bool]] = []
        #: The literal that ignores case before the current position, and whether a group begins or ends after it.
        self._literal, self._is_grouped = "", False

    def tokens(self) -> list[tuple[str, bool]]:
        """Return the tokens in the dialect of the `regex` package."""
        while self._at < len(self._source):
            try:
                self._step()
            except UnknownSyntaxError as error:
                raise _differs(self._source, self._at, self._where, str(error)) from None
        self._out += [(")", False)] * self._scopes[0].added
        return self._out

    def _step(self) -> None:
        source, at, scope = self._source, self._at, self._scopes[-1]
        repeated = _REPEATED.match(source, at)
        if repeated is not None:
            self._put(repeated.group(), repeated.end(), is_repeated=True)
        elif self._option() or self._quantifier() or (scope.ignores_case and self._letters()):
            return
        elif scope.ignores_case and source[at] == "[":
            self._put(*read_class(source, at, ignores_case=True))
        elif source[at] == "." and scope.is_dotall:
            self._put(r"[\s\S]", at + 1)
        else:
            self._put(*self._same())

    def _put(self, token: str, end: int, *, is_repeated: bool = False) -> None:
        is_group = token in ("(?:", ")")
        self._groups += token == "("
        self._literal, self._is_grouped = (self._literal, True) if is_group else ("", False)
        if token == ")" and len(self._scopes) > 1:
            self._out += [(")", False)] * self._scopes.pop().added
        elif token[0] == "(" and token[-1] != ")":
            scope = self._scopes[-1]
            self._scopes.append(replace(scope, added=0, is_behind=scope.is_behind or token in ("(?<=", "(?<!")))
        self._out.append((token, is_repeated))
        self._at = end

    def _same(self) -> tuple[str, int]:
        """Return a token that does not depend on options, and its end."""
        source, at = self._source, self._at
        anchor = next((text for text in _ANCHORS if source.startswith(text, at)), None)
        agreed = _AGREED.match(source, at)
        if source[at : at + 2] in _BACK_REFERENCES:
            is_known = int(source[at + 1]) <= self._groups and "(?<" not in _LOOKS.sub("", source)
            if not is_known or agreed is None or self._scopes[-1].ignores_case:
                raise _differs(source, at, self._where)
        if source[at] == "\\" and anchor is None:
            if source.startswith(r"\R", at):
                if self._scopes[-1].is_behind:  # there it is the two characters of a line end alone, but not always
                    raise _differs(source, at, self._where)
                return _NEW_LINE, at + 2
            found = escape_outside(source, at) if agreed is None or named_property(source, at) else None
            if found is not None:
                return found
        # a class may be the same in both dialects but for the properties with names of POSIX classes
        names = _PROPERTIES.finditer(agreed.group()) if agreed is not None and source[at] == "[" else ()
        if agreed is not None and not any(named_property(source, at + found.start()) for found in names):
            return agreed.group(), agreed.end()
        if anchor is not None:
            return _ANCHORS[anchor], at + len(anchor)
        if source[at] == "[":
            return read_class(source, at, ignores_case=False)
        group = _NAMED_GROUP.match(source, at)
        if group is not None:
            return "(", group.end()
        if source[at] in "]}{":  # outside of what they end, and before what is no interval
            return f"\\{source[at]}", at + 1
        raise _differs(source, at, self._where)

    def _option(self) -> bool:
        """Read a comment, or options for a group or for the rest of one."""
        source, at = self._source, self._at
        comment, found = _COMMENT.match(source, at), _OPTIONS.match(source, at)
        if comment is not None:
            self._at = comment.end()
            return True
        if found is None or found.group() == "(?:":
            return False
        verbatim = _AGREED.match(source, at)
        if verbatim is not None and not _FOLDED.search(verbatim.group()) and not self._scopes[-1].ignores_case:
            return False
        on, off, end = found[1], found[2] or "", found[3]
        before = self._scopes[-1]
        if end == ":":
            self._put("(?:", found.end())
        elif not self._out or self._out[-1][0][-1] in "(:=!>":  # at the beginning of a group
            self._at = found.end()
        else:  # in Oniguruma an option holds to the end of the group, alternatives included
            self._out.append(("(?:", False))
            before.added += 1
            self._at = found.end()
        scope = self._scopes[-1]
        scope.ignores_case = (scope.ignores_case or "i" in on) and "i" not in off
        scope.is_dotall = (scope.is_dotall or "m" in on) and "m" not in off
        return True

    def _quantifier(self) -> bool:
        r"""Read `{,n}`, and `{n,m}?`, which is lazy, and `{n}?`, which is optional."""
        found = _SOME.match(self._source, self._at)
        if found is None or not (found[1] or found[3]):
            return False
        least, comma, most = found[1] or "0", found[2], found[3]
        text, end = f"{{{least}{comma}{most}}}", found.end()
        if not self._source.startswith("?", end):
            self._put(text, end)
        elif comma:
            self._put(text + "?", end + 1)
        else:
            self._put(text, end, is_repeated=True)
            self._put("?", end + 1)
        return True

    def _letters(self) -> bool:
        """Read a run of literal characters that ignore case."""
        source, at, text, ends = self._source, self._at, "", []
        while at < len(source):
            if source[at] == "\\":
                found = character(source, at)
            else:
                found = None if source[at] in "[](){}.*+?^$|" else (source[at], at + 1)
            if found is None:
                break
            text, at = text + found[0], found[1]
            ends.append(at)
        if not text:
            return False
        if at < len(source) and source[at] in "*+?{" and len(text) > 1:  # a quantifier repeats the last character only
            text, at = text[:-1], ends[-2]
        if self._is_grouped and self._literal and joins(self._literal, text):
            raise UnknownSyntaxError(f"{self._literal[-1] + text[0]!r} that ignores case in two groups")
        self._put(literal(text), at)
        self._literal = text
        return True


@dataclass
class _Group:
    """The state of an open group."""

    around: bool = False  # it is a lookahead or lookbehind
    empty: bool = True  # the clause so far can match the empty string
    maybe: bool = False  # an earlier clause can match the empty string
    void: bool = True  # all clauses always match the empty string


def _check_empty(source: str, tokens: list[str], where: str) -> None:
    """Refuse a regex that may match the empty string where it could match a longer one.

    After an empty match HF moves on by a character, but `regex` searches for a longer match at the same position.
    There is no longer match if the empty match is tried last: in the last clause, by greedy quantifiers.
    """
    inner = tokens
    while inner[:1] in (["("], ["(?:"]) and _end_of_group(inner) == len(inner) - 1:
        inner = inner[1:-1]  # a group around the whole regex changes nothing
    if not (_may_prefer_empty(tokens) and _may_prefer_empty(inner)):
        return
    raise PatternError(
        f"{where}the regex {source!r} may match the empty string where it could match a longer one; after that "
        "Oniguruma, the dialect of tokenizer.json, and the `regex` package continue differently; expected the empty "
        "match to be tried last"
    )


def _may_prefer_empty(tokens: list[str]) -> bool:
    """Return whether a regex may match the empty string where it could match a longer one."""
    groups = [_Group()]  # the open groups, beginning with the whole regex
    odd = False  # whether a quantifier or a group may prefer the empty match
    early = False  # whether a clause that is not the last can match the empty string
    empty = void = True  # whether the last atom may match the empty string, and whether it always does
    for token in [*tokens, ""]:
        if token[:1] in ("?", "*", "+", "{"):
            empty = empty or token[0] in "?*" or token.startswith("{0")
            odd = odd or (empty and token[1:].endswith("?"))
            continue
        group = groups[-1]
        group.empty = group.empty and empty
        group.void = group.void and void
        empty = void = True
        if token == "|":
            early = early or (group.empty and len(groups) == 1)
            group.maybe, group.empty = group.maybe or group.empty, True
        elif token == ")" and len(groups) > 1:
            groups.pop()
            void = group.around or group.void
            empty = void or group.maybe or group.empty
            odd = odd or (empty and not void)
        elif token[:1] == "(" and token[-1] != ")":
            groups.append(_Group(token[:3] in ("(?=", "(?!", "(?<")))
        elif token:
            void = token == "$" or token in _ANCHORS.values()
            empty = void or token in _BACK_REFERENCES or any(gap in token for gap in ("|)", "||", ":|"))
    return (early and not groups[0].void) or (groups[0].empty and odd)


def _end_of_group(tokens: list[str]) -> int:
    """Return the index of the token that ends the group that the first token opens; -1 if there is none."""
    depth = 0
    for number, token in enumerate(tokens):
        depth += (token[0] == "(" and token[-1] != ")") - (token == ")")
        if depth == 0:
            return number
    return -1


def _found(rest: str) -> str:
    construct = regex.match(r"\{[^}]*\}[+?]?|\[[^\]]*\]|\\.|\(\?[^:)]*[:)]|.", rest, regex.DOTALL)
    hint = "; write (?>...{n,m}) for a possessive one" if regex.match(r"\{[^}]*\}\+", rest) else ""
    return f"{construct.group()!r}{hint}" if construct else repr(rest)
