"""Merges of words with `</w>`: codes of subword-nmt and fastBPE, and CLIP's `bpe_simple_vocab_16e6.txt`.

The first line is the version; every other line has two symbols.  Codes have no ids.  This module numbers them: 0 is
`<unk>`, then come the characters of ASCII and of the merges in order, each within a word and at its end, then the
results of the merges.  Other characters are unknown; subword-nmt leaves them unchanged.

Codes of version 0.1, and those without a version, have a symbol of its own for the end of a word, which subword-nmt
drops where no merge takes it.  Here each token that may stand there has a last merge with it.

The codes of fastBPE (fairseq, XLM) have no version, and a count after each merge.

The symbols of CLIP are bytes in GPT-2's alphabet.  CLIP uses the first 48,894 merges.  Its ids are the 256 bytes, the
256 bytes with `</w>`, the results of the merges, and two special tokens.

Format: `learn_bpe.py` and `apply_bpe.py` of subword-nmt, `simple_tokenizer.py` of CLIP.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..lazy import lazy_re
from ..spec.rules import Characters, Lowercase, Normalizer, Replace, Template, UnicodeForm
from ..spec.spec import TextRules, TokenizerSpec, make_spec
from ..splitting.patterns import PATTERNS
from ..text import BYTE_ORDER, alphabet_to_bytes, bytes_to_alphabet
from .common.given import Given
from .common.reading import read_text

END = "</w>"
_UNKNOWN = "<unk>"
_OLD, _NEW = "#version: 0.1", "#version: 0.2"
_COUNTED = lazy_re(r"[^ ]+ [^ ]+ [0-9]+\r?")
_CLIP = '"bpe_simple_vocab_16e6.txt'
_CLIP_MERGES = 49152 - 256 - 2
_CLIP_SPECIALS = ("<|startoftext|>", "<|endoftext|>")
_CLIP_RULES: tuple[Normalizer, ...] = (UnicodeForm("NFC"), Replace(r"\s+", True, " "), Lowercase())


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a file of merges.  `pattern` replaces subword-nmt's rule, by which words end at blanks and line ends.

    Text that no pattern matches is between words, and dropped.

    Raises `VocabularyError` with the line that is not a pair of symbols.
    """
    lines = read_text(path).rstrip("\r\n").split("\n")
    if lines[0].startswith(_CLIP):
        return _clip(list(dict.fromkeys(_pairs(lines[1 : 1 + _CLIP_MERGES], 2))), given)
    first, version = 1, lines[0].rstrip("\r")
    if _COUNTED.fullmatch(lines[0]):
        first, lines = 0, [*_uncounted(lines)]
    elif version.startswith("v3;"):
        raise VocabularyError("found the header of OpenNMT's Tokenizer; expected codes of subword-nmt", place="line 1")
    elif not version.startswith("#"):
        first, version = 0, _OLD  # as subword-nmt takes it
    elif version not in (_OLD, _NEW):
        raise VocabularyError(f"found {version[:40]!r}; expected {_NEW!r} or {_OLD!r}", place="line 1")
    return _codes(list(dict.fromkeys(_pairs(lines[first:], first + 1))), given, end_apart=version == _OLD)


def _uncounted(lines: Iterable[str]) -> Iterable[str]:
    """Yield the merges of fastBPE's codes, in which each line ends with a count."""
    for number, line in enumerate(lines, 1):
        if not _COUNTED.fullmatch(line):
            problem = f"found {line[:60]!r}; expected two symbols and a count with blanks between"
            raise VocabularyError(problem, place=f"line {number}")
        yield line.rpartition(" ")[0]


def _bytes_of(pair: tuple[str, str]) -> tuple[bytes, bytes]:
    """Return the symbols of a merge of CLIP; `VocabularyError` when one is not in GPT-2's alphabet."""
    try:
        return alphabet_to_bytes(pair[0]), alphabet_to_bytes(pair[1])
    except ValueError as error:
        place = f"merge {' '.join(pair)!r}"
        raise VocabularyError(f"{error}; expected GPT-2's letters for bytes", place=place) from None


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a file of subword-nmt's codes, which has merges but no ids, rules or special tokens.

    Raises `VocabularyError` on a spec that is not BPE of characters with `</w>`.
    """
    characters = spec.characters
    is_of_words = characters is not None and characters.end_of_word == END and not characters.prefix
    if not is_of_words or characters is None or characters.are_bytes or spec.merges is None:
        raise VocabularyError(
            f"codes hold only merges of characters with {END} at the end of words; write tokenizer.json"
        )
    vocab = spec.vocab
    rows = [f"{vocab[left].decode()} {vocab[right].decode()}\n" for left, right, _ in spec.merges]
    broken = next((row for row in rows if len(row.split()) != 2), None)
    if broken is not None:
        raise VocabularyError(f"merge {broken!r} holds white space, which codes cannot")
    return {path: "".join([_OLD if characters.end_apart else _NEW, "\n", *rows]).encode()}


def _pairs(lines: Iterable[str], first: int) -> Iterable[tuple[str, str]]:
    for number, line in enumerate(lines, first):
        parts = line.rstrip("\r").split(" ")
        if len(parts) != 2 or not all(parts):
            problem = f"found {line[:60]!r}; expected two symbols with a blank between"
            raise VocabularyError(problem, place=f"line {number}")
        yield parts[0], parts[1]


def _codes(pairs: Sequence[tuple[str, str]], given: Given, *, end_apart: bool) -> TokenizerSpec:
    symbols = {part.removesuffix(END) if part != END else part for pair in pairs for part in pair}
    characters = {*map(chr, range(33, 127)), *(symbol for symbol in symbols if len(symbol) == 1)}
    singles = [key for char in sorted(characters) for key in (char, char + END)]
    if end_apart:
        singles.append(END)
        pairs = _with_ends(_live(pairs), sorted(characters))
    made = dict.fromkeys(left + right for left, right in pairs)
    keys = {key: number for number, key in enumerate(dict.fromkeys([_UNKNOWN, *singles, *made]))}
    specials = {_UNKNOWN: keys.pop(_UNKNOWN), **given.specials_or({})}
    return make_spec(
        {token_id: key.encode() for key, token_id in keys.items()},
        [(left.encode(), right.encode()) for left, right in pairs],
        pattern=given.words_or(PATTERNS["subword_nmt"]),
        special_tokens=specials,
        name=given.name,
        characters=Characters((), 0, end_of_word=END, end_apart=end_apart),
    )


def _live(pairs: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Return the merges whose parts are characters, the end of a word, or made by other ones."""
    left = pairs
    while True:
        made = {END, *(one + two for one, two in left)}
        live = [pair for pair in left if all(len(part) == 1 or part in made for part in pair)]
        if len(live) == len(left):
            return live
        left = live


def _with_ends(pairs: Sequence[tuple[str, str]], characters: Sequence[str]) -> list[tuple[str, str]]:
    """Return merges, and after these one with the end of a word for each token that has none and may be there."""
    made = dict.fromkeys(left + right for left, right in pairs)
    listed = {left for left, right in pairs if right == END}
    inner = [token for token in (*characters, *made) if token not in listed and not token.endswith(END)]
    return [*pairs, *((token, END) for token in inner)]


def _around(specials: Mapping[str, int]) -> Template | None:
    """Return CLIP's template; `None` without its special tokens."""
    if not all(text in specials for text in _CLIP_SPECIALS):
        return None
    first, last = (specials[text] for text in _CLIP_SPECIALS)
    return Template(((first, 0), ("A", 0), (last, 0)))


def _clip(pairs: Sequence[tuple[str, str]], given: Given) -> TokenizerSpec:
    merges = [_bytes_of(pair) for pair in pairs]
    alphabet = [bytes_to_alphabet(bytes((byte,))) for byte in BYTE_ORDER]
    keys = [*alphabet, *(char + END for char in alphabet), *(left + right for left, right in pairs)]
    specials = given.specials_or(dict(zip(_CLIP_SPECIALS, range(len(keys), len(keys) + 2), strict=True)))
    return make_spec(
        {token_id: alphabet_to_bytes(key) for token_id, key in enumerate(keys)},
        merges,
        pattern=given.words_or(PATTERNS["clip"]),
        special_tokens=specials,
        name=given.name,
        rules=TextRules(_CLIP_RULES),
        template=_around(specials),
        characters=Characters((), specials.get("<|endoftext|>"), end_of_word=END, are_bytes=True),
    )
