"""Proofs that our engine gives what a tokenizer of HF gives: on its whole vocabulary, and on texts of many kinds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from ...errors import AccelerationError, VocabularyError
from ...pipeline.special_tokens import Matcher
from ...spec.rules import Replace
from ..tokenizers.encoding import Encoding
from ..tokenizers.row_options import row
from ..tokenizers.texts import HfTexts

#: Texts with what rules of tokenizers treat differently: case, blanks, numbers, marks, scripts, emoji, controls.
PROBES = (
    "",
    " ",
    "Hello World, it's 12,345.67 o'clock -- don't PANIC!  Two  blanks,\ttabs\r\n\n  and lines.",
    "  leading and trailing  ",
    "na\u00efve caf\u00e9 \u212bngstr\u00f6m e\u0301 \ufb01ne \uff21\uff22 \u2167 \u00bd x\u00b2",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002\u6771\u4eac\u3067\u4f1a\u3044\u307e\u3057\u3087\u3046 \ud55c\uad6d\uc5b4",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u0393\u03b5\u03b9\u03ac \u0645\u0631\u062d\u0628\u0627 "
    "\u05e9\u05dc\u05d5\u05dd \u0928\u092e\u0938\u094d\u0924\u0947 \u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "\U0001f44d\U0001f3fd \U0001f468\u200d\U0001f469\u200d\U0001f467 \u2581 \u00a0\u3000\u200b\ufeff\u00ad\x00\x7f",
    "def f(x):\n    return {'a': x**2, \"b\": [1, 2]}  # 100%\n\n\n",
    "https://example.org/a_b?c=d&e=f <s> </s> [SEP] <|endoftext|> ## @@",
)
#: The full-width forms of ASCII.
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_WORDS = ["Hello", "World,", "don't", " 12 ", "\u6771\u4eac"]
#: Tokens of the vocabulary in one text, and ids that are decoded in one call.
_TOKENS, _SHOWN = 128, 60
#: The ids that are decoded in another way, without and with `skip_special_tokens`.
Odd: TypeAlias = tuple[frozenset[int], frozenset[int]]
#: The lists of an encoding, ids first, and those of the places of ids.
_LISTS = ("ids", "offsets", "word_ids", "type_ids", "special_tokens_mask")
_PLACES = ("offsets", "word_ids")


def prove(hf_texts: HfTexts, inner: Any, ids: Collection[int] | None = None, *, accepts_offsets: bool = False) -> Odd:
    """Prove that our engine gives what a tokenizer of HF gives, and return the ids that are decoded in another way.

    The proof is on the whole vocabulary, or on some `ids` of it.  With `accepts_offsets` offsets and numbers of words
    may differ.  Raises `AccelerationError` with the difference.
    """
    if ids is None:
        _prove_vocabulary(hf_texts, inner)
    rows = _chunks(hf_texts.names if ids is None else ids)
    prove_ids(hf_texts, inner, rows, is_plain=False, accepts_offsets=accepts_offsets)
    return _odd_ids(hf_texts, inner, rows, False), _odd_ids(hf_texts, inner, rows, True)


def _prove_vocabulary(hf_texts: HfTexts, inner: Any) -> None:
    """Raise `AccelerationError` unless all tokens have the same ids."""
    ours, theirs = hf_texts.keys, inner.get_vocab()
    if ours != theirs:
        key = next(key for key in (*theirs, *ours) if ours.get(key) != theirs.get(key))
        raise AccelerationError(f"token {key!r} has id {ours.get(key)}; tokenizers has {theirs.get(key)}")


def prove_ids(hf_texts: HfTexts, inner: Any, rows: list[list[int]], *, is_plain: bool, accepts_offsets: bool) -> None:
    """Raise `AccelerationError` unless texts of many kinds, and those of rows of ids, have the same ids and offsets.

    With `is_plain`, special tokens in texts are plain text.
    """
    with _without_options(inner, is_plain):
        lists = [name for name in _LISTS if not (accepts_offsets and name in _PLACES)]
        _prove_texts(hf_texts, inner, rows, hf_texts.matcher(is_plain), lists)


@contextmanager
def _without_options(inner: Any, is_plain: bool) -> Iterator[None]:
    """Take truncation and padding from a tokenizer of HF for a while, and choose how it reads special tokens."""
    truncation, padding, was_plain = inner.truncation, inner.padding, inner.encode_special_tokens
    inner.no_truncation()
    inner.no_padding()
    inner.encode_special_tokens = is_plain
    try:
        yield
    finally:
        inner.encode_special_tokens = was_plain
        if truncation is not None:
            inner.enable_truncation(**truncation)
        if padding is not None:
            inner.enable_padding(**padding)


def _prove_texts(
    hf_texts: HfTexts, inner: Any, rows: list[list[int]], matcher: Matcher | None, lists: Sequence[str]
) -> None:
    others = list(hf_texts.spec.added_tokens) + list(hf_texts.spec.special_tokens)
    probes = [*PROBES, *(f"a{text} {text.upper()} {text}b{text}" for text in others[:_SHOWN])]
    # what a normalizer may turn into a token: its full-width form, another case, and what a rule replaces
    wide = [text.translate(_WIDE) for text in others[:_SHOWN]]
    probes += [f"{text.lower()} {other} a{other}b\U0001fae8" for text, other in zip(others, wide, strict=False)]
    rules = [rule for rule in hf_texts.spec.rules.normalizers if isinstance(rule, Replace) and not rule.is_regex]
    probes += [f"a {rule.pattern} b{rule.pattern}{rule.pattern}c" for rule in rules[:_SHOWN]]
    for text, theirs in zip(probes, _asked(inner.encode_batch, probes), strict=True):
        _compare(text, row(hf_texts, [hf_texts.encoded(text, matcher)], True, None), theirs, lists)
    texts = [hf_texts.decoded(ids, False) for ids in rows]
    found = hf_texts.tokenizer._parts.encoder.lists(list(texts), matcher, None)
    rows_of_theirs = _asked(inner.encode_batch_fast, texts, add_special_tokens=False)
    for text, ids, theirs in zip(texts, found, rows_of_theirs, strict=True):
        if ids != theirs.ids:
            raise AccelerationError(_difference("ids", text, ids, theirs.ids))
    pair = [hf_texts.encoded(text, matcher) for text in PROBES[2:4]]
    if len(hf_texts.template.pair) > 0:
        _compare("a pair of texts", row(hf_texts, pair, True, None), _asked(inner.encode, *PROBES[2:4]), lists)
    words = row(hf_texts, [hf_texts.encoded_words(_WORDS, matcher)], True, None)
    _compare("a list of words", words, _asked(inner.encode, _WORDS, is_pretokenized=True), lists)


def _asked(call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Return what a method of a tokenizer of HF returns; raise `AccelerationError` if it has no result."""
    try:
        return call(*arguments, **options)
    except Exception as error:  # `tokenizers` raises it for a word without a token in a model without unknown token
        raise AccelerationError(f"tokenizers raises an error for a text that bbpe encodes: {error}") from error


def _odd_ids(hf_texts: HfTexts, inner: Any, rows: list[list[int]], skips: bool) -> frozenset[int]:
    """Return the ids whose text depends on who decodes them."""
    odd = set[int]()
    for ids, theirs in zip(rows, _asked(inner.decode_batch, rows, skips), strict=True):
        if hf_texts.decoded(ids, skips) != theirs:
            odd |= {each for each in ids if hf_texts.decoded([each], skips) != inner.decode([each], skips)}
    return frozenset(odd)


def _chunks(ids: Collection[int]) -> list[list[int]]:
    """Return ids in rows."""
    ordered = sorted(ids)
    return [ordered[start : start + _TOKENS] for start in range(0, len(ordered), _TOKENS)]


def _compare(text: str, ours: Encoding, theirs: Any, lists: Sequence[str]) -> None:
    for name in lists:
        try:
            one, other = getattr(ours, name), getattr(theirs, name)
        except VocabularyError as error:
            raise AccelerationError(f"{name} of {text[:_SHOWN]!r}: {error}") from error
        if one != other:
            raise AccelerationError(_difference(name, text, one, other))


def _difference(name: str, text: str, ours: list[Any], theirs: list[Any]) -> str:
    pairs = zip(ours, theirs, strict=False)
    at = next((number for number, (one, other) in enumerate(pairs) if one != other), min(len(ours), len(theirs)))
    found, expected = ours[at : at + 3], theirs[at : at + 3]
    shown = f"{name} of {text[:_SHOWN]!r} differ at {at}: {found} in bbpe, {expected} in tokenizers"
    return f"{shown}; ids are equal, and accept_other_offsets=True takes our {name}" if name in _PLACES else shown
