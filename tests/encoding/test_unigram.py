"""Unigram models give the ids that SentencePiece and HF's tokenizers give, and those of the definition."""

from __future__ import annotations

import itertools
import json
import math
import pickle
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from strings import adversarial_strings
from trained_pieces import trained
from unigram_truth import best, sum_of, ways

import bbpe
from bbpe.encoding.nbest import UnigramSampler
from bbpe.errors import VocabularyError
from bbpe.records import replace
from bbpe.spec.models import UnigramModel
from bbpe.spec.rules import Characters, Metaspace
from bbpe.spec.spec import TextRules, make_spec
from bbpe.splitting.patterns import PATTERNS

sentencepiece = pytest.importorskip("sentencepiece", minversion="0.2.3")
pytest.importorskip("google.protobuf")
sentencepiece_model_pb2 = pytest.importorskip("sentencepiece.sentencepiece_model_pb2")

CORPORA = ["en", "code", "multi", "ja", "zh"]
TEXT = """The thing is in the thick of things; the   thinking thins.  Ｆｕｌｌ width, ﬁne ligatures, ｶﾀｶﾅ and カタカナ.
	Tabs, é and e\u0301, 12 1234 3.14, www.example.com/index.html -- --- ---- .
漢字かな交じり文、漢字。 漢字かな交じり文。"""


def peer(path: Path) -> Any:
    return sentencepiece.SentencePieceProcessor(model_file=str(path))




def small(tmp_path: Path, **options: Any) -> Path:
    lines = [line for _ in range(6) for line in (*TEXT.split("\n"), *TEXT.split(". "), TEXT.lower())]
    return trained(tmp_path / "trained.model", lines, **options)


def same(tok: bbpe.Tokenizer, judge: Any, texts: list[str]) -> None:
    """By one and by many."""
    expected = judge.encode(texts)
    together = tok.encode_batch(texts, threads=1)
    for text, ids, row in zip(texts, expected, together, strict=True):
        assert tok.encode(text) == ids, text[:200]
        assert row == ids, text[:200]


OPTIONS: list[dict[str, Any]] = [
    {"byte_fallback": fallback, "normalization_rule_name": rule, "remove_extra_whitespaces": squeezes}
    for fallback, rule, squeezes in [
        (False, "identity", False), (True, "identity", True), (False, "nmt_nfkc", True), (True, "nmt_nfkc", False),
        (True, "nmt_nfkc_cf", True),
    ]
]  # fmt: skip
OPTIONS += [
    {"byte_fallback": True, "add_dummy_prefix": False},
    {"byte_fallback": True, "split_by_whitespace": False, "normalization_rule_name": "identity"},
    {"byte_fallback": True, "user_defined_symbols": ["<sep>", "ing", "漢", "Ｆ", "<sep>x"], "control_symbols": "<ctl>"},
    {"user_defined_symbols": ["\u2581the", "th\u2581"], "remove_extra_whitespaces": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: "-".join(map(str, options.values())))
def test_trained_models(tmp_path: Path, options: dict[str, Any]) -> None:
    path = small(tmp_path, **options)
    tok = bbpe.load(path)
    tok.save(tmp_path / "again.model")
    assert bbpe.load(tmp_path / "again.model") == tok
    rng = random.Random(5)
    scraps = [*TEXT.split(" "), " ", "  ", "\u2581", "<sep>", "<ctl>", "<unk>", "</s>", "ing", *"Ｆ\n\t😀ﬃ"]
    scraps += ["\r\n", "---"]
    texts = ["", " ", "\u2581", "  a  ", " \u2581 ", "a\u2581 ", TEXT, TEXT * 120, "\x1e", "a \x1e b"]
    texts += ["".join(rng.choices(scraps, k=rng.randint(1, 12))) for _ in range(60)]
    texts += adversarial_strings(50, seed=6, tokens=list(tok.spec.vocab.values()))
    texts = [text.replace("\0", "") for text in texts]
    same(tok, peer(path), texts)
    same(tok, peer(tmp_path / "again.model"), texts)
    for text in texts:
        assert tok.encode(text.encode()) == tok.encode(text)
    assert pickle.loads(pickle.dumps(tok)).encode(TEXT) == tok.encode(TEXT)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
@pytest.mark.parametrize(("rule", "fallback"), [("identity", True), ("nmt_nfkc", True), ("nmt_nfkc", False)])
def test_a_batch_is_its_texts(tmp_path: Path, kind: str, rule: str, fallback: bool) -> None:
    """Surrogates in pairs and alone, and bytes that are not UTF-8, by one and by many, as lists, arrays and counts."""
    path = small(
        tmp_path, model_type=kind, normalization_rule_name=rule, byte_fallback=fallback,
        remove_extra_whitespaces=rule != "identity",
    )  # fmt: skip
    tok, judge = bbpe.load(path), peer(path)
    scraps = ["\ud83d\ude00", "\ud800", "\udc80", "the ", "  ", "\u2581", *"Ｆﬁ漢😀\n", "か\u3099", "e\u0301"]
    rng = random.Random(8)
    texts = ["", *("".join(rng.choices(scraps, k=rng.randint(1, 9))) for _ in range(300))]
    mended = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    expected = judge.encode(mended)
    assert [tok.encode(text) for text in texts] == expected
    assert tok.encode_batch(texts) == tok.encode_batch(texts, threads=2) == expected
    assert [ids.tolist() for ids in tok.encode_batch_to_numpy(texts)] == expected
    assert tok.count_tokens_batch(texts).tolist() == list(map(len, expected))
    data = [text.encode("utf-8", "surrogatepass") + rng.choice([b"", b"\xff", b"\xe3\x81"]) for text in texts]
    rows = [tok.encode(given) for given in data]
    assert tok.encode_batch(data) == tok.encode_batch([bytearray(given) for given in data]) == rows
    if fallback:
        assert [tok.decode_bytes(row) for row in tok.encode_batch([b"\xff\xe3\x81"])] == [b"\xff\xe3\x81"]


def made(scores: dict[str, float], *, is_float: bool = True, byte_fallback: bool = False) -> bbpe.Tokenizer:
    """A tokenizer of tokens and scores, without rules."""
    first = 257 if byte_fallback else 1
    vocab = {first + number: token.encode() for number, token in enumerate(scores)}
    model = UnigramModel((*[0.0] * first, *scores.values()), is_float)
    characters = Characters(tuple(range(1, 257)) if byte_fallback else (), 0, True, False)
    return bbpe.Tokenizer(
        make_spec(vocab, [], pattern=PATTERNS["none"], special_tokens={"<unk>": 0}, characters=characters, model=model)
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("characters", ["ab é中\n", "中あ한कa😀"])
def test_random_models_by_the_definition(seed: int, characters: str) -> None:
    """Few characters and many tokens, some of them unknown, with blanks anywhere."""
    rng = random.Random(seed)
    alphabet = list(characters)[: rng.randint(2, 6)]
    tokens = {"".join(rng.choices(alphabet, k=rng.randint(1, 4))) for _ in range(30)}
    scores = {token: float(np.float32(-rng.uniform(0.5, 6) * len(token) ** 0.7)) for token in sorted(tokens)}
    for is_float in (True, False):
        tok = made(scores, is_float=is_float)
        for _ in range(80):
            text = "".join(rng.choices([*alphabet, "x"], k=rng.randint(1, 9)))
            way, margin = best(text, scores)
            if margin < 1e-3:
                continue
            known = [token if token in scores else "<unk>" for token in way]
            ids = [tok.token_to_id(token) for token in known]
            fused = [token_id for i, token_id in enumerate(ids) if token_id != 0 or i == 0 or ids[i - 1] != 0]
            assert tok.encode(text) == fused, (text, way)


@pytest.mark.parametrize("seed", range(6))
def test_best_ways_by_the_definition(seed: int) -> None:
    rng = random.Random(50 + seed)
    tokens = sorted({"".join(rng.choices("ab ", k=rng.randint(1, 4))) for _ in range(15)})
    scores = {token: -rng.uniform(1, 8) for token in tokens}
    tok = made({**scores, "a": -3.0, "b": -4.0, " ": -5.0}, is_float=False)
    scores = {token.decode(): tok.spec.model.scores[token_id] for token_id, token in tok.spec.vocab.items()}
    for _ in range(20):
        text = "".join(rng.choices("ab ", k=rng.randint(0, 8)))
        true = sorted((sum_of(way, scores) for way in ways(text, scores)), reverse=True)
        found = tok.encode_nbest(text, 7)
        assert [score for _, score in found] == pytest.approx(true[:7])
        for ids, score in found:
            assert tok.decode(ids) == text
            assert score == pytest.approx(sum(tok.spec.model.scores[token_id] for token_id in ids))
        assert len({tuple(ids) for ids, _ in found}) == len(found)


def test_ways_at_random_are_as_probable_as_their_sums() -> None:
    tok = made({"a": -1.0, "b": -1.5, "ab": -2.0, "aba": -2.2, " ": -1.0}, is_float=False)
    scores = {token.decode(): tok.spec.model.scores[token_id] for token_id, token in tok.spec.vocab.items()}
    for options in ({"alpha": 0.7}, {"alpha": 0.7, "nbest": 2}, {"alpha": 0.0}):
        sums = sorted((sum_of(way, scores) for way in ways("abab", scores)), reverse=True)[: options.get("nbest")]
        weights = [math.exp(options["alpha"] * total) for total in sums]
        drawn = Counter(tuple(tok.encode_sampled("abab", seed=seed, **options)) for seed in range(2000))
        found = [drawn[tuple(ids)] / 2000 for ids, _ in tok.encode_nbest("abab", len(sums))]
        assert found == pytest.approx([weight / sum(weights) for weight in weights], abs=0.04)
    assert tok.encode_sampled("abab ab", seed=3) == tok.encode_sampled("abab ab", seed=3)
    assert tok.decode(tok.encode_sampled("abab ba" * 50, alpha=0.2)) == "abab ba" * 50
    assert tok.encode_sampled("axxb", alpha=50.0, seed=1) == tok.encode("axxb")
    for problem in ({"alpha": -1.0}, {"nbest": 0}):
        with pytest.raises(ValueError, match="expected"):
            tok.encode_sampled("a", **problem)
    with pytest.raises(TypeError, match="Unigram"):
        bbpe.train_from_iterator(["a"], 256).encode_nbest("a", 2)


def test_sums_beyond_what_floats_hold(tmp_path: Path) -> None:
    """A sum of 100,000 is taken away, and ties are decided as sums round, with and without words remembered."""
    path = small(tmp_path, normalization_rule_name="identity", byte_fallback=True)
    tok, judge = bbpe.load(path), peer(path)
    rng = random.Random(8)
    words = [*TEXT.split(), "----", "-----", "---", "thth", "--" * 9]
    text = " ".join(rng.choices(words, k=60_000))
    assert tok.encode(text) == judge.encode(text)
    assert tok.encode_to_numpy(text.replace(" ", ""), threads=3).tolist() == judge.encode(text.replace(" ", ""))


def test_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    tok = made({"a": -1.0, "é": -2.0, " ": -3.0}, byte_fallback=True)
    broken = b"a\xff\xc3 \xe4\xb8a\xc3\xa9\xed\xa0\x80"
    assert tok.decode_bytes(tok.encode(broken)) == broken
    assert made({"a": -1.0}).encode(b"a\xff\xfea") == [1, 0, 1]


@pytest.mark.parametrize("run", ["a", "ab", " ", "\n", "中", "x", "random"])
def test_worst_cases_are_linear(run: str) -> None:
    """Steps grow with the text, not faster: eight times as long may take no more than sixteen times as long."""
    from time import process_time

    runs = [token * n for token in ("a", "ab", " ", "中") for n in range(1, 17)]
    tok = made({token: -1.0 - 1.9 * len(token) for token in runs}, byte_fallback=True)

    def seconds(count: int) -> float:
        text = run * count if run != "random" else "".join(random.Random(3).choices("ab 中\nx", k=count))
        found = []
        for _ in range(3):
            start = process_time()
            tok.encode_to_numpy(text, threads=1)
            found.append(process_time() - start)
        return min(found)

    # Windows counts time in steps of a 64th of a second
    assert seconds(160_000) < 16 * max(seconds(20_000), 1 / 64 if sys.platform == "win32" else 1e-4)


def hf_tokenizer(tok: bbpe.Tokenizer, kind: str) -> Any:
    """HF's tokenizer of the same tokens and scores, with the rules of T5 or plain ones."""
    tokenizers = pytest.importorskip("tokenizers")
    spec = tok.spec
    assert isinstance(spec.model, UnigramModel)
    keys = {token_id: token.decode().replace(" ", "\u2581") for token_id, token in spec.vocab.items()}
    keys.update({token_id: text for text, token_id in spec.special_tokens.items()})
    keys.update({token_id: f"<0x{byte:02X}>" for byte, token_id in enumerate(spec.characters.byte_ids)})
    rows = [(keys[token_id], score) for token_id, score in enumerate(spec.model.scores)]
    made = tokenizers.Tokenizer(
        tokenizers.models.Unigram(rows, unk_id=0, byte_fallback=bool(spec.characters.byte_ids))
    )
    decoders, normalizers, splits = tokenizers.decoders, tokenizers.normalizers, tokenizers.pre_tokenizers
    made.decoder = decoders.Metaspace()
    made.pre_tokenizer = splits.Metaspace(split=kind != "whole")
    if kind == "t5":
        table = normalizers.Precompiled(spec.rules.normalizers[0].data)
        made.normalizer = normalizers.Sequence([table, normalizers.Replace(tokenizers.Regex(" {2,}"), " ")])
        made.pre_tokenizer = splits.Sequence([splits.WhitespaceSplit(), splits.Metaspace()])
    if spec.characters.byte_ids:
        made.decoder = decoders.Sequence(
            [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        )
    made.add_special_tokens(list(spec.special_tokens))
    return made


@pytest.mark.parametrize(("kind", "fallback"), [("split", False), ("whole", False), ("t5", False), ("split", True)])
def test_tokenizer_json(tmp_path: Path, kind: str, fallback: bool) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = small(tmp_path, normalization_rule_name="nmt_nfkc", byte_fallback=fallback)
    judge = hf_tokenizer(bbpe.load(path), kind)
    judge.save(str(tmp_path / "tokenizer.json"))
    tok = bbpe.load(tmp_path / "tokenizer.json")
    tok.save(tmp_path / "again.json")
    assert bbpe.load(tmp_path / "again.json") == tok
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "again.json"))
    texts = [TEXT, "a<unk>b <s> x", "\r\n é e\u0301 ｶﾞ ﬁ A\u030a\u0301", "<0x41> <0x0A>", "", " ", "  a  b "]
    texts += adversarial_strings(120, seed=9, tokens=list(tok.spec.vocab.values()))
    for text in texts:
        expected = judge.encode(text).ids
        assert tok.encode(text, allowed_special="all") == expected, text
        assert again.encode(text).ids == expected, text


def test_a_model_as_tokenizer_json(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = small(tmp_path, normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True)
    tok = bbpe.load(path)
    tok.save(tmp_path / "tokenizer.json")
    judge = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    again = bbpe.load(tmp_path / "tokenizer.json")
    for text in [TEXT, *adversarial_strings(200, seed=10, tokens=list(tok.spec.vocab.values()))]:
        assert again.encode(text) == judge.encode(text).ids, text
    assert again == tok
    again.save(tmp_path / "b.model")
    assert bbpe.load(tmp_path / "b.model") == tok
    # a file of another library does not say how scores are summed up, so they are doubles
    document = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    del document["model"]["bbpe"]
    (tmp_path / "other.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(VocabularyError, match="HF's tokenizers"):
        bbpe.load(tmp_path / "other.json").save(tmp_path / "c.model")
    assert not (tmp_path / "c.model").exists()


@pytest.mark.long
@pytest.mark.parametrize(("rule", "size"), [("nmt_nfkc", 8_000), ("identity", 8_000), ("identity", 32_000)])
@pytest.mark.parametrize("name", CORPORA)
def test_whole_corpora(tmp_path: Path, name: str, rule: str, size: int, corpus: Callable[..., str]) -> None:
    """Models that SentencePiece trained on 3 MB, on the whole corpus by lines and in long texts."""
    lines = corpus(name, 3_000_000).split("\n")
    path = trained(
        tmp_path / "a.model", lines, size, normalization_rule_name=rule, byte_fallback=rule == "identity",
        remove_extra_whitespaces=rule != "identity",
    )  # fmt: skip
    tok, judge = bbpe.load(path), peer(path)
    text = corpus(name, None).replace("\0", "")
    texts = text.split("\n")
    for start in range(0, len(texts), 10_000):
        part = texts[start : start + 10_000]
        assert tok.encode_batch(part) == judge.encode(part)
    assert tok.encode(text[:4_000_000]) == judge.encode(text[:4_000_000])


def model_of(rows: list[tuple[str, float, int]], **changes: Any) -> bytes:
    """A model by hand."""
    model = sentencepiece_model_pb2.ModelProto()
    model.trainer_spec.model_type = 1
    for piece, score, kind in [("<unk>", 0.0, 2), *rows]:
        model.pieces.add(piece=piece, score=score, type=kind)
    for name, value in changes.items():
        setattr(model.trainer_spec, name, value)
    data: bytes = model.SerializeToString()
    return data


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([("a", float("nan"), 1)], "score of 'a' is NaN"),
        ([("a", float("-inf"), 1)], "no finite score"),
        ([("a", -1.0, 1), ("a", -1.0, 1)], "listed twice"),
        ([("a b", -1.0, 1)], "has a blank"),
        ([("a b", -1.0, 5)], "has a blank"),
        ([("\u2581", -1.0, 5), *((f"<0x{byte:02X}>", 0.0, 6) for byte in range(256))], "not a piece in use"),
        ([(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256)], "U\\+2581 alone is not a piece"),
    ],
)
def test_broken_models(tmp_path: Path, rows: list[tuple[str, float, int]], problem: str) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(model_of(rows, byte_fallback=len(rows) >= 256))
    with pytest.raises(VocabularyError, match=problem) as caught:
        bbpe.load(path)
    assert str(path) in str(caught.value)


def test_the_best_segmentations_of_several_pretokens() -> None:
    """No more than are asked for, the best first, each once: as by trying all of them."""
    spec = bbpe.train_from_iterator(["see my dogs", "see my eyes", "my dog"] * 5, 300, model="unigram").spec
    tok = bbpe.Tokenizer(replace(spec, rules=TextRules((), None, (Metaspace("always", True),))))
    text = "see my dogs"
    sampler = UnigramSampler(tok._parts.encoder)
    pretokens = sampler.pretokens(text)
    assert len(pretokens) == 3
    ways = [sampler._model.best_ways(pretoken, 4) for pretoken in pretokens]
    every = sorted((sum(score for score, _ in chosen) for chosen in itertools.product(*ways)), reverse=True)
    for n in (1, 2, 3, 4):
        found = tok.encode_nbest(text, n)
        assert len(found) == n
        assert [score for _, score in found] == pytest.approx(every[:n])
        assert len({tuple(ids) for ids, _ in found}) == n
        assert {tok.decode(ids) for ids, _ in found} == {tok.decode(tok.encode(text))}
        assert tok.encode_sampled(text, nbest=n, alpha=1e9, seed=1) == found[0][0] == tok.encode(text)
    drawn = {tuple(tok.encode_sampled(text, nbest=3, alpha=0.0, seed=seed)) for seed in range(60)}
    assert drawn == {tuple(ids) for ids, _ in tok.encode_nbest(text, 3)}


def test_tokens_that_begin_with_an_unknown_character(tmp_path: Path) -> None:
    """Such a character is in the run of unknown ones before the token, or the token is after the run."""
    made = sentencepiece_model_pb2.ModelProto()
    for piece, score, kind in (("<unk>", 0.0, 2), ("a", -1.0, 1), ("bc", -1.0, 1)):
        made.pieces.add(piece=piece, score=score, type=kind)
    made.normalizer_spec.add_dummy_prefix = False
    (tmp_path / "m.model").write_bytes(made.SerializeToString())
    tok = bbpe.load(tmp_path / "m.model")
    for text, ids, spans in (
        ("xbc", [0, 2], [[0, 1], [1, 3]]), ("cbbca", [0, 2, 1], [[0, 2], [2, 4], [4, 5]]), ("bb", [0], [[0, 2]]),
        ("bcbcx", [2, 2, 0], [[0, 2], [2, 4], [4, 5]]),
    ):  # fmt: skip
        found, places = tok.encode_with_offsets(text)
        assert (found, places.tolist()) == (ids, spans), text


@pytest.mark.parametrize(
    ("split", "text", "ids"),
    [
        (None, "a1ba b", [5, 4, 2, 0, 4]),
        ({"type": "Split", "pattern": {"Regex": "[0-9]"}, "behavior": "Isolated", "invert": False}, "a1a", [2, 3, 2]),
        ({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": True}, "a b", [2, 1, 4]),
        ({"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never", "split": False}, "a b", [6]),
    ],
)
def test_no_piece_goes_beyond_a_split(tmp_path: Path, split: Any, text: str, ids: list[int]) -> None:
    hf = pytest.importorskip("tokenizers")
    keys = ["<unk>", "\u2581", "a", "1", "b", "a1", "a\u2581b"]
    pieces = [[key, -1.0 - 0.1 * number] for number, key in enumerate(keys)]
    model = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False}
    value = {"version": "1.0", "added_tokens": [], "pre_tokenizer": split, "model": model}
    (tmp_path / "tokenizer.json").write_text(json.dumps(value))
    tok = bbpe.load(tmp_path / "tokenizer.json")
    judge = hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert tok.encode(text) == judge.encode(text).ids == ids
    assert tok.encode_with_offsets(text)[0] == ids
