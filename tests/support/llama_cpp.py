"""Small GGUF files of every kind, and llama.cpp's ids of texts by them: the judge of these files.

llama.cpp comes with the npm package node-llama-cpp: `npm install --prefix build/llama node-llama-cpp@3.22.1`.
`python tests/support/llama_cpp.py` then writes its answers for a few texts to llama_cpp.json.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gguf_files import PREFIX, gguf

import bbpe
from bbpe.formats.gguf.bpe import _PRE
from bbpe.formats.gguf.characters import CHARACTERS
from bbpe.text import bytes_to_alphabet

KEPT = Path(__file__).with_suffix(".json")
#: Where npm installs the judge.
INSTALLED = Path(__file__).resolve().parents[2] / "build" / "llama"
PACKAGE = INSTALLED / "node_modules" / "node-llama-cpp"
MARK = "\u2581"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
#: Tokens and types that are added to each file: user-defined and control ones, and some that llama.cpp changes.
ADDED = [
    ("<|user|>", 4), ("<ab>", 4), ("b><cde>", 4), ("<|ctl|>", 3), ("<|im_end|>", 4), ("<|channel|>", 3),
    ("<PAD>", 4), ("</x>", 4),
]  # fmt: skip
# parts of texts: cases, contractions, digits, marks, white space, scripts, tokens
_PARTS = (
    "getElementById| JavaScript|iPhone|HTTPServer|don't|I'M|they're|''s|'| |  |   |\t|\n|\r\n|\n\n| \n|\u00a0|"
    "\u3000|\u2003|\u0085|\u2028|1|12|123|1234|1234567|3.14|1,000|\u0661\u0662|\u0967\u0968\u0969\u096a|\u00b2|\u2167|a|b|Z|\u00e9|\u00c9|e\u0301|\u0301|"
    "\u01c5|\u02b0|\u00aa|\u00df|\u00c0\u00c9|\u00e0\u00c9b|\u0440\u0443\u0441|\u0420\u0423\u0421\u0441|\u0391\u0392\u03b3|\u65e5\u672c"
    "\u8a9e|\u4e2d|\u30ab\u30ca|\ud55c\uad6d\uc5b4|\uac00|\u3131|\u3105|\u0e44\u0e17\u0e22|\u0939\u093f\u0928\u094d\u0926\u0940|"
    "\u0627\u0644\u0639|\u05e2\u05d1|\u1200|\u3005|\u3007|\U00020000|!|!!|?|...|(|)|{|[|]|<|>|/|//|_|__init__|-|+|=|$|$1|%|&|*|#|@|^|`|~"
    "|\\|;|:|,|.|\u201cx\u201d|\u2014|\u2026|\u3001|\u3002|\uff01|\uff0c|\uff21\uff22|\U0001f600|\U0001f468\u200d\U0001f680|\u200b|"
    "\u20ac|\x1c|\x0b|\ua7b0|\ue000|<ab>|<ab><cde>|<|user|>|<|ctl|>|<|im_end|>|<|channel|>|<unk>|<PAD>|</x>|the|in|th"
).split("|")
PARTS = [*_PARTS, "|", "<|user|>", "<|ctl|>", "<|im_end|>", "<|channel|>", "<|user|> "]
#: The texts of the table.
TEXTS = [
    "getElementById I'M don't they're 1234567 x\r\n  y\n\n\n(a) iPhone,12,345.5 $1!?...\r\n ",
    "\u65e5\u672c\u8a9e\u4e2d\u30ab\u30ca \u0440\u0443\u0441 \u0420\u0423\u0421\u0441 \u00dcn\u00ef "
    "\u00e9 a\u0301 \u0e44\u0e17\u0e2212 \uac00\u3131 \u01c5 \uff01 \u3000\u3001\u201cx\u201d "
    "\u0967\u0968\u0969\u096a\u00b2 \ua7b0a \ue000",
    "<ab><cde> <|user|>the <|ctl|>in<|im_end|>a</x> <|channel|><PAD><unk>  b",
    "a  b    c \u00e0\u00c9b 12\u0301 \u0939\u093f\u0928\u094d\u0926\u0940",
]


def texts(count: int, seed: int = 7) -> list[str]:
    """Random texts."""
    rng = random.Random(seed)
    return [*PARTS, *("".join(rng.choices(PARTS, k=rng.randint(2, 7))) for _ in range(count))][:count]


def _of_bytes() -> tuple[list[str], list[str]]:
    """The tokens and merges of a byte-level vocabulary whose merges cross every boundary between pretokens."""
    plain = [text for text in (*TEXTS, *texts(300)) if not any(token in text for token, _ in (*ADDED, ("<unk>", 2)))]
    learned = bbpe.train_from_iterator(plain * 2, 1200, pattern="none")
    tokens = [bytes_to_alphabet(learned.spec.vocab[number]) for number in range(learned.vocab_size)]
    return tokens, [f"{tokens[left]} {tokens[right]}" for left, right, _ in learned.spec.merges or ()]


def _values(model: str, rows: Sequence[tuple[str, int]], **more: Any) -> dict[str, Any]:
    found = {"model": model, "tokens": [text for text, _ in rows], "token_type": [kind for _, kind in rows], **more}
    return {"general.architecture": "llama"} | {PREFIX + name: value for name, value in found.items()}


def files() -> dict[str, dict[str, Any]]:
    """The values of files by name: each pre-tokenizer of byte-level BPE, and each other model."""
    tokens, merges = _of_bytes()
    rows = [*((text, 1) for text in tokens), *ADDED, ("<unk>", 2)]
    assert len(dict(rows)) == len(rows)
    begin = rows.index(("<|ctl|>", 3))
    found = {f"gpt2 {pre}": _values("gpt2", rows, pre=pre, merges=merges, bos_token_id=begin) for pre in _PRE}
    blanks = [("  ", 4), ("   ", 4), ("\n\n", 4)]
    found["gpt2 with blanks"] = _values("gpt2", [*rows, *blanks], pre="qwen2", merges=merges)
    chars = [MARK, *"abcdehilmnrstu<>|/_x", f"{MARK}a", f"{MARK}t", "he", f"{MARK}the", "in", f"{MARK}in", MARK * 2]
    pieces = [("<unk>", 2), ("<s>", 3), ("</s>", 3), *((text, 6) for text in BYTES)]
    pieces += [*((text, 1) for text in chars), *ADDED]
    for name, prefix in (("blank", True), ("no blank", False)):
        more = [*pieces, *blanks] if not prefix else pieces
        scores = [-float(number) for number in range(len(more))]
        found[f"llama {name}"] = _values("llama", more, scores=scores, add_space_prefix=prefix, bos_token_id=1)
    for name, squeezes in (("t5 squeezed", True), ("t5", False)):
        scores = [-float(number % 97) - 1 for number in range(len(pieces))]
        options = {"add_space_prefix": squeezes, "remove_extra_whitespaces": squeezes, "unknown_token_id": 0}
        found[name] = _values("t5", pieces, scores=scores, eos_token_id=2, **options)
    words = [f"{MARK}{text}" for text in ("the", "in", "a", "b", "<", ">", "|", "1", "!")] + ["a", "n", "b", "12"]
    special = [("[PAD]", 3), ("[UNK]", 2), ("[CLS]", 3), ("[SEP]", 3)]
    added = [row for row in ADDED if row[0] != "<PAD>"]  # of two for padding llama.cpp changes one
    uses = {"bos_token_id": 2, "eos_token_id": 3, "seperator_token_id": 3, "unknown_token_id": 1}
    found["bert"] = _values("bert", [*special, *((word, 1) for word in words), *added], **uses)
    escaped = [("<s>", 3), *((f"\\x{byte:02x}", 1) for byte in range(256)), ("the", 1), ("12", 1), ("in ", 1), *ADDED]
    found["rwkv"] = _values("rwkv", escaped)
    pairs = [f"{MARK} t", "h e", f"{MARK}t he", "i n", "\n \n", f"{MARK} {MARK}", f"{MARK} a"]
    rows = [("<unk>", 2), ("<bos>", 3), *((text, 6) for text in BYTES)]
    rows += [(text, 1) for text in dict.fromkeys([*chars, "\n", *(pair.replace(" ", "") for pair in pairs)])]
    for pre in CHARACTERS:
        found[f"characters {pre}"] = _values("gpt2", [*rows, *ADDED], pre=pre, merges=pairs, bos_token_id=1)
    return found


def answers(values: dict[str, dict[str, Any]], asked: Sequence[str]) -> dict[str, dict[str, Any]]:
    """What llama.cpp says about texts by each file."""
    node = shutil.which("node")
    assert node is not None
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.gguf") for number in range(len(values))]
        for path, value in zip(paths, values.values(), strict=True):
            path.write_bytes(gguf(value))
        job = json.dumps({"files": list(map(str, paths)), "texts": list(asked)})
        out = Path(folder, "answers.json")
        command = [node, str(Path(__file__).with_suffix(".mjs")), str(INSTALLED), str(out)]
        subprocess.run(command, input=job, capture_output=True, text=True, check=True)
        return dict(zip(values, json.loads(out.read_text("utf-8")), strict=True))


def differences(path: Path, asked: Sequence[str], said: dict[str, Any]) -> list[str]:
    """The texts whose ids are not llama.cpp's, and how."""
    tok = bbpe.load(path, cache=False)
    found = []
    around = () if tok.spec.template is None else tok.spec.template.around[0]
    if bool(around) != said["bos"]:
        found.append(f"BOS {around}, expected {said['bos']}")
    for text, (plain, special) in zip(asked, said["ids"], strict=True):
        for allowed, expected in ((), plain), ("all", special):
            ids = tok.encode(text, allowed_special=allowed)
            if ids != expected:
                found.append(f"{text!r} {allowed or 'plain'}: {ids}, expected {expected}")
    return found


def kept() -> tuple[str, dict[str, dict[str, Any]]]:
    """The version of node-llama-cpp, and its answers for `TEXTS` as they were written."""
    version, groups = json.loads(KEPT.read_text("utf-8"))
    return version, {name: said for said, names in groups for name in names}


def main() -> None:
    version = json.loads((PACKAGE / "package.json").read_text("utf-8"))["version"]
    groups: dict[str, list[str]] = {}
    for name, said in answers(files(), TEXTS).items():
        groups.setdefault(json.dumps(said, separators=(",", ":")), []).append(name)
    lines = [f"[{said},\n {json.dumps(names)}]" for said, names in groups.items()]
    KEPT.write_text(f'["{version}", [\n' + ",\n".join(lines) + "\n]]\n", "utf-8")


if __name__ == "__main__":
    main()
