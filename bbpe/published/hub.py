"""Tokenizers in the local cache of `huggingface_hub`, by the name of their repository; nothing is downloaded."""

from __future__ import annotations

from pathlib import Path

from ..lazy import lazy_re
from .find import hub_cache

_NAME, _REVISION = lazy_re(r"\w[\w.-]*/\w[\w.-]*"), lazy_re(rb"\s*([0-9a-f]+)\s*")


def is_repository(name: str) -> bool:
    """Return whether a text may be the name of a repository, `org/name`, and does not look like a path.

    >>> is_repository("mistralai/Mistral-7B-v0.3"), is_repository("../models"), is_repository("a/b/c")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def hub_folder(name: str) -> Path | None:
    """Return the folder of the repository `org/name`, in its main revision; `None` when it is not in the cache."""
    if not is_repository(name):
        return None
    repository = hub_cache() / ("models--" + name.replace("/", "--"))
    main = repository / "refs/main"
    revision = _REVISION.fullmatch(main.read_bytes()) if main.is_file() else None
    if revision is None:
        return None
    folder = repository / "snapshots" / revision[1].decode()
    return folder if folder.is_dir() else None
