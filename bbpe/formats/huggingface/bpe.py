"""Read the model `BPE` of a `tokenizer.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...spec.models import Merges, OtherModel, Vocab
from ...spec.rules import BYTE_KEYS, SPACE_MARK, Characters
from ..common.key_tables import KeyTable, MergeIds, MergeKeys, Unread
from ..common.keys import byte_symbols, check_ids, in_alphabet, read_keys
from ..common.reading import Fields, shown, well_formed
from .added_tokens import AddedTokens
from .own_fields import OWN, OwnFields, read_own_fields
from .pre_tokenizers import PreTokenization


class ReadModel(NamedTuple):
    """A model of any type, as it was read."""

    vocab: Mapping[int, bytes]
    merges: Merges | None = None
    whole: bool = False
    characters: Characters | None = None
    other: OtherModel | None = None
    dropout: float = 0.0
    #: After the pre-tokenizer `ByteLevel` the tokens are texts in its alphabet, not bytes.
    is_spelled: bool = False


def read_bpe(model: Fields, added: AddedTokens, split: PreTokenization, *, marks: bool) -> ReadModel:
    """Read the model `BPE`; `marks`: texts have U+2581 for every blank."""
    model.only("type", "BPE", default="BPE")
    dropout = _dropout(model)
    unknown = model.take("unk_token", None)
    if unknown is not None and type(unknown) is not str:
        model.refuse(f"found {shown(unknown)}; expected a string or null", "unk_token")
    prefix, end = _mark(model, "continuing_subword_prefix"), _mark(model, "end_of_word_suffix")
    byte_fallback, fuse, whole = (_flag(model, name) for name in ("byte_fallback", "fuse_unk", "ignore_merges"))
    place = model.at("vocab")
    keys = _keys(model, place)
    merges = _merges(model, keys, prefix)
    own = model.component(OWN, read_own_fields, OwnFields())
    model.done()
    specials = {**added.added, **added.special}
    both = {text for text in specials if text in keys}
    if split.byte_level and not (whole and prefix):
        read = _of_bytes(keys, merges, whole, both, _Unknown(unknown, fuse), prefix, end)
        is_complete = read is not None and read.characters is None
        if read is not None and (is_complete or not (byte_fallback and any(key in keys for key in BYTE_KEYS))):
            return read._replace(dropout=dropout)
    if byte_fallback:
        _refuse_marks(model, "byte_fallback is", prefix, end)
    if whole:
        _refuse_marks(model, "ignore_merges is", prefix, "")
    if marks and SPACE_MARK in prefix + end:
        _refuse_marks(model, "U+2581 for blanks is", prefix, end)
    unknown_id = None if unknown is None else keys.get(unknown)
    if unknown is not None and not byte_fallback and merges.using_as_part(unknown):
        model.refuse(f"found the unknown token {shown(unknown)} in a merge; expected merges without it", "merges")
    characters = Characters((), unknown_id, fuse, marks, end, prefix=prefix, unknown_text=own.unknown_text)
    alone = {text for text in both if len(text.removeprefix(prefix).removesuffix(end)) == 1 or len(text) == 1}
    if marks:  # all blanks are U+2581, so a token with a blank is never found
        alone = {text for text in alone if " " not in text}
    left_out = both - merges.using(both) - alone
    vocab, characters = read_keys(
        keys, characters, byte_fallback=byte_fallback, left_out=left_out, path=model.path, place=place, needs_all=False
    )
    return ReadModel(
        vocab, merges.merges(keys, vocab), whole, characters, dropout=dropout, is_spelled=split.byte_level
    )


class _Unknown(NamedTuple):
    token: str | None
    is_fused: bool


def _of_bytes(
    keys: KeyTable,
    merges: MergeKeys | MergeIds,
    whole: bool,
    both: set[str],
    unknown: _Unknown,
    prefix: str,
    end: str,
) -> ReadModel | None:
    """Return a byte-level vocabulary, whose bytes need not all be tokens.

    It is `None` if a key has a character outside the byte alphabet, or if tokens have the bytes 0xFD and 0xFF, which
    mark the beginning and the end of words.
    """
    kept = merges.using(both) | {text for text in both if len(text) == 1 and in_alphabet(text)}
    vocab = Vocab.of_keys(keys.table, keys.ids(both - kept))
    if vocab is None or (prefix and end and f"ý{end}" in keys and f"{prefix}ÿ" in keys):
        return None
    for mark, byte in ((prefix, 0xFD), (end, 0xFF)):
        if mark and any(_has_byte(token, prefix, end, byte) for token in vocab.values()):
            return None
    # `tokenizers` never writes an unknown token that is not in its vocabulary
    unknown_id = None if unknown.token is None else keys.get(unknown.token)
    symbols = Characters((), unknown_id, unknown.is_fused, prefix=prefix, end_of_word=end, are_bytes=True)
    return ReadModel(vocab, merges.merges(keys, vocab), whole, byte_symbols(vocab, symbols))


def _has_byte(token: bytes, prefix: str, end: str, byte: int) -> bool:
    bare = token.removeprefix(prefix.encode()).removesuffix(end.encode())
    return len(bare) > 1 and byte in bare


def _refuse_marks(model: Fields, what: str, prefix: str, end: str) -> None:
    """Refuse marks of positions in words; `what` names the option that is not supported together with them."""
    for name, mark in (("continuing_subword_prefix", prefix), ("end_of_word_suffix", end)):
        if mark:
            model.refuse(f"found {shown(mark)}, together with which {what} not supported", name)


def _dropout(model: Fields) -> float:
    """Take the dropout, with which `tokenizers` draws other ids at each call."""
    value = model.take("dropout", None)
    if value is None:
        return 0.0
    if type(value) not in (int, float) or not 0 <= value <= 1:
        model.refuse(f"found {shown(value)}; expected null or a probability, 0 to 1", "dropout")
    return float(value)


def _flag(model: Fields, name: str) -> bool:
    """Take a flag, which may be null."""
    value = model.take(name, None)
    return False if value is None else model.checked(value, bool, name)


def _mark(model: Fields, name: str) -> str:
    """Take a mark of positions in words; "" if there is none."""
    mark = model.take(name, None)
    if mark is not None and (type(mark) is not str or not well_formed(mark)):
        model.refuse("expected a string of Unicode text, or null", name)
    return mark or ""


def _keys(model: Fields, place: str) -> KeyTable:
    """Take the keys of a model."""
    if isinstance(model.peek("vocab"), KeyTable):
        keys: KeyTable = model.take("vocab")
        return keys
    return KeyTable.of(check_ids(model.take_type("vocab", dict), path=model.path, place=place))


def _merges(model: Fields, keys: KeyTable, prefix: str) -> MergeKeys | MergeIds:
    """Take the merges of a model."""
    unread = model.take("merges")
    if isinstance(unread, Unread):
        return unread.merges(keys, prefix)
    if isinstance(unread, MergeKeys | MergeIds):
        return unread
    pairs: list[tuple[str, str]] = []
    for number, merge in enumerate(model.checked(unread, list, "merges")):
        if type(merge) is str and merge.startswith("#version"):
            continue  # as in a merges.txt
        if type(merge) is str:
            left, _, right = merge.partition(" ")
            is_pair = left and right and " " not in right
        else:
            is_pair = type(merge) is list and len(merge) == 2 and all(type(part) is str and part for part in merge)
            left, right = merge if is_pair else ("", "")
        if not is_pair:
            model.refuse(f'found {shown(merge)}; expected "a b" or ["a", "b"]', f"merges[{number}]")
        if not right.startswith(prefix) or right == prefix:
            problem = f"found {shown(merge)}; expected a second token that continues with continuing_subword_prefix"
            model.refuse(problem, f"merges[{number}]")
        pairs.append((left, right))
    return MergeKeys(pairs, model.path, lambda number: model.at(f"merges[{number}]"), prefix)
