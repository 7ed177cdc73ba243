"""Check before saving that reading the files back gives an equal spec."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, get_args

from .. import formats
from ..errors import BBPEError, VocabularyError
from ..files import is_remote, temporary_folder
from ..records import replace
from ..spec.spec import TokenizerSpec
from ..text import first_few
from .transformers.folder import CLASS, CONFIG, MODEL, TEMPLATES, WITHIN, check_within

#: The parts of a tokenizer that `drop=` can leave out of a file.
Part: TypeAlias = Literal["special_tokens", "template", "pattern", "padding"]
_SHOWN = 3
#: The compared fields of a spec, and their names in messages.
_SHARED = {
    "special_tokens": "special tokens", "added_tokens": "added tokens", "token_options": "options of tokens",
    "pattern": "the pattern", "rules": "normalizers and pre-tokenizers", "template": "the template",
    "padding": "padding", "truncation": "truncation", "decoder": "the decoder",
}  # fmt: skip
_ALL = {
    **_SHARED, "vocab": "ordinary tokens", "characters": "the rules of characters", "model": "the model",
}  # fmt: skip
#: The part that a field of a spec belongs to.
_DROPPED: dict[str, Part] = {
    "special_tokens": "special_tokens", "added_tokens": "special_tokens", "token_options": "special_tokens",
    "pattern": "pattern", "template": "template", "padding": "padding", "truncation": "padding",
}  # fmt: skip
# words of several scripts, white space, digits, and characters that normal forms change
_PROBE = "Hello world's 12 345\n\n  \t\u00e9e\u0301 \ufb01 \u4e2d\u6587 \u0e44\u0e17\u0e22 \U0001f600\u200d\u2581<x> b"


#: Files that only classes of `transformers` read, beside those of formats.
_OF_CLASSES = ("target.spm", "bpe.codes")
_WHOLE, _PLAIN, _FIX = "huggingface", "PreTrainedTokenizerFast", "fix_mistral_regex"
# the other fields that go with a class: Wav2Vec2's character for blanks would be a special token for another one
_GONE = ((_FIX, "word_delimiter_token"), (_FIX, "word_delimiter_token", "added_tokens_decoder"))


class Saved(Protocol):
    """A tokenizer that can be saved; its class makes the tokenizer of a spec."""

    spec: TokenizerSpec

    def __init__(self, spec: TokenizerSpec) -> None: ...

    @property
    def fingerprint(self) -> str:
        """A digest of everything that can change an id or a text."""

    def encode(self, text: str | bytes, *, allowed_special: Any) -> list[int]:
        """Return the ids of a text."""

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids."""


S = TypeVar("S", bound=Saved)


def save(
    tokenizer: Saved,
    path: str | os.PathLike[str],
    format: str | None,  # noqa: A002
    drop: Collection[Part],
) -> None:
    """Write a tokenizer as `Tokenizer.save` says."""
    files, _ = proven(tokenizer, path, format=format, drop=drop)
    formats.put(files, path)


def proven(
    tokenizer: S,
    path: str | os.PathLike[str],
    *,
    format: str | None,  # noqa: A002
    drop: Collection[Part],
) -> tuple[dict[Path, bytes], S]:
    """Return the files of a tokenizer, and the equal tokenizer that is read back from them.

    The files are read back from a temporary folder.  Both tokenizers must have equal fingerprints, and give the same
    ids and decoded text of a probe with all bytes and all special and added tokens.  If the folder exists, its other
    files are read with them and must change nothing.

    A configuration whose class would replace rules of the tokenizer.json beside it loses the class, and its table of
    tokens if that would replace theirs.

    Raises `VocabularyError` naming the parts that the format cannot hold.
    """
    try:
        return _proven(tokenizer, path, format, drop)
    except VocabularyError as error:
        problem = error
    is_whole = (formats.checked_format(format) or formats.format_of(formats.file_path(path))) == _WHOLE
    for plain in _without_class(tokenizer.spec) if is_whole else ():
        try:
            return _proven(type(tokenizer)(plain), path, format, drop)
        except VocabularyError as error:
            problem = error
    raise problem


def _without_class(spec: TokenizerSpec) -> Iterator[TokenizerSpec]:
    """Yield specs whose configuration names a class that reads a tokenizer.json as it is, the second without a table.

    There are none if the configuration names no class.
    """
    with suppress(ValueError):
        config = json.loads(spec.files.get(CONFIG, b"{}"))
        if isinstance(config, dict) and (CLASS in config or _FIX in config):
            for gone in _GONE:
                changed = {**{name: value for name, value in config.items() if name not in gone}, CLASS: _PLAIN}
                yield replace(spec, files={**spec.files, CONFIG: json.dumps(changed).encode()})


def _proven(
    tokenizer: S,
    path: str | os.PathLike[str],
    format: str | None,  # noqa: A002
    drop: Collection[Part],
) -> tuple[dict[Path, bytes], S]:
    kept = _without(tokenizer.spec, drop)
    formats.check_whole(path, formats.checked_format(format))
    files = formats.written(kept, path, format)
    target = formats.file_path(path)
    chosen = formats.FORMATS[formats.checked_format(format) or formats.format_of(target)]
    options: dict[str, Any] = {}
    if "pattern" in drop or not chosen.has_pattern:
        options["pattern"] = kept.pattern
    if "special_tokens" in drop:
        options["special_tokens"] = {}
    try:
        again = _read_back(files, target, options)
    except (BBPEError, ImportError) as error:
        problem = getattr(error, "problem", error)
        raise _refused(chosen, path, f"the file would not be readable: {problem}") from error
    if not chosen.has_unknown_text and kept.characters is not None and again.characters is not None:
        kept = replace(kept, characters=replace(kept.characters, unknown_text=again.characters.unknown_text))
    ours = tokenizer if kept is tokenizer.spec else type(tokenizer)(kept)
    theirs = type(tokenizer)(again)
    if not chosen.has_ids:
        is_equal, compared = _without_ids(kept) == _without_ids(again), tuple(_SHARED)
    else:
        is_equal, compared = _are_equal(ours, theirs), tuple(_ALL)
    if not is_equal:
        names = [name for name in compared if getattr(kept, name) != getattr(again, name)]
        changed = ", ".join(_described(kept, again, name) for name in names)
        raise _refused(chosen, path, f"it would lose or change {changed or 'merges'}", names)
    if chosen.has_ids and _probed(ours) != _probed(theirs):
        raise _refused(chosen, path, "a text with all bytes and special tokens would encode or decode differently")
    if not is_remote(path):
        _check_beside(files, theirs, path, options)
    return files, theirs


def _check_beside(files: Mapping[Path, bytes], alone: Saved, path: str | os.PathLike[str], options: Any) -> None:
    """Check that the other files of a folder that exists leave a tokenizer as it is."""
    target = formats.file_path(path)
    folder = target.parent if target in files else target
    kept = [file for file in _read_with(folder) if file not in files]
    if not kept:
        return
    problem = ""
    try:
        for file in kept:
            if file.name in WITHIN or file.parent != folder:
                check_within(file, folder)
        spec = _read_back(files, target, options, kept)
    except (BBPEError, ImportError) as error:
        problem = f"the tokenizer would not be readable: {getattr(error, 'problem', error)}"
    else:
        beside = type(alone)(spec)
        names = [name for name in _ALL if getattr(alone.spec, name) != getattr(spec, name)]
        if names and not _are_equal(alone, beside):
            problem = f"it would lose or change {', '.join(_described(alone.spec, spec, name) for name in names)}"
    if problem:
        shown = first_few([file.name for file in kept], _SHOWN)
        way = "save to another folder, or remove what is of another tokenizer"
        raise VocabularyError(f"with what is in the folder already ({shown}), {problem}; {way}", path=path)


def _read_with(folder: Path) -> list[Path]:
    """Return the files of a folder that `load` may read beside those that are written, by name."""
    known = {file for row in formats.FORMATS.values() for names in row.names for file in names}
    endings = (*WITHIN, MODEL, *_OF_CLASSES, ".tiktoken", *(file for file in known if not file.startswith(".")))
    found = [*folder.glob("*"), *(folder / TEMPLATES).glob("*.jinja")]
    return sorted(file for file in found if (file.parent != folder or file.name.endswith(endings)) and file.is_file())


def _are_equal(ours: Saved, theirs: Saved) -> bool:
    """Return whether two tokenizers give the same ids and texts and have the same special tokens."""
    if ours.spec.special_tokens != theirs.spec.special_tokens:
        return False
    return ours.spec == theirs.spec or ours.fingerprint == theirs.fingerprint


def _without(spec: TokenizerSpec, drop: Collection[Part]) -> TokenizerSpec:
    """Return the spec without the dropped parts."""
    parts = get_args(Part)
    if isinstance(drop, str) or not isinstance(drop, Collection) or not set(drop) <= set(parts):
        raise ValueError(f"drop is {drop!r}; expected a collection of {', '.join(map(repr, parts))}")
    if "special_tokens" in drop:
        spec = replace(spec, special_tokens={}, added_tokens={}, token_options={}, template=None, modelled=())
    if "template" in drop:
        spec = replace(spec, template=None)
    if "padding" in drop:
        spec = replace(spec, padding=None, truncation=None)
    return spec


def _read_back(
    files: Mapping[Path, bytes], path: Path, options: Mapping[str, Any], others: Collection[Path] = ()
) -> TokenizerSpec:
    with temporary_folder() as folder:
        for file in (*files, *others):
            copy = Path(folder, file.relative_to(path.parent if path in files else path))
            copy.parent.mkdir(exist_ok=True)
            if file in files:
                copy.write_bytes(files[file])
            else:
                shutil.copyfile(file, copy)
        one = path if path in files else None
        if not others and len(files) == 1:  # a folder that exists may get a file whose format need not read folders
            one = next(iter(files))
        return formats.load(Path(folder) if one is None else Path(folder, one.name), **options)


def _refused(
    row: formats.FormatRow, path: str | os.PathLike[str], problem: str, names: Sequence[str] = ()
) -> VocabularyError:
    parts = sorted({_DROPPED[name] for name in names if name in _DROPPED})
    remedies = [] if row is formats.FORMATS["huggingface"] else ["write tokenizer.json"]
    if parts and all(name in _DROPPED for name in names):
        remedies.append(f"leave it out on purpose with drop={parts}")
    expected = f"; {', or '.join(remedies)}" if remedies else ""
    return VocabularyError(f"{row.description} cannot hold this tokenizer: {problem}{expected}", path=path)


def _without_ids(spec: TokenizerSpec) -> tuple[object, ...]:
    """Return the parts of a spec that a file of merges determines: all except ids and tokens that no merge uses."""
    pairs = [(spec.vocab[left], spec.vocab[right]) for left, right, _ in spec.merges or ()]
    unknown = None if spec.characters is None else spec.characters.unknown
    tokens = (*spec.special_tokens.items(), *spec.added_tokens.items())
    texts = {text for text, token_id in tokens if token_id != unknown}
    rows = spec.padding, spec.truncation
    return pairs, texts, spec.token_options, spec.pattern, spec.rules, spec.template, spec.decoder, rows


def _described(ours: TokenizerSpec, theirs: TokenizerSpec, name: str) -> str:
    """Return the name of a field that differs between two specs, with examples of tokens."""
    mine, found = getattr(ours, name), getattr(theirs, name)
    keys = [key for key in mine if found.get(key) != mine[key]] if isinstance(mine, Mapping) else []
    shown = first_few([repr(mine[key] if name == "vocab" else key) for key in keys], _SHOWN)
    return f"{_ALL[name]} ({shown})" if keys else _ALL[name]


def _probed(tokenizer: Saved) -> list[object]:
    """Return the ids and decoded texts of a probe, with and without special tokens, or the types of errors."""
    tokens = sorted((*tokenizer.spec.special_tokens, *tokenizer.spec.added_tokens))
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
