"""Rank files, as `tiktoken.load`, without a network."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from ..errors import VocabularyError
from ..files import replacing
from ..formats.common.given import rank_text
from ..formats.tiktoken import read_ranks
from ..published.find import cached_by_tiktoken
from ..records import flag, kind
from ..spec.models import Vocab
from ..spec.spec import vocab_of_ranks
from ..text import BYTE_ORDER, alphabet_to_bytes

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]


def load_tiktoken_bpe(tiktoken_bpe_file: str, expected_hash: str | None = None) -> dict[bytes, int]:
    """Return the tokens and ranks of a rank file.

    Args:
        tiktoken_bpe_file: The path of the file, or an address, whose file must be in tiktoken's cache.
        expected_hash: The SHA-256 of the file; None checks nothing.

    Returns:
        The bytes of tokens to their ranks.

    Raises:
        VocabularyError: The file is not a rank file, or has another SHA-256; the error is a `ValueError`.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     dump_tiktoken_bpe({b"a": 0, b"ab": 1}, folder + "/ranks.tiktoken")
        ...     load_tiktoken_bpe(folder + "/ranks.tiktoken")
        {b'a': 0, b'ab': 1}
    """
    data = read_file_cached(tiktoken_bpe_file, expected_hash)
    return {token: rank for rank, token in read_ranks(data, tiktoken_bpe_file).items()}


def dump_tiktoken_bpe(bpe_ranks: Mapping[bytes, int], tiktoken_bpe_file: str) -> None:
    """Write tokens and ranks to a rank file, in order of ranks.

    Args:
        bpe_ranks: The bytes of tokens to their ranks.
        tiktoken_bpe_file: The path of the file.

    Raises:
        VocabularyError: Two tokens have the same rank, a rank is out of range, or there is no token, so that no reader
            would take the file; the error is a `ValueError`, and no file is written.
        TypeError: `bpe_ranks` is not a mapping of bytes to int.
        OSError: The file cannot be written.
    """
    kind("bpe_ranks", bpe_ranks, Mapping, "a mapping of tokens to ranks")
    vocab = Vocab(vocab_of_ranks(bpe_ranks))
    if not len(vocab):
        raise VocabularyError("bpe_ranks has no token; expected one at least, because readers refuse an empty file")
    with replacing(tiktoken_bpe_file) as file:
        file.write(rank_text(vocab))


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: str,
    encoder_json_file: str,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,
) -> dict[bytes, int]:
    """Return the tokens and ranks of GPT-2's files `vocab.bpe` and `encoder.json`.

    Args:
        vocab_bpe_file: The path or the cached address of the merges.
        encoder_json_file: The path or the cached address of the ids.
        vocab_bpe_hash: The SHA-256 of the first file; None checks nothing.
        encoder_json_hash: The SHA-256 of the second file; None checks nothing.
        clobber_one_byte_tokens: Whether single bytes have the ids of the second file, not those of GPT-2.

    Returns:
        The bytes of tokens to their ranks.

    Raises:
        VocabularyError: The files do not agree, or one has another SHA-256; the error is a `ValueError`.
        OSError: A file cannot be read.
    """
    lines = read_file_cached(vocab_bpe_file, vocab_bpe_hash).decode().split("\n")[1:-1]
    ids = json.loads(read_file_cached(encoder_json_file, encoder_json_hash))
    expected = {alphabet_to_bytes(key): token_id for key, token_id in ids.items()}
    for special in (b"<|endoftext|>", b"<|startoftext|>"):
        expected.pop(special, None)
    ranks = {bytes((byte,)): rank for rank, byte in enumerate(BYTE_ORDER)}
    for line in lines:
        ranks[b"".join(map(alphabet_to_bytes, line.split()))] = len(ranks)
    if flag("clobber_one_byte_tokens", clobber_one_byte_tokens):
        ranks |= {token: token_id for token, token_id in expected.items() if len(token) == 1}
    if ranks != expected:
        raise VocabularyError(f"the ids are not in the order of the merges of {vocab_bpe_file}", path=encoder_json_file)
    return ranks


def read_file(blobpath: str) -> bytes:
    """Return the bytes of a file; an address is refused, because bbpe does not use the network.

    Args:
        blobpath: The path.

    Returns:
        The bytes.

    Raises:
        OSError: The file cannot be read, or it is an address.
    """
    if "://" in blobpath:
        problem = "bbpe downloads nothing, and the file is not in tiktoken's cache; download it and name its path"
        raise FileNotFoundError(errno.ENOENT, problem, blobpath)
    return Path(blobpath).read_bytes()


def read_file_cached(blobpath: str, expected_hash: str | None = None) -> bytes:
    """Return the bytes of a path, or of an address whose file is in tiktoken's cache.

    Args:
        blobpath: The path or the address.
        expected_hash: The SHA-256 of the file; None checks nothing.

    Returns:
        The bytes.

    Raises:
        VocabularyError: The file has another SHA-256.
        OSError: The file cannot be read.
    """
    cached = cached_by_tiktoken(blobpath) if "://" in blobpath else None
    data = read_file(blobpath) if cached is None else cached.read_bytes()
    if expected_hash and not check_hash(data, expected_hash):
        found = hashlib.sha256(data).hexdigest()
        raise VocabularyError(f"the SHA-256 is {found}; expected {expected_hash}", path=cached or blobpath)
    return data


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Return whether bytes have a SHA-256.

    Args:
        data: The bytes.
        expected_hash: The SHA-256 as hex digits.

    Returns:
        Whether it is theirs.
    """
    return hashlib.sha256(data).hexdigest() == expected_hash
