"""Write the files of a part: under temporary names, with their digests, and published when all of them are complete."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..files import Replacement, sync_folder
from ..records import dataclass, field
from ..text import counted

#: The bytes of a file that are read at once for its digest.
_BLOCK = 1 << 20


class Output:
    """A file that is written from its beginning, and its SHA-256.

    It has the methods that pyarrow wants of a file.
    """

    closed = False

    def __init__(self, path: Path) -> None:
        self._new, self._digest, self._size, self._is_patched = Replacement(path), hashlib.sha256(), 0, False
        self._is_discarded = False

    def write(self, data: Any) -> int:
        """Append bytes; those of a file that was discarded go nowhere."""
        if self._is_discarded:  # pyarrow writes the end of a file when its writer is freed
            return len(data)
        with self._new.naming():
            size = self._new.file.write(data)
        self._digest.update(data)
        self._size += size
        return size

    def patch(self, head: bytes) -> None:
        """Replace the first bytes, such as a header that has the number of what follows."""
        self._is_patched = True
        with self._new.naming():
            self._new.file.seek(0)
            self._new.file.write(head)

    def blocks(self) -> Iterator[bytes]:
        """Yield what was written, some at a time."""
        self._new.file.flush()
        with self._new.temporary.open("rb") as file:
            while block := file.read(_BLOCK):
                yield block

    def tell(self) -> int:
        """Return the number of bytes."""
        return self._size

    def flush(self) -> None:
        """Do nothing: all is flushed in the end."""

    def close(self) -> None:
        """Do nothing: `finish` closes the file."""

    def finish(self) -> dict[str, Any]:
        """Flush the file to the disk, and return its size and its digest."""
        self._new.finish()
        digest = digest_of(self._new.temporary) if self._is_patched else self._digest.hexdigest()
        return {"size": self._size, "sha256": digest}

    def move(self) -> None:
        """Publish the file."""
        self._new.move()

    def discard(self) -> None:
        """Remove the file unless it was published."""
        self._is_discarded = True
        self._new.discard()


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def size_fault(path: Path, size: int) -> str:
    """Say that a file is missing or has another size than it should, without reading it; empty if it is right."""
    try:
        found = path.stat().st_size
    except FileNotFoundError:
        return f"{path}: the file is gone"
    return "" if found == size else f"{path}: the file has {counted(found, 'byte')}; expected {size:,}"


@dataclass
class Outputs:
    """The files of one part, by their suffixes; `stem` is the path without a suffix.

    `ids()` returns how many ids are expected, `None` where nothing says it.  A header with the right number is written
    first; a wrong one is patched in the end, for which the whole file is read again for its digest.
    """

    stem: Path
    ids: Callable[[], int | None] = lambda: None
    files: dict[str, Output] = field(default_factory=dict)

    def open(self, suffix: str) -> Output:
        """Begin the file with this suffix."""
        self.files[suffix] = Output(self.stem.with_name(self.stem.name + suffix))
        return self.files[suffix]

    def publish(self) -> dict[str, dict[str, Any]]:
        """Move all files to their names when all are on the disk; returns their sizes and digests by name."""
        found = {self.stem.name + suffix: output.finish() for suffix, output in self.files.items()}
        for output in self.files.values():
            output.move()
        sync_folder(self.stem.parent)
        return found

    def discard(self) -> None:
        """Remove the files that were not published."""
        for output in self.files.values():
            output.discard()


@contextmanager
def outputs(stem: Path, ids: Callable[[], int | None] = lambda: None) -> Iterator[Outputs]:
    """Open the files of a part; those that are not published when the block ends are removed."""
    files = Outputs(stem, ids)
    with ExitStack() as stack:
        stack.callback(files.discard)
        yield files
