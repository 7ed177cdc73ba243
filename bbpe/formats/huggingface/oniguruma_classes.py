r"""Character classes of Oniguruma, the regex dialect of `tokenizer.json`, in the dialect of the `regex` package.

A class is translated to a regex that matches one character.  Nested classes and intersections become lookaheads of one
character.  In Oniguruma `\w` has U+00B2, U+00B3, U+00B9 and U+00BC to U+00BE only outside a class, and it never has
U+200C and U+200D, which it has in the `regex` package.
"""

from __future__ import annotations

from functools import lru_cache

from ...lazy import lazy_regex, regex
from ...records import dataclass, field

_ANY = r"[\s\S]"
_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"
_WORD_ALONE = _WORD + "\u00b2\u00b3\u00b9\u00bc-\u00be"
_HEX, _NOT_SHOWN = "0-9A-Fa-f", r"\p{Cc}\p{Cn}\p{Cs}"
#: The items of named sets, and whether the set is everything else.
_NAMED: dict[str, tuple[str, bool]] = {
    "alnum": (r"\p{Alphabetic}\p{Nd}", False),
    "alpha": (r"\p{Alphabetic}", False),
    "ascii": ("\0-\x7f", False),
    "blank": (r"\p{Zs}\t", False),
    "cntrl": (r"\p{Cc}", False),
    "digit": (r"\p{Nd}", False),
    "graph": (r"\s" + _NOT_SHOWN, True),
    "idc": (r"\p{ID_Continue}", False),  # a block in the `regex` package
    "lower": (r"\p{Lowercase}", False),
    "posixpunct": (r"\p{P}\p{S}", False),
    "print": (r"\p{Zl}\p{Zp}" + _NOT_SHOWN, True),
    "punct": (r"\p{P}\p{S}", False),
    "space": (r"\s", False),
    "upper": (r"\p{Uppercase}", False),
    "word": (_WORD, False),
    "xdigit": (_HEX, False),
}
_LETTERS: dict[str, tuple[str, bool]] = {
    **{"w": (_WORD, False), "W": (_WORD, True), "h": (_HEX, False), "H": (_HEX, True)},
    **{"d": (r"\d", False), "D": (r"\d", True), "s": (r"\s", False), "S": (r"\s", True)},
}
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b"}
# ASCII strings that some single character equals when case is ignored
_JOINED = {
    "ss": "\u00df\u1e9e", "ff": "\ufb00", "fi": "\ufb01", "fl": "\ufb02", "ffi": "\ufb03", "ffl": "\ufb04",
    "st": "\ufb05\ufb06",
}  # fmt: skip
# sets that have with each character all that equal it when case is ignored
_CASELESS = lazy_regex(r"\\[sSdD]|\\p\{(?:Nd|N|Z|Zs|P|S)\}")
_PROPERTY = lazy_regex(r"\\[pP]\{(\^?)(\w+)\}")
_CODE = lazy_regex(r"\\(?:x\{([0-9A-Fa-f]{1,6})\}|x([0-7][0-9A-Fa-f])|u([0-9A-Fa-f]{4})|0([0-7]{1,2}))")
_POSIX = lazy_regex(r"\[:(\^?)(\w+):\]")


class UnknownSyntaxError(ValueError):
    """A construct that has no translation; the argument describes it."""


@dataclass
class _Set:
    """A union of items of a class and of nested sets; or, with `parts`, an intersection of unions."""

    is_negated: bool = False
    items: list[str] = field(default_factory=list)
    nested: list[_Set] = field(default_factory=list)
    parts: list[_Set] = field(default_factory=list)


def escape_outside(source: str, at: int) -> tuple[str, int] | None:
    """Return the translation of an escape that matches one character, and its end; `None` for any other escape."""
    letter = source[at + 1 : at + 2]
    if letter in ("w", "W"):
        return f"[{'^' if letter == 'W' else ''}{_WORD_ALONE}]", at + 2
    if letter == "N":
        return r"[^\n]", at + 2
    if letter == "O":
        return _ANY, at + 2
    if letter in _LETTERS:
        items, is_negated = _LETTERS[letter]
        return _plain(_Set(is_negated, [items])), at + 2
    found = named_property(source, at)
    if found is not None:
        return _plain(found[0]), found[1]
    code = character(source, at)
    return None if code is None else (_literal_character(code[0]), code[1])


def character(source: str, at: int) -> tuple[str, int] | None:
    """Return the character that an escape stands for, and the end of the escape; `None` for any other escape."""
    found = _CODE.match(source, at)
    if found is not None:
        wide, short, four, octal = found.groups()
        point = int(octal, 8) if octal else int(wide or short or four, 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise UnknownSyntaxError(f"{found.group()!r} is no character")
        return chr(point), found.end()
    letter = source[at + 1 : at + 2]
    if letter in _CONTROL:
        return _CONTROL[letter], at + 2
    return (letter, at + 2) if letter and not (letter.isalnum() or ord(letter) > 0x7F) else None


def read_class(source: str, at: int, *, ignores_case: bool) -> tuple[str, int]:
    """Return the translation of the class that begins at `at`, and its end; `UnknownSyntaxError` if there is none."""
    found, end = _read(source, at)
    return _plain(_folded(found) if ignores_case else found), end


def _read(source: str, at: int) -> tuple[_Set, int]:
    is_negated = source.startswith("[^", at)
    at += 2 if is_negated else 1
    unions = [_Set()]
    first = at
    while at < len(source):
        char, union = source[at], unions[-1]
        if char == "]" and at > first:
            whole = union if len(unions) == 1 else _Set(parts=unions)
            return (_Set(True, nested=[whole]) if is_negated else whole), at + 1
        if source.startswith("&&", at):
            unions.append(_Set())
            at += 2
            continue
        at = _read_item(source, at, union)
    raise UnknownSyntaxError("a class has no end")


def _read_item(source: str, at: int, union: _Set) -> int:
    """Add the next item of a class to a union, and return its end."""
    posix = _POSIX.match(source, at)
    if posix is not None:
        if posix[2] not in _NAMED:
            raise UnknownSyntaxError(f"{posix.group()!r} is not known")
        return _add(_named(posix[2], bool(posix[1])), int(posix.end()), union)
    if source[at] == "[":
        return _add(*_read(source, at), union)
    if source[at] == "\\":
        letter = source[at + 1 : at + 2]
        if letter in _LETTERS:
            items, is_negated = _LETTERS[letter]
            return _add(_Set(is_negated, [items]), at + 2, union)
        found = named_property(source, at, in_class=True)
        if found is not None:
            return _add(*found, union)
        prop = _PROPERTY.match(source, at)
        if prop is not None:
            union.items.append(prop.group())
            return int(prop.end())
    first, end = _one(source, at)
    is_range = source.startswith("-", end) and not source.startswith("&&", end + 1)
    if is_range and source.startswith("[", end + 1):
        raise UnknownSyntaxError("a range that ends with a class")
    if is_range and source[end + 1 : end + 2] not in ("]", ""):
        last, stop = _one(source, end + 1)
        if last < first:
            raise UnknownSyntaxError(f"the range {first}-{last} is empty")
        union.items.append(f"{_literal_character(first)}-{_literal_character(last)}")
        return stop
    union.items.append(_item(first))
    return end


def _one(source: str, at: int) -> tuple[str, int]:
    """Return the character of a class at a position, and its end."""
    if source[at] != "\\":
        return source[at], at + 1
    if source.startswith("\\b", at):
        return "\b", at + 2
    found = character(source, at)
    if found is None:
        raise UnknownSyntaxError(f"{source[at : at + 2]!r} in a class is not known")
    return found


def _add(found: _Set, end: int, union: _Set) -> int:
    if not found.is_negated and not found.parts:
        union.items += found.items
        union.nested += found.nested
    else:
        union.nested.append(found)
    return end


def _named(name: str, is_negated: bool) -> _Set:
    items, is_rest = _NAMED[name]
    return _Set(is_negated != is_rest, [items])


def named_property(source: str, at: int, *, in_class: bool = False) -> tuple[_Set, int] | None:
    r"""Return the set of a property such as `\p{Alpha}` that has the name of a POSIX class, and its end."""
    found = _PROPERTY.match(source, at)
    name = "" if found is None else found[2].lower()
    if found is None or name not in _NAMED:
        return None
    is_negated = (source[at + 1] == "P") != bool(found[1])
    if name == "punct":  # only as a POSIX class it has symbols
        return _Set(is_negated, [r"\p{P}"]), found.end()
    if name == "word" and not in_class:
        return _Set(is_negated, [_WORD_ALONE]), found.end()
    return _named(name, is_negated), found.end()


def _item(char: str, special: str = "\\^-[]") -> str:
    """Return a character as an item of a class, or with other `special` characters as a literal."""
    if char in special:
        return "\\" + char
    named = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\f": r"\f"}.get(char)
    return named or (f"\\x{ord(char):02x}" if char < " " or char == "\x7f" else char)


def _literal_character(char: str) -> str:
    return _item(char, r"\^-[]&|~.*+?(){}$#")


def _plain(found: _Set, *, negated: bool = False) -> str:
    """Return a regex that matches one character of a set, or with `negated` one that is not in the set."""
    negated = negated != found.is_negated
    if found.parts:
        *others, last = found.parts
        if negated:
            return _either([_plain(part, negated=True) for part in found.parts])
        return f"(?:{''.join(f'(?={_plain(part)})' for part in others)}{_plain(last)})"
    items = "".join(dict.fromkeys(found.items))
    if not found.nested:
        if not items:
            raise UnknownSyntaxError("a class is empty")
        return items if items in (r"\d", r"\s") and not negated else f"[{'^' if negated else ''}{items}]"
    if len(found.nested) == 1 and not items:
        return _plain(found.nested[0], negated=negated)
    alone = [f"[{items}]"] if items else []
    if negated:
        first = "".join(f"(?!{part})" for part in (*alone, *map(_plain, found.nested[:-1])))
        return f"(?:{first}{_plain(found.nested[-1], negated=True)})"
    return _either([*alone, *map(_plain, found.nested)])


def _either(ways: list[str]) -> str:
    """Return a regex that matches one character by any of some regexes.

    The `regex` package takes `[^a]|[^b]` for `[^ab]`, so all negated classes except the last one become lookaheads.
    """
    *others, last = sorted(ways, key=lambda way: way.startswith("[^"))
    return f"(?:{'|'.join((*(f'(?={way})' + _ANY if way[1] == '^' else way for way in others), last))})"


# -- case ----------------------------------------------------------------------------------------------------


def _folded(found: _Set, *, negated: bool = False) -> _Set:
    """Return a set with all characters that equal one of it when case is ignored.

    A negated set excludes these.  Sets of letters that are not listed one by one would also match strings of several
    characters, such as "ss" for U+00DF; only a negated one does not.
    """
    negated = negated != found.is_negated
    if found.parts:
        raise UnknownSyntaxError("an intersection of classes that ignores case")
    items: list[str] = []
    for item in found.items:
        if _CASELESS.fullmatch(item):
            items.append(item)
        elif negated and item == r"\p{L}":
            items.append("\\p{L}\u0345")  # the mark equals the letter iota
        elif item.startswith(("\\p", "\\P")) or len(item) > 5:
            raise UnknownSyntaxError(f"{item!r} in a class that ignores case")
        else:
            items.append("".join(map(_item, sorted(_with_other_cases(item)))))
    if any(inner.is_negated for inner in found.nested) and (items or found.nested[1:] or found.nested[0].nested):
        raise UnknownSyntaxError("a negated class within a class that ignores case")
    return _Set(found.is_negated, items, [_folded(inner, negated=negated) for inner in found.nested])


def _with_other_cases(item: str) -> set[str]:
    """Return the characters of an item, a character or a range, with all that equal one of them."""
    chars = regex.compile(f"[{item}]").findall("".join(map(chr, range(0x80))))
    if not item.isascii():
        if len(item) > 2:
            raise UnknownSyntaxError(f"the range {item!r} in a class that ignores case")
        chars = [item[-1]]
    return {other for char in chars for other in same_letters(char)}


@lru_cache(maxsize=256)
def same_letters(char: str) -> str:
    """Return the characters that equal one when case is ignored; `UnknownSyntaxError` if strings of several do, too."""
    if char in "kK":
        return "Kk\u212a"
    if char in "sS":
        return "Ss\u017f"
    if char.isascii():
        return "".join(sorted({char.lower(), char.upper()}))
    folded = char.casefold()
    if len(folded) > 1:
        raise UnknownSyntaxError(f"{char!r} that ignores case and equals {folded!r}")
    return "".join(chr(point) for point in range(0x110000) if chr(point).casefold() == folded) or char


def joins(before: str, after: str) -> bool:
    """Return whether a single character may equal a string across the border of two when case is ignored."""
    pair = (before[-1:] + after[:1]).lower().replace("\u017f", "s")
    return any(pair in joined for joined in _JOINED)


def literal(text: str) -> str:
    """Return a regex for a text in any case.

    From left to right, the longest string that single characters equal may also be one of these.
    """
    parts: list[str] = []
    at, lower = 0, text.lower().replace("\u017f", "s")
    while at < len(text):
        joined = max((found for found in _JOINED if lower.startswith(found, at)), key=len, default="")
        end = at + max(len(joined), 1)
        letters = "".join(map(_any_case, text[at:end]))
        parts.append(f"(?:{letters}|[{_JOINED[joined]}])" if joined else letters)
        at = end
    return "".join(parts)


def _any_case(char: str) -> str:
    letters = same_letters(char)
    return _literal_character(letters) if len(letters) == 1 else f"[{''.join(map(_item, letters))}]"
