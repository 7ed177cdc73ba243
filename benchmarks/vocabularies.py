"""The vocabularies of a benchmark, as the files each library reads."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: cl100k's regex as tokenizer.json files on model hubs spell it.  Libraries that compare the spelling with the
#: few they know need it; it differs from tiktoken's only where a text ends in blanks after a line end.
HUB_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True)
class Vocabulary:
    """Where a vocabulary lies, without special tokens, and what libraries call it."""

    name: str
    #: tokens and ranks, as tiktoken writes them
    ranks: Path
    #: tokenizer.json with the regex as hubs spell it
    hub: Path
    #: tokenizer.json with tiktoken's regex
    exact: Path

    @property
    def tiktoken_name(self) -> str:
        return {"gpt2": "r50k_base"}.get(self.name, f"{self.name}_base")


FILES = {"gpt2": "gpt2.tiktoken", "cl100k": "cl100k_base.tiktoken.xz", "o200k": "o200k_base.tiktoken.xz"}


def vocabulary(name: str, folder: Path) -> Vocabulary:
    """Return the paths of a vocabulary whose files are in a folder, or will be when it is prepared."""
    ranks = folder / FILES[name].removesuffix(".xz")
    return Vocabulary(name, ranks, folder / f"{name}.json", folder / f"{name}.exact.json")


def prepare(name: str, source: Path, folder: Path) -> None:
    """Write the files of a vocabulary into a folder; `source` is the folder of the rank file."""
    import bbpe

    if name not in FILES:
        raise SystemExit(f"no vocabulary {name}: expected one of {', '.join(FILES)}")
    where = vocabulary(name, folder)
    if where.hub.exists():
        return
    path = source / FILES[name]
    if path.exists():
        data = path.read_bytes()
        where.ranks.write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
    else:
        # what the machine has, in the caches of libraries or in a package; bpe-openai brings cl100k and o200k
        bbpe.get_encoding("gpt2" if name == "gpt2" else f"{name}_base").save(where.ranks)
    bbpe.load(where.ranks, special_tokens={}).save(where.exact, format="huggingface")
    content: dict[str, Any] = json.loads(where.exact.read_text("utf-8"))
    if name == "cl100k":
        content["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = HUB_CL100K
    where.hub.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
