#!/usr/bin/env bash
# mistral-common 1.13.1: in a tekken.json whose special tokens are not sorted by rank, BOS has the id of another token.
#
# The names of special tokens go by the order of the rows, whatever `rank` says. `bos_id` goes by the `rank` of the row of
# <s>. With the rows </s> (rank 2), <unk> (rank 0), <s> (rank 1) the piece <s> is id 2, but BOS is id 1, which is <unk>.
# No error, no warning.
#
# Seen (Python 3.11):
#   mistral-common 1.13.1
#   sorted by rank: pieces ['<unk>', '<s>', '</s>'] bos_id 1 encode('a', bos=True) -> ['<s>', 'a']
#   other order:    pieces ['</s>', '<unk>', '<s>'] bos_id 1 encode('a', bos=True) -> ['<unk>', 'a']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mistral-common==1.13.1
cat > "$folder/see.py" <<'PYTHON'
import base64
import json
import sys
from importlib.metadata import version
from pathlib import Path

from mistral_common.tokens.tokenizers.tekken import Tekkenizer

vocab = [{"rank": byte, "token_bytes": base64.b64encode(bytes([byte])).decode(), "token_str": None} for byte in range(256)]


def loaded(texts_and_ranks):
    rows = [{"rank": rank, "token_str": text, "is_control": True} for text, rank in texts_and_ranks]
    config = {"pattern": r"\S+|\s+", "num_vocab_tokens": 256, "default_vocab_size": 259, "default_num_special_tokens": 3,
              "version": "v7"}
    path = Path(sys.argv[1], "tekken.json")
    path.write_text(json.dumps({"config": config, "vocab": vocab, "special_tokens": rows}))
    return Tekkenizer.from_file(path)


print("mistral-common", version("mistral-common"))
seen = []
for name, rows in (("sorted by rank:", [("<unk>", 0), ("<s>", 1), ("</s>", 2)]),
                   ("other order:   ", [("</s>", 2), ("<unk>", 0), ("<s>", 1)])):
    tokenizer = loaded(rows)
    pieces = [tokenizer.id_to_piece(number) for number in range(3)]
    encoded = [tokenizer.id_to_piece(number) for number in tokenizer.encode("a", bos=True, eos=False)]
    print(name, "pieces", pieces, "bos_id", tokenizer.bos_id, "encode('a', bos=True) ->", encoded)
    seen.append((pieces, tokenizer.bos_id, encoded))
if seen != [(["<unk>", "<s>", "</s>"], 1, ["<s>", "a"]), (["</s>", "<unk>", "<s>"], 1, ["<unk>", "a"])]:
    sys.exit("the behaviour has changed")
PYTHON
"$folder/venv/bin/python" "$folder/see.py" "$folder"
