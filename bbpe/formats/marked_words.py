"""A `vocab.json` and `merges.txt` of words whose symbols have marks: `a</w>` ends a word, and `##a` continues one.

`CharBPETokenizer` of `tokenizers` writes such files, and the classes of OpenAI GPT and HerBERT have them.  They do not
define how texts are normalized and split.  Keys of pieces with U+2581 for blanks are refused here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..errors import VocabularyError
from ..files import StrPath
from ..lazy import lazy_re
from ..records import replace
from ..spec.rules import SPACE_MARK, Characters, Split
from ..spec.spec import TextRules, TokenizerSpec, make_spec
from ..splitting.patterns import PATTERNS
from .common.given import Given
from .common.key_tables import KeyTable, MergeIds, MergeKeys
from .common.keys import read_keys

_PREFIX, _END = "##", "</w>"
_SYMBOL = lazy_re(f"(?s)({_PREFIX})?.({_END})?")
_UNKNOWN = ("<unk>", "[UNK]")
# texts of which a pattern of words leaves no blank in a pretoken
_SPACED = "see my  dogs, 12\t34\n\n it's \u00e9 \u4e2d ! x"
_WAY_OUT = "load the tokenizer.json that `tokenizer.save` of the package `tokenizers` writes"


class WordMarks(NamedTuple):
    """The marks of the symbols of words, "" for none; `blank` is U+2581 where the keys are pieces."""

    prefix: str = ""
    end: str = ""
    blank: str = ""

    def __str__(self) -> str:
        return " and ".join(repr(mark) for mark in self if mark)


def marks_of(keys: KeyTable, merges: MergeKeys | MergeIds, *, is_thorough: bool = False) -> WordMarks | None:
    """Return the marks of keys, `None` if there are none; only symbols of ASCII are looked for unless `is_thorough`.

    A symbol of words is a character with a mark that no merge makes: merges of bytes may make the text `a</w>`.
    """
    texts: Iterable[str] = keys
    if not is_thorough:
        marked = (_PREFIX + "{}", "{}" + _END, _PREFIX + "{}" + _END)
        texts = [text for code in range(33, 127) for mark in marked if (text := mark.format(chr(code))) in keys]
    symbols = {text for text in texts if len(text) > 1 and _SYMBOL.fullmatch(text)}
    symbols -= merges.making(symbols)
    prefix = _PREFIX if any(text.startswith(_PREFIX) for text in symbols) else ""
    end = _END if any(text.endswith(_END) for text in symbols) else ""
    pieces = {text for text in keys if text.startswith(SPACE_MARK)} if is_thorough else set()
    blank = SPACE_MARK if SPACE_MARK in pieces or merges.using(pieces) else ""
    return WordMarks(prefix, end, blank) if prefix or end or blank else None


def spec_of_words(
    keys: KeyTable, merges: MergeKeys | MergeIds, marks: WordMarks, given: Given, *, path: StrPath, kind: str
) -> TokenizerSpec:
    """Return the spec of words with marks, which the given pattern splits texts into without any other rule.

    Raises `VocabularyError` without a pattern, for one that leaves white space in words, and for pieces.
    """
    found = f"tokens are marked by {marks}, so they are pieces of words, not bytes, and {kind} does not define"
    if marks.blank:
        raise VocabularyError(f"{found} how texts are normalized and blanks become {SPACE_MARK!r} (U+2581); {_WAY_OUT}")
    if given.pattern is None:
        problem = f"{found} how texts are normalized and split into words"
        raise VocabularyError(f'{problem}; {_WAY_OUT}, or give pattern= if a regex does it all, such as "whitespace"')
    pattern = given.words_or(PATTERNS["whitespace"])
    spaced = next((word for word in pattern.split(_SPACED) if word != "".join(word.split())), None)
    if spaced is not None:
        problem = f"tokens are marked by {marks}, but the pattern leaves white space in {spaced!r}"
        raise VocabularyError(f'{problem}; give a pattern of words, such as "whitespace"')
    unknown = next((text for text in _UNKNOWN if text in keys), None)
    if unknown is None:
        raise VocabularyError(f"no token is {' or '.join(_UNKNOWN)}; expected one for unknown characters")
    if isinstance(merges, MergeKeys):
        merges = replace(merges, prefix=marks.prefix)
    plain = {text: keys[text] for text in merges.unused(keys) if not _SYMBOL.fullmatch(text)}
    special = {unknown: keys[unknown], **given.specials_or(plain)}
    vocab, characters = read_keys(
        keys,
        Characters((), keys[unknown], end_of_word=marks.end, prefix=marks.prefix),
        byte_fallback=False,
        left_out={text for text in special if text in keys},
        path=path,
        place="",
    )
    rules = TextRules()
    if pattern.name is None:  # as a tokenizer.json has it
        splits = tuple(Split(step, "Removed", True) for step in pattern.steps)
        pattern, rules = PATTERNS["none"], TextRules((), None, splits)
    return make_spec(
        vocab, merges.merges(keys, vocab), pattern=pattern, special_tokens=special, name=given.name, rules=rules,
        characters=characters,
    )  # fmt: skip
