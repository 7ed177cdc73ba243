#!/usr/bin/env bash
# transformers 5.24.0: continue_final_message leaves its own marker in the prompt of a template that writes a message twice.
#
# apply_chat_template(continue_final_message=True) appends CONTINUE_FINAL_MESSAGE_TAG to the last message, renders, and cuts
# at the last place of the marker. A template that writes the last message twice has a second marker, which stays.
# Nothing is raised, and the marker reaches the model as text.
#
# Seen (Python 3.11):
#   transformers 5.24.0 jinja2 3.1.6
#   written once:         '<user>Hi</><assistant>Sure'
#   and before the chat:  'Last: SureCONTINUE_FINAL_MESSAGE_TAG \n<user>Hi</><assistant>Sure'
#   and after the chat:   '<user>Hi</><assistant>SureCONTINUE_FINAL_MESSAGE_TAG </>Last: Sure'
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    transformers==5.24.0 tokenizers==0.23.3 numpy==2.4.6 jinja2==3.1.6
cat > "$folder/see.py" <<'PYTHON'
import sys

import jinja2
import transformers
from tokenizers import Tokenizer, models

backend = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]")
messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Sure"}]
chat = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
last = "Last: {{ messages[-1].content }}"
templates = {"written once": chat, "and before the chat": f"{last}\n{chat}", "and after the chat": f"{chat}\n{last}"}

print("transformers", transformers.__version__, "jinja2", jinja2.__version__)
marked = []
for name, template in templates.items():
    prompt = tokenizer.apply_chat_template(
        messages, chat_template=template, tokenize=False, continue_final_message=True
    )
    print(f"{name + ':':21} {prompt!r}")
    marked.append("CONTINUE_FINAL_MESSAGE_TAG" in prompt)
if marked != [False, True, True]:
    sys.exit("the behaviour has changed: the marker is left in other prompts than before")
PYTHON
"$folder/venv/bin/python" "$folder/see.py"
