"""The view as a tokenizer of `transformers`, tried with the real package."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import warnings

import pytest
from strings import adversarial_strings
from vocabularies import MERGES, small_spec, vocab_of, write_json

import bbpe
from bbpe.records import replace
from bbpe.spec.rules import Template
from bbpe.spec.spec import make_spec
from bbpe.tokenizer import Tokenizer

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")

# HF always finds special tokens
TEXTS = [text for text in adversarial_strings(60, seed=61) if text and "<|endoftext|>" not in text]
CHAT = "{% for m in messages %}<s>{{ m['role'] }}: {{ m['content'] }}<|endoftext|>{% endfor %}"
MESSAGES = [{"role": "user", "content": "the thing"}, {"role": "assistant", "content": "in the"}]


@pytest.fixture(scope="module")
def tok(tok_of):
    specials = {"<|endoftext|>": 600, "<s>": 601, "<pad>": 602}
    template = Template(((601, 0), ("A", 0), (600, 0)), ((601, 0), ("A", 0), (600, 0), ("B", 1), (600, 1)))
    trained = tok_of("cl100k")
    return Tokenizer(
        make_spec(
            dict(trained.spec.vocab.items()), trained.merges, pattern=trained.spec.pattern, special_tokens=specials,
            template=template,
        )
    )  # fmt: skip


@pytest.fixture(scope="module")
def view(tok):
    return tok.as_huggingface(pad_token="<pad>", chat_template=CHAT)


def test_ids(tok, view):
    assert isinstance(view, transformers.PreTrainedTokenizerFast)
    for text in [*TEXTS, "a<s>b<|endoftext|>"]:
        ids = tok.encode(text, allowed_special="all", add_special_tokens=True)
        assert view(text)["input_ids"] == ids
        assert view.encode(text, add_special_tokens=False) == ids[1:-1]
        assert view.decode(ids) == tok.decode(ids)
        assert view.decode(ids, skip_special_tokens=True) == tok.decode(ids, skip_special_tokens=True)
    assert view("a", "b")["input_ids"] == [601, *tok.encode("a"), 600, *tok.encode("b"), 600]
    assert view("a", "b", return_token_type_ids=True)["token_type_ids"] == [0, 0, 0, 1, 1]
    assert (len(view), view.eos_token_id, view.pad_token_id) == (len(tok), 600, 602)
    assert {token for token, _ in view.get_vocab().items()} == set(tok.get_vocab())


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_and_truncation(tok, side):
    view = tok.as_huggingface(pad_token="<pad>", padding_side=side)
    batch = view(TEXTS, padding=True, truncation=True, max_length=20, return_tensors="np", add_special_tokens=False)
    ids, mask = tok.encode_padded(TEXTS, 20, 602, side)
    assert (batch["input_ids"] == ids).all()
    assert (batch["attention_mask"] == mask).all()
    batch = view(TEXTS, padding=True, truncation=True, max_length=32, return_tensors="np", pad_to_multiple_of=16)
    ids, mask = tok.encode_padded(TEXTS, 32, 602, side, 16, add_special_tokens=True)
    assert (batch["input_ids"] == ids).all()
    assert (batch["attention_mask"] == mask).all()


def test_offsets(tok, view):
    for text in TEXTS:
        encoded = view(text, return_offsets_mapping=True, add_special_tokens=False)
        assert [list(pair) for pair in encoded["offset_mapping"]] == tok.encode_with_offsets(text)[1].tolist()


def test_chat(tok, view):
    text = "<s>user: the thing<|endoftext|><s>assistant: in the<|endoftext|>"
    assert view.apply_chat_template(MESSAGES, tokenize=False) == text
    ids = view.apply_chat_template(MESSAGES, tokenize=True, return_dict=False)
    assert ids == tok.encode(text, allowed_special="all")


def test_saving(tok, view, tmp_path):
    view.save_pretrained(tmp_path)
    again = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path)
    back = bbpe.load(tmp_path)
    assert back.special_tokens == tok.special_tokens
    third = back.as_huggingface()
    for text in TEXTS:
        ids = tok.encode(text, add_special_tokens=True)
        assert again(text)["input_ids"] == back.encode(text, add_special_tokens=True) == third(text)["input_ids"] == ids
    assert third.apply_chat_template(MESSAGES, tokenize=False) == view.apply_chat_template(MESSAGES, tokenize=False)
    assert third.pad_token == "<pad>"
    assert pickle.loads(pickle.dumps(view))("the")["input_ids"] == view("the")["input_ids"]


def test_what_lies_beside_the_file(tmp_path):
    tok = Tokenizer(small_spec())
    tok.save(tmp_path / "tokenizer.json")
    config = {"model_max_length": 7, "pad_token": {"content": "<|endoftext|>"}, "unk_token": "<unknown>"}
    write_json(tmp_path / "tokenizer_config.json", config)
    (tmp_path / "chat_template.jinja").write_text(CHAT)
    view = bbpe.load(tmp_path).as_huggingface()
    assert (view.model_max_length, view.pad_token, view.unk_token) == (7, "<|endoftext|>", "<unknown>")
    assert view.chat_template == CHAT
    assert len(view) == len(bbpe.load(tmp_path)) == len(tok) + 1  # with the token that the config names
    assert view.eos_token == "<|endoftext|>"
    assert bbpe.load(tmp_path).as_huggingface(model_max_length=9).model_max_length == 9
    for wrong in ("[]", "{"):
        (tmp_path / "tokenizer_config.json").write_text(wrong)
        with pytest.raises(bbpe.VocabularyError, match=r"tokenizer_config\.json"):
            bbpe.load(tmp_path).as_huggingface()


def test_settings_of_the_files_in_their_order(tmp_path):
    """The options of a call come before the configuration, and this before the map of special tokens."""
    specials = {"<|endoftext|>": 300, "<a>": 301, "<b>": 302, "<c>": 303, "<img>": 304}
    Tokenizer(small_spec(special_tokens=specials)).save(tmp_path / "tokenizer.json")
    write_json(tmp_path / "special_tokens_map.json", {"pad_token": "<a>", "bos_token": {"content": "<a>"}})
    config = {
        "pad_token": "<b>", "cls_token": {"content": "<c>"}, "truncation_side": "left", "padding_side": "left",
        "clean_up_tokenization_spaces": True, "model_input_names": ["input_ids"], "image_token": "<img>",
        "mask_token": None,
    }  # fmt: skip
    write_json(tmp_path / "tokenizer_config.json", config)
    loaded = bbpe.load(tmp_path)
    view = loaded.as_huggingface()
    assert (view.bos_token, view.pad_token, view.cls_token, view.eos_token) == ("<a>", "<b>", "<c>", "<|endoftext|>")
    assert (view.truncation_side, view.padding_side, view.model_input_names) == ("left", "left", ["input_ids"])
    assert view.clean_up_tokenization_spaces
    assert view.image_token == "<img>"
    assert view.mask_token is None
    given = {"pad_token": "<c>", "truncation_side": "right", "eos_token": "<a>", "clean_up_tokenization_spaces": False}
    view = loaded.as_huggingface(**given)
    assert {name: getattr(view, name) for name in given} == given
    assert (view.bos_token, view.padding_side) == ("<a>", "left")
    assert len(view) == len(loaded)
    with pytest.raises(TypeError, match="truncation_sid"):
        loaded.as_huggingface(truncation_sid="left")
    assert not Tokenizer(small_spec()).as_huggingface().clean_up_tokenization_spaces


def test_a_token_of_the_map_that_the_vocabulary_lacks_gets_no_id(tmp_path):
    Tokenizer(small_spec()).save(tmp_path / "tokenizer.json")
    spec = bbpe.load(tmp_path).spec
    spec = replace(spec, files={"special_tokens_map.json": b'{"mask_token": "<mask>", "pad_token": "<|endoftext|>"}'})
    view = Tokenizer(spec).as_huggingface()
    assert (view.mask_token, view.pad_token, len(view)) == (None, "<|endoftext|>", len(Tokenizer(spec)))


def test_ranks_and_added_tokens(tmp_path):
    spec = make_spec(
        vocab_of(), None, pattern=small_spec().pattern, added_tokens={"<think>": 300}, special_tokens={"<s>": 301}
    )
    tok = Tokenizer(spec)
    view = tok.as_huggingface()
    for text in ["the thing<think>in<s>", *TEXTS]:
        assert view(text)["input_ids"] == tok.encode(text, allowed_special="all")
    assert tok.merges == list(MERGES)


def test_without_the_package():
    code = (
        "import sys; sys.modules['transformers'] = None\n"
        "import bbpe\n"
        "tok = bbpe.train_from_iterator(['low'], 257)\n"
        "try: tok.as_huggingface()\n"
        "except ImportError as error: assert 'bbpe[huggingface]' in str(error)\n"
        "else: raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.full
@pytest.mark.parametrize("name", ["gpt2.tokenizer.json", "deepseek_v3.tokenizer.json", "o200k_base.tiktoken"])
def test_published(vocab_path, corpus, name):
    tok = bbpe.load(vocab_path(name))
    view = tok.as_huggingface()
    text = corpus("multi", 200_000)
    assert view(text, add_special_tokens=False)["input_ids"] == tok.encode(text)
    assert json.loads(view.backend_tokenizer.to_str())["model"]["type"] == "BPE"
