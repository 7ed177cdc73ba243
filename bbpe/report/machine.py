"""The machine as this package sees it: what a report of a fault needs, and what speed and memory depend on.

Nothing here imports an optional package: versions are those that the packages were installed with.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ..budget import shown, system_limit
from ..core.budget import CPU
from ..published.find import FOLDERS_VARIABLE, own_folders
from ..records import dataclass
from ..tables.store import user_folder
from ..text import counted
from ..threads import thread_count

#: The packages that bbpe needs, and then those that some of its functions need.
PACKAGES = (
    "numpy", "regex", "pyarrow", "zstandard", "psutil", "jinja2", "rich", "shtab", "fsspec", "gguf", "ray",
    "sentencepiece", "tokenizers", "transformers", "tiktoken", "matplotlib", "torch",
)  # fmt: skip


@dataclass(frozen=True)
class CacheFolder:
    """A folder that bbpe keeps files in; `files` and `bytes` are `None` where it cannot be read, or is not there."""

    holds: str
    path: str
    files: int | None
    bytes: int | None

    def __str__(self) -> str:
        if self.files is None or self.bytes is None:
            return f"{self.path}: not there"
        return f"{self.path}: {counted(self.files, 'file')}, {shown(self.bytes)}"


@dataclass(frozen=True)
class Machine:
    """Facts of the machine and of this process; `memory_limit` is `None` where the system has set none."""

    version: str
    folder: str
    python: str
    executable: str
    interpreter_lock: bool
    platform: str
    simd: str
    cores: int
    cores_of_machine: int | None
    memory_limit: int | None
    memory_limit_of: str | None
    cache_folders: list[CacheFolder]
    #: The version of each package; `None` for one that is not installed.
    packages: dict[str, str | None]

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield what to show on a screen: names, and a line for each."""
        yield "bbpe", f"{self.version} in {self.folder}"
        lock = "" if self.interpreter_lock else " without the interpreter's lock"
        yield "python", f"{self.python}{lock}, {self.executable}"
        yield "platform", self.platform
        yield "simd", self.simd
        yield "cores", f"{self.cores} of {self.cores_of_machine or 'an unknown number'}"
        limit = self.memory_limit
        yield "memory_limit", "none" if limit is None else f"{shown(limit)}, {self.memory_limit_of}"
        for folder in self.cache_folders:
            yield folder.holds, str(folder)
        yield "packages", ", ".join(f"{name} {found}" for name, found in self.packages.items() if found is not None)
        yield "not_installed", ", ".join(name for name, found in self.packages.items() if found is None) or "nothing"


def machine(of_package: str) -> Machine:
    """Return the facts of this machine; `of_package` is the version of this package.

    >>> machine("1.0").simd in ("base", "avx2", "avx512", "neon")
    True
    """
    limit = system_limit()
    return Machine(
        version=of_package,
        folder=str(Path(__file__).parents[1]),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        executable=sys.executable,
        interpreter_lock=getattr(sys, "_is_gil_enabled", lambda: True)(),
        platform=platform.platform(),
        simd=CPU,
        cores=thread_count(None),
        cores_of_machine=os.cpu_count(),
        memory_limit=None if limit is None else limit.size,
        memory_limit_of=None if limit is None else limit.name,
        cache_folders=list(_cache_folders()),
        packages={name: _version(name) for name in PACKAGES},
    )


def _cache_folders() -> Iterator[CacheFolder]:
    """Yield the folders of published vocabularies, and that of finished tables, which may lie in one of them."""
    tables = user_folder()
    # a user without a home has no folders but those of the environment
    has_own = tables is not None or os.environ.get(FOLDERS_VARIABLE)
    for holds, paths in (("vocabularies", own_folders() if has_own else ()), ("tables", [tables] if tables else ())):
        for path in paths:
            sizes = _sizes(path)
            known = (None, None) if sizes is None else (len(sizes), sum(sizes))
            yield CacheFolder(holds, str(path), *known)


def _sizes(folder: Path) -> list[int] | None:
    """Return the sizes of the files in a folder, without those of its folders; `None` where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [entry.stat().st_size for entry in entries if entry.is_file()]
    except OSError:
        return None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
