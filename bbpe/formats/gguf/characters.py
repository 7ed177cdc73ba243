"""The vocabulary of a GGUF file with BPE of characters by a list of merges: Gemma 4 and its kin.

Blanks are U+2581 in tokens and merges, a character without a token becomes byte tokens, and no merge joins a line feed
and another character.
"""

from __future__ import annotations

from ...spec.rules import SPACE_MARK, Characters, Replace, Split
from ...spec.spec import TextRules, TokenizerSpec, make_spec
from ...splitting.patterns import PATTERNS
from ..common.given import Given
from ..common.key_tables import KeyTable
from ..common.keys import read_keys
from ..sentencepiece.piece_rows import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from .fields import PREFIX, GGUFFields

#: A model of this kind has no name of a pre-tokenizer.
GEMMA, SARVAM = "gemma4", "sarvam-moe"
#: Pre-tokenizers of such vocabularies.
CHARACTERS = (GEMMA, "granite-embed-multi-311m", SARVAM)
_KINDS = (NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE)
_LINES = (Split(r"[^\n]+|\n+", "Isolated"),)


def read_characters(fields: GGUFFields, given: Given) -> TokenizerSpec:
    """Return the spec of a file with BPE of characters."""
    adds = () if fields.is_one_of("pre", (SARVAM,)) else ("bos",)
    for key in ("pre", "scores", *(f"add_{use}_token" for use in adds)):
        fields.drop(key)  # llama.cpp adds BOS for the kin of Gemma, whatever the file says
    texts, kinds, merges = fields.texts("tokens"), fields.counted_kinds(), fields.merges()
    kinds, both = fields.retyped(texts, kinds)
    template = fields.template(len(texts), adds=adds)
    if fields.flag("add_space_prefix", False):
        fields.refuse("a blank before texts is not supported for BPE of characters; expected false", "add_space_prefix")
    fields.done()
    by_kind: dict[int, dict[str, int]] = {kind: {} for kind in _KINDS}
    fields.sort(texts, kinds, by_kind, "1 to 6")
    special = {**by_kind[CONTROL], **by_kind[UNKNOWN], **{texts[token_id]: token_id for token_id in both}}
    special = special if given.special_tokens is None else dict(given.special_tokens)
    added = {text: token_id for text, token_id in by_kind[USER_DEFINED].items() if text not in special}
    keys = KeyTable.of({**by_kind[NORMAL], **by_kind[BYTE], **added})
    left_out = added.keys() - merges.using(set(added))
    unknown = next(iter(by_kind[UNKNOWN].values()), None)
    characters = Characters((), unknown, True, True)
    vocab, characters = read_keys(
        keys, characters, byte_fallback=True, left_out=left_out, path=fields.path, place=f"{PREFIX}tokens"
    )
    return make_spec(
        vocab,
        merges.merges(keys, vocab),
        pattern=given.pattern_or(PATTERNS["none"]),
        special_tokens=special,
        added_tokens=added,
        name=given.name,
        rules=TextRules((Replace(" ", False, SPACE_MARK),), None, _LINES if given.pattern is None else ()),
        characters=characters,
        template=template,
    )
