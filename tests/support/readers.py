"""Prints the table of docs/formats.md: which programs read what bbpe writes, with the same ids.

    pip install --target FOLDER onnxruntime-extensions kitoken
    npm install --prefix FOLDER @huggingface/tokenizers node-llama-cpp
    PYTHONPATH=FOLDER python tests/support/readers.py FOLDER

For each pattern a tokenizer with tokens of two bytes is saved, so that each border of pretokens shows in the ids.
Readers run in processes of their own.  The script needs the packages `transformers`, `tokenizers` and `gguf`.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bbpe

PATTERNS = (
    "gpt2 cl100k llama3 qwen2 qwen3_5 o200k tekken kimi deepseek_v3 starcoder nanochat falcon bloom"
).split()
_PARTS = [
    *("see", " my", " eyes", "They'RE", "'s", "don't", "JavaScript", "iPhone", "x1234567", "12", " 3.5", "!?", "...\n"),
    *(" ", "  ", "\n", "\n\n", "\r\n", "\t", " \n ", "_a", "(x)", "\u00e9l\u00e8ve", "a\u0301", "\u0414\u0430", "$"),
    *("\u4e2d\u6587", "\u304b\u306a", "\u0939\u093f\u0902", "\ud55c\uae00", "\u0661\u0662", "\U0001f600", "/"),
]
#: Blanks outside ASCII, which some readers do not know for blanks.
_BLANKS = ["\u00a0", "\u3000", "\u2003"]

_PYTHON = """
import json, sys
texts, folder = json.load(open(sys.argv[1])), sys.argv[2]
{load}
def one(text):
    try:
        return [int(token) for token in {encode}]
    except Exception:
        return None
json.dump([one(text) for text in texts], open(folder + "/ids.json", "w"))
"""
_JS = """
import fs from "fs";
const [texts, folder] = [JSON.parse(fs.readFileSync(process.argv[2])), process.argv[3]];
%s
const found = texts.map(text => { try { return %s } catch { return null } });
fs.writeFileSync(folder + "/ids.json", JSON.stringify(found));
process.exit(0);
"""
_READERS: dict[str, tuple[str, str]] = {
    "tokenizers": (
        "from tokenizers import Tokenizer; t = Tokenizer.from_file(folder + '/tokenizer.json')",
        "t.encode(text, add_special_tokens=False).ids",
    ),
    "transformers": (
        "from transformers import AutoTokenizer; t = AutoTokenizer.from_pretrained(folder)",
        "t(text, add_special_tokens=False)['input_ids']",
    ),
    "kitoken": (
        "from kitoken import Kitoken; t = Kitoken.from_file(folder + '/tokenizer.json')",
        "t.encode(text, False)",
    ),
    "onnxruntime-extensions": (
        "from onnxruntime_extensions import pp_api; t = pp_api.Tokenizer(folder)",
        "t.tokenize([text])[0]",
    ),
}
_READERS_JS: dict[str, tuple[str, str]] = {
    "@huggingface/tokenizers": (
        'import { Tokenizer } from "@huggingface/tokenizers"; const read = name => JSON.parse(fs.readFileSync('
        'folder + "/" + name)); const t = new Tokenizer(read("tokenizer.json"), read("tokenizer_config.json"));',
        "t.encode(text, { add_special_tokens: false }).ids",
    ),
    "node-llama-cpp": (
        'import { getLlama, LlamaLogLevel } from "node-llama-cpp"; const llama = await getLlama({ gpu: false, build: '
        '"never", logLevel: LlamaLogLevel.disabled }); const t = await llama.loadModel({ modelPath: folder + '
        '"/model.gguf", vocabOnly: true });',
        "Array.from(t.tokenize(text, false))",
    ),
}


def texts_of(parts: list[str], count: int) -> list[str]:
    """Random texts of these parts."""
    rng = random.Random(len(parts))
    return ["".join(rng.choices(parts, k=rng.randint(1, 10))) for _ in range(count)]


def save(pattern: str, texts: list[str], folder: Path) -> bbpe.Tokenizer:
    """Write a tokenizer in all formats that hold it."""
    used = sorted({byte for text in texts for byte in text.encode()})
    tokens = [bytes((byte,)) for byte in range(256)] + [bytes((left, right)) for left in used for right in used]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    tok = bbpe.Tokenizer.from_ranks(ranks, pattern=pattern, special_tokens={"<s>": len(ranks)})
    tok.save(folder / "tokenizer.json")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "PreTrainedTokenizerFast"}')
    try:
        tok.save(folder / "model.gguf")
    except (bbpe.PatternError, bbpe.VocabularyError):
        (folder / "model.gguf").unlink(missing_ok=True)
    return tok


def read(reader: str, texts: Path, folder: Path, packages: Path) -> Any:
    """Return the ids of each text, None for those that fail; None for a reader that fails."""
    result = folder / "ids.json"
    result.unlink(missing_ok=True)
    if reader in _READERS:
        load, encode = _READERS[reader]
        command = [sys.executable, "-c", _PYTHON.format(load=load, encode=encode)]
    else:
        script = packages / "reader.mjs"
        script.write_text(_JS % _READERS_JS[reader])
        command = ["node", str(script)]
    subprocess.run([*command, str(texts), str(folder)], capture_output=True, check=False, timeout=300)
    return json.loads(result.read_text()) if result.exists() else None


def verdict(tok: bbpe.Tokenizer, texts: list[str], found: Any) -> str:
    """Say in a cell how the ids of a reader compare with ours."""
    if found is None:
        return "refuses the file"
    failed = sum(row is None for row in found)
    lost = differ = 0
    for text, row in zip(texts, found, strict=True):
        if row is not None and row != tok.encode(text):
            differ += 1
            lost += len(b"".join(map(tok.id_to_token, row))) < len(text.encode())
    counts = ("{} differ", differ - lost), ("**{} lose text**", lost), ("{} fail", failed)
    return ", ".join(text.format(f"{count:,}") for text, count in counts if count) or "same"


def main(packages: Path) -> None:
    """Print the table."""
    texts = texts_of(_PARTS, 1000) + texts_of(_PARTS + 3 * _BLANKS, 1000)
    print("| pattern |", " | ".join([*_READERS, *_READERS_JS]), "|")
    print("|---" * (1 + len(_READERS) + len(_READERS_JS)) + "|")
    for pattern in PATTERNS:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            tok = save(pattern, texts, folder)
            (folder / "texts.json").write_text(json.dumps(texts))
            cells = []
            for reader in (*_READERS, *_READERS_JS):
                if reader == "node-llama-cpp" and not (folder / "model.gguf").exists():
                    cells.append("no GGUF")
                else:
                    cells.append(verdict(tok, texts, read(reader, folder / "texts.json", folder, packages)))
        print(f"| `{pattern}` |", " | ".join(cells), "|", flush=True)
    print(", ".join(f"{name} {version(name)}" for name in _READERS))
    for name in _READERS_JS:
        print(name, json.loads((packages / "node_modules" / name / "package.json").read_text())["version"])


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
