r"""Translate regexes between Oniguruma, the dialect of `tokenizer.json`, and the dialect of the `regex` package.

Most constructs of split patterns mean the same in both.  When a file is read, constructs that have another spelling in
the `regex` package are translated: in Oniguruma `\p{N}{1,3}+` repeats a group, but in `regex` it is possessive; in
Oniguruma `^` and `$` match at every line.  Constructs without a translation are refused: `\w` and `\h` match other
characters, `[` inside a class begins a nested class, and `(?i)` folds `ss` to one letter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from ...errors import PatternError
from ...files import StrPath
from ...splitting.pattern_limits import check_size
from ...splitting.patterns import PATTERNS

# tests/formats/test_formats.py compares the named patterns with Oniguruma on random text.  This one needs another
# spelling in Oniguruma: under (?i) "st" would match the ligature U+FB06, and [\p{L}] the mark U+0345, which no class of
# the `regex` package matches.
_SPELLED = {
    PATTERNS["clip"].steps[0]: r"(?i:<\|[s]tartoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d)"
    r"|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}\u0345]+"
}
_READ = {there: here for here, there in _SPELLED.items()}
_SAFE = {_SPELLED.get(step, step) for row in PATTERNS.values() for step in row.steps}

_ESCAPE = r"\\(?:[pP]\{\^?\w+\}|[sSdDrntf]|u[0-9A-Fa-f]{4}|x[0-7][0-9A-Fa-f]|[|.*+?()\[\]{}^$\\/\-\"!#&=~:;,@% ])"
_AGREED = regex.compile(
    rf"""(?: {_ESCAPE}
    | \[\^?+(?!\])(?:{_ESCAPE}|[^\[\]\\&|~-]|([&|~-])(?!\1))+\]
    | \(\?(?:[:>=!]|<[=!]) | \((?!\?) | [).|]
    | \(\?i:(?:'?(?:[A-Za-z]|\[[A-Za-z]+\])+\|?)+\)
    | [?*+][?+]?+ | \{{\d+(?:,\d*)?\}}(?![+?])
    | (?<=\\s[+*]\+)\$
    | [^\\\[\](){{}}.*+?^$|]
    )""",
    regex.VERBOSE,
)
# the end of each line, and the start of each line except an empty last one, spelled for both dialects
_LINE_ENDS = {"$": r"(?![^\n])", "^": r"(?<![^\n])(?:(?=[\s\S])|(?<![\s\S]))"}
_REPEATED = regex.compile(r"\{\d+(?:,\d*)?\}(?=[+*])")
_FOLDED = regex.compile(r"(?i)\(\?i:[^)]*(?:ss|ff|fi|fl|st)")


def to_oniguruma(steps: Sequence[str]) -> list[str]:
    """Translate a chain of regexes of the `regex` package to Oniguruma.

    Raises `PatternError` on a construct that may mean something else in Oniguruma.
    """
    spelled = [_SPELLED.get(step, step) for step in steps]
    for step in spelled:
        if step not in _SAFE:
            where = "tokenizer.json cannot hold this pattern: "
            _check_empty(step, [token for token, _ in _tokens(step, where)], where)
    return spelled


def from_oniguruma(source: str, *, path: StrPath, place: str) -> str:
    r"""Translate a regex of a `tokenizer.json` to the dialect of the `regex` package.

    Raises `PatternError` with file and position on a construct that may mean something else in the `regex` package and
    has no other spelling.

    >>> from_oniguruma(r"\p{N}{1,3}+|\s+", path="tokenizer.json", place="pre_tokenizer")
    '(?:\\p{N}{1,3})+|\\s+'
    """
    if source in _SAFE:
        return _READ.get(source, source)
    where = f"{path}: {place}: "
    try:
        check_size((source,))
    except PatternError as error:
        raise PatternError(where + str(error)) from None
    tokens = [*_tokens(source, where, reading=True)]
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


def _tokens(source: str, where: str, *, reading: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the tokens of a regex, and whether each is a quantifier that is itself repeated.

    With `reading`, tokens that need another spelling in the `regex` package are translated.
    """
    at = 0
    while at < len(source):
        repeated = _REPEATED.match(source, at) if reading else None
        token = repeated or _AGREED.match(source, at)
        if token is not None:
            text = token.group()
        elif reading and source[at] in _LINE_ENDS:
            text = _LINE_ENDS[source[at]]
        else:
            found = _found(source[at:])
            raise PatternError(
                f"{where}in the regex {source!r}, {found} at character {at} does not mean the same in Oniguruma, the "
                "dialect of tokenizer.json, and in the `regex` package"
            )
        yield text, repeated is not None
        at = token.end() if token else at + 1
    folded = _FOLDED.search(source)
    if folded is not None:
        raise PatternError(
            f"{where}in the regex {source!r}, {folded.group()!r} at character {folded.start()} ignores case and has "
            "letters that Oniguruma also matches as one character but the `regex` package does not"
        )


@dataclass(slots=True)
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
    groups = [_Group()]  # the open groups, beginning with the whole regex
    odd = False  # whether a quantifier or a group may prefer the empty match
    empty = void = True  # whether the last atom may match the empty string, and whether it always does
    for token in [*tokens, ""]:
        if token[:1] in ("?", "*", "+", "{"):
            empty = empty or token[0] in "?*" or token.startswith("{0")
            odd = odd or (empty and token[1:] == "?")
            continue
        group = groups[-1]
        group.empty = group.empty and empty
        group.void = group.void and void
        empty = void = True
        if token == "|":
            if group.empty and len(groups) == 1:
                break
            group.maybe, group.empty = group.maybe or group.empty, True
        elif token == ")" and len(groups) > 1:
            groups.pop()
            void = group.around or group.void
            empty = void or group.maybe or group.empty
            odd = odd or (empty and not void)
        elif token[:1] == "(" and token[-1] != ")":
            groups.append(_Group(token[:3] in ("(?=", "(?!", "(?<")))
        elif token:
            void = token == "$" or token in _LINE_ENDS.values()
            empty = void or any(gap in token for gap in ("|)", "||", ":|"))
    else:
        if not (groups[0].empty and odd):
            return
    raise PatternError(
        f"{where}the regex {source!r} may match the empty string where it could match a longer one; after that "
        "Oniguruma, the dialect of tokenizer.json, and the `regex` package continue differently; expected the empty "
        "match to be tried last"
    )


def _found(rest: str) -> str:
    construct = regex.match(r"\{[^}]*\}[+?]?|\[[^\]]*\]|\\.|\(\?[^:)]*[:)]|.", rest, regex.DOTALL)
    hint = "; write (?>...{n,m}) for a possessive one" if regex.match(r"\{[^}]*\}\+", rest) else ""
    return f"{construct.group()!r}{hint}" if construct else repr(rest)
