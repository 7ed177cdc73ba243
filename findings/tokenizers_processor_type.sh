#!/usr/bin/env bash
# tokenizers 0.23.3: the `type` of a post-processor in a tokenizer.json is not read; the names of the other fields decide.
#
# A RobertaProcessing without `trim_offsets` or `add_prefix_space`, which look optional, is a BertProcessing: a pair has one
# separator between its texts instead of two, types 0 and 1 instead of 0 alone, and offsets keep the blank before a word.
# A BertProcessing with both fields is a RobertaProcessing. No error, no warning; the saved file has the other type.
#
# Seen (Python 3.11):
#   tokenizers 0.23.3
#   RobertaProcessing, all fields       saved as RobertaProcessing  <s> a </s> </s> a </s>  offsets of a: (1, 2)
#   RobertaProcessing, no trim_offsets  saved as BertProcessing     <s> a </s> a </s>       offsets of a: (0, 2)
#   BertProcessing, all fields          saved as RobertaProcessing  <s> a </s> </s> a </s>  offsets of a: (1, 2)
#   a type that does not exist          saved as BertProcessing     <s> a </s> a </s>       offsets of a: (0, 2)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
cat > "$folder/see.py" <<'PYTHON'
import json
import sys

import tokenizers

words = {"<s>": 0, "</s>": 1, "\u0120": 2, "a": 3, "\u0120a": 4}
blanks = {"add_prefix_space": False, "trim_offsets": True}
byte_level = {"type": "ByteLevel", **blanks, "use_regex": True}
ends = {"sep": ["</s>", 1], "cls": ["<s>", 0]}
roberta = {"type": "RobertaProcessing", **ends, **blanks}
files = {
    "RobertaProcessing, all fields": roberta,
    "RobertaProcessing, no trim_offsets": {name: roberta[name] for name in roberta if name != "trim_offsets"},
    "BertProcessing, all fields": {**roberta, "type": "BertProcessing"},
    "a type that does not exist": {"type": "NoSuchProcessing", **ends},
}
rows = ["<s> a </s> </s> a </s>", "<s> a </s> a </s>"]
expected = [("RobertaProcessing", rows[0], (1, 2)), ("BertProcessing", rows[1], (0, 2)),
            ("RobertaProcessing", rows[0], (1, 2)), ("BertProcessing", rows[1], (0, 2))]
print("tokenizers", tokenizers.__version__)
seen = []
for name, processor in files.items():
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
            "pre_tokenizer": byte_level, "post_processor": processor, "decoder": byte_level,
            "model": {"type": "BPE", "vocab": words, "merges": ["\u0120 a"]}}
    loaded = tokenizers.Tokenizer.from_str(json.dumps(file))
    row = loaded.encode(" a", " a")
    kind = json.loads(loaded.to_str())["post_processor"]["type"]
    texts = " ".join(token.strip("\u0120") for token in row.tokens)
    seen.append((kind, texts, row.offsets[1]))
    print(f"{name:35} saved as {kind:18} {texts:23} offsets of a: {row.offsets[1]}")
if seen != expected:
    sys.exit("the behaviour has changed")
PYTHON
"$folder/venv/bin/python" "$folder/see.py"
