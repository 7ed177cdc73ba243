"""Types of tokens, of tables, and BOS of GGUF files, as llama.cpp v0.5.0 changes or chooses them."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any

import pytest
from charsmap_tables import compiled_table
from gguf_files import PREFIX, piece_vocabulary, vocabulary
from test_gguf import write
from vocabularies import keys

import bbpe


@pytest.mark.parametrize(
    ("texts", "special", "changes"),
    [
        # what llama.cpp v0.5.0 makes control tokens of, whatever type the file has
        ("<|im_end|> <|eot_id|> <end_of_turn> </s> <eos> <EOT> [EOS] <turn|> [e~[", "all", {}),
        ("<|im_start|> <think> <s> <bos> <pad> <|tool_call|>", "", {}),
        ("<|end|> <|call|> <|return|>", "<|call|> <|return|>", {}),
        ("<|end|> <|calls|> <|flush|>", "<|calls|> <|flush|>", {}),
        ("<|end|> <|call|> <|flush|>", "<|call|> <|flush|>", {}),
        ("<|end|> <|return|> <|flush|>", "all", {}),
        ("<|end|> <|call|>", "all", {}),
        ("<|channel|> <|message|> <|start|> <|constrain|>", "", {}),
        ("</s> <|tool_response>", "<|tool_response>", {}),
        ("<PRE> <SUF>", "all", {}),
        ("<PRE> <SUF>", "<SUF>", {"fim_pre_token_id": 5}),
        ("<PRE> <SUF>", "<PRE>", {"suffix_token_id": 5}),
        ("<PRE> <SUF>", "all", {"suffix_token_id": 5000}),
    ],
)
@pytest.mark.parametrize("kind", [3, 4])
def test_types_follow_texts(tmp_path: Path, texts: str, special: str, changes: dict[str, Any], kind: int) -> None:
    tokens = texts.split()
    changes |= {"bos_token_id": 0, "eos_token_id": 0, "pre": "gpt-2"}
    values = vocabulary(tokens=[*keys(), *tokens], token_type=[1] * len(keys()) + [kind] * len(tokens), **changes)
    tok = bbpe.load(write(tmp_path / "x.gguf", values))
    if kind == 3 and special != "all":  # only some control tokens are made others
        made = {"<|end|>", "<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "</s>"} - set(special.split())
        expected = set(tokens) - made
    else:
        expected = set(tokens) if special == "all" else set(special.split())
    assert set(tok.special_tokens) == expected
    for token in tokens:
        if token != "</s>":
            number = len(keys()) + tokens.index(token)
            assert (number in tok.encode(f"a{token}b")) is (token not in expected)
            assert number in tok.encode(f"a{token}b", allowed_special="all")


def test_an_ordinary_token_may_be_a_control_token_too(tmp_path: Path) -> None:
    tokens = ["<|im_end|>", "the", "<|end|>", "<|im_start|>"]
    values = vocabulary(tokens=[*list(keys())[:256], *tokens], token_type=[1] * 260, merges=[], eos_token_id=257)
    tok = bbpe.load(write(tmp_path / "x.gguf", {**values, "tokenizer.ggml.bos_token_id": 0}))
    assert tok.special_tokens == {"<|im_end|>": 256, "<|end|>": 258}
    assert tok.encode("<|im_end|><|im_start|>", allowed_special="all")[0] == 256
    assert 256 not in tok.encode("<|im_end|>")


@pytest.mark.parametrize(
    ("pre", "changes", "added"),
    [
        ("llama-bpe", {"bos_token_id": 266}, [266]),
        ("tekken", {"bos_token_id": 266}, [266]),
        ("chameleon", {"bos_token_id": 266}, [266]),
        ("llama-bpe", {"bos_token_id": ...}, [11]),  # as llama.cpp v0.5.0
        ("llama-bpe", {"bos_token_id": 266, "add_bos_token": False}, []),
        ("gpt-2", {"bos_token_id": 266}, []),
        ("qwen2", {"bos_token_id": 266, "add_bos_token": True}, [266]),
    ],
)
def test_bos_by_the_name_of_the_pre_tokenizer(
    tmp_path: Path, pre: str, changes: dict[str, Any], added: list[int]
) -> None:
    values = vocabulary(**{"add_bos_token": ..., "pre": pre, **changes})
    tok = bbpe.load(write(tmp_path / "x.gguf", values))
    assert tok.encode("the", add_special_tokens=True) == [*added, *tok.encode("the")]


@pytest.mark.parametrize("kind", ["a string", "unsigned bytes", "signed bytes", "numbers"])
def test_a_table_of_the_normalizer_is_bytes_of_any_kind(tmp_path: Path, kind: str) -> None:
    """A converter may write it in each of these ways."""
    table = compiled_table({"A": "a", "é": "e"})
    signed = [byte - 256 if byte > 127 else byte for byte in table]
    values = {
        "a string": pack("<IQ", 8, len(table)) + table,
        "unsigned bytes": pack("<IIQ", 9, 0, len(table)) + table,
        "signed bytes": pack("<IIQ", 9, 1, len(table)) + pack(f"<{len(table)}b", *signed),
        "numbers": [*table],
    }
    tok = bbpe.load(write(tmp_path / "a.gguf", piece_vocabulary("t5", precompiled_charsmap=values[kind])))
    plain = bbpe.load(write(tmp_path / "b.gguf", piece_vocabulary("t5")))
    assert tok.encode("thA é") == plain.encode("tha e") != plain.encode("thA é")


@pytest.mark.parametrize("model", ["t5", "llama"])
def test_the_first_of_several_unknown_tokens_stands_for_what_is_unknown(tmp_path: Path, model: str) -> None:
    plain = piece_vocabulary(model)
    texts, kinds, scores = (plain[f"{PREFIX}{name}"] for name in ("tokens", "token_type", "scores"))
    changes = {"tokens": [*texts, "<?>"], "token_type": [*kinds, 2], "scores": [*scores, 0.0]}
    first, tok = (bbpe.load(write(tmp_path / "a.gguf", piece_vocabulary(model, **each))) for each in ({}, changes))
    assert tok.special_tokens == {**first.special_tokens, "<?>": len(texts)}
    assert tok.encode("the \u4e01 <?>") == first.encode("the \u4e01 <?>")
    assert (tok.unk_token, tok.unk_token_id) == (first.unk_token, first.unk_token_id) == ("<unk>", 0)


@pytest.mark.parametrize("model", ["gpt2", "t5", "llama"])
def test_a_given_special_token_is_no_added_token_too(tmp_path: Path, model: str) -> None:
    values = vocabulary() if model == "gpt2" else piece_vocabulary(model)
    plain = bbpe.load(write(tmp_path / "a.gguf", values))
    token_id = plain.token_to_id("<tool>")
    assert plain.spec.added_tokens == {"<tool>": token_id}
    tok = bbpe.load(tmp_path / "a.gguf", special_tokens={"<tool>": token_id})
    assert (tok.special_tokens, tok.spec.added_tokens) == ({"<tool>": token_id}, {})
    assert token_id in plain.encode("the<tool>")
    assert token_id in tok.encode("the<tool>", allowed_special="all")
