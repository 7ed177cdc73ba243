"""A digest of everything in a spec that can change an id or a text."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.bpe import CompiledBPE
from ..core.merge_list import MergeList
from ..core.model import Model
from ..lazy import np
from .characters import CharacterModel, single_characters
from .models import Merges, Vocab
from .rules import Template
from .spec import TextRules, TokenizerSpec

if TYPE_CHECKING:
    from hashlib import _Hash


def fingerprint(spec: TokenizerSpec, compiled: Model | None = None) -> str:
    """Return a SHA-256 of everything that affects the ids and texts of a tokenizer, as 64 hex digits.

    The digest covers the ids and bytes of all tokens, the merges that can apply, the look-up of whole pretokens, the
    options of tokens, normalizers, pre-tokenizers, model, template, decoding, padding and truncation.  It does not
    cover the name, the file format, attached files, trims of offsets, the dropout of a file, and merges that can never
    apply.  So a list of merges and ranks that give the same ids have equal digests.  Dropout can make such a merge
    apply, so tokenizers with equal digests may draw different ids.

    `compiled` is the model that encodes by the spec, if there is one already.

    >>> from bbpe.splitting.patterns import get_pattern
    >>> vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"ab", 257: b"bc"}
    >>> ab_first = ((97, 98, 256), (98, 99, 257))
    >>> one, other = (TokenizerSpec(vocab, merges, get_pattern("gpt2")) for merges in (ab_first, ab_first[::-1]))
    >>> fingerprint(one) == fingerprint(other)
    False
    """
    digest = hashlib.sha256(b"bbpe spec 3\n")
    _add_vocab(digest, spec.vocab)
    for label, tokens in (("special", spec.special_tokens), ("added", spec.added_tokens)):
        for token_id, text in sorted((token_id, text) for text, token_id in tokens.items()):
            _add(digest, f"{label} {token_id}", text.encode("utf-8", "surrogatepass"))
    for step in spec.pattern.steps:
        _add(digest, "step", step.encode("utf-8", "surrogatepass"))
    digest.update(b"drops" if spec.pattern.drops_gaps else b"keeps")
    options = sorted(spec.token_options.items(), key=lambda item: item[0])
    rules = repr((spec.rules if spec.rules != TextRules() else None, options, _template(spec)))
    _add(digest, "rules", rules.encode("utf-8", "surrogatepass"))
    _add(digest, "characters", b"" if spec.characters is None else spec.characters.identity())
    _add(digest, "decoder", repr(spec.decoder).encode("utf-8", "surrogatepass"))
    _add(digest, "model", b"" if spec.model is None else spec.model.identity())
    if spec.model is None:
        _add_merges(digest, spec, compiled)
    if spec.padding is not None or spec.truncation is not None:
        _add(digest, "rows", repr((spec.padding, spec.truncation)).encode("utf-8", "surrogatepass"))
    turns = sorted((text, row.turn) for text, row in spec.token_options.items() if row.turn)
    if turns:
        _add(digest, "turns", repr(turns).encode())
    if spec.rules.codes is not None:
        _add(digest, "codes", repr(spec.rules.codes).encode())
    if spec.modelled:
        _add(digest, "modelled", repr(sorted(spec.modelled)).encode())
    return digest.hexdigest()


def _template(spec: TokenizerSpec) -> Template | None:
    """Return the template, `None` if it adds nothing to a text and has no form for pairs."""
    return None if spec.template == Template((("A", 0),)) else spec.template


def _add(digest: _Hash, label: str, data: bytes) -> None:
    digest.update(f"{label} {len(data)} ".encode() + data)


def _add_vocab(digest: _Hash, vocab: Mapping[int, bytes]) -> None:
    # Vocab.data: the number of tokens, their ids and lengths, their bytes
    data = (vocab if isinstance(vocab, Vocab) else Vocab(vocab)).data()
    rows = np.frombuffer(data, "<u4", 2 * len(vocab), 8).reshape(-1, 2).astype("<i8")
    ids, lengths, tokens = rows[:, 0], rows[:, 1], data[8 + 8 * len(rows) :]
    if (np.diff(ids) < 0).any():
        order = np.argsort(ids)
        tokens = b"".join(token for _, token in sorted(vocab.items()))
        ids, lengths = ids[order], lengths[order]
    digest.update(ids.tobytes())
    digest.update(lengths.tobytes())
    digest.update(tokens)


def _add_merges(digest: _Hash, spec: TokenizerSpec, compiled: Model | None) -> None:
    merges, has_unmade = _live_merges(spec, compiled)
    if spec.merge_levels:
        level = {made: level for (_, _, made), level in zip(spec.merges or (), spec.merge_levels, strict=True)}
        _add(digest, "levels", np.array([level[made] for _, _, made in merges.rows()], "<i8").tobytes())
    ids = np.frombuffer(merges.data(), np.uint32)
    _add(digest, f"merges {spec.whole_pretokens and has_unmade}", ids.astype("<i8").tobytes())


def _live_merges(spec: TokenizerSpec, compiled: Model | None) -> tuple[MergeList, bool]:
    """Return the merges that can apply, in order, and whether there are tokens that no merge makes."""
    if spec.characters is None:
        model = compiled if isinstance(compiled, CompiledBPE) else CompiledBPE(spec.vocab, spec.merges)
        live = model.live_list()
        # all 256 bytes are tokens
        return live, len(live) < len(spec.vocab) - 256
    listed = Merges(spec.merges or ())
    if spec.characters.marks_words or spec.characters.are_bytes:
        return listed, True
    live = CharacterModel(spec.vocab, spec.characters).live_merges(listed, spec.merge_levels)
    several = len(spec.vocab) - len(single_characters(spec.vocab))
    return live, len({made for _, _, made in live.rows()}) < several
