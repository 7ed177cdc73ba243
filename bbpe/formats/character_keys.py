"""The keys of vocabularies of characters in files: plain text with U+2581 for blanks, and `<0x0A>` for bytes."""

from __future__ import annotations

from ..errors import VocabularyError
from ..files import StrPath
from ..records import replace
from ..spec.rules import BYTE_KEYS, SPACE_MARK, Characters
from ..spec.spec import TokenizerSpec
from ..spec.vocab import Vocab
from ..text import alphabet_to_bytes, bytes_to_alphabet
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
) -> tuple[Vocab, Characters]:
    """Return the tokens of keys except `left_out` and byte tokens, and `characters` with the ids of byte tokens.

    Raises `VocabularyError` when only some bytes have a token.
    """
    byte_fallback = byte_fallback and any(key in keys for key in BYTE_KEYS)
    if byte_fallback:
        missing = next((key for key in BYTE_KEYS if key not in keys), None)
        if missing is not None:
            problem = f"byte_fallback is true, but {missing!r} has no id; expected tokens for all 256 bytes"
            raise VocabularyError(problem, path=path, place=place)
        characters = replace(characters, byte_ids=tuple(keys[key] for key in BYTE_KEYS))
    skipped = left_out.union(BYTE_KEYS) if byte_fallback else left_out
    vocab = Vocab.of_texts(keys.table, keys.ids(skipped), characters.marks_blanks)
    if vocab is None:
        check_well_formed(keys, path=path, place=place)
        tokens = {token_id: token_of(key, characters) for key, token_id in keys.items() if key not in skipped}
        if b"" in tokens.values():
            problem = "a token is the empty string; expected at least one character"
            raise VocabularyError(problem, path=path, place=place)
        vocab = Vocab(tokens)
    return vocab, characters


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
    keys.update(zip(BYTE_KEYS, spec.characters.byte_ids, strict=False))
    keys.update(spec.added_tokens)
    keys.update(spec.special_tokens)
    return dict(sorted(keys.items(), key=lambda item: item[1]))
