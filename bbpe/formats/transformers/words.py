"""Files of words, one on each line, as a class of tokenizers reads them: BERT, MPNet, Funnel and their kin.

Source: the classes of HF's `transformers` 5, which make a `tokenizer.json` of the words.  Each class has a row in
`_CLASSES`; `tokenizer_json` reads the document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ...errors import VocabularyError
from ...records import dataclass, replace
from ...spec.rules import TokenOptions
from ...spec.spec import TokenizerSpec
from ..common.given import Given
from ..common.keys import CONFIG, class_of
from ..common.reading import Fields
from ..huggingface.tokenizer_json import read_document
from .documents import ClassTokens, class_fields, refused_class, usual_tokens, with_padding
from .folder import FolderConfig, UsualTokens, other_files, read_folder

UNKNOWN = "[UNK]"


def _bert(tokens: ClassTokens) -> dict[str, Any]:
    return tokens.template("cls A sep", "cls A sep B:1 sep:1")


def _mpnet(tokens: ClassTokens) -> dict[str, Any]:
    return tokens.template("cls A sep", "cls A sep sep B sep")


def _funnel(tokens: ClassTokens) -> dict[str, Any]:
    return tokens.template("cls:2 A sep", "cls:2 A sep B:1 sep:1")


_OPTIONS = ("tokenize_chinese_chars", "strip_accents")


@dataclass(frozen=True)
class _Class:
    """A class: its usual tokens by use, the ids around a text, and the options of the usual mask.

    `options` has the names of options that the class reads.
    """

    tokens: Mapping[str, str]
    template: Callable[[ClassTokens], dict[str, Any]]
    mask: TokenOptions = TokenOptions()
    options: tuple[str, ...] = ("do_lower_case", *_OPTIONS)


_ENDS = {"bos": "<s>", "eos": "</s>"}
_BERT = _Class({use: f"[{use.upper()}]" for use in ("unk", "sep", "pad", "cls", "mask")}, _bert)
_SAME = "Bert DistilBert Electra MobileBert SqueezeBert ConvBert LayoutLM Lxmert Realm RetriBert"
_CLASSES = {
    **dict.fromkeys(_SAME.split(), _BERT),
    # these lower-case every text
    **dict.fromkeys(("DPRQuestionEncoder", "DPRContextEncoder", "DPRReader"), replace(_BERT, options=_OPTIONS)),
    "MPNet": _Class(
        {**_ENDS, "sep": "</s>", "cls": "<s>", "unk": UNKNOWN, "pad": "<pad>", "mask": "<mask>"}, _mpnet,
        TokenOptions(lstrip=True),
    ),
    "Funnel": _Class(
        {**_ENDS, **{use: f"<{use}>" for use in ("unk", "sep", "pad", "cls", "mask")}}, _funnel,
        options=("do_lower_case", *_OPTIONS, "clean_text"),
    ),
}  # fmt: skip


def load_words(path: Path, keys: Mapping[str, int], given: Given) -> TokenizerSpec:
    """Return the spec of words as the class of their folder reads them, and without a class as BERT does.

    Without a class texts are lower-cased unless a word has an upper-case letter, and there are no usual tokens but
    words.  A file under another name than vocab.txt is read without the folder.

    Raises `VocabularyError` naming the file and the field that is wrong or not supported.
    """
    is_folder = path.name == "vocab.txt"
    place = path.with_name(CONFIG)
    kind = class_of(place) if is_folder else ""
    row = _CLASSES.get(kind.removesuffix("Fast").removesuffix("Tokenizer")) if kind else _BERT
    if row is None:
        raise refused_class(
            path.parent, "is not known to read vocab.txt by BERT's rules; expected a tokenizer.json beside it"
        )
    fields = class_fields(place) if is_folder else Fields({}, path=path, place="")
    usual = usual_tokens({use: text for use, text in row.tokens.items() if kind or text in keys}, mask=row.mask)
    config = read_folder(path.parent, usual) if is_folder else _alone(usual)
    tokens = ClassTokens(config, keys, fields)
    has_ends = kind or {"cls_token", "sep_token"} <= config.uses.keys()
    if has_ends and given.special_tokens is not None:
        ids = tokens.ids()
        has_ends = all(given.special_tokens.get(text) == ids[text] for text in (tokens.text("cls"), tokens.text("sep")))
    document = {
        "added_tokens": tokens.rows(),
        "normalizer": _normalizer(fields, row, bool(kind) or not _has_upper(keys)),
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": row.template(tokens) if has_ends else None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {
            "type": "WordPiece", "vocab": keys, "unk_token": _unknown(tokens, path), "max_input_chars_per_word": 100,
            "continuing_subword_prefix": "##",
        },
    }  # fmt: skip
    spec = read_document(document, path, given)
    spec = replace(spec, files=other_files(path.parent) if is_folder else {}, names=config.names)
    # rows are padded at the right without a default
    return spec if fields.peek("padding_side") in (None, "right") else with_padding(spec, config, fields, "right")


def _alone(usual: UsualTokens) -> FolderConfig:
    """Return the configuration of a file without a folder: the usual tokens."""
    named = usual.named
    return FolderConfig(tuple(named.values()), uses={use: token.text for use, token in named.items()})


def _unknown(tokens: ClassTokens, path: Path) -> str:
    """Return the text of the unknown token, which a word without tokens becomes."""
    text = tokens.config.uses.get("unk_token")
    if text is None and "unk_token" not in tokens.fields:
        raise VocabularyError(f"no line is {UNKNOWN}; expected one for words without tokens", path=path)
    text = tokens.text("unk")
    if text not in tokens.keys:
        problem = f"no line of {path.name} is {text}; expected one for words without tokens"
        tokens.fields.refuse(problem, "unk_token")
    return text


def _has_upper(keys: Mapping[str, int]) -> bool:
    return any(key != key.lower() for key in keys if not re.fullmatch(r"\[\w+\]", key))


def _normalizer(fields: Fields, row: _Class, lowers: bool) -> dict[str, Any]:
    """Return BERT's normalizer with the options of a configuration; `lowers` is the usual `do_lower_case`."""
    chosen = {"do_lower_case": lowers, "tokenize_chinese_chars": True, "strip_accents": None, "clean_text": True}
    for name in row.options:
        value = fields.peek(name)
        if value is not None:
            chosen[name] = fields.checked(value, bool, name)
    return {
        "type": "BertNormalizer", "clean_text": chosen["clean_text"], "lowercase": chosen["do_lower_case"],
        "handle_chinese_chars": chosen["tokenize_chinese_chars"], "strip_accents": chosen["strip_accents"],
    }  # fmt: skip
