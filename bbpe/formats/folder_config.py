"""The files beside a vocabulary in the folder of a model, as HF's `transformers` reads them.

`tokenizer_config.json` (`added_tokens_decoder`, tokens named by their uses, lists of special tokens),
`special_tokens_map.json` and `added_tokens.json` have tokens that the vocabulary need not have; `transformers` adds
these after it.  Files without `added_tokens_decoder` are older, and only then the other two are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import VocabularyError
from ..records import dataclass, replace
from ..spec.rules import Prefix, Template, TokenOptions
from ..spec.spec import MAX_ID, TokenizerSpec, other_tokens, without_specials
from .reading import Fields, read_file, read_json, shown

CONFIG, _MAP, _ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
#: Files that do not define the vocabulary and are saved unchanged.
OTHER_FILES = (CONFIG, _MAP, _ADDED, "chat_template.jinja", "chat_template.json", "generation_config.json")
# the order in which `transformers` adds tokens that are named by their uses
_NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_LISTS = ("additional_special_tokens", "extra_special_tokens")
# the classes whose flags replace the template of the file
_WITH_FLAGS = ("Llama", "CodeLlama", "Gemma")
# the classes whose blank in front is a rule of their own
_WITH_OWN_RULES = ("Qwen2", "CLIP")
_GPT2_END = "<|endoftext|>"
# the classes of slow tokenizers that put CLS and SEP around texts, and two SEP between those of a pair
_WITH_ENDS = ("Roberta", "Bart", "Longformer", "LED")


@dataclass(frozen=True)
class FolderToken:
    """A token of the files.

    `is_named`: it is named by its use or in a list, so it changes nothing if the vocabulary has it.
    """

    text: str
    options: TokenOptions
    is_special: bool
    is_named: bool


@dataclass(frozen=True)
class FolderConfig:
    """The tokens in order, and the flags of the files; a flag is `None` if no file has it.

    `adds` has the flags for BOS and EOS, and `ends` their texts.
    """

    tokens: tuple[FolderToken, ...] = ()
    adds: tuple[bool | None, bool | None] = (None, None)
    ends: tuple[str | None, str | None] = (None, None)
    add_prefix_space: bool | None = None
    tokenizer_class: str = ""
    #: The texts of CLS and SEP.
    around: tuple[str | None, str | None] = (None, None)


def other_files(folder: Path) -> dict[str, bytes]:
    """Return the other files of a folder by name, as they are."""
    return {name: read_file(_within(folder / name)) for name in OTHER_FILES if (folder / name).is_file()}


def read_folder(folder: Path) -> FolderConfig:
    """Return what the files of a folder define; `VocabularyError` naming the file and the field that is malformed."""
    config, names = _object(folder / CONFIG), _object(folder / _MAP)
    tokens = [*_decoder(config)]
    is_older = config.peek("added_tokens_decoder") is None
    found: dict[str, FolderToken] = {}
    for use in _NAMED:
        source = names if is_older and config.peek(use) is None else config
        value = source.peek(use)
        if value is not None:
            found[use] = _token(value, source, use)
    listed: list[FolderToken] = []
    for use in _LISTS:
        source = names if is_older and config.peek(use) is None else config
        listed += _list(source, use)
    special = {token.text for token in (*found.values(), *listed)}
    if is_older:
        tokens += _numbered(_object(folder / _ADDED), special)
    tokens = [replace(token, is_special=token.is_special or token.text in special) for token in tokens]
    known = {token.text for token in tokens}
    tokens += [token for token in dict.fromkeys((*found.values(), *listed)) if token.text not in known]
    uses = {use: token.text for use, token in found.items()}
    name = str(config.peek("tokenizer_class") or "")
    adds = _flag(config, "add_bos_token"), _flag(config, "add_eos_token")
    if name.startswith("GPT2") and not (folder / "tokenizer.json").is_file():
        adds, uses = (adds[0], None), {"bos_token": _GPT2_END, **uses}
    elif not name.startswith(_WITH_FLAGS):
        adds = None, None
    return FolderConfig(
        tuple(tokens),
        adds,
        (uses.get("bos_token"), uses.get("eos_token")),
        _flag(config, "add_prefix_space"),
        name,
        (uses.get("cls_token"), uses.get("sep_token")),
    )


def with_folder(spec: TokenizerSpec, folder: Path) -> TokenizerSpec:
    """Return the spec of a vocabulary with the tokens and the flags of the files in its folder."""
    config = read_folder(folder)
    special, added, options = dict(spec.special_tokens), dict(spec.added_tokens), dict(spec.token_options)
    tokens = {**other_tokens(spec), **spec.vocab}
    known = {token.decode("utf-8", "replace"): token_id for token_id, token in tokens.items()}
    next_id = spec.vocab_size
    for token in config.tokens:
        text = token.text
        if token.is_named and (text in special or text in added):
            continue
        token_id = special.pop(text, added.pop(text, known.get(text, next_id)))
        next_id = max(next_id, token_id + 1)
        (special if token.is_special else added)[text] = token_id
        options.pop(text, None)
        if token.options != TokenOptions():
            options[text] = token.options
    vocab: Mapping[int, bytes] = spec.vocab
    if spec.model is None and spec.characters is None:
        vocab = without_specials(vocab, {**added, **special}, spec.merges)
    made = replace(spec, vocab=vocab, special_tokens=special, added_tokens=added, token_options=options)
    if spec.model is None and (spec.characters is None or spec.characters.are_bytes):
        made = _with_class(made, config)
    return with_flags(replace(made, files=other_files(folder)), config)


def _with_class(spec: TokenizerSpec, config: FolderConfig) -> TokenizerSpec:
    """Return a spec of bytes with the blank in front and the template that the class of a slow tokenizer gives it."""
    if config.add_prefix_space and not config.tokenizer_class.startswith(_WITH_OWN_RULES):
        spec = replace(spec, rules=replace(spec.rules, prefix=Prefix(" ")))
    ids = {**spec.added_tokens, **spec.special_tokens}
    first, last = (ids.get(text or usual) for text, usual in zip(config.around, ("<s>", "</s>"), strict=True))
    if first is None or last is None or not config.tokenizer_class.startswith(_WITH_ENDS):
        return spec
    single: tuple[tuple[int | str, int], ...] = ((first, 0), ("A", 0), (last, 0))
    return replace(spec, template=Template(single, (*single, (last, 0), ("B", 0), (last, 0))))


def with_flags(spec: TokenizerSpec, config: FolderConfig) -> TokenizerSpec:
    """Return the spec with the template that the flags for BOS and EOS define; they do not change one on their own."""
    if config.adds == (None, None):
        return spec
    ids = {**spec.added_tokens, **spec.special_tokens}
    around = ((), ()) if spec.template is None else spec.template.around
    ends: list[tuple[int, ...]] = []
    for adds, text, before in zip(config.adds, config.ends, around, strict=True):
        token_id = None if text is None else ids.get(text)
        ends.append(before if adds is None or token_id is None else (token_id,) if adds else ())
    if tuple(ends) == around:
        return spec
    first, last = ends
    items: list[list[int | str]] = [[*first, text, *last] for text in "AB"]
    rows = [tuple((item, kind) for item in row) for kind, row in enumerate(items)]
    return replace(spec, template=Template(rows[0], rows[0] + rows[1]) if first or last else None)


def _object(path: Path) -> Fields:
    value: object = {}
    if path.is_file():
        target = _within(path)
        with suppress(VocabularyError):  # a file that is not JSON has no effect; it is only saved again
            value = read_json(target)
    return Fields(value, path=path, place="")


def _flag(config: Fields, name: str) -> bool | None:
    value = config.peek(name)
    if value is not None and type(value) is not bool:
        config.refuse(f"found {shown(value)}; expected true or false", name)
    return value


def _decoder(config: Fields) -> Iterator[FolderToken]:
    """Yield the tokens of `added_tokens_decoder`, in order of ids."""
    rows = config.peek("added_tokens_decoder")
    if rows is None:
        return
    if not isinstance(rows, Mapping) or not all(key.isascii() and key.isdigit() and len(key) < 11 for key in rows):
        config.refuse(f"found {shown(rows)}; expected ids and tokens", "added_tokens_decoder")
    for key, value in sorted(rows.items(), key=lambda row: int(row[0])):
        place = f"added_tokens_decoder.{key}"
        if int(key) > MAX_ID or not isinstance(value, dict):
            config.refuse(f"found {shown(value)}; expected a token and its options", place)
        token = _token(value, config, place)
        yield replace(token, is_special=value.get("special") is True, is_named=False)


def _numbered(added: Fields, special: set[str]) -> list[FolderToken]:
    """Return the tokens of `added_tokens.json`, in order of ids."""
    rows: list[tuple[int, str]] = []
    for text in added.names():
        rows.append((added.take_int(text, 0, MAX_ID), text))
    return [FolderToken(text, TokenOptions(), text in special, False) for _, text in sorted(rows)]


def _list(source: Fields, use: str) -> list[FolderToken]:
    values = source.peek(use)
    if values is None:
        return []
    rows = values.values() if isinstance(values, dict) else values if isinstance(values, list) else None
    if rows is None:
        source.refuse(f"found {shown(values)}; expected a list of tokens", use)
    return [_token(value, source, f"{use}[{number}]") for number, value in enumerate(rows)]


def _token(value: Any, source: Fields, place: str) -> FolderToken:
    """Return a token that is a text or an object with its options."""
    if isinstance(value, str):
        value = {"content": value}
    fields = Fields(value, path=source.path, place=place)
    text = fields.take_type("content", str)
    if not text:
        fields.refuse("the token is the empty string; expected at least one character", "content")
    flags = [fields.take_type(name, bool, False) for name in ("lstrip", "rstrip", "single_word", "normalized")]
    return FolderToken(text, TokenOptions(*flags), True, True)


def _within(path: Path) -> Path:
    """Return a path; `VocabularyError` when it is a link out of its folder, because saving would copy the target.

    Links within the cache of `huggingface_hub` are allowed, where a snapshot links to the blobs of its repository.
    """
    folder, target = path.parent.resolve(), path.resolve()
    folders = [folder, folder.parents[1] / "blobs"] if folder.parent.name == "snapshots" else [folder]
    if target.parent not in folders:
        problem = f"the file is a link to {target}, out of its folder, and would be saved with the tokenizer"
        raise VocabularyError(f"{problem}; replace the link by the file, or remove it", path=path)
    return path
