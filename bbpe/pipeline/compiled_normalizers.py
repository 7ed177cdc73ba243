"""Compile normalizers to C; `bbpe/reference/normalizers.py` has their slow definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from ..core.charsmap import SentencePieceNormalizer
from ..core.normalizer import Normalizer as CompiledNormalizer
from ..errors import VocabularyError
from ..lazy import safe_import
from ..spec.rules import (
    SPACE_MARK,
    BertNormalizer,
    ByteLevelNormalizer,
    Charsmap,
    Lowercase,
    Nmt,
    Normalizer,
    Precompiled,
    Prepend,
    Replace,
    SqueezeBlanks,
    Strip,
    StripAccents,
    UnicodeForm,
)

#: The most bytes of a table of SentencePiece.
_MOST_BYTES = 1 << 22


def compiled_normalizer(rules: Sequence[Normalizer], *, marks_blanks: bool = False) -> CompiledNormalizer:
    r"""Return a normalizer that applies rules in order.

    Raises `VocabularyError` on a rule with a string that is no text.

    `marks_blanks`: it finally replaces U+2581 by a blank, and so skips a last rule that writes U+2581.

    >>> compiled = compiled_normalizer([UnicodeForm("NFC"), Prepend(">")])
    >>> compiled.apply("e\u0301".encode()).decode()
    '>é'
    """
    compiled, chosen = CompiledNormalizer(), list(rules)
    if marks_blanks:
        sentencepiece = sentencepiece_normalizer(rules)
        if sentencepiece is not None:  # in one pass
            compiled.add_charsmap(sentencepiece, b"", b"", drops_blanks=False)
            return compiled
        if chosen and chosen[-1] == Replace(" ", False, SPACE_MARK):
            chosen.pop()
        chosen.append(Replace(SPACE_MARK, False, " "))
    for rule in chosen:
        try:
            _add(compiled, rule)
        except UnicodeEncodeError:
            raise VocabularyError(f"normalizer {rule} has a lone surrogate, which no text has") from None
    return compiled


def sentencepiece_normalizer(rules: Sequence[Normalizer]) -> SentencePieceNormalizer | None:
    """Return a compiled normalizer for the rules of a SentencePiece model; `None` for other rules.

    The normalizer finally replaces U+2581 by a blank.

    >>> normalizer = sentencepiece_normalizer([SqueezeBlanks(), Prepend(SPACE_MARK), Replace(" ", False, SPACE_MARK)])
    >>> normalizer.apply_all(["a  b ", "", "c"])
    [b' a b', b'', b' c']
    """
    left = list(rules)
    table = left.pop(0) if left and isinstance(left[0], Charsmap) else Charsmap(b"")
    assert isinstance(table, Charsmap)
    squeezes = left[:1] == [SqueezeBlanks(table.suffix)]
    left = left[1:] if squeezes else left
    prepends = left[:1] == [Prepend(SPACE_MARK)]
    is_other = table.prefix not in ("", SPACE_MARK) or table.suffix not in ("", SPACE_MARK)
    is_other = is_other or table.drops_blanks != (squeezes and table.suffix != "")
    if is_other or left[1 if prepends else 0 :] != [Replace(" ", False, SPACE_MARK)]:
        return None
    return SentencePieceNormalizer(
        table.data, charsmap_of(table.data), table.kept, unmarks=True, squeezes=squeezes, prepends=prepends,
        begins=bool(table.prefix), appends=bool(table.suffix),
    )  # fmt: skip


def normalize_function(rules: Sequence[Normalizer]) -> Callable[[str], str] | None:
    """Return a function that applies rules in order to a text; `None` where there are none."""
    if not rules:
        return None
    compiled = compiled_normalizer(rules)
    return lambda text: compiled.apply(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _add(compiled: CompiledNormalizer, rule: Normalizer) -> None:
    """Add the steps of a rule."""
    match rule:
        case UnicodeForm(form):
            compiled.add_form(form)
        case Lowercase():
            compiled.add_map("lowercase")
        case StripAccents():
            compiled.add_map("marks")
        case Strip(left, right):
            compiled.add_strip(left=left, right=right)
        case Prepend(text):
            compiled.add_prepend(text.encode())
        case Replace(pattern, False, content):
            if pattern:
                compiled.add_replace(pattern.encode(), content.encode())
        case Replace(pattern, _, content):
            # imported here, because few rules have a regex and the module takes milliseconds to import
            safe_import("bbpe.splitting.automaton")
            from ..splitting.automaton import matcher_of

            compiled.add_replace_matches(matcher_of(pattern), content.encode())
        case SqueezeBlanks(suffix, drops_marks):
            compiled.add_squeeze(suffix.encode(), drops_marks=drops_marks)
        case BertNormalizer():
            _add_bert(compiled, rule)
        case Nmt():
            compiled.add_map("nmt")
        case ByteLevelNormalizer():
            compiled.add_bytes()
        case Charsmap(data, kept, prefix, suffix, drops_blanks):
            charsmap = SentencePieceNormalizer(data, charsmap_of(data), kept, unmarks=False)
            compiled.add_charsmap(charsmap, prefix.encode(), suffix.encode(), drops_blanks=drops_blanks)
        case Precompiled(data):
            compiled.add_precompiled(charsmap_of(data))


def _add_bert(compiled: CompiledNormalizer, rule: BertNormalizer) -> None:
    if rule.clean_text:
        compiled.add_map("clean")
    if rule.cjk_apart:
        compiled.add_map("ideographs")
    if rule.strip_accents:
        compiled.add_form("NFD")
        compiled.add_map("nonspacing")
    if rule.lowercase:
        compiled.add_map("lowercase")


# -- SentencePiece's tables ----------------------------------------------------------------------------------
#
# The longest key at each position of a text becomes its value.  The bytes are the size of a double-array trie (4 bytes,
# little-endian), the trie (Aoe, 1989, "An Efficient Digital Search by Using a Double-Array Structure", in the layout of
# darts-clone), and the replacement texts.  The values of the trie are offsets into these; a zero byte ends each.


def check_charsmap(data: bytes) -> None:
    """Raise `VocabularyError` on a broken table."""
    if len(data) > _MOST_BYTES:
        problem = f"the table of the normalizer has {len(data)} bytes; expected at most {_MOST_BYTES}"
        raise VocabularyError(problem)
    size = int.from_bytes(data[:4], "little")
    if size % 4 or len(data) < 4 + size or not size:
        raise VocabularyError("the table of the normalizer is truncated; expected its size, a trie and texts")
    charsmap_of(data)


@lru_cache(maxsize=2)  # 4 ms for the 225,000 keys of NFKC's table
def charsmap_of(data: bytes) -> SentencePieceNormalizer:
    """Return a table that does nothing about blanks; `VocabularyError` when it is broken."""
    return SentencePieceNormalizer(data, None, (), unmarks=False)


def mapped_parts(data: bytes, text: str, *, is_whole: bool = True) -> Iterator[tuple[str, str]]:
    """Yield the longest key at each position of a text, or a character of no key, and what it becomes.

    Unless the text `is_whole`, the end that more text may change is left out.
    """
    table, given, at = charsmap_of(data), text.encode("utf-8", "surrogatepass"), 0
    while at < len(given):
        found = table.longest(given, at)
        if not is_whole and table.goes_on(given, at):
            return
        if found is None:
            size = 1
            while at + size < len(given) and given[at + size] & 0xC0 == 0x80:
                size += 1
            part = given[at : at + size].decode("utf-8", "surrogatepass")
            yield part, part
        else:
            size, value = found
            yield given[at : at + size].decode(), value.decode()
        at += size
