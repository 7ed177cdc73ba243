#!/usr/bin/env bash
# @huggingface/tokenizers 0.2.0 (JavaScript): the regex of GPT-4 in a tokenizer.json splits white space in another way.
#
# The regex has \s++$, which JavaScript does not know. The package makes \s+ of it, and a $ that also holds before a line
# feed. So a run of line feeds in the middle of a text, one token for tokenizers and tiktoken, becomes several. Nothing is
# raised, and most texts without empty lines have the same ids.
#
# Seen (Python 3.11, Node 20.20):
#   tokenizers 0.23.3 @huggingface/tokenizers 0.2.0
#   text:       'a\n\nb'
#   Python:     ['a', '\n\n', 'b']
#   JavaScript: ['a', '\n', '\n', 'b']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
npm install --silent --no-fund --no-audit --prefix "$folder" @huggingface/tokenizers@0.2.0
cat > "$folder/see.mjs" <<'JAVASCRIPT'
import fs from "fs";
import { Tokenizer } from "@huggingface/tokenizers";

const tokenizer = new Tokenizer(JSON.parse(fs.readFileSync(process.argv[2])), {});
console.log(JSON.stringify(tokenizer.encode(process.argv[3], { add_special_tokens: false }).ids));
JAVASCRIPT
cat > "$folder/see.py" <<'PYTHON'
import json
import subprocess
import sys

import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

folder, text = sys.argv[1], "a\n\nb"
# the pattern of cl100k_base, as tiktoken 0.14.0 has it
regex = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
vocabulary = {token: number for number, token in enumerate([*sorted(pre_tokenizers.ByteLevel.alphabet()), "ĊĊ"])}
tokenizer = Tokenizer(models.BPE(vocabulary, [("Ċ", "Ċ")]))
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(Regex(regex), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.save(f"{folder}/tokenizer.json")
command = ["node", f"{folder}/see.mjs", f"{folder}/tokenizer.json", text]
theirs = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
rows = [[tokenizer.decode([number]) for number in ids] for ids in (tokenizer.encode(text).ids, theirs)]

with open(f"{folder}/node_modules/@huggingface/tokenizers/package.json") as file:
    print("tokenizers", tokenizers.__version__, "@huggingface/tokenizers", json.load(file)["version"])
for name, value in zip(("text", "Python", "JavaScript"), [text, *rows], strict=True):
    print(f"{name + ':':11} {value!r}")
if rows != [["a", "\n\n", "b"], ["a", "\n", "\n", "b"]]:
    sys.exit("the behaviour has changed: both split the text alike, or in other ways than before")
PYTHON
"$folder/venv/bin/python" "$folder/see.py" "$folder"
