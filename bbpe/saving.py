"""Saving a tokenizer so that what is read back is the same one, or nothing is written."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from . import formats
from .errors import BBPEError, VocabularyError
from .spec.spec import TokenizerSpec

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

#: What may be left out of a file on purpose.
Part: TypeAlias = Literal["special_tokens", "template", "pattern"]
#: Formats whose readers are always told the pattern.
_TOLD = ("tiktoken",)
#: Formats of merges alone.
_WITHOUT_IDS = ("codes",)
_SHOWN = 3
#: What is compared, and what messages call it.
_SHARED = {
    "special_tokens": "special tokens", "added_tokens": "added tokens", "token_options": "options of tokens",
    "pattern": "the pattern", "rules": "normalizers and pre-tokenizers", "template": "the template",
}  # fmt: skip
_ALL = {
    **_SHARED, "vocab": "ordinary tokens", "characters": "the rules of characters", "model": "the model",
}  # fmt: skip
#: The part that leaves a field of a spec out.
_DROPPED: dict[str, Part] = {
    "special_tokens": "special_tokens", "added_tokens": "special_tokens", "token_options": "special_tokens",
    "pattern": "pattern", "template": "template",
}  # fmt: skip
# words of several scripts, white space, digits, and characters that normal forms change
_PROBE = "Hello world's 12 345\n\n  \t\u00e9e\u0301 \ufb01 \u4e2d\u6587 \u0e44\u0e17\u0e22 \U0001f600\u200d\u2581<x> b"


def save(
    tokenizer: Tokenizer,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    drop: Collection[Part] = (),
) -> None:
    """Write a tokenizer as `Tokenizer.save` does."""
    files, _ = proven(tokenizer, path, format=format, drop=drop)
    formats.put(files, path)


def proven(
    tokenizer: Tokenizer,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    drop: Collection[Part] = (),
) -> tuple[dict[Path, bytes], Tokenizer]:
    """Return the files that hold a tokenizer, and the one that is read from them, which is equal to it.

    The files are read in a temporary folder.  Besides the fingerprints, ids and text of a probe are compared that holds
    all bytes and all special and added tokens.

    Raises `VocabularyError` naming what the format cannot hold.
    """
    kept = _without(tokenizer, drop)
    files = formats.written(kept.spec, path, format)
    chosen = formats.checked_format(format) or formats.format_of(Path(path))
    options: dict[str, Any] = {}
    if "pattern" in drop or chosen in _TOLD:
        options["pattern"] = kept.spec.pattern
    if "special_tokens" in drop:
        options["special_tokens"] = {}
    try:
        again = type(kept)(_read_back(files, Path(path), options))
    except (BBPEError, ImportError) as error:
        problem = getattr(error, "problem", error)
        raise _refused(chosen, path, f"what would be written cannot be read: {problem}") from error
    if chosen == "gguf" and kept.spec.characters is not None and again.spec.characters is not None:
        # readers of GGUF have a text of their own for what is unknown
        text = again.spec.characters.unknown_text
        kept = type(kept)(replace(kept.spec, characters=replace(kept.spec.characters, unknown_text=text)))
    if chosen in _WITHOUT_IDS:
        is_equal, compared = _without_ids(kept.spec) == _without_ids(again.spec), tuple(_SHARED)
    else:
        is_equal, compared = kept == again, tuple(_ALL)
    if not is_equal:
        names = [name for name in compared if getattr(kept.spec, name) != getattr(again.spec, name)]
        changed = ", ".join(_described(kept.spec, again.spec, name) for name in names)
        raise _refused(chosen, path, f"it would lose or change {changed or 'merges'}", names)
    if chosen not in _WITHOUT_IDS and _probed(kept) != _probed(again):
        raise _refused(chosen, path, "a probe of all bytes and special tokens would get other ids or another text")
    return files, again


def _without(tokenizer: Tokenizer, drop: Collection[Part]) -> Tokenizer:
    """Return the tokenizer without what is to be left out."""
    parts = get_args(Part)
    if isinstance(drop, str) or not isinstance(drop, Collection) or not set(drop) <= set(parts):
        raise ValueError(f"drop is {drop!r}; expected a collection of {', '.join(map(repr, parts))}")
    spec = tokenizer.spec
    if "special_tokens" in drop:
        spec = replace(spec, special_tokens={}, added_tokens={}, token_options={}, template=None)
    if "template" in drop:
        spec = replace(spec, template=None)
    return tokenizer if spec is tokenizer.spec else type(tokenizer)(spec)


def _read_back(files: Mapping[Path, bytes], path: Path, options: Mapping[str, Any]) -> TokenizerSpec:
    with TemporaryDirectory(prefix="bbpe-") as folder:
        for file, data in files.items():
            Path(folder, file.name).write_bytes(data)
        return formats.load(Path(folder, path.name) if path in files else Path(folder), **options)


def _refused(chosen: str, path: str | os.PathLike[str], problem: str, names: Sequence[str] = ()) -> VocabularyError:
    row, parts = formats.FORMATS[chosen], sorted({_DROPPED[name] for name in names if name in _DROPPED})
    ways_out = [] if chosen == "huggingface" else ["write tokenizer.json"]
    if parts and all(name in _DROPPED for name in names):
        options = " ".join(f"--drop {part}" for part in parts)
        ways_out.append(f"leave it out on purpose with drop={parts} ({options} on the command line)")
    expected = f"; {', or '.join(ways_out)}" if ways_out else ""
    return VocabularyError(f"{row.description} cannot hold this tokenizer: {problem}{expected}", path=path)


def _without_ids(spec: TokenizerSpec) -> tuple[object, ...]:
    """Return what a file of merges alone says: everything but ids, and the tokens that no merge names."""
    pairs = [(spec.vocab[left], spec.vocab[right]) for left, right, _ in spec.merges or ()]
    unknown = None if spec.characters is None else spec.characters.unknown
    tokens = (*spec.special_tokens.items(), *spec.added_tokens.items())
    texts = {text for text, token_id in tokens if token_id != unknown}
    return pairs, texts, spec.token_options, spec.pattern, spec.rules, spec.template


def _described(ours: TokenizerSpec, theirs: TokenizerSpec, name: str) -> str:
    """Return what a field is called that differs between two specs, with examples of tokens."""
    mine, found = getattr(ours, name), getattr(theirs, name)
    keys = [key for key in mine if found.get(key) != mine[key]] if isinstance(mine, Mapping) else []
    shown = ", ".join(repr(mine[key] if name == "vocab" else key) for key in keys[:_SHOWN])
    more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    return f"{_ALL[name]} ({shown}{more})" if shown else _ALL[name]


def _probed(tokenizer: Tokenizer) -> list[object]:
    """Return ids and texts of a probe, with and without special tokens, or the errors that there are instead."""
    spec = tokenizer.spec
    tokens = [*spec.special_tokens, *spec.added_tokens]
    text = _PROBE + "".join(f" {token} a{token}b" for token in tokens)
    data = bytes(range(256)) + text.encode("utf-8", "surrogatepass")
    found: list[object] = []
    for probe in (text, data):
        for allowed in ((), "all"):
            try:
                ids = tokenizer.encode(probe, allowed_special=allowed)
                found += [ids, tokenizer.decode(ids)]
            except BBPEError as error:
                found.append(type(error))
    return found
