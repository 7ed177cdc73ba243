"""`accelerate` compares a tokenizer with ours before it replaces methods; a difference is refused or worked around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from bbpe.compat.tokenizers.row_options import row
from bbpe.compat.transformers.backend import _hf_texts_of
from bbpe.compat.transformers.proofs import PROBES, _compare, prove, prove_ids
from bbpe.errors import AccelerationError, VocabularyError

hf = pytest.importorskip("tokenizers")
from small_hf import KINDS  # noqa: E402 - it imports tokenizers


class Other:
    """A tokenizer of HF, one of whose methods gives another result."""

    def __init__(self, inner: Any, name: str, change: Callable[..., Any]) -> None:
        vars(self).update(_inner=inner, _name=name, _change=change)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name != self._name:
            return found
        return lambda *given, **options: self._change(found(*given, **options), *given, **options)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)


class Changed:
    """An encoding with another list."""

    def __init__(self, encoding: Any, name: str) -> None:
        self._encoding, self._name = encoding, name

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._encoding, name)
        return [*found[:-1], "?"] if name == self._name else found


def another(name: str, at: int) -> Callable[..., Any]:
    """A change of one encoding of a batch."""

    def change(rows: list[Any], *_: object, **options: Any) -> list[Any]:
        return [Changed(each, name) if number == at else each for number, each in enumerate(rows)]

    return change


def fewer(vocab: dict[str, int], *_: object) -> dict[str, int]:
    return {key: token_id for key, token_id in vocab.items() if token_id != 5}


DIFFERENCES: dict[str, tuple[str, Callable[..., Any], str]] = {
    "another id": ("get_vocab", lambda vocab, *_: {**vocab, "s": 9999}, "token 's' has id .*tokenizers has 9999"),
    "a token more": ("get_vocab", lambda vocab, *_: {**vocab, "more": 7}, "token 'more' has id None"),
    "a token less": ("get_vocab", fewer, "tokenizers has None"),
    **{f"{name} of a text": ("encode_batch", another(name, 2), f"{name} of .Hello World.*differ at")
       for name in ("ids", "offsets", "word_ids", "special_tokens_mask")},
    "ids of the last text": ("encode_batch", another("ids", len(PROBES) - 1), "ids of .https.*differ at"),
    "ids of the vocabulary": ("encode_batch_fast", another("ids", 0), "ids of .*differ at"),
    "a pair": ("encode", lambda found, *given, **options: Changed(found, "ids") if len(given) == 2 else found,
               "ids of 'a pair of texts'"),
    "words": ("encode", lambda found, *given, **options: Changed(found, "word_ids") if options else found,
              "word_ids of 'a list of words'"),
}  # fmt: skip


@pytest.mark.parametrize(("method", "change", "words"), DIFFERENCES.values(), ids=DIFFERENCES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_difference_is_an_error(kind: str, method: str, change: Callable[..., Any], words: str) -> None:
    inner = KINDS[kind]()
    hf_texts = _hf_texts_of(inner)
    assert prove(hf_texts, inner) == (frozenset(), frozenset())
    with pytest.raises(AccelerationError, match=words):
        prove(hf_texts, Other(inner, method, change))


def test_places_may_differ_only_if_they_are_accepted() -> None:
    inner = KINDS["bytes"]()
    hf_texts = _hf_texts_of(inner)
    for name in ("offsets", "word_ids", "ids", "special_tokens_mask"):
        other = Other(inner, "encode_batch", another(name, 2))
        if name in ("offsets", "word_ids"):
            prove(hf_texts, other, accepts_offsets=True)
            with pytest.raises(AccelerationError, match=f"accept_other_offsets=True takes our {name}"):
                prove(hf_texts, other)
        else:
            with pytest.raises(AccelerationError, match="differ at") as caught:
                prove(hf_texts, other, accepts_offsets=True)
            assert "accept_other_offsets" not in str(caught.value)


@pytest.mark.parametrize("skips", [True, False])
def test_ids_that_are_decoded_in_another_way_are_found(skips: bool) -> None:
    """Each, alone, and for the option with which they are."""

    def change(text: str, ids: list[int], skip: bool) -> str:
        return f"{text}!" if skip is skips and 20 in ids else text

    def change_all(texts: list[str], rows: list[list[int]], skip: bool) -> list[str]:
        return [change(text, ids, skip) for text, ids in zip(texts, rows, strict=True)]

    inner = KINDS["bytes"]()
    hf_texts = _hf_texts_of(inner)
    odd = prove(hf_texts, Other(Other(inner, "decode", change), "decode_batch", change_all))
    assert odd == ((frozenset(), frozenset({20})) if skips else (frozenset({20}), frozenset()))


def test_the_options_of_the_tokenizer_are_there_again() -> None:
    """Also after a difference; no text is truncated or padded while it is compared."""
    inner = KINDS["wordpiece"]()
    hf_texts = _hf_texts_of(inner)
    inner.enable_truncation(4, stride=1, strategy="only_first", direction="left")
    inner.enable_padding(direction="left", length=9, pad_id=3, pad_type_id=1, pad_token="<s>")
    inner.encode_special_tokens = True
    before = inner.truncation, inner.padding, inner.encode_special_tokens
    prove(hf_texts, inner)
    assert (inner.truncation, inner.padding, inner.encode_special_tokens) == before
    with pytest.raises(AccelerationError):
        prove(hf_texts, Other(inner, "encode_batch", another("ids", 2)))
    assert (inner.truncation, inner.padding, inner.encode_special_tokens) == before
    prove_ids(hf_texts, inner, [], is_plain=True, accepts_offsets=False)
    assert (inner.truncation, inner.padding, inner.encode_special_tokens) == before


def test_places_that_cannot_be_told_are_a_difference() -> None:
    class Untold:
        ids = offsets = word_ids = type_ids = special_tokens_mask = (0,)

    class Refused(Untold):
        @property
        def offsets(self) -> Any:
            raise VocabularyError("two tokens have one text")

    with pytest.raises(AccelerationError, match=r"^offsets of 'see': two tokens have one text$"):
        _compare("see", cast(Any, Refused()), Untold(), ("ids", "offsets"))
    _compare("see", cast(Any, Refused()), Untold(), ("ids", "word_ids"))


def test_a_longer_and_a_shorter_result_differ_where_one_ends() -> None:
    inner = KINDS["bytes"]()
    hf_texts = _hf_texts_of(inner)
    text = PROBES[2]
    size = len(row(hf_texts, [hf_texts.encoded(text, None)], True, None).ids)

    class Longer(Changed):
        ids = property(lambda self: [*self._encoding.ids, 7])

    def change(rows: list[Any], *_: object) -> list[Any]:
        return [Longer(each, "") if number == 2 else each for number, each in enumerate(rows)]

    with pytest.raises(AccelerationError, match=rf"differ at {size}: \[\] in bbpe, \[7\] in tokenizers"):
        prove(hf_texts, Other(inner, "encode_batch", change))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "place",
    ["qq", "qqqq", "a qq b", "b[CLS]", "a[SEP] [SEP]", "[cls]", "\uff3b\uff23\uff2c\uff33\uff3d", "<s>b<s>", "<S>"],
)
def test_a_difference_beside_tokens_and_what_rules_replace_is_an_error(kind: str, place: str) -> None:
    """Of special tokens also in another case and in full width, which a normalizer may turn into a token."""
    inner = KINDS[kind]()
    inner.normalizer = hf.normalizers.Replace("qq", "see")
    hf_texts = _hf_texts_of(inner)

    def change(rows: list[Any], texts: list[str], *_: object) -> list[Any]:
        return [Changed(each, "ids") if place in text else each for each, text in zip(rows, texts, strict=True)]

    with pytest.raises(AccelerationError, match=r"^ids of .* differ at"):
        prove(hf_texts, Other(inner, "encode_batch", change))
