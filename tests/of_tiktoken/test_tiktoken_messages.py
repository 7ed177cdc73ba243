"""What `bbpe.tiktoken` says of wrong arguments, and which of several wrong ones it names."""

from __future__ import annotations

import errno
import hashlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from small_published import RANKS, put
from vocabularies import merge_lines, vocab_of

import bbpe
import bbpe.tiktoken
from bbpe.tiktoken import load, model, registry

ENC = bbpe.tiktoken.Encoding(
    "x", pat_str=r"\p{L}+|[^\p{L}]+", mergeable_ranks={token: rank for rank, token in vocab_of().items()},
    special_tokens={"<s>": 300, "<t>": 302},
)  # fmt: skip
WAY_OUT = (
    "; to encode it as a special token pass allowed_special={'<s>'}, to encode it as plain text disallowed_special=() "
    "or (enc.special_tokens_set - {'<s>'})"
)


@pytest.mark.parametrize(
    ("method", "args", "kind", "message"),
    [
        ("decode", ([97, 301, 267],), KeyError, "Invalid token for decoding: 301"),
        ("decode_bytes", ([267, 301],), KeyError, "Invalid token for decoding: 267"),
        ("decode", ([301, 1 << 32, -1],), OverflowError, f"id {1 << 32} is out of range; expected 0 to {2**32 - 1}"),
        ("decode", ([301, -1, 1 << 32],), OverflowError, f"id -1 is out of range; expected 0 to {2**32 - 1}"),
        ("decode", ([(1 << 32) - 1],), KeyError, f"Invalid token for decoding: {(1 << 32) - 1}"),
        ("decode_single_token_bytes", (301,), KeyError, "301"),
        ("decode_single_token_bytes", (1 << 32,), OverflowError, f"id {1 << 32} is out of range; expected 0 to"),
        ("decode_tokens_bytes", ([97, 267, -1],), KeyError, "267"),
        ("decode_with_offsets", ([97, 301, 267],), KeyError, "301"),
        ("decode_batch", ([[97], [98, 301], [267]],), KeyError, "Invalid token for decoding: 301"),
        ("decode_bytes_batch", ([[97], [98, 301], [267]],), KeyError, "Invalid token for decoding: 301"),
        ("encode_single_token", ("zz",), KeyError, repr(b"zz")),
        ("encode_single_token", (b"zz",), KeyError, repr(b"zz")),
        ("encode", (b"a",), TypeError, "a text is str, not bytes"),
        ("encode_ordinary", (None,), TypeError, "a text is str, not NoneType"),
        ("_encode_bytes", ("a",), TypeError, "_encode_bytes takes bytes, not str"),
        ("encode", ("a<t>b<s>",), ValueError, "the text holds the disallowed special token '<t>' at byte 1; to encode"),
        ("encode_batch", (["a", "\u00e9<s>"],), ValueError, f"disallowed special token '<s>' at byte 2{WAY_OUT}"),
        ("encode_with_unstable", ("ab<s>",), ValueError, f"disallowed special token '<s>' at byte 2{WAY_OUT}"),
        ("encode_to_numpy", ("<s>",), ValueError, f"disallowed special token '<s>' at byte 0{WAY_OUT}"),
    ],
)
def test_messages_of_calls(method: str, args: tuple[Any, ...], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        getattr(ENC, method)(*args)
    assert message in str(caught.value)
    if kind is KeyError:
        assert caught.value.args[0] == (b"zz" if "zz" in message else message)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"allowed_special": ["<s>"]}, r'^allowed_special is .*; expected "all" or a set of special tokens$'),
        ({"allowed_special": "<s>"}, r'^allowed_special is .*; expected "all" or a set of special tokens$'),
        ({"disallowed_special": 5}, r'^disallowed_special is .*; expected "all" or a collection of special tokens$'),
        ({"disallowed_special": b"<s>"}, r"^disallowed_special is .*; expected \"all\" or a collection of special tok"),
    ],
)
def test_messages_of_choices(options: dict[str, Any], message: str) -> None:
    calls: list[tuple[Any, Any]] = [(ENC.encode, "a"), (ENC.encode_to_numpy, "a"), (ENC.encode_batch, ["a"])]
    for call, text in calls:
        with pytest.raises(TypeError, match=message):
            call(text, **options)


def test_columns_are_searched_for_what_a_call_disallows() -> None:
    pa = pytest.importorskip("pyarrow")
    texts = ["the", "a<s>", "\u00e9<t>", ""]
    column = pa.array(texts)
    plain = [ENC.encode_ordinary(text) for text in texts]
    assert ENC.encode_batch(column, disallowed_special=()) == plain
    assert ENC.encode_batch(column, disallowed_special={"no such"}) == plain
    assert ENC.encode_ordinary_batch(column) == plain
    every = [[257], [64, 300], [*ENC.encode_ordinary("\u00e9"), 302], []]
    assert ENC.encode_batch(column, allowed_special="all") == every
    some = ENC.encode_batch(column, allowed_special={"<s>"}, disallowed_special=())
    assert some == [every[0], every[1], plain[2], []]
    refusals: list[tuple[dict[str, Any], str]] = [
        ({}, "'<s>' at byte 1"), ({"allowed_special": {"<s>"}}, "'<t>' at byte 2"),
        ({"disallowed_special": {"<t>"}}, "'<t>' at byte 2"), ({"disallowed_special": ["he"]}, "'he' at byte 1"),
    ]  # fmt: skip
    for options, found in refusals:
        for many in (column, texts):
            with pytest.raises(ValueError, match=f"the disallowed special token {found};"):
                ENC.encode_batch(many, **options)


def test_it_is_named_in_its_text() -> None:
    assert repr(ENC) == "<Encoding 'x'>"
    unnamed = bbpe.train_from_iterator(["low low"], 258).as_tiktoken()
    assert (unnamed.name, repr(unnamed)) == ("unnamed", "<Encoding 'unnamed'>")
    assert (ENC.n_vocab, ENC.max_token_value) == (303, 302)


def test_files_that_are_not_there_or_not_the_expected_ones(tmp_path: Path, bare: Path) -> None:
    url = "https://example.org/ranks"
    for call in (load.read_file, load.read_file_cached, load.load_tiktoken_bpe):
        with pytest.raises(FileNotFoundError, match="bbpe downloads nothing, and the file is not in") as gone:
            call(url)
        assert (gone.value.errno, gone.value.filename) == (errno.ENOENT, url)
    path, digest = put(tmp_path / "ranks.tiktoken"), hashlib.sha256(RANKS).hexdigest()
    assert load.read_file(str(path)) == load.read_file_cached(str(path), "") == RANKS
    assert load.check_hash(RANKS, digest) is True
    assert load.check_hash(RANKS, digest.upper()) is False
    cached = put(bare / "home/tiktoken" / hashlib.sha1(url.encode()).hexdigest())
    for source, shown in ((str(path), path), (url, cached)):
        with pytest.raises(bbpe.VocabularyError) as caught:
            load.read_file_cached(source, "0" * 64)
        assert str(caught.value) == f"{shown}: the SHA-256 is {digest}; expected {'0' * 64}"


def test_files_of_gpt2_that_do_not_agree_are_both_named(tmp_path: Path) -> None:
    merges, ids = tmp_path / "vocab.bpe", tmp_path / "encoder.json"
    merges.write_text("".join(f"{line}\n" for line in ["#version: 0.2", *merge_lines()]), "utf-8")
    ids.write_text(json.dumps({"a": 0}), "utf-8")
    for clobbers in (False, True):
        with pytest.raises(bbpe.VocabularyError) as caught:
            load.data_gym_to_mergeable_bpe_ranks(str(merges), str(ids), clobber_one_byte_tokens=clobbers)
        assert str(caught.value) == f"{ids}: the ids are not in the order of the merges of {merges}"
    wrong: Any = 1
    with pytest.raises(TypeError, match="clobber_one_byte_tokens"):
        load.data_gym_to_mergeable_bpe_ranks(str(merges), str(ids), clobber_one_byte_tokens=wrong)


def test_names_of_models_and_encodings() -> None:
    for name, near in (("gpt-4x", "gpt-4"), ("text-davinci-03", "text-davinci-003")):
        if name.startswith(tuple(model.MODEL_PREFIX_TO_ENCODING)):
            continue
        with pytest.raises(KeyError, match=f"the encoding of model '{name}' is not known.*'{near}'") as caught:
            model.encoding_name_for_model(name)
        assert caught.value.args[0].endswith("; name the encoding: get_encoding()")
        assert caught.value.args[0].count("'") <= 2 + 3 * 2
    wrong: Any = 4
    with pytest.raises(TypeError, match="model_name must be the name of a model, a str, not int"):
        model.encoding_name_for_model(wrong)
    with pytest.raises(bbpe.VocabularyError, match=r"^an encoding name is a str, not int$"):
        bbpe.tiktoken.get_encoding(wrong)
    listed = registry.list_encoding_names()
    assert len(listed) == len(set(listed))
    assert {"gpt2", "p50k_base", "cl100k_base", "o200k_base", "o200k_harmony"} <= set(listed)
    assert not {"llama3", "qwen"} & set(listed)


def test_installing_after_the_package_names_the_way_out() -> None:
    code = (
        "import sys, types\nsys.modules['tiktoken'] = types.ModuleType('tiktoken')\nimport bbpe.tiktoken\n"
        "try:\n    bbpe.tiktoken.install()\nexcept ImportError as error:\n    print(error)\n"
    )
    made = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "tiktoken is already imported" in made.stdout
    assert "install()" in made.stdout


class Repaired(Sequence[int]):
    """Ids that another thread makes right as soon as they were read."""

    reads = 0

    def __len__(self) -> int:
        return 2

    def __getitem__(self, at: Any) -> Any:
        self.reads += 1
        return [97, 301 if self.reads <= 2 else 98][at]


@pytest.mark.parametrize("method", ["decode", "decode_bytes"])
def test_wrong_ids_that_are_right_when_they_are_looked_for(method: str) -> None:
    with pytest.raises(RuntimeError, match=r"^the ids were written to while they were decoded$"):
        getattr(ENC, method)(Repaired())
