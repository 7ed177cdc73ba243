"""A view for `transformers`: a `PreTrainedTokenizerFast` with the same ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import formats
from ...errors import VocabularyError
from ...files import temporary_folder
from ...lazy import safe_import
from ...pipeline.special_tokens import END_OF_TEXT
from ...records import check_names
from ...spec.chat_templates import DEFAULT, chat_templates
from ...spec.named_tokens import template_tokens
from ...spec.spec import TokenizerSpec

if TYPE_CHECKING:
    from ...tokenizer import Tokenizer

# the fields of a tokenizer_config.json that shape the rows of a model; ids and classes are in the tokenizer itself
_TOKENS = ("bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token")
_OPTIONS = (
    "model_max_length",
    "padding_side",
    "truncation_side",
    "clean_up_tokenization_spaces",
    "model_input_names",
)
#: Other arguments that `PreTrainedTokenizerFast` reads; it keeps any other one and says nothing.
_READ = {
    *_TOKENS, *_OPTIONS, "additional_special_tokens", "add_prefix_space", "chat_template", "extra_special_tokens",
    "model_specific_special_tokens", "name_or_path", "processor_class", "response_template", "split_special_tokens",
    "verbose",
}  # fmt: skip


def as_huggingface(tokenizer: Tokenizer, **options: Any) -> Any:
    """Return a `transformers.PreTrainedTokenizerFast` that gives the same ids as a tokenizer.

    The settings of a `tokenizer_config.json` and of a chat template next to the file that was loaded apply.  If nothing
    names an end-of-text token, it is the tokenizer's own.

    Args:
        tokenizer: The tokenizer.
        options: Arguments of `PreTrainedTokenizerFast`, such as `pad_token`, `chat_template` or `model_max_length`, and
            names of tokens that models of your own have, such as `image_token`; they take precedence over the settings
            of the files.

    Returns:
        The `transformers` tokenizer; Hugging Face's `tokenizers` does its work.

    Raises:
        ImportError: `transformers` is not installed.
        TypeError: `PreTrainedTokenizerFast` has no such argument.
        VocabularyError: A tokenizer.json cannot express the tokenizer, or a file next to it is not JSON.
    """
    check_names("as_huggingface", (name for name in options if not name.endswith("_token")), _READ)
    try:
        safe_import("tokenizers")
        import tokenizers
        safe_import("transformers")
        import transformers
    except ImportError as error:
        raise ImportError(
            "as_huggingface needs transformers and tokenizers: pip install 'bbpe[huggingface]'"
        ) from error
    with temporary_folder() as folder:
        path = Path(folder, "tokenizer.json")
        formats.dump(tokenizer.spec, path, format="huggingface")
        backend = tokenizers.Tokenizer.from_file(str(path))
    make: Any = transformers.PreTrainedTokenizerFast
    return make(tokenizer_object=backend, **{**_said(tokenizer.spec), **options})


def _said(spec: TokenizerSpec) -> dict[str, Any]:
    """Return the arguments that the files next to a tokenizer.json, or its special tokens, determine."""
    known = {**spec.added_tokens, **spec.special_tokens}
    said: dict[str, Any] = {"clean_up_tokenization_spaces": False}
    eot = next((text for text in END_OF_TEXT if text in spec.special_tokens), None)
    if eot is not None:
        said["eos_token"] = eot
    for name in ("special_tokens_map.json", "tokenizer_config.json"):
        record = _record(spec, name)
        for key in _TOKENS:
            value = record.get(key)
            text = value.get("content") if isinstance(value, dict) else value
            # transformers would add a token that is not in the vocabulary, with a new id
            if isinstance(text, str) and text in known:
                said[key] = text
        said |= {key: record[key] for key in _OPTIONS if record.get(key) is not None}
    # image_token and others, which chat templates read
    others = {key: text for key, text in template_tokens(spec, {}).items() if text in known}
    if others:
        said["extra_special_tokens"] = others
    templates = {name: template.source for name, template in chat_templates(spec).items()}
    if templates:
        said["chat_template"] = templates[DEFAULT] if [*templates] == [DEFAULT] else templates
    return said


def _record(spec: TokenizerSpec, name: str) -> dict[str, Any]:
    try:
        record = json.loads(spec.files.get(name, b"{}"))
    except ValueError as error:
        raise VocabularyError(f"the file is not JSON: {error}", path=name) from None
    if not isinstance(record, dict):
        raise VocabularyError(f"found {type(record).__name__}; expected a JSON object", path=name)
    return record
