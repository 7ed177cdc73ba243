"""Vocabulary files: what is loaded, what is written, and that peers read it to the same ids."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from seeds import then_full
from strings import ALPHABET
from vocabularies import (
    MERGES,
    added,
    byte_level,
    document,
    keys,
    merge_lines,
    sequence,
    small_spec,
    split,
    vocab_of,
    write_json,
    write_pair,
)

from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.formats.common.given import rank_text
from bbpe.formats.common.ranks import live_merges, merges_of, ranks_of
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.spec import TokenizerSpec, make_spec
from bbpe.splitting.patterns import PATTERNS, get_pattern
from bbpe.tokenizer import Tokenizer

VocabPath = Callable[[str], Path]
REAL = then_full(["gpt2", "o200k_base", "llama3", "qwen3_6"], ["p50k_base", "cl100k_base", "qwen"])


def texts(count: int, seed: int = 1) -> list[str]:
    rng = random.Random(seed)
    pool = [*ALPHABET, " the", "in", "ing", "aa", "a", "a", "中", "12", "'s", "\r\n", "thing"]
    return ["".join(rng.choices(pool, k=rng.randint(1, 24))) for _ in range(count)]


def everything() -> TokenizerSpec:
    """A spec of all that a tokenizer.json can hold: special and added tokens, holes, an own pattern."""
    vocab = {token_id + 3 * (token_id > 258): token for token_id, token in vocab_of().items()}
    return make_spec(
        vocab,
        MERGES,
        pattern=get_pattern([r"\p{N}{2}", r"\p{L}+|[^\p{L}]"]),
        special_tokens={"<|endoftext|>": 500, "<｜中｜>": 260, "<two words>": 501},
        added_tokens={"<think>": 499},
    )


# -- round trips -----------------------------------------------------------------------------------------


# tekken.json wants its ids in another order, a SentencePiece model characters
# formats of their own kind of tokenizer, tested on it
OTHERS = ("tekken", "sentencepiece", "wordpiece", "codes", "minbpe", "rwkv", "youtokentome", "unigram_json")


@pytest.mark.parametrize("format_name", [name for name in formats.FORMATS if name not in OTHERS])
@pytest.mark.parametrize("merges", [MERGES, None], ids=["list", "ranks"])
def test_round_trip(tmp_path: Path, format_name: str, merges: Any) -> None:
    spec = small_spec(merges)
    if format_name == "gguf":
        pytest.importorskip("gguf")
    names = {"huggingface": "a.json", "tiktoken": "a.tiktoken", "gguf": "a.gguf"}
    path = tmp_path / names.get(format_name, "folder")
    formats.dump(spec, path, format_name)
    assert formats.sniff(path) == format_name
    options = {} if format_name in ("huggingface", "gguf") else {"pattern": "gpt2"}
    if format_name == "tiktoken":
        options["special_tokens"] = spec.special_tokens
    again = formats.load(path, **options)
    assert fingerprint(again) == fingerprint(spec)
    assert merges_of(again) == merges_of(spec)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_round_trip_of_every_pattern(tmp_path: Path, pattern: str) -> None:
    spec = small_spec(pattern=pattern)
    formats.dump(spec, tmp_path / "tokenizer.json")
    assert formats.load(tmp_path).pattern == spec.pattern


def test_round_trip_of_everything(tmp_path: Path) -> None:
    spec = everything()
    formats.dump(spec, tmp_path / "tokenizer.json")
    assert fingerprint(formats.load(tmp_path / "tokenizer.json")) == fingerprint(spec)


@pytest.mark.parametrize("name", REAL)
def test_real_rank_files(vocab_path: VocabPath, tmp_path: Path, name: str) -> None:
    path = vocab_path(f"{name}.tiktoken")
    spec = formats.load(path)
    assert (spec.name, spec.merges, spec.whole_pretokens) == (name, None, True)
    formats.dump(spec, tmp_path / "a.tiktoken")
    assert (tmp_path / "a.tiktoken").read_bytes() == path.read_bytes()
    # tiktoken's reader finds 588 tokens of Llama 3 and 201 of Qwen 3.6 that no merge makes
    assert len(live_merges(spec).unmade) == {"llama3": 588, "qwen3_6": 201}.get(name, 0)


@pytest.mark.parametrize("name", ["p50k_base", "llama3"])
def test_real_ranks_as_tokenizer_json(vocab_path: VocabPath, tmp_path: Path, name: str) -> None:
    spec = formats.load(vocab_path(f"{name}.tiktoken"))
    formats.dump(spec, tmp_path / "a.json")
    again = formats.load(tmp_path / "a.json")
    assert fingerprint(again) == fingerprint(spec)
    assert again.whole_pretokens is (name == "llama3")
    formats.dump(again, tmp_path / "a.tiktoken")
    assert (tmp_path / "a.tiktoken").read_bytes() == vocab_path(f"{name}.tiktoken").read_bytes()


def test_real_tokenizer_json(vocab_path: VocabPath) -> None:
    gpt2 = formats.load(vocab_path("gpt2.tokenizer.json"))
    assert fingerprint(gpt2) == fingerprint(formats.load(vocab_path("gpt2.tiktoken")))
    deepseek = formats.load(vocab_path("deepseek_v3.tokenizer.json"))
    assert deepseek.pattern is PATTERNS["deepseek_v3"]
    assert (len(deepseek.special_tokens), len(deepseek.added_tokens), deepseek.vocab_size) == (1230, 53, 129280)
    assert deepseek.special_tokens["<｜begin▁of▁sentence｜>"] == 0


def test_vocab_json_is_recognised_as_its_rank_file(vocab_path: VocabPath) -> None:
    folder = vocab_path("qwen_gpt2_files")
    spec = formats.load(folder)
    assert fingerprint(spec) == fingerprint(formats.load(vocab_path("qwen.tiktoken")))
    assert (spec.name, spec.pattern.name) == ("qwen", "qwen2")
    assert formats.sniff(folder / "merges.txt") == formats.sniff(folder / "vocab.json") == "gpt2"


# -- peers read what is written --------------------------------------------------------------------------


@pytest.mark.parametrize("pattern", PATTERNS)
def test_huggingface_reads_what_is_written(tmp_path: Path, pattern: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    spec = small_spec(pattern=pattern)
    formats.dump(spec, tmp_path / "tokenizer.json")
    peer, tok = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), Tokenizer(spec)
    for text in texts(300):
        assert peer.encode(text).ids == tok.encode(text), text


def test_huggingface_keeps_every_id(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    spec = everything()
    formats.dump(spec, tmp_path / "tokenizer.json")
    peer, tok = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), Tokenizer(spec)
    for text in [*texts(100), "<think>the<|endoftext|> <｜中｜><two words>中"]:
        ids = tok.encode(text, allowed_special="all")
        assert peer.encode(text).ids == ids
        assert peer.decode(ids, skip_special_tokens=False) == tok.decode(ids)
    assert peer.get_vocab() == tok.get_vocab()
    assert {row.content: row.special for row in peer.get_added_tokens_decoder().values()} == {
        "<think>": False,
        **dict.fromkeys(spec.special_tokens, True),
    }


def test_huggingface_finds_whole_pretokens(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {**vocab_of(), 300: b"zebra", 301: b"aaa"}
    spec = make_spec(vocab, None, pattern=get_pattern("gpt2"), whole_pretokens=True)
    assert live_merges(spec).unmade == (300,)  # "aaa" is "aa" and "a"
    formats.dump(spec, tmp_path / "tokenizer.json")
    peer, tok = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")), Tokenizer(spec)
    for text in ["zebra", " zebra", "zebras", *("a" * n for n in range(1, 12))]:
        assert peer.encode(text).ids == tok.encode(text)


def test_tiktoken_reads_what_is_written(tmp_path: Path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    load = pytest.importorskip("tiktoken.load")
    spec = small_spec()
    formats.dump(spec, tmp_path / "a.tiktoken")
    ranks = load.load_tiktoken_bpe(str(tmp_path / "a.tiktoken"))
    assert ranks == ranks_of(spec)
    (regex,) = spec.pattern.steps
    peer = tiktoken.Encoding("a", pat_str=regex, mergeable_ranks=ranks, special_tokens=dict(spec.special_tokens))
    tok = Tokenizer(spec)
    for text in texts(300):
        assert peer.encode_ordinary(text) == tok.encode(text), text


@pytest.mark.parametrize("twice", [(b"aa", b"aa"), (b"t", b"h"), (b"a", b"a")])
def test_of_a_repeated_merge_the_last_place_counts(tmp_path: Path, twice: tuple[bytes, bytes]) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    lines = merge_lines((*MERGES, (b"a", b"th"), (b"h", b"e"), (b"a", b"aa"), twice))
    vocab = keys(vocab_of((*MERGES, (b"a", b"th"), (b"h", b"e"), (b"a", b"aa"))))
    path = write_json(tmp_path / "tokenizer.json", document(model__vocab=vocab, model__merges=lines))
    tok = Tokenizer(formats.load(path))
    peer = tokenizers.Tokenizer.from_file(str(path))
    rng = random.Random(2)
    for _ in range(300):
        text = "".join(rng.choices("athe", k=rng.randint(1, 12)))
        assert peer.encode(text).ids == tok.encode(text), text
    assert formats.load(write_pair(tmp_path / "pair", vocab, lines), pattern="gpt2").merges == tok.spec.merges


# -- legal, and must load --------------------------------------------------------------------------------


def test_rank_file_with_holes_and_an_empty_token(tmp_path: Path) -> None:
    ranks = rank_text({**vocab_of(), 300: b"", 400: b"the thing"}).replace(b" 300\n", b" 300\r\n\n")
    path = tmp_path / "tokenizer.model"  # Meta's name for its rank file
    path.write_bytes(ranks)
    spec = formats.load(path, pattern="gpt2")
    assert spec.vocab == {**vocab_of(), 300: b"", 400: b"the thing"}
    assert (spec.special_tokens, spec.name, spec.vocab_size) == ({}, None, 401)
    assert Tokenizer(spec).encode("thing") == [256, 260]


def test_vocab_json_with_every_oddity(tmp_path: Path) -> None:
    vocab: dict[str, object] = {"the thing": 700, "": 600, "<pad>": 650, "<｜中｜>": 651, "unused": 652, "Ġxyz": 653}
    several = [(b"a", b"aaa"), (b"aaa", b"a"), (b"aa", b"a")]
    shuffled = [*reversed(MERGES), *several]
    vocab |= keys({token_id + 5 * (token_id > 260): token for token_id, token in vocab_of(shuffled).items()})
    spec = formats.load(write_pair(tmp_path, vocab, merge_lines(shuffled)), pattern="llama3")
    assert spec.special_tokens == {"the thing": 700, "<pad>": 650, "<｜中｜>": 651, "unused": 652}
    assert (spec.vocab[600], spec.vocab[653]) == (b"", b" xyz")
    assert spec.merges is not None
    assert [(spec.vocab[left], spec.vocab[right]) for left, right, _ in spec.merges] == shuffled
    given = {"the thing": 700, "<｜中｜>": 651, "<new>": 800}
    spec = formats.load(tmp_path, pattern="llama3", special_tokens=given, name="mine")
    assert (spec.special_tokens, spec.vocab[650], spec.name) == (given, b"<pad>", "mine")


def test_vocab_txt(tmp_path: Path) -> None:
    write_pair(tmp_path, merges=merge_lines())
    (tmp_path / "vocab.json").rename(tmp_path / "unrelated.json")
    byte_order = {bytes([byte]): byte for byte in range(256)}
    vocab = {byte_order.get(token, token_id): token for token_id, token in vocab_of().items()}
    lines = [f"{key} {token_id}" for key, token_id in {**keys(vocab), "<two words>": 300}.items()]
    (tmp_path / "vocab.txt").write_text("\n".join(lines), encoding="utf-8")
    for path in (tmp_path, tmp_path / "vocab.txt", tmp_path / "merges.txt"):
        assert formats.sniff(path) == "vocab_txt"
        spec = formats.load(path, pattern="gpt2")
        assert spec.vocab == vocab
        assert spec.special_tokens == {"<two words>": 300}


@pytest.mark.parametrize("names", [("encoder.json", "vocab.bpe"), ("x-vocab.json", "x-merges.txt")])
def test_pair_under_other_names(tmp_path: Path, names: tuple[str, str]) -> None:
    write_pair(tmp_path)
    (tmp_path / "vocab.json").rename(tmp_path / names[0])
    (tmp_path / "merges.txt").rename(tmp_path / names[1])
    for name in names:
        assert formats.load(tmp_path / name, pattern="gpt2").vocab == vocab_of()


def test_a_version_line_is_only_the_first(tmp_path: Path) -> None:
    merges = ((b"#", b"v"), *MERGES)
    write_pair(tmp_path, keys(vocab_of(merges)))
    (tmp_path / "merges.txt").write_text("\n".join(merge_lines(merges)), encoding="utf-8")
    assert formats.load(tmp_path, pattern="gpt2").merges == small_spec(merges).merges


@pytest.mark.parametrize(
    ("pre_tokenizer", "expected"),
    [
        (byte_level(), "gpt2"),
        (byte_level(use_regex=False), "none"),
        (sequence(byte_level()), "gpt2"),
        (sequence({"type": "Digits", "individual_digits": True}, byte_level()), "starcoder"),
        (sequence(split(r"\p{N}"), sequence(byte_level())), "starcoder"),
        (sequence(split(r"\S+", behavior="Removed", invert=True), byte_level(use_regex=False)), "whitespace"),
        (sequence(split(r"\S+"), byte_level(use_regex=False)), None),
        (sequence({"type": "Digits", "individual_digits": False}, byte_level()), None),
        (sequence(split(r"(?i:'s|'t)|\p{L}++|(?>\p{N}{1,3})+|\s++$"), byte_level(use_regex=False)), None),
    ],
)
def test_pre_tokenizers(tmp_path: Path, pre_tokenizer: object, expected: str | None) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = write_json(tmp_path / "tokenizer.json", document(pre_tokenizer=pre_tokenizer))
    spec = formats.load(path)
    assert spec.pattern.name == expected
    peer, tok = tokenizers.Tokenizer.from_file(str(path)), Tokenizer(spec)
    for text in texts(200):
        assert peer.encode(text).ids == tok.encode(text), text
    assert formats.load(path, pattern="o200k").pattern.name == "o200k"


def test_tokenizer_json_variants(tmp_path: Path) -> None:
    value = document(
        added_tokens=[added("<s>", 267), added("<think>", 268, special=False, normalized=True)],
        normalizer={"type": "Sequence", "normalizers": []},
        post_processor=byte_level(),
        model__merges=[line.split() for line in merge_lines()],
        model__dropout=0.0,
        model__end_of_word_suffix="",
        model__ignore_merges=True,
    )
    value["model"]["vocab"]["<s>"] = 267
    del value["model"]["type"], value["version"], value["truncation"]
    spec = formats.load(write_json(tmp_path / "a.json", value), name="a")
    assert (spec.special_tokens, spec.added_tokens) == ({"<s>": 267}, {"<think>": 268})
    assert (spec.vocab, spec.merges) == (vocab_of(), small_spec().merges)
    assert (spec.whole_pretokens, spec.name) == (True, "a")
    spec = formats.load(tmp_path / "a.json", special_tokens={"<think>": 300, "<s>": 267, "<new>": 301})
    assert (len(spec.special_tokens), spec.added_tokens) == (3, {})


# -- ranks and merges ------------------------------------------------------------------------------------


def test_ranks_that_merges_cannot_give() -> None:
    assert ranks_of(small_spec()) == {token: token_id for token_id, token in vocab_of().items()}
    swapped = make_spec(vocab_of(), MERGES[::-1], pattern=get_pattern("gpt2"))
    with pytest.raises(VocabularyError, match=r"step 0 is b't' \+ b'h' \(id 256\) by rank .* tokenizer\.json"):
        ranks_of(swapped)
    with pytest.raises(VocabularyError, match="no merge makes token"):
        ranks_of(make_spec({**vocab_of(), 300: b"zebra"}, MERGES, pattern=get_pattern("gpt2")))


def test_merges_that_never_happen_do_not_matter() -> None:
    """Every split of a token as a merge, as converters write Llama 3, gives the same ids as ranks."""
    spec = small_spec(None)
    ids = {token: token_id for token_id, token in spec.vocab.items()}
    every = [
        (token[:cut], token[cut:])
        for token in spec.vocab.values()
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    listed = small_spec(tuple(every), special_tokens={})
    assert live_merges(listed) == live_merges(small_spec(None))
    assert ranks_of(listed) == ids


def test_live_merges_against_merging(tmp_path: Path) -> None:
    """Random vocabularies over two letters: ranks, their merges, and HF's reading of them agree."""
    tokenizers = pytest.importorskip("tokenizers")
    rng = random.Random(4)
    for number in range(30):
        more = {"".join(rng.choices("ab", k=rng.randint(2, 6))).encode() for _ in range(12)}
        vocab = dict(enumerate([*vocab_of(()).values(), *rng.sample(sorted(more), len(more))]))
        spec = make_spec(vocab, None, pattern=get_pattern("none"), whole_pretokens=True)
        formats.dump(spec, path := tmp_path / f"{number}.json")
        peer, tok = tokenizers.Tokenizer.from_file(str(path)), Tokenizer(spec)
        listed = Tokenizer(formats.load(path))
        for _ in range(60):
            text = "".join(rng.choices("ab", k=rng.randint(1, 16)))
            assert peer.encode(text).ids == listed.encode(text) == tok.encode(text), (number, text)
