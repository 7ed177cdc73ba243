"""The vocabulary of a GGUF file with BPE of characters by a list of merges: Gemma 4 and its kin.

Blanks are U+2581 in tokens and merges, a character without a token becomes byte tokens, and no merge joins a line feed
and another character.
"""

from __future__ import annotations

from ...records import replace
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
    is_sarvam = fields.is_one_of("pre", (SARVAM,))
    adds = () if is_sarvam else ("bos",)
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
    spec = make_spec(
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
    return spec if is_sarvam or given.pattern is not None else _with_whole_line_feeds(spec, fields)


def _with_whole_line_feeds(spec: TokenizerSpec, fields: GGUFFields) -> TokenizerSpec:
    """Return a spec that finds a token for all line feeds in a row, as llama.cpp does for Gemma, if no merge makes it.

    All pretokens that are tokens are then found whole, so merges must make the other tokens.
    """
    feeds = {token_id for token_id, token in spec.vocab.items() if len(token) > 1 and not token.strip(b"\n")}
    made = {token_id for _, _, token_id in spec.merges or ()} if feeds else set()
    if feeds <= made:
        return spec
    token_id = min(feeds - made)
    for other, token in spec.vocab.items():
        if other not in made and other not in feeds and len(token.decode()) > 1:
            problem = f"no merge makes {spec.vocab[token_id]!r}, which llama.cpp finds nevertheless, nor {token!r}"
            fields.refuse(f"{problem}, which it does not find; expected merges for the first", f"tokens[{token_id}]")
    return replace(spec, whole_pretokens=True)
