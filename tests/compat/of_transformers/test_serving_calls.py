"""What vLLM, SGLang and TGI ask of a tokenizer of `transformers`, on accelerated and stock ones."""

from __future__ import annotations

import pickle
import warnings
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import pytest

import bbpe

pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
from small_hf import KINDS

CHAT = "{% for m in messages %}<s>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<s>{% endif %}"
MESSAGES = [{"role": "user", "content": "see my dogs"}]
#: Attributes that servers read.
ATTRIBUTES = (
    "all_special_ids", "all_special_tokens", "bos_token_id", "chat_template", "eos_token_id", "is_fast",
    "model_max_length", "name_or_path", "pad_token_id", "padding_side", "special_tokens_map", "truncation_side",
    "vocab_size", "unk_token_id",
)  # fmt: skip
#: Methods that servers call, with arguments.
CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("__call__", ("see my dogs",), {}),
    ("__call__", (["see my dogs", "first"],), {"padding": True}),
    ("__call__", ("see my dogs",), {"add_special_tokens": False, "truncation": True, "max_length": 2}),
    ("encode", ("see my dogs",), {}),
    ("encode", ("see my dogs",), {"add_special_tokens": False}),
    ("encode", ("see my dogs",), {"truncation": True, "max_length": 4}),
    ("decode", ([20, 21, 22],), {"skip_special_tokens": True}),
    ("decode", ([1, 20, 3],), {"skip_special_tokens": True, "spaces_between_special_tokens": True}),
    ("decode", (20,), {}),
    ("batch_decode", ([[20, 21], [22]],), {"skip_special_tokens": True}),
    ("convert_ids_to_tokens", ([1, 20, 21],), {}),
    ("convert_ids_to_tokens", ([1, 20, 21],), {"skip_special_tokens": True}),
    ("convert_tokens_to_ids", (["[SEP]", "s", "none"],), {}),
    ("convert_tokens_to_string", (["[SEP]", "s", "e"],), {}),
    ("get_vocab", (), {}),
    ("get_added_vocab", (), {}),
    ("num_special_tokens_to_add", (), {}),
    ("num_special_tokens_to_add", (), {"pair": True}),
    ("apply_chat_template", (MESSAGES,), {"tokenize": False, "add_generation_prompt": True}),
    ("apply_chat_template", (MESSAGES,), {"add_generation_prompt": True, "return_dict": False}),
    ("pad", ({"input_ids": [[20, 21], [22]]},), {}),
    ("__len__", (), {}),
]


def stock(kind: str) -> Any:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=KINDS[kind](), pad_token="<s>", unk_token="[UNK]", eos_token="[SEP]", bos_token="[CLS]",
        chat_template=CHAT, clean_up_tokenization_spaces=False,
    )  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp("model")
    stock(request.param).save_pretrained(folder)
    load = transformers.AutoTokenizer.from_pretrained
    return bbpe.accelerate(load(folder)), load(folder)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(pair: tuple[Any, Any], name: str) -> None:
    assert getattr(pair[0], name) == getattr(pair[1], name)


@pytest.mark.parametrize(("name", "arguments", "options"), CALLS, ids=lambda value: value if value is str else None)
def test_methods(pair: tuple[Any, Any], name: str, arguments: Any, options: Any) -> None:
    ours, theirs = (getattr(tokenizer, name)(*arguments, **options) for tokenizer in pair)
    assert getattr(ours, "data", ours) == getattr(theirs, "data", theirs)


def test_the_backend(pair: tuple[Any, Any]) -> None:
    """Guided decoding reads the file and the added tokens of the backend."""
    ours, theirs = (tokenizer.backend_tokenizer for tokenizer in pair)
    assert ours.to_str() == theirs.to_str()
    assert {number: token.content for number, token in pair[0].added_tokens_decoder.items()} == {
        number: token.content for number, token in pair[1].added_tokens_decoder.items()
    }
    assert type(ours.model) is type(theirs.model)


def test_a_cached_tokenizer(pair: tuple[Any, Any], tmp_path: Path) -> None:
    """A server makes a copy whose class has properties of what never changes, and sends it to other processes."""

    class Cached(pair[0].__class__):  # type: ignore[misc]
        @property
        def all_special_ids(self) -> list[int]:
            return [7]

    cached = copy(pair[0])
    cached.__class__ = Cached
    copies = [cached, copy(cached), deepcopy(cached)]
    assert [(type(each), each.all_special_ids) for each in copies] == [(Cached, [7])] * 3
    for tokenizer in (*copies, deepcopy(pair[0]), pickle.loads(pickle.dumps(pair[0]))):
        assert bbpe.is_accelerated(tokenizer)
        assert tokenizer.encode("see my dogs") == pair[1].encode("see my dogs")
        tokenizer.save_pretrained(tmp_path)
        assert (tmp_path / "tokenizer.json").exists()


def test_a_cached_tokenizer_says_how_it_is_copied(pair: tuple[Any, Any]) -> None:
    """That of vLLM is made anew of the tokenizer that it was made of, and a pool of them of one that is no pool."""
    kind = type("Cached", (pair[0].__class__,), {"__reduce__": lambda self: (_cached, (pair[0],))})
    cached = copy(pair[0])
    cached.__class__ = kind
    for tokenizer in (copy(cached), deepcopy(cached), pickle.loads(pickle.dumps(cached))):
        assert tokenizer.is_cached
        assert bbpe.is_accelerated(tokenizer)
        assert tokenizer.encode("see my dogs") == pair[1].encode("see my dogs")


def _cached(tokenizer: Any) -> Any:
    made = copy(tokenizer)
    made.is_cached = True
    return made
