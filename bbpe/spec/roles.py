"""Names of special tokens by their roles, and a chat template, in the files of a spec.

A model needs to know which token ends a text, and which fills up rows.  A vocabulary does not say it: a
`tokenizer_config.json` beside it does, and `chat_template.jinja` has the template.

    {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "pad_token": "<|pad|>"}

`named_tokens` and `chat_templates` read what this module writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..errors import VocabularyError
from ..records import kind, replace
from .chat_templates import TEMPLATE_FILES, chat_templates, config_of, is_template
from .named_tokens import named_tokens
from .spec import TokenizerSpec

_CONFIG, _MAP = "tokenizer_config.json", "special_tokens_map.json"
#: What a new configuration has besides names; this class of `transformers` reads a tokenizer.json as it is.
_NEW: Mapping[str, Any] = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}


def with_roles(spec: TokenizerSpec, roles: Mapping[str, str], template: str | None) -> TokenizerSpec:
    """Return a spec whose files name tokens by their roles, and have a chat template unless it is None.

    Names that the files have already, and that `roles` does not have, stay.

    Raises `TypeError` or `ValueError` naming the argument that is wrong; `VocabularyError` when a
    `tokenizer_config.json` of the spec is not JSON.
    """
    known = {**spec.added_tokens, **spec.special_tokens}
    for role, text in roles.items():
        kind(f"{role}_token", text, str, "the text of a special token or None")
        if text not in known:
            way = f"train with it in special_tokens, or add it by with_added_tokens([{text!r}], special=True)"
            raise ValueError(f"{role}_token is {text!r}, which is no special token of this tokenizer; {way}")
    files = dict(spec.files) if template is None else _with_template(spec.files, template)
    # what the model itself names, such as its unknown token, belongs to a new configuration too
    named = roles if _CONFIG in files else {**named_tokens(spec), **roles}
    fields = {f"{role}_token": text for role, text in named.items() if text in known}
    config = config_of(files[_CONFIG], _CONFIG) if _CONFIG in files else _NEW
    files[_CONFIG] = _written({**config, **fields})
    if _MAP in files:
        files[_MAP] = _written({**config_of(files[_MAP], _MAP), **fields})
    return replace(spec, files=files, names={**spec.names, **roles} if spec.names else {})


def _with_template(files: Mapping[str, bytes], template: str) -> dict[str, bytes]:
    """Return files with one chat template, without those that they have."""
    kind("chat_template", template, str, "the text of a template or None")
    if not is_template(template):
        raise ValueError(f"chat_template is {template[:40]!r}; expected a text with {{{{ or {{%")
    kept = {name: data for name, data in files.items() if not name.startswith(TEMPLATE_FILES)}
    if _CONFIG in kept:
        config = config_of(kept[_CONFIG], _CONFIG)
        kept[_CONFIG] = _written({name: value for name, value in config.items() if name != "chat_template"})
    return {**kept, TEMPLATE_FILES[0]: template.encode()}


def _written(fields: Mapping[str, Any]) -> bytes:
    return (json.dumps(fields, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "surrogatepass")


def lost_roles(asked: TokenizerSpec, kept: TokenizerSpec) -> list[str]:
    """Return the arguments of `with_roles` whose values one spec has, and another one, read from files, has not."""
    names, others = named_tokens(asked), named_tokens(kept)
    lost = [f"{role}_token" for role, text in names.items() if others.get(role) != text]
    return [*lost, *(["chat_template"] if _sources(asked) != _sources(kept) else [])]


def _sources(spec: TokenizerSpec) -> dict[str, str]:
    try:
        return {name: template.source for name, template in chat_templates(spec).items()}
    except VocabularyError:
        return {}
