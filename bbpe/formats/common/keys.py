"""The keys of vocabularies in files: of bytes in GPT-2's alphabet, and of characters as plain text.

Keys of characters have U+2581 for blanks, and `<0x0A>` for bytes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from ...errors import VocabularyError
from ...files import StrPath
from ...records import replace
from ...spec.models import Vocab
from ...spec.rules import BYTE_KEYS, SPACE_MARK, Characters
from ...spec.spec import MAX_ID, TokenizerSpec, byte_tokens
from ...text import alphabet_to_bytes, bytes_to_alphabet, tokens_to_alphabet
from .key_tables import KeyTable
from .reading import Fields, shown, well_formed


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


def keys_of_rows(rows: object) -> dict[str, int]:
    """Return the texts that rows begin with, and their places in a list; other rows are left out.

    >>> keys_of_rows([["a", -1.5], [], ["b", -2.0]])
    {'a': 0, 'b': 2}
    """
    found = rows if isinstance(rows, list) else []
    if {*map(type, found)} == {list} and all(found):
        texts = [row[0] for row in found]
        if {*map(type, texts)} == {str}:
            return dict(zip(texts, range(len(texts)), strict=True))
    return {row[0]: place for place, row in enumerate(found) if isinstance(row, list) and row and type(row[0]) is str}


def take_unused(fields: Fields) -> None:
    """Take the fields of BPE from a model of words, for which `tokenizers` ignores them."""
    for name in ("byte_fallback", "dropout", "fuse_unk", "ignore_merges"):
        fields.take(name, None)


def byte_symbols(vocab: Vocab, characters: Characters) -> Characters | None:
    """Return `characters` for a byte-level vocabulary, `None` if all bytes are tokens and there are no marks."""
    is_complete = all(vocab.has_token(bytes((byte,))) for byte in range(256))
    return None if is_complete and not characters.marks_words else characters


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


def check_well_formed(keys: Iterable[str], *, path: StrPath, place: str | None) -> None:
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


def keys_of(spec: TokenizerSpec, *, marked: bool = False) -> dict[str, int]:
    """Return the keys and ids of all tokens in order of ids, with special and added tokens in plain text.

    `marked`: the file also marks which keys are special tokens.

    Raises `VocabularyError` when a special token would be read as an ordinary one, or is not Unicode text.
    """
    keys = dict(zip(tokens_to_alphabet([*spec.vocab.values()]), spec.vocab, strict=True))
    for text, token_id in (*spec.special_tokens.items(), *spec.added_tokens.items()):
        taken = keys.setdefault(text, token_id) != token_id
        if taken or (not marked and not text.isascii() and in_alphabet(text)):
            problem = f"special token {text!r} (id {token_id}) would be read as the bytes {alphabet_to_bytes(text)!r}"
            raise VocabularyError(f"{problem}; expected a text outside GPT-2's byte alphabet")
        if not well_formed(text):
            problem = f"special token {text!r} holds half a surrogate pair; expected Unicode text"
            raise VocabularyError(problem)
    return dict(sorted(keys.items(), key=lambda item: item[1]))


def merge_keys(spec: TokenizerSpec, merges: Iterable[tuple[int, int, int]]) -> list[tuple[str, str]]:
    """Return merges as pairs of keys."""
    keys = dict(zip(spec.vocab, tokens_to_alphabet([*spec.vocab.values()]), strict=True))
    return [(keys[left], keys[right]) for left, right, _ in merges]


def read_keys(
    keys: KeyTable,
    characters: Characters,
    *,
    byte_fallback: bool,
    left_out: set[str],
    path: StrPath,
    place: str,
    needs_all: bool = True,
) -> tuple[Vocab, Characters]:
    """Return the tokens of keys except `left_out` and byte tokens, and `characters` with the ids of byte tokens.

    With `needs_all` raises `VocabularyError` when a byte has no token, and is no character that has one.
    """
    found = [key for key in BYTE_KEYS if key in keys] if byte_fallback else []
    skipped = left_out.union(found)
    vocab = Vocab.of_texts(keys.table, keys.ids(skipped), characters.marks_blanks)
    if vocab is None:
        check_well_formed(keys, path=path, place=place)
        marked = characters.marks_blanks
        texts = {token_id: key for key, token_id in keys.items() if key not in skipped}
        tokens = {each: (key.replace(SPACE_MARK, " ") if marked else key).encode() for each, key in texts.items()}
        if b"" in tokens.values():
            problem = "a token is the empty string; expected at least one character"
            raise VocabularyError(problem, path=path, place=place)
        vocab = Vocab(tokens)  # which refuses two keys of one token
    if not found:
        return vocab, characters
    # the byte of an ASCII character is in no other character, so one that is a token never becomes its byte
    own = {} if len(found) == len(BYTE_KEYS) else {token: token_id for token_id, token in vocab.characters()}
    ids: list[int] = []
    for byte, key in enumerate(BYTE_KEYS):
        token_id = keys[key] if key in keys else own.get(bytes((byte,)))
        if token_id is None and not needs_all:
            some = tuple((byte, keys[key]) for byte, key in enumerate(BYTE_KEYS) if key in keys)
            return vocab, replace(characters, some_byte_ids=some)
        if token_id is None:
            problem = f"byte_fallback is true, but {key!r} has no id, nor has its character"
            raise VocabularyError(f"{problem}; expected tokens for all 256 bytes", path=path, place=place)
        ids.append(token_id)
    return vocab, replace(characters, byte_ids=tuple(ids))


def key_of(token: bytes, characters: Characters) -> str:
    """Return the key of a token."""
    if characters.are_bytes:
        return bytes_to_alphabet(token)
    text = token.decode()
    return text.replace(" ", SPACE_MARK) if characters.marks_blanks else text


def keys_of_characters(spec: TokenizerSpec) -> dict[str, int]:
    """Return the keys and ids of all tokens of a vocabulary of characters, in order of ids."""
    assert spec.characters is not None
    keys = {key_of(token, spec.characters): token_id for token_id, token in spec.vocab.items()}
    keys.update((BYTE_KEYS[byte], token_id) for token_id, byte in byte_tokens(spec).items())
    keys.update(spec.added_tokens)
    keys.update(spec.special_tokens)
    return dict(sorted(keys.items(), key=lambda item: item[1]))
