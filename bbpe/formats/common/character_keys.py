"""The keys of vocabularies of characters in files: plain text with U+2581 for blanks, and `<0x0A>` for bytes."""

from __future__ import annotations

from ...errors import VocabularyError
from ...files import StrPath
from ...records import replace
from ...spec.rules import BYTE_KEYS, SPACE_MARK, Characters
from ...spec.spec import TokenizerSpec, byte_tokens
from ...spec.vocab import Vocab
from ...text import alphabet_to_bytes, bytes_to_alphabet
from .key_tables import Keys
from .keys import check_well_formed


def read_keys(
    keys: Keys,
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
        tokens = {token_id: token_of(key, characters) for key, token_id in keys.items() if key not in skipped}
        if b"" in tokens.values():
            problem = "a token is the empty string; expected at least one character"
            raise VocabularyError(problem, path=path, place=place)
        vocab = Vocab(tokens)
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


def token_of(key: str, characters: Characters) -> bytes:
    """Return the bytes of a key."""
    if characters.are_bytes:
        return alphabet_to_bytes(key)
    return (key.replace(SPACE_MARK, " ") if characters.marks_blanks else key).encode()


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
