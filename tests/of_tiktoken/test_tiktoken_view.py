"""The view as tiktoken's `Encoding`, side by side with the real package."""

from __future__ import annotations

import inspect
import pickle
import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strings import adversarial_strings, byte_soups
from vocabularies import small_spec

import bbpe
import bbpe.tiktoken
from bbpe.core.helper import end_idle
from bbpe.spec.rules import Lowercase
from bbpe.spec.spec import TextRules
from bbpe.tokenizer import Tokenizer

_LARGE = ("o200k_base", "llama3")


@pytest.fixture(scope="module")
def pair(tok_of):
    """The view, and tiktoken's own encoding made of what the view says of itself."""
    tiktoken = pytest.importorskip("tiktoken")
    text = "".join(adversarial_strings(300, seed=23))
    specials = ["<|endoftext|>", "<s>", "é<", "<|end|>"]
    tok = bbpe.train_from_iterator([text], 600, pattern="cl100k", special_tokens=specials)
    # a hole, and a special token far behind
    ranks = {token: rank + (rank >= 400) for token, rank in tok.ranks.items()}
    tok = Tokenizer.from_ranks(
        ranks, pattern="cl100k", special_tokens={"<|endoftext|>": 700, "<s>": 701, "é<": 400, "<|end|>": 705}, name="x"
    )
    # 402 is a hole
    view = tok.as_tiktoken()
    peer = tiktoken.Encoding(
        "x", pat_str=view._pat_str, mergeable_ranks=view._mergeable_ranks, special_tokens=view._special_tokens
    )
    return view, peer


def test_signatures(pair):
    """Names, kinds and defaults of all arguments are tiktoken's."""
    ours, theirs = map(type, pair)
    names = [name for name, value in vars(theirs).items() if callable(value) and not name.startswith("_")]
    assert len(names) > 15
    for name in names:
        own, expected = (
            [(row.name, row.kind, row.default) for row in inspect.signature(getattr(of, name)).parameters.values()]
            for of in (ours, theirs)
        )
        assert own == expected, name


def outcome(call, *args, **options):
    """What a call returns, or the type of what it raises and, of a KeyError, the key."""
    try:
        return call(*args, **options)
    except Exception as error:
        kinds = (KeyError, OverflowError, TypeError, UnicodeError, ValueError, AssertionError, LookupError)
        kind = next((kind for kind in kinds if isinstance(error, kind)), type(error))
        return kind, error.args if kind is KeyError else None


def same(pair, name, *args, **options):
    ours, theirs = (outcome(getattr(encoding, name), *args, **options) for encoding in pair)
    if isinstance(theirs, np.ndarray):
        assert isinstance(ours, np.ndarray)
        assert ours.dtype == theirs.dtype
        ours, theirs = ours.tolist(), theirs.tolist()
    assert ours == theirs, (name, args, options)


TEXTS = [
    *adversarial_strings(40, seed=51, surrogates=True),
    *["", "<s>", "a<s>b<|end|>", "é<|endoftext|>é<", "<|endoftext|><|endoftext|>", "\ud83d\ude00<s>\ud800", "a\n  "],
]
POLICIES = [
    {},
    {"allowed_special": "all"},
    {"allowed_special": {"<s>"}},
    {"allowed_special": {"<s>", "unknown"}, "disallowed_special": ()},
    {"allowed_special": set(), "disallowed_special": {"<s>", "a"}},
    {"allowed_special": frozenset({"<s>"}), "disallowed_special": ["<s>"]},
    {"allowed_special": "all", "disallowed_special": "all"},
    {"disallowed_special": ()},
    {"disallowed_special": "a"},
    {"allowed_special": ["<s>"]},
    {"allowed_special": "<s>"},
    {"allowed_special": ()},
]


@pytest.mark.parametrize("policy", POLICIES)
def test_encoding(pair, policy):
    for text in TEXTS:
        same(pair, "encode", text, **policy)
        if text.isprintable():  # theirs raises on surrogates here alone
            same(pair, "encode_to_numpy", text, **policy)
        same(pair, "encode_ordinary", text)
    same(pair, "encode_batch", TEXTS, **policy)
    same(pair, "encode_batch", [text for text in TEXTS if "<" not in text], num_threads=2, **policy)


@settings(max_examples=40)
@given(st.text(max_size=60))
def test_any_text(pair, text):
    same(pair, "encode_ordinary", text)
    view, peer = pair
    ids = view.encode(text, disallowed_special=())
    assert view.decode(ids) == peer.decode(ids)
    same(pair, "decode_with_offsets", ids)


@given(st.lists(st.integers(-3, 720) | st.sampled_from([2**32 - 1, 2**32, 2**64]), max_size=12))
def test_any_ids(pair, ids):
    for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets"):
        same(pair, name, ids)
    same(pair, "decode_batch", [ids, [97]])
    same(pair, "decode_bytes_batch", [[97], ids], num_threads=1)


def test_single_tokens(pair):
    view, _ = pair
    strange = ["a", b"a", b"\xff", "<s>", b"<|end|>", "zz!!", b"zz!!", "", "\ud800", 4, None]
    for token in [*strange, *view.token_byte_values()]:
        same(pair, "encode_single_token", token)
        if isinstance(token, (str, bytes)) and token:
            same(pair, "_encode_single_piece", token)
    for token_id in [*range(-1, 710), 2**31, 2**32, 2**40, "a", None, 1.0, np.int64(97)]:
        same(pair, "decode_single_token_bytes", token_id)
        same(pair, "is_special_token", token_id)


def test_wrong_types(pair):
    for text in (b"ab", 3, None, ["a"]):
        for name in ("encode", "encode_ordinary", "encode_to_numpy"):
            same(pair, name, text)
    for ids in (["a"], [1.0], 3, [None], None, np.array([97.0])):
        for name in ("decode", "decode_bytes"):
            same(pair, name, ids)
    for ids in (np.array([97, 98]), np.array([97], np.uint8), (97,), range(97, 99), [np.uint32(97)]):
        same(pair, "decode", ids)
    for errors in ("strict", "ignore", "replace", "nonsense"):
        same(pair, "decode", [255, 97], errors)
    same(pair, "encode_batch", "ab")
    for name in ("encode_batch", "encode_ordinary_batch"):
        same(pair, name, ["a"], num_threads=0)
        for wrong in (["a", 3], [b"a"], [None], ["a", ["b"]]):
            same(pair, name, wrong)
    for name in ("decode_batch", "decode_bytes_batch"):
        for number in (0, -1):
            same(pair, name, [[97], [98]], num_threads=number)
        same(pair, name, [[97], [402]])
        same(pair, name, [[402], [2**32]])


def test_options_of_decoding_many(pair):
    rows = [[255, 97], [97], [], [195]]
    for errors in ("strict", "ignore", "replace", "backslashreplace"):
        same(pair, "decode_batch", rows, errors=errors)
        for row in rows:
            same(pair, "decode", row, errors=errors)
            same(pair, "decode", row, errors)
    view, _ = pair
    tok = view._tokenizer
    texts = ["the thing", "", "é 中文"]
    ragged = bbpe.Ragged.from_rows(np.array(row, np.uint32) for row in tok.encode_batch(texts))
    assert view.decode_batch(ragged) == texts
    assert view.decode_bytes_batch(view.encode_batch(texts)) == [text.encode() for text in texts]


@pytest.mark.parametrize(
    ("name", "items"),
    [
        ("decode_batch", [[255, 97], [97], []]), ("decode_bytes_batch", [[255, 97], [97]]),
        ("decode_tokens_bytes", [97, 98]), ("encode_batch", ["a", "the"]), ("encode_ordinary_batch", ["a", ""]),
    ],
)  # fmt: skip
def test_items_of_any_iterable(pair, name, items):
    class Items:
        def __iter__(self):
            return iter(items)

    expected = getattr(pair[1], name)(items)
    for tokenizer in pair:
        call = getattr(tokenizer, name)
        for many in ((item for item in items), iter(items), Items(), dict(enumerate(items)).values()):
            assert call(many) == expected
        assert call(item for item in items[:0]) == []
    if name.startswith("decode_b"):
        for tokenizer in pair:
            with pytest.raises(KeyError):
                getattr(tokenizer, name)(row for row in [[97], [10**6]])


def test_a_view_is_made_once(tok_of):
    tok = tok_of("gpt2")
    assert tok.as_tiktoken() is tok.as_tiktoken()


def test_added_tokens_are_special(pair):
    spec = small_spec(special_tokens={"<s>": 300}, added_tokens={"<think>": 301})
    view = Tokenizer(spec).as_tiktoken()
    assert view.special_tokens_set == {"<s>", "<think>"}
    assert view.is_special_token(301)
    assert view.encode("a<think>", allowed_special="all")[-1] == 301
    assert view.encode("a<think>", allowed_special={"<think>"})[-1] == 301
    for text, place in (("<think>", 0), ("é<think>", 2), ("<s>", 0)):
        with pytest.raises(ValueError, match=f"at byte {place};"):
            view.encode(text)
        with pytest.raises(ValueError, match=f"at byte {place};"):
            view.encode_batch(["a", text])
    assert view.n_vocab == view.max_token_value + 1 == 302


def test_the_middle_of_a_character(pair):
    for data in [*byte_soups(300, seed=52), *(text.encode("utf-8", "replace")[:-1] for text in TEXTS), b"\xff", b""]:
        same(pair, "_encode_bytes", data)
    for data in ("a", bytearray(b"a")):
        same(pair, "_encode_bytes", data)


def test_unstable_ends(pair):
    ends = ["hello ", "  \n ab \n", "a\u3000", "the\n", "the \n\t", "a\t\t", "\n\n ", "the<s>\n", "x\t th"]
    for text in [*TEXTS, *ends]:
        for policy in ({"allowed_special": "all"}, {"disallowed_special": ()}):
            mended = bbpe.text.well_formed(text)
            ours, theirs = (outcome(encoding.encode_with_unstable, mended, **policy) for encoding in pair)
            assert ours[0] == theirs[0]
            assert sorted(ours[1]) == sorted(theirs[1])


def test_what_it_is(pair):
    view, peer = pair
    for name in ("name", "n_vocab", "max_token_value", "special_tokens_set", "eot_token", "_special_token_values"):
        assert getattr(view, name) == getattr(peer, name)
    assert view.token_byte_values() == peer.token_byte_values()
    assert repr(view) == repr(peer)
    for name in ("_pat_str", "_mergeable_ranks", "_special_tokens"):
        assert getattr(view, name) == getattr(peer, name)
    public = {name for name in dir(peer) if not name.startswith("_")}
    assert public <= set(dir(view))
    bare = Tokenizer(small_spec(special_tokens={})).as_tiktoken()
    assert bare.encode("<|endoftext|>") == bare.encode_ordinary("<|endoftext|>")
    with pytest.raises(KeyError):
        _ = bare.eot_token


def test_pickling(pair):
    view, peer = pair
    again = pickle.loads(pickle.dumps(view))
    for text in TEXTS:
        assert again.encode(text, allowed_special="all") == peer.encode(text, allowed_special="all")


def test_what_tiktoken_has_no_place_for():
    with pytest.raises(bbpe.VocabularyError, match="normalizers"):
        Tokenizer(small_spec(rules=TextRules((Lowercase(),)))).as_tiktoken()
    view = Tokenizer(small_spec(pattern="deepseek_v3")).as_tiktoken()
    assert view.encode("the thing") == Tokenizer(small_spec(pattern="deepseek_v3")).encode("the thing")
    with pytest.raises(bbpe.VocabularyError, match="3 regexes"):
        _ = view._pat_str


def test_it_needs_no_tiktoken(tmp_path):
    code = (
        "import sys; sys.modules['tiktoken'] = None\n"
        "import bbpe\n"
        "tok = bbpe.train_from_iterator(['low'], 258, special_tokens=['<|endoftext|>'])\n"
        "enc = tok.as_tiktoken()\n"
        "assert enc.decode(enc.encode('low low')) == 'low low' and enc.eot_token == 257\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "name", ["gpt2", "p50k_base", "cl100k_base", *(pytest.param(name, marks=pytest.mark.full) for name in _LARGE)]
)
def test_published(real, tiktoken_of, corpus, name):
    peer = tiktoken_of(name)
    view = real(name).as_tiktoken()
    texts = [*adversarial_strings(25, seed=53, tokens=random.Random(1).sample(peer.token_byte_values(), 50))]
    for text in [*texts, corpus("multi", 12_000)]:
        same((view, peer), "encode", text)
        same((view, peer), "encode_ordinary", text)
    rng = np.random.default_rng(5)
    for size in (1, 10, 1000):
        ids = rng.integers(0, peer.n_vocab, size).tolist()
        for method in ("decode", "decode_bytes", "decode_tokens_bytes"):
            same((view, peer), method, ids)
    assert view._mergeable_ranks == peer._mergeable_ranks


def test_short_batches_take_one_thread(monkeypatch, tok_of):
    view = tok_of("gpt2").as_tiktoken()
    texts = ["see my eyes first", "hello", ""] * 4
    expected = [view.encode(text) for text in texts]

    def no_thread(*_args, **_options):
        raise AssertionError("a thread takes longer to start than one takes for all")

    end_idle()
    monkeypatch.setattr("threading.Thread.start", no_thread)
    assert view.encode_ordinary_batch(texts) == view.encode_batch(texts) == expected
    assert view.decode_batch(expected) == texts


def test_a_text_that_is_a_token_twice_and_surrogates() -> None:
    ranks, specials = {bytes([at]): at for at in range(256)}, {"<s>": 300, "a": 301}
    enc, theirs = (
        module.Encoding("x", pat_str=r"\S|\s", mergeable_ranks=ranks, special_tokens=specials)
        for module in (bbpe.tiktoken, pytest.importorskip("tiktoken"))
    )
    for wrong in (5, None, bytearray(b"a")):
        with pytest.raises(TypeError, match=f"a token is str or bytes, not {type(wrong).__name__}"):
            enc.encode_single_token(wrong)
    for token in ("a", b"a", "<s>", "b"):
        assert enc.encode_single_token(token) == theirs.encode_single_token(token)
    for text in ("\ud800", "b\udfff", "\ud83d\ude00"):
        for each in (enc, theirs):
            for call in (each.encode_to_numpy, each.encode_with_unstable):
                with pytest.raises(UnicodeEncodeError):
                    call(text)
        assert enc.encode(text) == theirs.encode(text)
    for text in ("", "bcd", "é 漢字 😀"):
        assert enc._encode_only_native_bpe(text) == theirs._encode_only_native_bpe(text)
        assert enc.encode_to_numpy(text).tolist() == theirs.encode_to_numpy(text).tolist()
