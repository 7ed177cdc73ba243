#!/usr/bin/env bash
# onnxruntime-extensions 0.15.2: a tokenizer.json that splits digits off before ByteLevel keeps the digits alone.
#
# Many published files (DeepSeek, StarCoder and others) have a Sequence of a Split with the regex \p{N} or \p{N}{1,3} and of
# ByteLevel. tokenizers applies the second to every piece that the first left. onnxruntime-extensions loads such a file,
# and returns the ids of the matches of the first regex. All other text is gone, without an error.
#
# Seen (Python 3.11):
#   tokenizers 0.23.3 onnxruntime-extensions 0.15.2
#   text:                   'see 12 eyes'
#   tokenizers:             'see 12 eyes'
#   onnxruntime-extensions: '12'
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    tokenizers==0.23.3 onnxruntime-extensions==0.15.2 numpy==2.4.6
cat > "$folder/see.py" <<'PYTHON'
import json
import sys
from importlib.metadata import version
from pathlib import Path

from onnxruntime_extensions import pp_api
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

folder = Path(sys.argv[1])
alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
    [
        pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ]
)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.save(str(folder / "tokenizer.json"))
(folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
text = "see 12 eyes"
theirs = [int(number) for number in pp_api.Tokenizer(str(folder)).tokenize([text])[0]]
found = [tokenizer.decode(tokenizer.encode(text).ids), tokenizer.decode(theirs)]

print("tokenizers", version("tokenizers"), "onnxruntime-extensions", version("onnxruntime-extensions"))
for name, value in zip(("text", "tokenizers", "onnxruntime-extensions"), [text, *found], strict=True):
    print(f"{name + ':':23} {value!r}")
if found != [text, "12"]:
    sys.exit("the behaviour has changed: the text around the digits is there, or other text is lost")
PYTHON
mkdir "$folder/tokenizer"
"$folder/venv/bin/python" "$folder/see.py" "$folder/tokenizer"
