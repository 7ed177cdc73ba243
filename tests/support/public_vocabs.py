"""Published vocabularies from packages of the group `test`, for a checkout without `../shared`.

Every file has the SHA-256 of its publisher's, whether a package has it or it is made here from another file of the same
vocabulary.  None of them is committed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import bbpe
from bbpe.formats.common.given import rank_text
from bbpe.published.table import PUBLISHED, PublishedFile
from bbpe.text import tokens_to_alphabet

FILES = {file.name: file for row in PUBLISHED.values() for form in row.forms for file in form.files}
FOLDERS = {"qwen_gpt2_files": ("vocab.json", "merges.txt")}


def put_public(name: str, target: Path) -> bool:
    """Write a published file, or a folder of them, from installed packages; False when no package has it."""
    if name not in FOLDERS:
        data = _content(name, target.parent)
        if data is not None:
            _write(target, data)
        return data is not None
    partial = target.with_name(f"{name}.{os.getpid()}")
    partial.mkdir()
    if not all(put_public(part, partial / part) for part in FOLDERS[name]):
        return False
    partial.rename(target)
    return True


def _write(target: Path, data: bytes) -> None:
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    partial.write_bytes(data)
    partial.replace(target)


def _content(name: str, folder: Path) -> bytes | None:
    """The bytes of a published file; another content under its name is an error, as its ids would prove nothing."""
    row = FILES.get(name)
    data = None if row is None else next(_packaged(row), None)
    if row is None or (data is None and (data := _made(name, folder)) is None):
        return None
    if hashlib.sha256(data).hexdigest() != row.sha256:
        raise AssertionError(f"{name} is not what was published: {len(data)} bytes, expected {row.size}")
    return data


def _packaged(row: PublishedFile) -> Iterator[bytes]:
    for inside in row.packages:
        package, _, path = inside.partition("/")
        found = find_spec(package)
        for folder in () if found is None else found.submodule_search_locations or ():
            file = Path(folder, path)
            if file.is_file():
                data = file.read_bytes()
                yield gzip.decompress(data) if file.suffix == ".gz" else data


#: Files that are made from another file, and from which one.
SOURCES = {
    "p50k_base.tiktoken": "gpt2.tiktoken",
    "gpt2.tokenizer.json": "gpt2.tiktoken",
    "vocab.json": "qwen.tiktoken",
    "merges.txt": "qwen.tiktoken",
}


def _made(name: str, folder: Path) -> bytes | None:
    source = SOURCES.get(name)
    path = folder / f"{name}.{os.getpid()}.tiktoken"
    if source is None or not put_public(source, path):
        return None
    if name == "p50k_base.tiktoken":  # behind a gap for the special token, 24 runs of blanks
        return path.read_bytes() + rank_text({50255 + length: b" " * length for length in range(2, 26)})
    known = bbpe.load(path, cache=False)
    path.unlink()
    ids = dict(zip(tokens_to_alphabet(list(known.spec.vocab.values())), known.spec.vocab, strict=True))
    merges = known.merges or ()
    sides = [tokens_to_alphabet([pair[side] for pair in merges]) for side in (0, 1)]
    lines = [f"{left} {right}" for left, right in zip(*sides, strict=True)]
    if name == "merges.txt":
        return "".join(f"{line}\n" for line in lines).encode()
    if name == "vocab.json":
        return _compact(ids)
    return _compact({**GPT2_HEAD, "model": {**GPT2_MODEL, "vocab": ids | known.special_tokens, "merges": lines}})


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}
GPT2_HEAD = {
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [
        {
            "id": 50256,
            "special": True,
            "content": "<|endoftext|>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": True,
        }
    ],
    "normalizer": None,
    "pre_tokenizer": {**_BYTE_LEVEL, "add_prefix_space": False},
    "post_processor": {**_BYTE_LEVEL, "trim_offsets": False},
    "decoder": _BYTE_LEVEL,
}
GPT2_MODEL = {
    "dropout": None,
    "unk_token": None,
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "fuse_unk": False,
}
