"""The libraries that encode: one adapter each, over the fastest way each one documents for a job.

Every adapter is loaded without special tokens, so that none looks for them, and imports its library late: a
process that runs one job has one library in it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.vocabularies import Vocabulary

Encode = Callable[[str], list[int]]


class NotSupported(Exception):  # noqa: N818
    """A library does not do what a job asks for."""


class Peer:
    """What a library does for the jobs; `module` is imported before any clock starts."""

    module: str

    def __init__(self, vocabulary: Vocabulary, threads: int) -> None:
        self.vocabulary = vocabulary
        self.threads = threads
        self.tok: Any = self.load()

    @classmethod
    def imported(cls) -> Any:
        return importlib.import_module(cls.module)

    def load(self) -> Any:
        raise NotImplementedError

    def flat(self, text: str) -> Any:
        """One text -> ids: uint32[n], or the nearest thing the library has."""
        raise NotImplementedError

    def lists(self, texts: list[str]) -> list[list[int]]:
        encode = self.one()
        return [encode(text) for text in texts]

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        """Texts -> all ids in one array, and where each text's begin."""
        raise NotImplementedError

    def one(self) -> Encode:
        """The quickest function from one short text to a list of ids."""
        raise NotImplementedError

    def decode_array(self, ids: Any) -> bytes | str:
        return self.decode_list(ids.tolist())

    def decode_list(self, ids: list[int]) -> bytes | str:
        raise NotImplementedError


class Bbpe(Peer):
    """`encode_to_numpy`, `encode_batch`, `encode_batch_to_numpy`, `encode`, `decode_bytes`."""

    module = "bbpe"

    @classmethod
    def imported(cls) -> Any:
        """The package with what a tokenizer is made of, which it imports when that is first asked for."""
        importlib.import_module("bbpe.tokenizer")
        return super().imported()

    def load(self) -> Any:
        # the row of loading is about the file, not about tables that an earlier process has made of it
        tok = self.imported().load(self.vocabulary.ranks, special_tokens={}, cache=False)
        # tables that the first long text would make belong to loading, as they do in other libraries
        tok.warm_up()
        return tok

    def flat(self, text: str) -> Any:
        return self.tok.encode_to_numpy(text, threads=self.threads)

    def lists(self, texts: list[str]) -> list[list[int]]:
        return self.tok.encode_batch(texts, threads=self.threads)  # type: ignore[no-any-return]

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        ragged = self.tok.encode_batch_to_numpy(texts, threads=self.threads)
        return ragged.ids, ragged.offsets

    def one(self) -> Encode:
        return self.tok.encode  # type: ignore[no-any-return]

    def decode_array(self, ids: Any) -> bytes | str:
        return self.tok.decode_bytes(ids)  # type: ignore[no-any-return]

    def decode_list(self, ids: list[int]) -> bytes | str:
        return self.tok.decode_bytes(ids)  # type: ignore[no-any-return]


class Gigatoken(Peer):
    """`encode` (an array), `encode_batch_list`, `encode_batch` (an awkward array), `decode` (bytes).

    One text with more than one thread goes through `BytesSource`, which is cut inside the library.
    """

    module = "gigatoken"

    def load(self) -> Any:
        scheme = self.vocabulary.name
        return self.imported().Tokenizer.from_tiktoken(self.vocabulary.ranks, pretokenizer=scheme, special_tokens={})

    def flat(self, text: str) -> Any:
        if self.threads == 1:
            return self.tok.encode(text)
        (ids,) = self.tok.encode_batch(self.imported().BytesSource(text.encode()), parallel=True)
        return np.asarray(ids)

    def lists(self, texts: list[str]) -> list[list[int]]:
        return self.tok.encode_batch_list(texts, parallel=self.threads > 1)  # type: ignore[no-any-return]

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        layout = self.tok.encode_batch(texts, parallel=self.threads > 1).layout
        return np.asarray(layout.content.data), np.asarray(layout.offsets.data)

    def one(self) -> Encode:
        encode = self.tok.backend.encode
        return lambda text: encode(text).tolist()

    def decode_array(self, ids: Any) -> bytes | str:
        return self.tok.backend.decode(ids)  # type: ignore[no-any-return]

    def decode_list(self, ids: list[int]) -> bytes | str:
        return self.tok.backend.decode(ids)  # type: ignore[no-any-return]


class Fastokens(Peer):
    """`encode_batch_flat` (two buffers), `encode_batch` and `encode` (objects with a list), `decode` (str)."""

    module = "fastokens"

    def load(self) -> Any:
        return self.imported().Tokenizer.from_file(str(self.vocabulary.hub))

    def flat(self, text: str) -> Any:
        return np.frombuffer(self.tok.encode_batch_flat([text])[0], np.uint32)

    def lists(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tok.encode_batch(texts)]

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        ids, offsets = self.tok.encode_batch_flat(texts)
        return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.uint64)

    def one(self) -> Encode:
        encode = self.tok.encode
        return lambda text: encode(text).ids

    def decode_list(self, ids: list[int]) -> bytes | str:
        return self.tok.decode(ids)  # type: ignore[no-any-return]


class FastokensRegex(Fastokens):
    """The same with tiktoken's regex, which it does not know by its spelling and gives to PCRE2."""

    def load(self) -> Any:
        return self.imported().Tokenizer.from_file(str(self.vocabulary.exact))


class Snaptokens(Fastokens):
    """As fastokens, of which it is a fork; lists one by one, because its batch is slower than that."""

    module = "snaptokens"

    def lists(self, texts: list[str]) -> list[list[int]]:
        return super().lists(texts) if self.threads > 1 else Peer.lists(self, texts)


class Quicktok(Peer):
    """`encode_batch` (two arrays), `encode_ordinary`, `decode_bytes`; its own bundled vocabularies.

    Threads are for many texts: one text is encoded by one.
    """

    module = "quicktok"

    def load(self) -> Any:
        if self.vocabulary.name == "gpt2":
            raise NotSupported("it has no scanner for gpt2's pattern")
        return self.imported().Tokenizer(self.vocabulary.tiktoken_name)

    def flat(self, text: str) -> Any:
        return self.tok.encode_batch([text], self.threads)[0]

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        return self.tok.encode_batch(texts, self.threads)  # type: ignore[no-any-return]

    def one(self) -> Encode:
        return self.tok.encode_ordinary  # type: ignore[no-any-return]

    def decode_list(self, ids: list[int]) -> bytes | str:
        return self.tok.decode_bytes(ids)  # type: ignore[no-any-return]


class Toktok(Quicktok):
    """`encode_to_numpy`, `encode_batch_to_numpy`, `encode_ordinary`, `decode_bytes`; compiled-in vocabularies.

    The tokenizer object is not its public API, which only counts; its manual names it for those who want ids.
    """

    module = "toktok"

    def load(self) -> Any:
        if self.vocabulary.name == "gpt2":
            raise NotSupported("it has no gpt2")
        return self.imported()._Tokenizer(self.vocabulary.tiktoken_name, "")

    def flat(self, text: str) -> Any:
        return self.tok.encode_to_numpy(text, disallowed_special=())

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        return self.tok.encode_batch_to_numpy(texts, self.threads)  # type: ignore[no-any-return]


class Splintr(Peer):
    """`encode_flat` and `encode_batch_flat` (buffers), `encode_ordinary`, `decode_bytes`; it reads the rank file."""

    module = "splintr"

    def load(self) -> Any:
        patterns = {"gpt2": "GPT2_PATTERN", "cl100k": "CL100K_BASE_PATTERN", "o200k": "O200K_BASE_PATTERN"}
        module = self.imported()
        return module.Tokenizer(str(self.vocabulary.ranks), getattr(module, patterns[self.vocabulary.name]))

    def flat(self, text: str) -> Any:
        return np.frombuffer(self.tok.encode_flat(text), np.uint32)

    def lists(self, texts: list[str]) -> list[list[int]]:
        if self.threads > 1:
            return self.tok.encode_batch(texts)  # type: ignore[no-any-return]
        return super().lists(texts)

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        ids, offsets = self.tok.encode_batch_flat(texts)
        return np.frombuffer(ids, np.uint32), np.frombuffer(offsets, np.int64)

    def one(self) -> Encode:
        return self.tok.encode_ordinary  # type: ignore[no-any-return]

    def decode_list(self, ids: list[int]) -> bytes | str:
        return self.tok.decode_bytes(ids)  # type: ignore[no-any-return]


class Tiktoken(Peer):
    """`encode_to_numpy`, `encode_ordinary` one by one (its batch adds a thread pool), `decode_bytes`.

    The encoding is what its own registry makes, with the rank file read from disk.
    """

    module = "tiktoken_ext.openai_public"

    def load(self) -> Any:
        from tiktoken import Encoding
        from tiktoken.load import load_tiktoken_bpe

        registry = self.imported()
        ranks = load_tiktoken_bpe(str(self.vocabulary.ranks))
        registry.load_tiktoken_bpe = lambda *_, **__: ranks
        registry.data_gym_to_mergeable_bpe_ranks = lambda *_, **__: ranks
        made = getattr(registry, self.vocabulary.tiktoken_name)()
        return Encoding(self.vocabulary.name, pat_str=made["pat_str"], mergeable_ranks=ranks, special_tokens={})

    def flat(self, text: str) -> Any:
        return self.tok.encode_to_numpy(text, disallowed_special=())

    def lists(self, texts: list[str]) -> list[list[int]]:
        if self.threads > 1:
            return self.tok.encode_ordinary_batch(texts, num_threads=self.threads)  # type: ignore[no-any-return]
        return super().lists(texts)

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        return joined([self.flat(text) for text in texts])

    def one(self) -> Encode:
        return self.tok.encode_ordinary  # type: ignore[no-any-return]

    def decode_list(self, ids: list[int]) -> bytes | str:
        return self.tok.decode_bytes(ids)  # type: ignore[no-any-return]


class Tokenizers(Peer):
    """`encode` and `encode_batch_fast` (objects with a list; no arrays), `decode` (str)."""

    module = "tokenizers"

    def load(self) -> Any:
        return self.imported().Tokenizer.from_file(str(self.vocabulary.exact))

    def flat(self, text: str) -> Any:
        (encoding,) = self.tok.encode_batch_fast([text], add_special_tokens=False)
        return encoding.ids

    def lists(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tok.encode_batch_fast(texts, add_special_tokens=False)]

    def batch_flat(self, texts: list[str]) -> tuple[Any, Any]:
        return joined([np.array(ids, np.uint32) for ids in self.lists(texts)])

    def one(self) -> Encode:
        encode = self.tok.encode
        return lambda text: encode(text, add_special_tokens=False).ids

    def decode_list(self, ids: list[int]) -> bytes | str:
        return self.tok.decode(ids)  # type: ignore[no-any-return]


def joined(rows: list[Any]) -> tuple[Any, Any]:
    """What a library without a flat batch leaves to its user."""
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=offsets[1:])
    return np.concatenate(rows), offsets


PEERS: dict[str, type[Peer]] = {
    "bbpe": Bbpe,
    "gigatoken": Gigatoken,
    "fastokens": Fastokens,
    "fastokens-regex": FastokensRegex,
    "snaptokens": Snaptokens,
    "quicktok": Quicktok,
    "toktok": Toktok,
    "splintr": Splintr,
    "tiktoken": Tiktoken,
    "tokenizers": Tokenizers,
}
