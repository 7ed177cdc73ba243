"""Vocabularies as keys in the byte alphabet, and merges as pairs of keys, for the four formats that use them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from ...errors import VocabularyError
from ...files import ReadFile, StrPath
from ...records import replace
from ...spec.merges import Merges
from ...spec.rules import Characters
from ...spec.spec import MAX_ID, TokenizerSpec, make_spec
from ...spec.vocab import Vocab
from ...text import alphabet_to_bytes, tokens_to_alphabet
from ..transformers.model_types import CLASS_OF_TYPE
from .given import Given, needed_pattern, rank_text
from .key_tables import Keys, MergeIds, MergeKeys, vocab_of_bytes
from .ranks import live_merges
from .reading import Fields, about, read_file, read_json, read_text, shown, well_formed


def check_ids(keys: Mapping[str, object], *, path: StrPath, place: str | None = None) -> dict[str, int]:
    """Return a JSON object as keys and ids; `VocabularyError` on an id that is not one or has two keys."""
    owner: dict[int, str] = {}
    for key, token_id in keys.items():
        if type(token_id) is not int:
            problem = f"token {key!r} has id {shown(token_id)}; expected a whole number"
            raise VocabularyError(problem, path=path, place=place)
        if not 0 <= token_id <= MAX_ID:
            problem = f"token {key!r} has id {token_id}; expected 0 to {MAX_ID}"
            raise VocabularyError(problem, path=path, place=place)
        if owner.setdefault(token_id, key) != key:
            raise VocabularyError(
                f"tokens {owner[token_id]!r} and {key!r} have the same id {token_id}; expected one token for each id",
                path=path,
                place=place,
            )
    return {key: token_id for token_id, key in owner.items()}


def take_unused(fields: Fields) -> None:
    """Take the fields of BPE from a model of words, for which `tokenizers` ignores them."""
    for name in ("byte_fallback", "dropout", "fuse_unk", "ignore_merges"):
        fields.take(name, None)


def byte_symbols(vocab: Vocab, characters: Characters) -> Characters | None:
    """Return `characters` for a byte-level vocabulary, `None` if all bytes are tokens and there are no marks."""
    is_complete = all(vocab.has_token(bytes((byte,))) for byte in range(256))
    return None if is_complete and not characters.marks_words else characters


def read_merges(path: StrPath, keys: Keys) -> MergeKeys | MergeIds:
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
            if line == "" and len(lines) == 1:
                break
            raise VocabularyError(
                f"found {line[:60]!r}; expected two tokens with one blank between", path=path, place=f"line {number}"
            )
        pairs.append((parts[0], parts[1]))
    return MergeKeys(pairs, path, lambda number: f"line {first + 1 + number}")


def spec_of_files(keys: Keys, merges: MergeKeys | MergeIds, given: Given, *, path: StrPath, kind: str) -> TokenizerSpec:
    """Return the spec of a file of keys and a file of merges, which have no pattern and do not mark special tokens.

    A key that cannot be an ordinary token is a special token: a key outside the byte alphabet, or a key of several
    ASCII characters that is in no merge.  `special_tokens` replaces these.
    """
    plain = _special_keys(keys, merges)
    tokens = vocab_of_bytes(keys, plain, path=path)
    whole = given.or_known(lambda: rank_text(tokens))
    if whole.pattern is None:
        whole = replace(whole, pattern=config_pattern(Path(path).with_name(CONFIG)))
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


#: The file in a folder that names the class of its tokenizer, for HF's `transformers`.
CONFIG = "tokenizer_config.json"
CLASS = "tokenizer_class"
#: The split patterns of classes that read a vocabulary and merges.
_GPT2_CLASSES = "GPT2 Roberta Bart Longformer LED Blenderbot Deberta CodeGen Whisper".split()
_PATTERN_OF_CLASS = {f"{kind}Tokenizer{fast}": "gpt2" for kind in _GPT2_CLASSES for fast in ("", "Fast")}


def config_pattern(config: Path) -> str | None:
    """Return the pattern of the class that a `tokenizer_config.json` names; `None` when it names no known class."""
    return _PATTERN_OF_CLASS.get(class_of(config))


def class_of(config: Path) -> str:
    """Return the class of the folder of a `tokenizer_config.json`, "" if there is none; `class_field` has its place."""
    return _class_of(config)[0]


def class_field(config: Path) -> tuple[Path, str]:
    """Return the file and the field that name the class of a folder."""
    return _class_of(config)[1:]


def _class_of(config: Path) -> tuple[str, Path, str]:
    """Return the class, and the file and the field that name it; `config.json` counts if the other file has none."""
    of_model = config.with_name("config.json")
    for path in (config, of_model):
        found = read_json(path) if path.is_file() else None
        name = found.get(CLASS) if isinstance(found, dict) else None
        if isinstance(name, str):
            return name, path, CLASS
    kind = found.get("model_type") if isinstance(found, dict) else None
    return (CLASS_OF_TYPE.get(kind, "") if isinstance(kind, str) else ""), of_model, "model_type"


def _special_keys(keys: Keys, merges: MergeKeys | MergeIds) -> dict[str, int]:
    unused = merges.unused(keys)
    return {key: keys[key] for key in unused if (key.isascii() and len(key) > 1) or not in_alphabet(key)}


def assigned_ids(texts: Iterable[str], keys: Mapping[str, int]) -> dict[str, int]:
    """Return the ids that HF's `tokenizers` gives to added tokens, in order, whichever ids a file lists.

    A token that the model has keeps the id of the model; any other one gets the next free id.
    """
    ids: dict[str, int] = {}
    highest = -1
    for text in texts:
        ids[text] = keys.get(text, max(len(keys), highest + 1))
        highest = max(highest, ids[text])
    return ids


def without_added(spec: TokenizerSpec, keys: dict[str, int], outside: Collection[str]) -> dict[str, int]:
    """Return the keys of a model of words without the added tokens `outside`, which would match words there.

    Returns all keys if HF's `tokenizers` would give these tokens other ids.
    """
    words = {key: token_id for key, token_id in keys.items() if key not in outside}
    added = sorted((*spec.special_tokens.items(), *spec.added_tokens.items()), key=lambda item: item[1])
    return words if assigned_ids((text for text, _ in added), words) == dict(added) else keys


def key_of_unknown(keys: Mapping[str, int], unknown: int | None, usual: str) -> str:
    """Return the key of the unknown token; if there is none, the usual key or a longer one that has no id."""
    found = next((key for key, token_id in keys.items() if token_id == unknown), None)
    while found is None or (unknown is None and found in keys):
        found = usual if found is None else f"{found}_"
    return found


def check_well_formed(keys: Iterable[str], *, path: StrPath, place: str | None = None) -> None:
    """Raise `VocabularyError` on a key with an unpaired surrogate, which no text can have."""
    broken = next((key for key in keys if not key.isascii() and not well_formed(key)), None)
    if broken is not None:
        problem = f"token {broken!r} holds half a surrogate pair; expected Unicode text"
        raise VocabularyError(problem, path=path, place=place)


def in_alphabet(key: str) -> bool:
    """Return whether all characters of a text are in the byte alphabet."""
    try:
        alphabet_to_bytes(key)
    except ValueError:
        return False
    return True


def keys_of(spec: TokenizerSpec, *, path: StrPath, marked: bool = False) -> dict[str, int]:
    """Return the keys and ids of all tokens in order of ids, with special and added tokens in plain text.

    `marked`: the file also marks which keys are special tokens.

    Raises `VocabularyError` when a special token would be read as an ordinary one, or is not Unicode text.
    """
    keys = dict(zip(tokens_to_alphabet([*spec.vocab.values()]), spec.vocab, strict=True))
    for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items()):
        taken = keys.setdefault(text, token_id) != token_id
        if taken or (not marked and not text.isascii() and in_alphabet(text)):
            problem = f"special token {text!r} (id {token_id}) would be read as the bytes {alphabet_to_bytes(text)!r}"
            raise VocabularyError(f"{problem}; expected a text outside GPT-2's byte alphabet", path=path)
        if not well_formed(text):
            problem = f"special token {text!r} holds half a surrogate pair; expected Unicode text"
            raise VocabularyError(problem, path=path)
    return dict(sorted(keys.items(), key=lambda item: item[1]))


def merges_text(spec: TokenizerSpec, merges: Iterable[tuple[int, int, int]]) -> str:
    """Return the text of a `merges.txt`, with its version line."""
    return "#version: 0.2\n" + "".join(f"{left} {right}\n" for left, right in merge_keys(spec, merges))


def merge_keys(spec: TokenizerSpec, merges: Iterable[tuple[int, int, int]]) -> list[tuple[str, str]]:
    """Return merges as pairs of keys."""
    keys = dict(zip(spec.vocab, tokens_to_alphabet([*spec.vocab.values()]), strict=True))
    return [(keys[left], keys[right]) for left, right, _ in merges]


def file_merges(spec: TokenizerSpec, *, path: StrPath) -> Collection[tuple[int, int, int]]:
    """Return the merges to write into a file that cannot request the look-up of whole pretokens.

    Raises `VocabularyError` when the spec needs that look-up.
    """
    if spec.merges is not None and not spec.whole_pretokens:
        return spec.merges
    live = live_merges(spec)
    if spec.whole_pretokens and live.unmade:
        raise VocabularyError(
            f"{len(live.unmade)} tokens are found only as whole pretokens, such as {spec.vocab[live.unmade[0]]!r}, "
            "which merges.txt cannot express; write tokenizer.json or a .tiktoken file",
            path=path,
        )
    return live.merges if spec.merges is None else spec.merges
