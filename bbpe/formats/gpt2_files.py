"""GPT-2's two files: `vocab.json`, an object of tokens and ids, and `merges.txt`, one merge on each line.

Ordinary tokens are in the byte alphabet, special tokens in plain text.  The files have no pattern and do not mark
special tokens; their readers never look up whole pretokens.  GPT-2 was published with such files (as `encoder.json` and
`vocab.bpe`), and HF's `tokenizers` and `transformers` write them.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.token_table import TokenTable
from ..errors import VocabularyError
from ..files import ReadFile, StrPath
from ..lazy import safe_import
from ..records import replace
from ..spec.models import Merges, Vocab
from ..spec.rules import Characters
from ..spec.spec import TokenizerSpec, make_spec
from ..splitting.patterns import PATTERNS
from ..text import counted
from .common.given import Given, needed_pattern, rank_text
from .common.key_tables import KeyTable, MergeIds, MergeKeys, vocab_of_bytes
from .common.keys import byte_symbols, check_ids, in_alphabet, keys_of, merge_keys
from .common.ranks import live_merges, merges_of
from .common.reading import about, read_file, read_json, read_text, shown
from .marked_words import marks_of, spec_of_words
from .rows import FORMATS
from .transformers.folder import CLASS, CONFIG, ClassFolder

if TYPE_CHECKING:
    from .transformers.documents import ModelClass

NAMES = FORMATS["gpt2"].names
_END_OF_TEXT = "<|endoftext|>"


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read `vocab.json` and `merges.txt`; `path` is the folder or either file.

    A class in the `tokenizer_config.json` of the folder defines all rules and special tokens.  Without one, a key that
    cannot be an ordinary token is a special token: a key outside the byte alphabet, or a key of several ASCII
    characters that is in no merge.  `special_tokens` replaces these.  Known vocabularies have default values of the
    arguments; any other vocabulary needs a pattern.

    Raises `VocabularyError` with file and position on malformed JSON or lines, a repeated key or id, a merge whose
    parts or result have no id, and a single byte without a token.
    """
    vocab_path, merges_path = find(path, NAMES)
    folder = given.folder_of(vocab_path)
    # before the files are read, because a class that is not supported has other ones of these names
    row = _class_row(folder) if vocab_path.name == NAMES[0][0] else None
    check_partner(vocab_path, merges_path)
    keys = _keys(folder.opened(vocab_path))
    merges = read_merges(folder.opened(merges_path), keys)
    if row is not None:
        safe_import("bbpe.formats.transformers.load")
        from .transformers.load import load_merges

        return load_merges(row, vocab_path, folder, keys, merges, given)
    return spec_of_files(keys, merges, given, path=vocab_path, kind="a vocab.json")


def load_files(vocab_path: StrPath, merges_path: StrPath, given: Given) -> TokenizerSpec:
    """Read two files with any names; `load` documents the other arguments."""
    keys = _keys(vocab_path)
    return spec_of_files(keys, read_merges(merges_path, keys), given, path=vocab_path, kind="a vocab.json")


def _keys(path: StrPath) -> KeyTable:
    data = read_file(path)
    table = TokenTable.of_json(data, 0, len(data))
    if table is not None:
        return KeyTable(table)
    values = read_json(ReadFile(Path(path), data))
    if not isinstance(values, dict):
        raise VocabularyError(f"found {shown(values)}; expected an object of tokens and ids", path=path)
    return KeyTable.of(check_ids(values, path=path))


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return `vocab.json` and `merges.txt` in a folder, with special tokens as plain keys.

    For GPT-2's pattern a `tokenizer_config.json` has the class and the special tokens.  The format cannot express any
    other pattern, so readers need it as an argument.

    Raises `VocabularyError` when the spec needs the look-up of whole pretokens, or when a special token looks like an
    ordinary one.
    """
    merges = merges_file(spec)
    vocab = json.dumps(keys_of(spec), ensure_ascii=False, separators=(",", ":"))
    vocab_name, merges_name = NAMES[0]
    return {path / vocab_name: vocab.encode(), path / merges_name: merges, **config_file(spec, path)}


def find(path: StrPath, names: Sequence[tuple[str, ...]]) -> tuple[Path, Path]:
    """Return the paths of the two files; `path` is their folder or either file.

    Raises `VocabularyError` when the name of the file does not end with one of the names.
    """
    source = Path(path)
    if source.is_dir():
        pairs = [(source / vocab, source / merges) for vocab, merges in names]
        return next((pair for pair in pairs if pair[0].exists()), pairs[0])
    for pair in names:
        for ending in pair:
            if source.name.endswith(ending):
                prefix = source.name.removesuffix(ending)
                return source.with_name(prefix + pair[0]), source.with_name(prefix + pair[1])
    expected = " or ".join(f"{vocab} next to {merges}" for vocab, merges in names)
    raise VocabularyError(f"found a file of another name; expected {expected}", path=path)


def check_partner(one: Path, other: Path) -> None:
    """Raise `FileNotFoundError` naming the file of a pair that does not exist, and the one that does."""
    for there, missing in ((one, other), (other, one)):
        if there.exists() and not missing.exists():
            problem = f"{there.name} is read together with this file, which does not exist"
            raise FileNotFoundError(errno.ENOENT, problem, str(missing))


def merges_file(spec: TokenizerSpec) -> bytes:
    """Return a `merges.txt`, which cannot request the look-up of whole pretokens.

    Raises `VocabularyError` when the spec needs that look-up.
    """
    unmade = live_merges(spec).unmade if spec.whole_pretokens else ()
    if unmade:
        raise VocabularyError(
            f"{counted(len(unmade), 'token')} can be found only as whole pretokens, such as {spec.vocab[unmade[0]]!r}, "
            "which merges.txt cannot express; write tokenizer.json or a .tiktoken file",
        )
    lines = (f"{left} {right}\n" for left, right in merge_keys(spec, merges_of(spec)))
    return ("#version: 0.2\n" + "".join(lines)).encode()


def config_file(spec: TokenizerSpec, folder: Path) -> dict[Path, bytes]:
    """Return the `tokenizer_config.json` for a folder of a vocabulary and merges: the class of GPT-2 and the tokens.

    Other fields of an existing file are kept.  The result is empty for a pattern other than GPT-2's.
    """
    if spec.pattern != PATTERNS["gpt2"]:
        return {}
    config = folder / CONFIG
    found = read_json(config) if config.is_file() else None
    values: dict[str, Any] = {CLASS: "GPT2Tokenizer", **(found if isinstance(found, dict) else {})}
    if _END_OF_TEXT not in spec.special_tokens:
        values |= {f"{use}_token": None for use in ("bos", "eos", "unk")}
    known = {**spec.added_tokens, **spec.special_tokens}
    if known.keys() - {_END_OF_TEXT} or "added_tokens_decoder" in values:
        flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
        values["added_tokens_decoder"] = {
            str(token_id): {"content": text, **flags, "special": text in spec.special_tokens}
            for text, token_id in sorted(known.items(), key=lambda item: item[1])
        }
    return {config: json.dumps(values).encode()}


def read_merges(path: StrPath, keys: KeyTable) -> MergeKeys | MergeIds:
    """Read a `merges.txt`: a pair of keys on each line, with one blank between, after an optional `#version` line.

    Raises `VocabularyError` with the line that is not a pair.
    """
    data = read_file(path)
    start = data.find(b"\n") + 1 if data.startswith(b"#version") else 0
    listed = Merges.of_lines(data, start, max(start, len(data.rstrip(b"\r\n"))), keys.table)
    return _merge_lines(ReadFile(Path(path), data)) if listed is None else MergeIds(listed, keys)


def _merge_lines(path: StrPath) -> MergeKeys:
    """Read line by line a file that the compiled reader did not accept; errors name the line."""
    lines = read_text(path).rstrip("\r\n").split("\n")
    first = 1 if lines[0].startswith("#version") else 0
    pairs: list[tuple[str, str]] = []
    for number, line in enumerate(lines[first:], first + 1):
        parts = line.removesuffix("\r").split(" ", 2)
        if len(parts) != 2 or not parts[0] or not parts[1]:
            counted = ", with a count as in fastBPE's codes" if parts[-1].isdecimal() and len(parts) == 3 else ""
            problem = f"found {line[:60]!r}{counted}; expected two tokens with one blank between"
            raise VocabularyError(problem, path=path, place=f"line {number}")
        pairs.append((parts[0], parts[1]))
    return MergeKeys(pairs, path, lambda number: f"line {first + 1 + number}")


def spec_of_files(
    keys: KeyTable, merges: MergeKeys | MergeIds, given: Given, *, path: StrPath, kind: str
) -> TokenizerSpec:
    """Return the spec of a file of keys and a file of merges, which have no pattern and do not mark special tokens.

    A key that cannot be an ordinary token is a special token: a key outside the byte alphabet, or a key of several
    ASCII characters that is in no merge.  `special_tokens` replaces these.  Keys of words with marks are never bytes.
    """
    marks, plain = marks_of(keys, merges), _special_keys(keys, merges)
    if marks is None and Vocab.of_keys(keys.table, keys.ids(plain)) is None:
        marks = marks_of(keys, merges, is_thorough=True)
    if marks is not None:
        with about(path):
            return spec_of_words(keys, merges, marks, given, path=path, kind=kind)
    tokens = vocab_of_bytes(keys, plain, path=path)
    whole = given.or_known(lambda: rank_text(tokens))
    if whole.pattern is None:
        whole = replace(whole, pattern=_class_pattern(path, given))
    ordinary, special = tokens, given.special_tokens
    if special is not None:
        ordinary = vocab_of_bytes(keys, [key for key in plain if special.get(key) == plain[key]], path=path)
    listed = merges.merges(keys, tokens)
    with about(path):
        return make_spec(
            ordinary,
            listed,
            pattern=needed_pattern(whole, kind),
            special_tokens=plain or whole.special_tokens if special is None else special,
            name=whole.name,
            characters=byte_symbols(ordinary, Characters(are_bytes=True)),
        )


def _special_keys(keys: KeyTable, merges: MergeKeys | MergeIds) -> dict[str, int]:
    unused = merges.unused(keys)
    return {key: keys[key] for key in unused if (key.isascii() and len(key) > 1) or not in_alphabet(key)}


def _class_row(folder: ClassFolder) -> ModelClass | None:
    """Return the row of the class of a folder."""
    safe_import("bbpe.formats.transformers.classes")
    from .transformers.classes import MERGES, class_row

    return class_row(folder, MERGES)


def _class_pattern(path: StrPath, given: Given) -> str | None:
    """Return the pattern of the class of a folder; `None` unless it has GPT-2's and no other rules."""
    row = _class_row(given.folder_of(Path(path)))
    return "gpt2" if row is not None and not row.pattern and not row.normalizers else None
