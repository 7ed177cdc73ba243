"""`bbpe.tiktoken` in place of the package, side by side with it, and in other packages."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_published import RANKS, SPECIAL, put
from strings import adversarial_strings
from vocabularies import vocab_of

import bbpe
import bbpe.tiktoken
from bbpe.published import names
from bbpe.tiktoken import core, load, model, registry
from bbpe.tiktoken.core import ENCODINGS

PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GIVEN: dict[str, Any] = {
    "pat_str": PATTERN,
    "mergeable_ranks": {token: rank for rank, token in vocab_of().items()},
    "special_tokens": SPECIAL,
}
TEXTS = [*adversarial_strings(40, seed=71), "the<s>the", "<|endoftext|>", ""]
IMPORTER = """
import bbpe.tiktoken
bbpe.tiktoken.install()
bbpe.tiktoken.install()
import tiktoken, tiktoken.model
from tiktoken.core import Encoding
from tiktoken.load import load_tiktoken_bpe
from tiktoken.registry import ENCODINGS
assert tiktoken is bbpe.tiktoken and tiktoken.Encoding is Encoding is bbpe.tiktoken.Encoding
assert tiktoken.model.encoding_name_for_model("gpt-4o") == "o200k_base" and ENCODINGS == {}
bbpe.tiktoken.uninstall()
import sys
assert not [name for name in sys.modules if name.partition(".")[0] == "tiktoken"]
"""
PACKAGES = {
    "litellm": "assert litellm.decode(model='gpt-4', tokens=litellm.encode(model='gpt-4', text=TEXT)) == TEXT; "
    "from litellm.litellm_core_utils.default_encoding import encoding as made",
    "langchain_text_splitters": "splitter = langchain_text_splitters.TokenTextSplitter("
    "'cl100k_base', chunk_size=20, chunk_overlap=2); assert ''.join(splitter.split_text(TEXT)); "
    "made = splitter._tokenizer",
    "chonkie": "made = bbpe.tiktoken.get_encoding('cl100k_base'); "
    "assert chonkie.TokenChunker(made, chunk_size=9).chunk(TEXT)[0].token_count == 9",
    "llama_index.core": "from llama_index.core.node_parser import SentenceSplitter; "
    "splitter = SentenceSplitter(chunk_size=30, chunk_overlap=2); assert splitter.split_text(TEXT); "
    "made = splitter._tokenizer.func.__self__",
}


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def small(bare: Path, monkeypatch: pytest.MonkeyPatch) -> bbpe.tiktoken.Encoding:
    monkeypatch.setattr(bbpe.tiktoken.core, "ENCODINGS", ENCODINGS)
    for name in ("small", "mine", "other"):
        monkeypatch.setitem(ENCODINGS, name, None)
        ENCODINGS.pop(name)
    put(bare / "home/cache/bbpe/small.tiktoken")
    return bbpe.tiktoken.get_encoding("small")


# -- encodings of one's own -----------------------------------------------------------------------------------


def test_an_encoding_of_ones_own() -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ours, theirs = bbpe.tiktoken.Encoding("x", **GIVEN), tiktoken.Encoding("x", **GIVEN)
    assert repr(ours) == repr(theirs)
    for name in ("name", "n_vocab", "max_token_value", "special_tokens_set", "_pat_str", "_mergeable_ranks"):
        assert getattr(ours, name) == getattr(theirs, name)
    for text in TEXTS:
        assert ours.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all")
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert {name for name in dir(tiktoken) if not name.startswith("_")} <= set(dir(bbpe.tiktoken))


def test_the_number_of_tokens_is_checked() -> None:
    dense = {**GIVEN, "special_tokens": {"<s>": len(vocab_of())}}
    assert bbpe.tiktoken.Encoding("x", **dense, explicit_n_vocab=len(vocab_of()) + 1).n_vocab == len(vocab_of()) + 1
    for wrong in (len(vocab_of()), len(vocab_of()) + 2):
        with pytest.raises(ValueError, match=f"explicit_n_vocab is {wrong}, "):
            bbpe.tiktoken.Encoding("x", **dense, explicit_n_vocab=wrong)


def test_a_gap_is_not_hidden_by_the_right_number() -> None:
    size = len(vocab_of())
    theirs = pytest.importorskip("tiktoken")
    given = {**GIVEN, "special_tokens": {"<s>": size + 5}}
    assert bbpe.tiktoken.Encoding("x", **given).n_vocab == size + 6
    for number in (size + 1, size + 6):
        with pytest.raises(ValueError, match=f"ids up to {size + 5}; expected {size + 1} ids without a gap"):
            bbpe.tiktoken.Encoding("x", **given, explicit_n_vocab=number)
        with pytest.raises(AssertionError):
            theirs.Encoding("x", **given, explicit_n_vocab=number)


def test_a_regex_is_not_the_name_of_a_pattern() -> None:
    assert bbpe.tiktoken.Encoding("x", **{**GIVEN, "pat_str": "gpt2"})._pat_str == "gpt2"


def test_special_tokens_are_refused_at_a_byte() -> None:
    enc = bbpe.tiktoken.Encoding("x", **GIVEN)
    with pytest.raises(ValueError, match="'<s>' at byte 2;"):
        enc.encode("é<s>")


# -- names ----------------------------------------------------------------------------------------------------


def test_encodings_by_name(small: bbpe.tiktoken.Encoding) -> None:
    assert bbpe.tiktoken.get_encoding("small") is small is registry.ENCODINGS["small"]
    assert small.encode("the<s>", allowed_special="all") == [257, 301]
    for wrong in ("smal", 3):
        with pytest.raises(ValueError, match=r"smal|int"):
            bbpe.tiktoken.get_encoding(wrong)  # type: ignore[arg-type]


def test_threads_get_the_same_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    meeting = threading.Barrier(4)

    def define() -> dict[str, Any]:
        meeting.wait(10)  # all of them make one
        return {"name": "own", **GIVEN}

    monkeypatch.setitem(registry.ENCODING_CONSTRUCTORS, "own", define)
    monkeypatch.setattr(core, "ENCODINGS", {})
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(bbpe.tiktoken.get_encoding, ["own"] * 4))
    assert all(enc is made[0] for enc in made)


def test_encodings_are_pickled_by_name_and_others_by_content(small: bbpe.tiktoken.Encoding) -> None:
    assert len(pickle.dumps(small)) < 100
    own = bbpe.tiktoken.Encoding("small", **{**GIVEN, "special_tokens": {"<p>": 1000}})
    for enc in (small, own):
        for again in (pickle.loads(pickle.dumps(enc)), copy.copy(enc), copy.deepcopy(enc)):
            assert again.special_tokens_set == enc.special_tokens_set
            assert again.encode("the<p>", allowed_special="all") == enc.encode("the<p>", allowed_special="all")
    tiktoken = pytest.importorskip("tiktoken")
    again = bbpe.tiktoken.Encoding.__new__(bbpe.tiktoken.Encoding)
    again.__setstate__(tiktoken.Encoding("x", **GIVEN).__getstate__())
    assert again.encode("the") == [257]


def test_names_of_models() -> None:
    theirs = pytest.importorskip("tiktoken.model")
    assert (model.MODEL_TO_ENCODING, model.MODEL_PREFIX_TO_ENCODING) == (
        theirs.MODEL_TO_ENCODING, theirs.MODEL_PREFIX_TO_ENCODING,
    )  # fmt: skip
    # the first prefix counts
    assert list(model.MODEL_PREFIX_TO_ENCODING.items()) == list(theirs.MODEL_PREFIX_TO_ENCODING.items())
    for prefix in theirs.MODEL_PREFIX_TO_ENCODING:
        for name in (prefix, f"{prefix}x"):
            assert model.encoding_name_for_model(name) == theirs.encoding_name_for_model(name), name
    assert bbpe.tiktoken.encoding_name_for_model("gpt-4o-mini") == theirs.encoding_name_for_model("gpt-4o-mini")
    assert set(bbpe.tiktoken.list_encoding_names()) >= set(pytest.importorskip("tiktoken").list_encoding_names())
    for wrong, near in (("gpt-6", "gpt-"), ("claude-sonnet-4-5", "not known")):
        with pytest.raises(KeyError, match=near):
            bbpe.tiktoken.encoding_for_model(wrong)


def test_plugins_and_constructors(
    small: bbpe.tiktoken.Encoding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path / "tiktoken_ext/mine.py", b"import given\nENCODING_CONSTRUCTORS = {'mine': lambda: given.given}")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(sys.modules, "given", type("Given", (), {"given": {"name": "mine", **GIVEN}}))
    monkeypatch.delitem(sys.modules, "tiktoken_ext", raising=False)
    names.plugin_constructors.cache_clear()
    try:
        assert "mine" in bbpe.tiktoken.list_encoding_names()
        assert bbpe.tiktoken.get_encoding("mine").encode("the") == bbpe.get_encoding("mine").encode("the") == [257]
        assert bbpe.get_encoding("mine").name == "mine"
        with pytest.raises(bbpe.VocabularyError, match="unknown vocabulary 'yours'"):
            bbpe.get_encoding("yours")
    finally:
        names.plugin_constructors.cache_clear()
    assert "other" not in bbpe.tiktoken.list_encoding_names()
    monkeypatch.setitem(registry.ENCODING_CONSTRUCTORS, "other", lambda: {"name": "other", **GIVEN})
    assert bbpe.tiktoken.list_encoding_names().count("other") == 1
    assert bbpe.tiktoken.get_encoding("other").encode("the") == [257]


# -- files ----------------------------------------------------------------------------------------------------


def test_rank_files(tmp_path: Path, bare: Path) -> None:
    path, url = tmp_path / "ranks.tiktoken", "https://example.org/ranks"
    load.dump_tiktoken_bpe(GIVEN["mergeable_ranks"], str(path))
    assert path.read_bytes() == RANKS
    digest = hashlib.sha256(RANKS).hexdigest()
    assert load.load_tiktoken_bpe(str(path), digest) == GIVEN["mergeable_ranks"]
    theirs = pytest.importorskip("tiktoken.load")
    assert theirs.load_tiktoken_bpe(str(path)) == load.load_tiktoken_bpe(str(path))
    with pytest.raises(ValueError, match="expected 0000"):
        load.load_tiktoken_bpe(str(path), "0" * 64)
    with pytest.raises(ValueError, match="line 1"):
        load.load_tiktoken_bpe(str(put(path, b"not base64 3")))
    with pytest.raises(FileNotFoundError, match="downloads nothing"):
        load.load_tiktoken_bpe(url)
    put(bare / "home/tiktoken" / hashlib.sha1(url.encode()).hexdigest())
    assert load.load_tiktoken_bpe(url, digest) == GIVEN["mergeable_ranks"]


@pytest.mark.parametrize(
    ("ranks", "problem"),
    [
        ({b"a": 0, b"b": 0}, r"tokens b'a' and b'b' have the same rank 0"),
        ({b"a": 0, b"b": 1.5}, r"found 1\.5: b'b'"),
        ({b"a": True}, r"found True: b'a'"),
        ({b"a": "0"}, r"found '0': b'a'"),
        ({b"a": None}, r"found None: b'a'"),
        ({"a": 0}, r"found 0: 'a'"),
        ({b"a": -1}, r"token b'a' has id -1; expected 0 to"),
        ({b"a": 2**40}, rf"token b'a' has id {2**40}; expected 0 to"),
        ({}, r"bpe_ranks has no token"),
        ([b"a"], r"bpe_ranks must be a mapping of tokens to ranks, not list"),
    ],
)
def test_ranks_that_no_file_holds_are_not_written(ranks: Any, problem: str, tmp_path: Path) -> None:
    path = put(tmp_path / "ranks.tiktoken", b"YQ== 0\n")
    with pytest.raises((TypeError, bbpe.VocabularyError), match=problem):
        load.dump_tiktoken_bpe(ranks, str(path))
    assert path.read_bytes() == b"YQ== 0\n"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    """Ranks with gaps, in any order, of NumPy, and the empty token, which Whisper's files have."""
    for ranks in ({b"b": 7, b"a": 2}, {b"a": np.int64(3), b"": 5}):
        load.dump_tiktoken_bpe(ranks, str(tmp_path / "ranks.tiktoken"))
        assert load.load_tiktoken_bpe(str(tmp_path / "ranks.tiktoken")) == ranks


def test_the_two_files_of_gpt2(bare: Path) -> None:
    theirs = pytest.importorskip("tiktoken.load")
    files = [str(bare / "files" / name) for name in ("merges", "vocab")]
    found = load.data_gym_to_mergeable_bpe_ranks(*files, clobber_one_byte_tokens=True)
    assert found == theirs.data_gym_to_mergeable_bpe_ranks(*files, clobber_one_byte_tokens=True)
    text = Path(files[1]).read_text("utf-8")
    assert load.data_gym_to_mergeable_bpe_ranks(*files) == found
    digests = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files]
    assert load.data_gym_to_mergeable_bpe_ranks(*files, *digests) == found
    for wrong in ([digests[1], digests[1]], [digests[0], digests[0]]):
        with pytest.raises(ValueError, match="SHA-256"):
            load.data_gym_to_mergeable_bpe_ranks(*files, *wrong)
    # special tokens are no merges
    more = {**json.loads(text), "<|endoftext|>": 50_000, "<|startoftext|>": 50_001}
    given = [files[0], str(put(bare / "files/more", json.dumps(more).encode()))]
    assert load.data_gym_to_mergeable_bpe_ranks(*given) == found == theirs.data_gym_to_mergeable_bpe_ranks(*given)
    # files in which single bytes have other ids than those of GPT-2
    ids = json.loads(text)
    ids["a"], ids["b"] = ids["b"], ids["a"]
    others = [files[0], str(put(bare / "files/others", json.dumps(ids).encode()))]
    found = load.data_gym_to_mergeable_bpe_ranks(*others, clobber_one_byte_tokens=True)
    assert found == theirs.data_gym_to_mergeable_bpe_ranks(*others, clobber_one_byte_tokens=True)
    assert (found[b"a"], found[b"b"]) == (ids["a"], ids["b"])
    with pytest.raises(ValueError, match="order of the merges"):
        load.data_gym_to_mergeable_bpe_ranks(*others)
    put(Path(files[1]), text.replace("256", "1256").encode())
    with pytest.raises(ValueError, match="order of the merges"):
        load.data_gym_to_mergeable_bpe_ranks(*files)


# -- other packages -------------------------------------------------------------------------------------------


def test_other_packages_import_it() -> None:
    run(IMPORTER)


def test_it_does_not_replace_a_package_that_is_in_use() -> None:
    pytest.importorskip("tiktoken")
    calls = "try:\n    bbpe.tiktoken.install()\nexcept ImportError:\n    pass\nelse:\n    1/0"
    kept = "bbpe.tiktoken.uninstall()\nimport sys\nassert sys.modules['tiktoken'] is tiktoken"
    names = "assert sys.modules['tiktoken.core'] is tiktoken.core"
    run(f"import tiktoken, bbpe.tiktoken\n{calls}\nassert tiktoken is not bbpe.tiktoken\n{kept}\n{names}")


@pytest.mark.full
@pytest.mark.parametrize("name", PACKAGES)
def test_packages(name: str) -> None:
    if find_spec(name.partition(".")[0]) is None:
        pytest.skip(f"{name} is not installed")
    run(
        "import os; os.environ['LITELLM_LOCAL_MODEL_COST_MAP'] = 'True'\n"
        f"import bbpe.tiktoken; bbpe.tiktoken.install()\nimport {name}\nTEXT = 'See my dogs. Hear my eyes! ' * 20\n"
        f"{PACKAGES[name]}\nassert isinstance(made, bbpe.tiktoken.Encoding)"
    )
