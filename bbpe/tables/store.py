"""The folder of finished tables: its files are found by key, written once, and removed when they take too much room.

Tables save time and nothing else: whatever is wrong with the folder or a file of it, the tokenizer is made as without
them.  A file has one name, one content, and is never written to again, so processes share it without locks: it appears
by a rename.  A process reads it into memory of its own: who cuts a mapped file short, or copies another over it, would
end all processes that use it.  Huge pages make that as cheap as it can be, 0.2 ms for a megabyte, and all tokenizers of
a process that come from one file share one copy.

A file has the spec of a tokenizer as JSON, and the tables of its vocabulary, merges and model as they are in memory.
Others have what only long texts need (`LongTables`): the first process that needs it writes it, and others read it when
they do.  So a process with short texts has nothing to do with it, and one with English seldom reads the larger file.

A file begins with `_MAGIC` and two numbers of 64 bits: the length of the JSON and its checksum.  The JSON has the key
of the file, the data of the spec, and the length and the checksum of each block.  The blocks follow in order, each at a
multiple of `ALIGNMENT`.  So whatever was damaged is found out before it is used.
"""

from __future__ import annotations

import json
import mmap
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from ..core.bpe import CompiledBPE
from ..core.image import ALIGNMENT, checksum
from ..core.model import Model
from ..core.temporary import NewFile
from ..core.unigram import CompiledUnigram
from ..core.wordpiece import WordPiece
from ..files import StrPath, is_covered, local_path, noting_reads, open_file, temporary_name, user_cache
from ..lazy import hashlib
from ..records import dataclass
from ..spec.models import Merges, UnigramModel, Vocab
from ..spec.pickled import plain_fields, spec_of_fields
from ..spec.spec import TokenizerSpec
from ..tokenizer import Tokenizer

#: The number is that of the layout of files and tables: another layout needs another one.
_MAGIC = b"bbpe tables 2\r\n\0"
_HEAD = len(_MAGIC) + 16
#: The most bytes of all files of a folder.
LIMIT = 512 << 20
#: A file is marked as used once a day.
_DAY = 24 * 60 * 60
#: A temporary file of this age is that of a process that was killed: writing takes milliseconds.
_STALE = 60
_SUFFIX = ".tables"
#: The characters of a key.
_KEY = 64
#: The contents of files that tokenizers use, by key.
_HELD: WeakValueDictionary[str, mmap.mmap] = WeakValueDictionary()
_Read = TypeVar("_Read")


def stored(cache: bool | StrPath, key: Callable[[], str | None], make: Callable[[], Tokenizer]) -> Tokenizer:
    """Return the tokenizer that `make` makes, from finished tables if the folder `cache` has those with `key`.

    `cache`: `True` is the user's folder; `False`, and a folder that cannot be used, is none.  `key` returns `None` for
    a tokenizer that is not to be stored.
    """
    folder = _folder(cache)
    with noting_reads() as hashed:
        found = None if folder is None else key()
    if folder is None or found is None:
        return make()
    tokenizer = _opened(folder / (found + _SUFFIX), found)
    if tokenizer is not None:
        model: object = tokenizer._parts.model
    else:
        with noting_reads() as read:
            tokenizer = make()
        try:
            parts = table_file(tokenizer, found)
        except Exception:  # the first call that needs what cannot be made reports it
            return tokenizer
        # a file that the key does not cover may change later; one that it covers may have had other bytes meanwhile, or
        # may have gone
        if not (is_covered(read, hashed) and key() == found):
            return tokenizer
        _put(folder / (found + _SUFFIX), parts)
        model = tokenizer._parts.encoder.encoder.model
    if isinstance(model, CompiledBPE):
        model.keep_long_tables(LongTables(folder, found))
    return tokenizer


@dataclass(frozen=True)
class LongTables:
    """The files of what the encoders of a tokenizer need for long texts, each under a key that is made from its own."""

    folder: Path
    key: str

    def read(self, name: str) -> memoryview | None:
        """Return the tables of a name; `None` when there are none, or they are not as they were written."""
        key = self._key(name)
        return _read(self.folder / (key + _SUFFIX), key, lambda data, key: _content_of(data, key)[1][name])

    def write(self, name: str, image: bytes) -> None:
        """Write the file of a name, unless there is no room for it."""
        key = self._key(name)
        with suppress(Exception):  # the text that needed them is encoded all the same
            _put(self.folder / (key + _SUFFIX), _parts_of({"key": key}, {name: image}))

    def _key(self, name: str) -> str:
        return hashlib.sha256(f"{self.key} {name}".encode()).hexdigest()


def user_folder() -> Path | None:
    """Return the folder of finished tables in the user's cache; `None` for a user without a home."""
    try:
        return user_cache() / "bbpe" / "tables"
    except RuntimeError:
        return None


def _folder(cache: bool | StrPath) -> Path | None:
    """Return a folder that exists and that only the user can write to, or `None`; a new one has mode 0700."""
    if not isinstance(cache, bool | str | os.PathLike):
        raise TypeError(f"cache is True, False or a folder, not {type(cache).__name__}")
    if isinstance(cache, bool):
        folder = user_folder() if cache else None
    else:
        folder = local_path(cache, "finished tables are in a folder of a machine", "use a local folder, or cache=False")
    if folder is None:
        return None
    try:
        if not folder.is_dir():
            # not the home
            for made in (folder.parents[1], folder.parent, folder) if cache is True else (folder,):
                made.mkdir(mode=0o700, exist_ok=True)
        return folder if _is_own(folder.stat()) else None
    except (OSError, ValueError):
        return None


def _is_own(status: os.stat_result) -> bool:
    """Return whether the user alone can write to a file or folder, where the system has users."""
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _opened(path: Path, key: str) -> Tokenizer | None:
    """Return the tokenizer of a file; `None` when there is none, or it is not as it was written."""
    return _read(path, key, tokenizer_of)


def _read(path: Path, key: str, read: Callable[[memoryview, str], _Read]) -> _Read | None:
    """Return what `read` makes of a file; `None` when there is none, or it is not as it was written."""
    try:
        with open_file(path) as file:
            status = os.fstat(file.fileno())
            if not _is_own(status) or status.st_size > LIMIT:
                return None
            data = _HELD.get(key)
            if data is None or len(data) != status.st_size:
                data = _content(file, status.st_size)
            found = read(memoryview(data).toreadonly(), key)
            _HELD[key] = data
    except Exception:  # a file can be wrong in any way
        return None
    if time.time() - status.st_mtime > _DAY:
        with suppress(OSError):
            os.utime(path)
    return found


def _content(file: BufferedReader, size: int) -> mmap.mmap:
    """Return the first bytes of a file in pages of memory, where images are aligned as they were in other memory."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    data = mmap.mmap(-1, size, **private)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel without them
            data.madvise(mmap.MADV_HUGEPAGE)
    file.readinto(data)
    return data


def _put(path: Path, parts: list[bytes]) -> None:
    """Write a file, unless there is no room for it."""
    with suppress(OSError):
        if not _has_room(path.parent, sum(map(len, parts))):
            return
        new = NewFile(str(path.with_name(temporary_name(path.name))), 0o600)
        with BufferedWriter(new.raw) as file:
            file.writelines(parts)
        new.move(str(path))


def _is_ours(name: str) -> bool:
    """Return whether a file has the name of a file of tables, or that of one before its rename."""
    key = name[1 : 1 + _KEY] if name.startswith(".") else name[:_KEY]
    rest = name.partition(key)[2] if len(key) == _KEY else ""
    return key.isalnum() and (rest == _SUFFIX or (rest.startswith(_SUFFIX + ".") and rest.endswith(".tmp")))


def _has_room(folder: Path, size: int) -> bool:
    """Return whether a new file of this size fits the limit, after removing those that were used least recently.

    Temporary files do not count: one goes away by itself, or soon as that of a process that was killed.
    """
    if size > LIMIT:
        return False
    now, left = time.time(), []
    for path in folder.iterdir():
        with suppress(OSError):
            if not _is_ours(path.name):
                continue
            status = path.stat()
            if path.suffix == _SUFFIX:
                left.append((status.st_mtime, status.st_size, path))
            elif now - status.st_mtime > _STALE:
                path.unlink()
    total = size + sum(each for _, each, _ in left)
    for _, each, path in sorted(left):
        if total > LIMIT:
            with suppress(OSError):
                path.unlink()
                total -= each
    return total <= LIMIT


# -- the file of a tokenizer ----------------------------------------------------------------------------------


def table_file(tokenizer: Tokenizer, key: str) -> list[bytes]:
    """Return the content of the file of a tokenizer, in parts; `key` is what it will be found by."""
    spec, model = tokenizer.spec, tokenizer._parts.encoder.encoder.model
    assert isinstance(spec.vocab, Vocab)
    blocks = {"vocab": spec.vocab.image()}
    if isinstance(spec.merges, Merges):
        blocks["merges"] = spec.merges.image()
    if isinstance(model, CompiledBPE | CompiledUnigram | WordPiece):
        blocks["model"] = model.image()
    return _parts_of({"key": key, "spec": plain_fields(spec)}, blocks)


def _parts_of(fields: dict[str, Any], blocks: dict[str, bytes]) -> list[bytes]:
    rows = {name: [len(block), checksum(block)] for name, block in blocks.items()}
    head = json.dumps({**fields, "blocks": rows}).encode()
    numbers = len(head).to_bytes(8, "little") + checksum(head).to_bytes(8, "little")
    return [_MAGIC, numbers, head, bytes(-(_HEAD + len(head)) % ALIGNMENT), *blocks.values()]


def tokenizer_of(data: memoryview, key: str) -> Tokenizer:
    """Return the tokenizer of a file with this key, which uses the tables where they are and keeps `data`.

    Raises `ValueError` when this is not such a file, all of it as it was written.
    """
    found, blocks = _content_of(data, key)
    merges = Merges.of_image(blocks["merges"]) if "merges" in blocks else None
    tokenizer = Tokenizer(spec_of_fields(Vocab.of_image(blocks["vocab"]), merges, found["spec"]))
    if "model" in blocks:
        tokenizer._parts.model = _model_of(tokenizer.spec, blocks["model"])
    return tokenizer


def _content_of(data: memoryview, key: str) -> tuple[dict[str, Any], dict[str, memoryview]]:
    """Return the JSON and the blocks of a file with this key; `ValueError` as `tokenizer_of`."""
    size = int.from_bytes(data[len(_MAGIC) : len(_MAGIC) + 8], "little")
    head = data[_HEAD : _HEAD + size]
    digest = int.from_bytes(data[_HEAD - 8 : _HEAD], "little")
    if data[: len(_MAGIC)] != _MAGIC or len(head) != size or checksum(head) != digest:
        raise ValueError("the file is not one of finished tables, or is damaged")
    found = json.loads(bytes(head))
    if found["key"] != key:
        raise ValueError(f"the tables are those of {found['key']}")
    return found, _blocks(data, _HEAD + size, found["blocks"])


def _model_of(spec: TokenizerSpec, image: memoryview) -> Model:
    if spec.model is None:
        return CompiledBPE({}, None, image=image)
    if isinstance(spec.model, UnigramModel):
        return CompiledUnigram({}, None, image=image)
    return WordPiece({}, image=image)


def _blocks(data: memoryview, start: int, rows: dict[str, Any]) -> dict[str, memoryview]:
    """Return the blocks after `start` by name, all of whose checksums are right."""
    blocks = {}
    for name, (size, digest) in rows.items():
        start += -start % ALIGNMENT
        blocks[name] = data[start : start + size]
        if len(blocks[name]) != size or checksum(blocks[name]) != digest:
            raise ValueError(f"the tables {name!r} are damaged")
        start += size
    if start != len(data):
        raise ValueError(f"the file has {len(data)} bytes; expected {start}")
    return blocks
