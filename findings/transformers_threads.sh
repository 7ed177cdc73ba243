#!/usr/bin/env bash
# transformers 5.24.0: threads that share one fast tokenizer get each other's truncation and padding, without an error.
#
# A call writes its options into the shared Rust tokenizer and then encodes. Another thread can write its own in between.
# Four threads encode the same text of 64 tokens; they ask for all of it, for 8, for 16, and for padding to 100.
# The script switches threads every 10 microseconds to need few calls; it also happens at Python's default of 5 milliseconds.
#
# Seen (Python 3.11, 2 cores; the counts vary, from 4 to 133 of 2,000):
#   transformers 5.24.0
#   asked for all 64: wrong 8 of 2000, got lengths [8, 16, 100]
#   asked for at most 8: wrong 21 of 2000, got lengths [16, 64, 100]
#   asked for at most 16: wrong 43 of 2000, got lengths [8, 64, 100]
#   asked for padding to 100: wrong 29 of 2000, got lengths [8, 16, 64]
#   errors raised: 0
# With the default interval: 93, 56, 108 and 160 of 10,000 calls each.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    transformers==5.24.0 tokenizers==0.23.3 numpy==2.4.6
cat > "$folder/see.py" <<'PYTHON'
import sys
import threading
from collections import Counter

import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

words = {"[UNK]": 0, "[PAD]": 1} | {f"w{number}": number + 2 for number in range(64)}
backend = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]")
text = " ".join(f"w{number}" for number in range(64))
asked = {
    "all 64": (64, {}),
    "at most 8": (8, {"truncation": True, "max_length": 8}),
    "at most 16": (16, {"truncation": True, "max_length": 16}),
    "padding to 100": (100, {"padding": "max_length", "max_length": 100}),
}
CALLS = 2000
got = {name: Counter() for name in asked}
errors = []
start = threading.Barrier(len(asked))


def work(name):
    start.wait()
    for _ in range(CALLS):
        try:
            got[name][len(tokenizer(text, **asked[name][1])["input_ids"])] += 1
        except Exception as error:
            errors.append(error)


for right, options in asked.values():
    assert len(tokenizer(text, **options)["input_ids"]) == right  # one thread: what was asked for
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=work, args=(name,)) for name in asked]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

print("transformers", transformers.__version__)
wrong = 0
for name, (right, _) in asked.items():
    others = {length: count for length, count in got[name].items() if length != right}
    wrong += sum(others.values())
    print(f"asked for {name}: wrong {sum(others.values())} of {CALLS}, got lengths {sorted(others)}")
print("errors raised:", len(errors))
if not wrong or errors:
    sys.exit("the behaviour has changed: no call got the options of another thread, or some call raised")
PYTHON
"$folder/venv/bin/python" "$folder/see.py"
