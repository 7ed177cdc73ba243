"""What vLLM and SGLang themselves do with a tokenizer, stock and accelerated by the plug-in: neither needs a GPU."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
import warnings
from copy import copy, deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
from house import ROOT
from small_hf import KINDS

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]
CHAT = "{% for m in messages %}<s>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"
TEXTS = ["see my dogs", "[CLS] naïve café 中文 👍🏽 <s>first", "  two  blanks\n\n", ""]
FLAGS = [(skip, spaces) for skip in (True, False) for spaces in (True, False)]


def folder_of(kind: str, place: Path) -> Path:
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=KINDS[kind](), pad_token="<s>", unk_token="[UNK]", eos_token="[SEP]", bos_token="[CLS]",
        chat_template=CHAT, clean_up_tokenization_spaces=False, model_max_length=99,
    ).save_pretrained(place)  # fmt: skip
    return place


def ids_of(tokenizer: Any) -> list[int]:
    """Those of texts, and any others: special ones, parts of characters."""
    chance, count = random.Random(1), len(tokenizer)
    texts = [number for text in TEXTS for number in tokenizer.encode(text)]
    return texts + [chance.randrange(count) for _ in range(60)]


def called(tokenizer: Any) -> list[Any]:
    """Calls of both servers."""
    found = [
        tokenizer(TEXTS, add_special_tokens=add, truncation=cuts, max_length=3 if cuts else None).data
        for add in (True, False) for cuts in (True, False)
    ]  # fmt: skip
    messages = [{"role": "user", "content": TEXTS[1]}]
    found.append(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
    found.append(tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False))
    ids = ids_of(tokenizer)
    found += [tokenizer.convert_ids_to_tokens(ids, skip_special_tokens=skip) for skip in (True, False)]
    found += [tokenizer.batch_decode([ids, [], ids[:3]], skip_special_tokens=skip) for skip in (True, False)]
    found += [tokenizer.decode([number]) for number in ids]
    names = ("all_special_ids", "all_special_tokens", "is_fast", "vocab_size", "model_max_length", "name_or_path")
    return [*found, *(getattr(tokenizer, name) for name in names), sorted(tokenizer.get_added_vocab().items())]


def of_guides(tokenizer: Any) -> list[Any]:
    """What the libraries that constrain output read."""
    found: list[Any] = []
    try:
        from xgrammar import TokenizerInfo

        info = TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        found += [info.decoded_vocab, info.vocab_type, info.add_prefix_space, info.stop_token_ids]
    except ImportError:
        pass
    try:
        from llguidance.hf import from_tokenizer

        guide = from_tokenizer(tokenizer)
        found += [guide.vocab_size, guide.eos_token, [guide.tokenize_str(text) for text in TEXTS]]
        found += [guide.dbg_tokens(list(range(len(tokenizer))))]
    except (ImportError, ValueError) as error:  # it knows no WordPiece
        found.append(type(error).__name__)
    return found


def of_vllm(tokenizer: Any) -> Any:
    from vllm import SamplingParams
    from vllm.tokenizers import maybe_make_thread_pool
    from vllm.tokenizers.detokenizer_utils import convert_ids_list_to_tokens, detokenize_incrementally
    from vllm.v1.engine.detokenizer import FastIncrementalDetokenizer, IncrementalDetokenizer

    ids = ids_of(tokenizer)
    found = [*called(tokenizer), *of_guides(tokenizer), convert_ids_list_to_tokens(tokenizer, ids)]
    texts = [number for text in TEXTS for number in tokenizer.encode(text)]
    unknown = [len(tokenizer) + 5, 2**31, -1, 2**40]
    for skip, spaces in FLAGS:
        for prompt, numbers, stop in ((ids[:7], texts, ["dogs", "fir"]), (None, [*ids, *unknown, *texts], [])):
            params = SamplingParams(skip_special_tokens=skip, spaces_between_special_tokens=spaces, stop=stop)
            request = SimpleNamespace(
                request_id="1", sampling_params=params, prompt_token_ids=prompt, prompt_embeds=None
            )
            stream = IncrementalDetokenizer.from_new_request(tokenizer, request)
            assert type(stream) is FastIncrementalDetokenizer
            stops = [stream.update([number], False) for number in numbers]
            # the pieces may come earlier: HF's stream waits where ours knows that bytes are no character
            found += [stops, stream.output_text, stream.output_token_ids]
        tokens, text, before, read = detokenize_incrementally(tokenizer, ids[:5], None, 0, 0, skip, spaces)
        for end in range(6, 40):
            more, text, before, read = detokenize_incrementally(
                tokenizer, ids[:end], tokens, before, read, skip, spaces
            )
            found.append((tokens := tokens + more, text))
    for other in (copy(tokenizer), deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        found += [type(other).__name__, other.max_token_id, other.max_chars_per_token, other.encode(TEXTS[1])]
    pool = maybe_make_thread_pool(deepcopy(tokenizer), 2)
    found += [type(pool).__name__, pool.max_token_id, *called(pool)]
    return [*found, pickle.loads(pickle.dumps(pool)).encode(TEXTS[1])]


def of_sglang(tokenizer: Any) -> Any:
    from sglang.srt.managers.detokenizer_manager import DetokenizerManager, LimitedCapacityDict

    ids, found = ids_of(tokenizer), [*called(tokenizer), *of_guides(tokenizer)]
    for batched in (True, False):
        manager = object.__new__(DetokenizerManager)
        manager.tokenizer, manager.vocab_size, manager.tool_close_token_ids = tokenizer, len(tokenizer), []
        manager.decode_status, manager.is_tool_call_parser_gpt_oss = LimitedCapacityDict(capacity=9), False
        manager.disable_tokenizer_batch_decode = not batched
        for at in range(0, 50, 2):
            last = at == 48
            output = SimpleNamespace(
                rids=list("abcd"), decoded_texts=[""] * 4, read_offsets=[2] * 4, no_stop_trim=[False] * 4,
                decode_ids=[ids[at + shift : at + shift + (2 if at else 4)] for shift in (0, 3, 5, 8)],
                finished_reasons=[{"type": "stop", "matched": "dogs"} if last else None] * 4,
                skip_special_tokens=[skip for skip, _ in FLAGS],
                spaces_between_special_tokens=[spaces for _, spaces in FLAGS],
            )  # fmt: skip
            found.append(manager._decode_batch_token_id_output(output))
    for other in (copy(tokenizer), deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))):
        found += [type(other).__name__, other.encode(TEXTS[1])]
    return found


def told(server: str, folders: list[Path], value: str) -> list[dict[str, Any]]:
    """What a fresh process of a server, whose plug-ins are loaded, says about tokenizers."""
    env = {**os.environ, "BBPE_ACCELERATE": value, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests/support'}:{ROOT / 'tests'}"}
    command = [sys.executable, "-c", "import sys, test_servers; test_servers.tell(*sys.argv[1:])", server]
    done = subprocess.run([*command, *map(str, folders)], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line.removeprefix("TOLD ")) for line in done.stdout.splitlines() if line.startswith("TOLD ")]


def tell(server: str, *folders: str) -> None:
    import bbpe

    if server == "vllm":
        from vllm.plugins import load_general_plugins
        from vllm.tokenizers import get_tokenizer

        load_general_plugins()
    else:
        from sglang.srt.plugins import load_plugins
        from sglang.srt.utils import hf_transformers_utils

        load_plugins()
        get_tokenizer = hf_transformers_utils.get_tokenizer
    for folder in folders:
        tokenizer = get_tokenizer(folder)
        found = (of_vllm if server == "vllm" else of_sglang)(tokenizer)
        is_accelerated = bbpe.is_accelerated(tokenizer)
        print("TOLD", json.dumps({"is_accelerated": is_accelerated, "found": [repr(each) for each in found]}))


@pytest.mark.parametrize("server", ["vllm", "sglang"])
def test_a_server_does_the_same_with_an_accelerated_tokenizer(server: str, tmp_path: Path) -> None:
    pytest.importorskip(server)
    folders = [folder_of(kind, tmp_path / kind) for kind in KINDS]
    stock, ours = told(server, folders, "0"), told(server, folders, "1")
    assert [each["is_accelerated"] for each in (*stock, *ours)] == [False] * 3 + [True] * 3
    for one, other in zip(stock, ours, strict=True):
        assert len(one["found"]) > 150
        assert other["found"] == one["found"]
