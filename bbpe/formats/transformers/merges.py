"""Folders with `vocab.json` and `merges.txt` and a class of tokenizers: GPT-2, RoBERTa, CLIP, Qwen2 and their kin.

Source: the classes of HF's `transformers` 5, which make a `tokenizer.json` of the two files.  Each class has a row in
`_CLASSES`; `tokenizer_json` reads the document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...records import dataclass, field, replace
from ...spec.rules import TokenOptions
from ...spec.spec import TokenizerSpec
from ...splitting.patterns import PATTERNS
from ..common.given import Given
from ..common.key_tables import Keys, MergeIds, MergeKeys
from ..common.keys import CONFIG, class_of
from ..huggingface.dialects import to_oniguruma
from ..huggingface.tokenizer_json import read_document
from .documents import END_OF_TEXT, ClassTokens, class_fields, flag, usual_tokens, with_padding
from .folder import other_files, read_folder

_Template = Callable[[ClassTokens], Any]
_NFC = {"type": "NFC"}
# unlike the pattern of CLIP's own program, it minds the case: of U+017F after an apostrophe, and of U+0345
_CLIP = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def _flagged(tokens: ClassTokens) -> Any:
    """Return the template of the flags for BOS and EOS, which are not set by default."""
    fields = tokens.fields
    return tokens.flagged(flag(fields, "add_bos_token", False), flag(fields, "add_eos_token", False))


def _explicit(tokens: ClassTokens) -> Any:
    """Return the template of flags that the configuration has; without any there are no ids around a text."""
    return _flagged(tokens) or {"type": "ByteLevel", "trim_offsets": False, "add_prefix_space": True}


def _roberta(tokens: ClassTokens) -> Any:
    return _around(tokens, flag(tokens.fields, "trim_offsets", True), "sep", "cls")


def _clip_ends(tokens: ClassTokens) -> Any:
    return _around(tokens, False, "eos", "bos")


def _around(tokens: ClassTokens, is_trimmed: bool, last: str, first: str) -> dict[str, Any]:
    ids = tokens.ids()
    ends = {name: [tokens.text(use), ids[tokens.text(use)]] for name, use in (("sep", last), ("cls", first))}
    prefixed = flag(tokens.fields, "add_prefix_space", False)
    return {"type": "RobertaProcessing", "trim_offsets": is_trimmed, "add_prefix_space": prefixed, **ends}


def _deberta(tokens: ClassTokens) -> Any:
    return tokens.template("cls A sep", "cls A sep sep B sep")


def _whisper(tokens: ClassTokens) -> Any:
    """Return the template of a transcript; a token that the vocabulary lacks becomes the unknown one."""
    fields, ids = tokens.fields, tokens.ids()
    names = ["<|startoftranscript|>"]
    for name in ("language", "task"):
        value = fields.peek(name)
        if value is not None:
            names.append(f"<|{fields.checked(value, str, name).lower()}|>")
            if names[-1] not in ids:
                fields.refuse(f"the vocabulary has no token {names[-1]!r}; expected the code of one", name)
    if not flag(fields, "predict_timestamps", False):
        names.append("<|notimestamps|>")
    extra = {f"token{place}": name if name in ids else tokens.text("unk") for place, name in enumerate(names)}
    start = " ".join(extra)
    return tokens.template(f"{start} A eos", f"{start} A B:1 eos:1", extra)


@dataclass(frozen=True)
class _Class:
    """A class: its usual tokens by use, what it does before the model, and the ids around a text.

    `mask` has the options of the mask.  `is_prefixed`: a blank is put in front by default.  `pattern`: the regex of the
    split before the byte alphabet, instead of GPT-2's.  `is_removed`: what it does not match is dropped.
    `resets_options`: tokens with a use and listed ones lose their options.  `model` has fields of the model.
    """

    tokens: Mapping[str, str]
    template: _Template
    mask: TokenOptions = TokenOptions()
    is_prefixed: bool = False
    normalizers: tuple[dict[str, Any], ...] = ()
    pattern: str | None = None
    is_removed: bool = False
    resets_options: bool = False
    model: Mapping[str, Any] = field(default_factory=dict)


_ENDS = {"bos": "<s>", "eos": "</s>", "sep": "</s>", "cls": "<s>", "unk": "<unk>", "pad": "<pad>", "mask": "<mask>"}
_BERT = {use: f"[{text}]" for use, text in zip(_ENDS, "CLS SEP SEP CLS UNK PAD MASK".split(), strict=True)}
_GPT2 = dict.fromkeys(("bos", "eos", "unk"), END_OF_TEXT)
_ROBERTA = _Class(_ENDS, _roberta)
_CLASSES = {
    "GPT2": _Class(_GPT2, _flagged),
    "CodeGen": _Class(_GPT2, _explicit),
    "Whisper": _Class(_GPT2, _whisper),
    "GPTNeoX": _Class({**_GPT2, "pad": "<|padding|>"}, _flagged, normalizers=(_NFC,)),
    **dict.fromkeys(("Roberta", "Bart", "Longformer", "LED", "Mvp"), _ROBERTA),
    "Blenderbot": _Class(_ENDS, _flagged, mask=TokenOptions(lstrip=True), is_prefixed=True),
    "Deberta": _Class(_BERT, _deberta),
    "Qwen2": _Class(
        dict.fromkeys(("unk", "eos", "pad"), END_OF_TEXT), _flagged, normalizers=(_NFC,),
        pattern=to_oniguruma(PATTERNS["qwen2"].steps)[0], resets_options=True,
    ),
    "CLIP": _Class(
        {**_GPT2, "bos": "<|startoftext|>", "pad": END_OF_TEXT}, _clip_ends,
        normalizers=(
            _NFC, {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}, {"type": "Lowercase"},
        ),
        pattern=_CLIP, is_removed=True, model={"end_of_word_suffix": "</w>"},
    ),
}  # fmt: skip


def class_row(config: Path) -> _Class | None:
    """Return the row of the class that a configuration names; `None` for other classes."""
    return _CLASSES.get(class_of(config).removesuffix("Fast").removesuffix("Tokenizer"))


def load_class(row: _Class, path: Path, keys: Keys, merges: MergeKeys | MergeIds, given: Given) -> TokenizerSpec:
    """Return the spec of two files as a class makes it; `path` is that of the keys, in the folder of the class.

    Raises `VocabularyError` naming the file and the field, the token or the merge that is broken or not supported.
    """
    fields = class_fields(path.with_name(CONFIG))
    config = read_folder(path.parent, usual_tokens(row.tokens, mask=row.mask))
    if row.resets_options:
        uses = set(config.uses.values())
        config = replace(
            config,
            tokens=tuple(
                replace(token, options=TokenOptions()) if token.is_named or token.text in uses else token
                for token in config.tokens
            ),
        )
    tokens = ClassTokens(config, keys, fields)
    prefixed = flag(fields, "add_prefix_space", row.is_prefixed) and not row.is_removed
    level = {"type": "ByteLevel", "trim_offsets": True}
    own = row.pattern is None or row.is_removed
    document = {
        "added_tokens": tokens.rows(),
        "normalizer": {"type": "Sequence", "normalizers": list(row.normalizers)},
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [*_split(row), {**level, "add_prefix_space": prefixed, "use_regex": own}],
        },
        "post_processor": row.template(tokens),
        "decoder": {**level, "add_prefix_space": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": keys, "merges": merges, **row.model, **_unknown(row, tokens)},
    }
    spec = read_document(document, path, given)
    return with_padding(replace(spec, files=other_files(path.parent), names=config.names), config, fields, "right")


def _split(row: _Class) -> list[dict[str, Any]]:
    if row.pattern is None:
        return []
    behavior = "Removed" if row.is_removed else "Isolated"
    return [{"type": "Split", "pattern": {"Regex": row.pattern}, "behavior": behavior, "invert": row.is_removed}]


def _unknown(row: _Class, tokens: ClassTokens) -> dict[str, str]:
    """Return the unknown token of a model of words; in a model of bytes it has no effect."""
    return {"unk_token": tokens.text("unk")} if row.model else {}
