"""YouTokenToMe's model: BPE of the characters of words, each of which begins with U+2581.

The file has two counts, the code point and the id of each character, the ids of each merge and its result in the order
of merging, and the ids of the tokens for unknown characters, padding, the beginning and the end of a text, or -1.
Words are separated by white space of ASCII and by U+2581.  Unknown characters in a row are one id.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..spec.decoders import UNMARK, Fuse, Strip
from ..spec.models import Merges
from ..spec.rules import SPACE_MARK, Characters, Metaspace, Split
from ..spec.spec import MAX_ID, TextRules, TokenizerSpec, make_spec
from ..splitting.patterns import PATTERNS
from .common.given import Given
from .common.keys import key_of
from .common.reading import read_text

_NAMES = ("<UNK>", "<PAD>", "<BOS>", "<EOS>")
_WORDS = (Split(r"[\t-\r \u2581]+", "Removed"), Metaspace("always", False))
_DECODER = (UNMARK, Fuse(), Strip(" ", 1, 0))
_SURROGATES = range(0xD800, 0xE000)


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a model; `pattern` replaces its words, `special_tokens` its special tokens.

    Raises `VocabularyError` with the line that is not as expected, and on a merge of ids that are not made before it.
    """
    rows = _rows(path)
    characters, merges = next(rows)
    tokens: dict[int, str] = {}
    ids: dict[str, int] = {}

    def add(token_id: int, text: str, number: int) -> None:
        if tokens.setdefault(token_id, text) != text or ids.setdefault(text, token_id) != token_id:
            problem = f"token {text!r} has id {token_id}, but one of them is taken; expected one id for each token"
            raise VocabularyError(problem, place=f"line {number}")

    for number, (point, token_id) in enumerate((next(rows) for _ in range(characters)), 2):
        if point > 0x10FFFF or point in _SURROGATES:
            raise VocabularyError(f"found {point}; expected a code point", place=f"line {number}")
        add(token_id, chr(point), number)
    listed: list[tuple[int, int, int]] = []
    for number, (left, right, made) in enumerate((next(rows) for _ in range(merges)), 2 + characters):
        if left not in tokens or right not in tokens:
            problem = f"found a merge of {left} and {right}; expected ids that lines before it have"
            raise VocabularyError(problem, place=f"line {number}")
        add(made, tokens[left] + tokens[right], number)
        listed.append((left, right, made))
    named = {text: token_id for text, token_id in zip(_NAMES, next(rows), strict=True) if token_id >= 0}
    return make_spec(
        {token_id: text.replace(SPACE_MARK, " ").encode() for token_id, text in tokens.items()},
        Merges(listed),
        pattern=given.pattern_or(PATTERNS["none"]),
        special_tokens=given.specials_or(named),
        name=given.name,
        rules=TextRules((), None, _WORDS if given.pattern is None else ()),
        characters=Characters((), named.get(_NAMES[0]), True, True),
        decoder=_DECODER,
    )


def _rows(path: StrPath) -> Iterator[list[int]]:
    """Yield the numbers of each line, as many as the counts in the first line ask for."""
    lines = read_text(path).rstrip("\r\n").split("\n")
    first = _numbers(lines[0], 1, 2)
    characters, merges = first
    expected = 2 + characters + merges
    if len(lines) != expected:
        problem = f"found {len(lines)} lines; expected {expected}, for {characters} characters and {merges} merges"
        raise VocabularyError(problem)
    yield first
    sizes = [2] * characters + [3] * merges + [4]
    for number, (line, size) in enumerate(zip(lines[1:], sizes, strict=True), 2):
        yield _numbers(line, number, size, least=-1 if size == 4 else 0)


def _numbers(line: str, number: int, size: int, *, least: int = 0) -> list[int]:
    parts = line.split()
    if len(parts) == size and all(part.removeprefix("-").isdecimal() and part.isascii() for part in parts):
        found = [int(part) for part in parts if len(part) < 12]
        if len(found) == size and all(least <= value <= MAX_ID for value in found):
            return found
    raise VocabularyError(f"found {line[:60]!r}; expected {size} numbers, {least} to {MAX_ID}", place=f"line {number}")


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a model.

    Raises `VocabularyError` on a tokenizer that is not of the kind that `load` returns.
    """
    symbols = spec.characters
    expected = Characters((), None if symbols is None else symbols.unknown, True, True)
    given = spec.rules, spec.decoder, spec.pattern, spec.model, spec.whole_pretokens
    is_alike = given == (TextRules((), None, _WORDS), _DECODER, PATTERNS["none"], None, False)
    others = spec.added_tokens or spec.token_options or spec.merge_levels
    if symbols is None or symbols != expected or not is_alike or others or spec.merges is None:
        problem = "YouTokenToMe holds merges of the characters of words, and no other rules or added tokens"
        raise VocabularyError(f"{problem}; write tokenizer.json")
    if set(spec.special_tokens) - set(_NAMES) or spec.special_tokens.get(_NAMES[0]) != symbols.unknown:
        raise VocabularyError(f"YouTokenToMe holds the special tokens {', '.join(_NAMES)}; write tokenizer.json")
    alone = {token_id: key_of(token, symbols) for token_id, token in spec.vocab.items()}
    rows = [(ord(key), token_id) for token_id, key in alone.items() if len(key) == 1]
    lines = [f"{len(rows)} {len(spec.merges)}", *(" ".join(map(str, row)) for row in (*rows, *spec.merges))]
    lines.append(" ".join(str(spec.special_tokens.get(name, -1)) for name in _NAMES))
    return {path: "".join(f"{line}\n" for line in lines).encode()}
