"""Unusual properties of a tokenizer, in sentences that also give the effect on ids and texts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ..encoding.plan import uncompiled
from ..formats.common.ranks import live_merges
from ..spec.decoders import Blanks
from ..spec.models import WordLevelModel, WordPieceModel
from ..spec.rules import Charsmap, Metaspace, Precompiled, Prefix, Prepend, Replace, UnicodeForm
from ..spec.spec import TokenizerSpec
from ..splitting.closest_pattern import nearest
from ..text import counted, first_few, shortened

_some = partial(first_few, most=3, between=" ")
# what these change, a decoder can change back, or hardly any text has
_HARMLESS = ("NFC", "NFD")
# bytes that are not in UTF-8
_NEVER = ("0xC0", "0xC1", *(f"0x{byte:02X}" for byte in range(0xF5, 0x100)))


def unusual(spec: TokenizerSpec) -> list[str]:
    """Return what is unusual in a spec, a sentence each; none for an ordinary one."""
    return [
        *spec.notes, *_symbols(spec), *_merges(spec), *_ids(spec), *_pattern(spec), *_texts(spec), *_tokens(spec),
        *_rows(spec),
    ]  # fmt: skip


def treatment(spec: TokenizerSpec) -> str:
    """Return what becomes of a symbol without a token."""
    symbols = spec.characters
    if symbols is None or (not symbols.byte_ids and symbols.unknown is None):
        return "left out"
    if symbols.byte_ids:
        return "written as the tokens of their bytes"
    texts = {token_id: text for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items())}
    token = spec.vocab.get(symbols.unknown or 0, b"").decode("utf-8", "backslashreplace")
    return f"written as {shortened(texts.get(symbols.unknown or 0, token), quoted=True)}"


def missing_bytes(spec: TokenizerSpec) -> list[str]:
    """Return the bytes without a token of a vocabulary of bytes, as `0x00`."""
    if spec.characters is None or not spec.characters.are_bytes:
        return []
    tokens = set(spec.vocab.values())
    return [f"0x{byte:02X}" for byte in range(256) if bytes((byte,)) not in tokens]


def _symbols(spec: TokenizerSpec) -> Iterator[str]:
    symbols, missing = spec.characters, missing_bytes(spec)
    in_text = [byte for byte in missing if byte not in _NEVER]
    if in_text:
        what = f"{counted(len(in_text), 'byte', 'has', 'have')} no token ({_some(in_text)})"
        yield f"{what} and {'is' if len(in_text) == 1 else 'are'} {treatment(spec)}, so texts do not come back"
    elif missing:
        what = counted(len(missing), "byte", "that no text in UTF-8 has has", "that no text in UTF-8 has have")
        yield f"{what} no token; this has no effect on texts"
    elif symbols is not None and not symbols.are_bytes and not symbols.byte_ids:
        what = "words" if symbols.marks_words else "characters"
        yield f"{what} of a text that have no token are {treatment(spec)}"
    if isinstance(spec.model, WordPieceModel | WordLevelModel) and spec.model.unknown is None:
        yield "words of a text that have no token are left out, because the file has no unknown token"


def _merges(spec: TokenizerSpec) -> Iterator[str]:
    if spec.model is None and spec.characters is None:
        unmade = live_merges(spec).unmade
        shown = _some([shortened(spec.vocab[token_id], quoted=True) for token_id in unmade])
        made, one = f"{counted(len(unmade), 'token')} ({shown})", len(unmade) == 1
        if unmade and spec.whole_pretokens:
            yield f"no merges make {made}; {'it is' if one else 'they are'} found where a whole pretoken is one"
        elif unmade:
            yield f"no merges make {made}, so texts never have {'its id' if one else 'their ids'}"
    if spec.dropout:
        yield f"the file has dropout {spec.dropout:g}; `encode` drops merges only where a call gives `dropout`"
    if spec.merge_levels:
        yield "some merges have equal scores; of these the leftmost comes first, as in SentencePiece"


def _ids(spec: TokenizerSpec) -> Iterator[str]:
    used = {*spec.vocab, *spec.special_tokens.values(), *spec.added_tokens.values()}
    used |= set() if spec.characters is None else set(spec.characters.byte_tokens.values())
    holes = spec.vocab_size - len(used)
    if holes:
        below, them = f"below {spec.vocab_size:,}", "it" if holes == 1 else "them"
        what = counted(holes, "id", f"{below} has", f"{below} have")
        yield f"{what} no token; texts never have {them}"


def _pattern(spec: TokenizerSpec) -> Iterator[str]:
    near = None if spec.rules.pre_tokenizers else nearest(spec.pattern)
    if near is not None and near.differs:
        example = "" if near.example is None else f", such as for {near.example!r}"
        yield f"the pattern is nearly {near.name} ({_some(near.differs)}), so ids may differ from its{example}"
    reason = uncompiled(spec)
    if reason is not None:
        yield f"{reason[:1].lower()}{reason[1:].rstrip('.')}, which is slower"


def _texts(spec: TokenizerSpec) -> Iterator[str]:
    lossy = [
        type(rule).__name__
        for rule in spec.rules.normalizers
        if not isinstance(rule, Prepend | Prefix)
        and not (isinstance(rule, UnicodeForm) and rule.form in _HARMLESS)
        and not (isinstance(rule, Replace) and not rule.is_regex and rule.pattern == " ")
    ]
    if lossy:
        table = " (a table of characters)" if {Charsmap.__name__, Precompiled.__name__} & set(lossy) else ""
        names = ", ".join(dict.fromkeys(lossy))
        yield f"texts are changed before the model by {names}{table}; `decode` does not undo it"
    if any(isinstance(rule, Metaspace) and rule.prepend_scheme == "first" for rule in spec.rules.pre_tokenizers):
        yield "only what the first character of a text became gets a mark in front, also not after special tokens"
    if spec.decoder == (Blanks(),) and not isinstance(spec.model, WordLevelModel):
        yield "the file has no decoder, so `decode` puts a blank between all tokens"


def _tokens(spec: TokenizerSpec) -> Iterator[str]:
    names = {"lstrip": "take white space", "rstrip": "take white space", "single_word": "are found as whole words only"}
    names["normalized"] = "are looked for in the normalized text"
    for what in dict.fromkeys(names.values()):
        flags = [flag for flag, meaning in names.items() if meaning == what]
        texts = [text for text, row in spec.token_options.items() if any(getattr(row, flag) for flag in flags)]
        if texts:
            some = _some([shortened(text, quoted=True) for text in texts])
            yield f"{len(texts)} special or added tokens {what} ({some})"


def _rows(spec: TokenizerSpec) -> Iterator[str]:
    found = [name for name in ("padding", "truncation") if getattr(spec, name) is not None]
    if found:
        yield f"the file has {' and '.join(found)}: defaults of `encode_padded`, without effect on `encode`"
