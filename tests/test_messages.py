"""Errors are part of the interface: the type, the file, the place, the value, what was expected, and the way out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from options import train_options

import bbpe

TEXTS = ["see my eyes", "see my dogs"] * 20
TOK = bbpe.train_from_iterator(TEXTS, 270, special_tokens=["<s>"])
UNIGRAM = bbpe.train_from_iterator(TEXTS, 340, model="unigram")
COUNTS = bbpe.count_from_iterator(TEXTS, pattern="gpt2")
RANKS = {bytes([byte]): byte for byte in range(256)}
VOCAB = {byte: bytes([byte]) for byte in range(256)}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TOK.save("t.json")
    Path("empty").mkdir()


def load(name: str, data: bytes | str, **options: Any) -> bbpe.Tokenizer:
    Path(name).write_bytes(data.encode() if isinstance(data, str) else data)
    return bbpe.load(name, **options)


def changed(**fields: Any) -> bbpe.Tokenizer:
    return load("c.json", json.dumps({**json.loads(Path("t.json").read_bytes()), **fields}))


def count(name: str, data: bytes) -> bbpe.PretokenCounts:
    Path(name).write_bytes(data)
    return bbpe.count(name, pattern="gpt2")


def train(*arguments: Any, **options: Any) -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(*(arguments or (TEXTS, 300)), **train_options(**options))


V, C, P, S, T = bbpe.VocabularyError, bbpe.CorpusError, bbpe.PatternError, bbpe.SpecialTokenError, bbpe.TokenIdError
Row = tuple[Callable[[], Any], type[Exception], tuple[str, ...]]
EXPECTED_PATH = "path must be a str or a path, not int"
A_TEXT = "a text is str or bytes-like, not"
NO_IDS = "ids must be a sequence of int or an integer array of one dimension, not"

LOADING: list[Row] = [
    (lambda: bbpe.load("none.json"), FileNotFoundError, ("none.json",)),
    (lambda: bbpe.load("cl100k"), FileNotFoundError, ("no such file, vocabulary or model", "'cl100k_base'?")),
    (lambda: bbpe.load("a/b"), FileNotFoundError, ("no such file, nor a repository", "`hf download a/b` downloads it")),
    (lambda: bbpe.load("claude-9"), V, ("Anthropic has published no vocabulary", "count its tokens with `client.")),
    (lambda: bbpe.load(5), TypeError, (EXPECTED_PATH,)),  # type: ignore[arg-type]
    (lambda: load("bad.json", '{"model":'), V, ("bad.json", "line 1 column 10", "expected JSON", "ends too early")),
    (lambda: load("odd.json", '{"x": 1}'), V, ("odd.json", 'without the field "model"', "'x'", "a tokenizer.json")),
    (lambda: load("l.json", "[1]"), V, ("l.json", "[1]", "expected one of")),
    (lambda: load("e.json", ""), V, ("e.json", "an empty file", "expected one of")),
    (lambda: load("b.json", b"\xef\xbb\xbf{}"), V, ("b.json", "byte order mark (BOM)", "save it as UTF-8")),
    (lambda: load("tokenizer.json", "version https://git-lfs"), V, ("a pointer of Git LFS", "`git lfs pull`")),
    (lambda: load("x.json.gz", b"\x1f\x8b\x08"), V, ("x.json.gz", "a gzip file", "decompress it first")),
    (lambda: load("tokenizer.json", '{"model": {"a": [1, 2'), V, ("tokenizer.json", "line 1 column 22", "too early")),
    (lambda: bbpe.load("empty"), V, ("empty", "an empty folder", "expected one of")),
    (lambda: changed(normalizer={"type": "X"}), V, ("c.json", "normalizer", "'X' is not supported", "expected NFC")),
    (lambda: changed(version="2.0"), V, ("c.json", "version", '"2.0"', 'expected "1.0"')),
    (lambda: changed(other=1), V, ("c.json", "unknown field 'other'")),
    (lambda: load("c.json", '{"model": {"a": 1, "a": 2}}'), V, ("c.json", "'a' is listed twice", "each key once")),
    (lambda: load("r.tiktoken", "IQ== 0\nIQ= 1\n", pattern="gpt2"), V, ("r.tiktoken", "line 2", "'IQ= 1'", "base64")),
    (lambda: load("r.tiktoken", "IQ== 0\nIQ== 1\n", pattern="gpt2"), V, ("line 2", "b'!'", "line 1", "once")),
    (lambda: load("r.tiktoken", "IQ== 0\n"), V, ("r.tiktoken", "does not define how text is split", "give pattern=")),
    (lambda: bbpe.load("t.json", pattern="gtp2"), P, ("'gtp2'", "did you mean 'gpt2'?", "expected a regex or one of")),
    (lambda: bbpe.load("t.json", special_tokens=["a"]), TypeError, ("must map each text to its id", "list")),  # type: ignore[arg-type]
    (lambda: bbpe.get_encoding("gtp2"), V, ("'gtp2'", "did you mean 'gpt2'?", "expected one of")),
    (lambda: bbpe.encoding_for_model("GPT-4o"), V, ("model 'GPT-4o' (did you mean 'gpt-4o' or", "bbpe.load()")),
    (lambda: bbpe.split("a", pattern="GPT2"), P, ("'GPT2' (did you mean 'gpt2'?)",)),
    (lambda: bbpe.encoding_for_model("gpt-99"), V, ("vocabulary of model 'gpt-99'", "bbpe.load()")),
    (lambda: bbpe.Tokenizer({}), TypeError, ("not dict", "bbpe.load", "from_ranks")),  # type: ignore[arg-type]
    (lambda: bbpe.Tokenizer.from_ranks({b"a": 0}, pattern="gpt2"), V, ("255 single bytes", "0x00", "256 bytes")),
    (lambda: bbpe.Tokenizer.from_merges(VOCAB, [(b"a", b"b")], pattern="gpt2"), V, ("merge 0", "b'ab' has no id")),
    (lambda: bbpe.Tokenizer.from_ranks({**RANKS, b"ab": 2**28 - 1}, pattern="gpt2"), V, ("268435455", "expected ids")),
]
SAVING: list[Row] = [
    (lambda: TOK.save("t2.json", format="hf"), ValueError, ("'hf'; expected 'huggingface', ", "mean 'huggingface'?")),
    (lambda: TOK.save("t2.json", format=5), TypeError, ("format must be a str or None, not int",)),  # type: ignore[arg-type]
    (lambda: TOK.save("a.xyz"), ValueError, ("no format is chosen by the suffix '.xyz'", ".tiktoken", "format=")),
    (lambda: TOK.save("no/t.json"), FileNotFoundError, ("no/t.json",)),
    (lambda: TOK.save("x.tiktoken"), V, ("x.tiktoken", "special tokens ('<s>')", "write tokenizer.json", "drop=")),
    (lambda: TOK.save("x.model"), V, ("x.model", "not characters", "write tokenizer.json")),
    (lambda: TOK.save("x.codes"), V, ("x.codes", "merges of characters")),
    (lambda: TOK.save("x.json", drop="x"), ValueError, ("drop is 'x'", "'special_tokens', 'template', 'pattern'")),  # type: ignore[arg-type]
    (lambda: TOK.save(5), TypeError, (EXPECTED_PATH,)),  # type: ignore[arg-type]
]
ENCODING: list[Row] = [
    (lambda: TOK.encode(None), TypeError, (A_TEXT, "NoneType")),  # type: ignore[arg-type]
    (lambda: TOK.encode(5), TypeError, (A_TEXT, "int")),  # type: ignore[arg-type]
    (lambda: TOK.encode(["a"]), TypeError, (A_TEXT, "list")),  # type: ignore[arg-type]
    (lambda: TOK.encode_batch("a"), TypeError, ("a batch must be an iterable of texts, not one str",)),
    (lambda: TOK.encode_batch(5), TypeError, ("a batch must be an iterable of texts, not int",)),  # type: ignore[arg-type]
    (lambda: TOK.encode_batch({"a": 1}), TypeError, ("texts is {'a': 1}, a dict", "list(texts.values())")),
    (lambda: TOK.encode_batch_to_numpy({"a"}), TypeError, ("texts is {'a'}, a set", "no order", "sorted(texts)")),
    (lambda: TOK.encode_padded(frozenset("a"), pad_id=0), TypeError, ("texts is", "no order", "sorted(texts)")),
    (lambda: TOK.count_tokens_batch({"a"}), TypeError, ("texts is {'a'}, a set", "sorted(texts)")),
    (lambda: TOK.decode_batch({1: [97]}), TypeError, ("batch is {1: [97]}, a dict", "list(batch.values())")),
    (lambda: TOK.decode_batch({(97,)}), TypeError, ("batch is {(97,)}, a set", "sorted(batch)")),
    (lambda: TOK.as_tokenizers().encode_batch({"a": 1}), TypeError, ("input is {'a': 1}", "list(input.values())")),
    (lambda: TOK.as_tokenizers().encode_batch({"a"}), TypeError, ("input is {'a'}", "sorted(input)")),
    (lambda: TOK.encode_batch(["a", None]), TypeError, ("text 1", A_TEXT, "NoneType")),  # type: ignore[list-item]
    (lambda: TOK.encode_bytes("a"), TypeError, ("encode_bytes takes bytes", "encode takes str too")),  # type: ignore[arg-type]
    (lambda: TOK.encode("a", allowed_special={"<x>"}), S, ("'<x>' is not a special token",)),
    (lambda: TOK.encode("a", allowed_special={"\ud800"}), S, (r"'\ud800' is not a special token",)),
    (lambda: TOK.encode("a", allowed_special="<s>"), TypeError, ("allowed_special", '"all"', "'<s>'")),  # type: ignore[arg-type]
    (lambda: TOK.encode("a", allowed_special=5), TypeError, ("allowed_special", '"all" or a collection', "5")),  # type: ignore[arg-type]
    (lambda: TOK.encode("a<s>", disallowed_special="all"), S, ("'<s>' at byte 1", "pass allowed_special={'<s>'}")),
    (lambda: TOK.encode("a", dropout=2), ValueError, ("dropout is 2", "0 to 1")),
    (lambda: TOK.encode("a", dropout=0.5, seed=-1), ValueError, ("seed is -1", "0 to 2**64 - 1")),
    (lambda: TOK.encode_to_numpy("a", dtype=np.float32), ValueError, ("float32", "uint32, uint16, int32, int64")),
    (lambda: TOK.encode_to_numpy("a", threads=0), ValueError, ("threads is 0", "expected 1 to")),
    (lambda: TOK.encode_to_numpy("a", threads=2**64), ValueError, ("threads is 18446744073709551616", "expected 1 to")),
    (lambda: TOK.encode_batch(["a"], threads="2"), TypeError, ("threads must be an int or None, not str",)),  # type: ignore[arg-type]
    (lambda: TOK.count_tokens("a", threads=-1), ValueError, ("threads is -1", "expected 1 to")),
    (lambda: TOK.encode_nbest("a", 2), TypeError, ("no scores for", "expected one whose model is Unigram")),
    (lambda: UNIGRAM.encode_nbest("a", 0), ValueError, ("n is 0", "expected 1 to")),
    (lambda: UNIGRAM.encode_sampled("a", alpha=-1), ValueError, ("alpha is -1", "expected 0 or more")),
    (lambda: TOK.truncate("a", -1), ValueError, ("n is -1", "at least 0")),
    (lambda: TOK.truncate("abc", 2**64), ValueError, ("n is 18446744073709551616", "at most")),
    (lambda: TOK.truncate("abc", 1, side="x"), ValueError, ("side is 'x'", "'left' or 'right'")),  # type: ignore[arg-type]
    (lambda: TOK.fits("a", "x"), TypeError, ("n must be an int, not str",)),  # type: ignore[arg-type]
    (lambda: TOK.encode_with_offsets("a", "x"), ValueError, ("unit is 'x'", "'char', 'byte' or 'utf16'")),  # type: ignore[arg-type]
    (lambda: TOK.encode_padded(["a"]), S, ("no pad_token and no end-of-text token", "expected pad_id")),
    (lambda: TOK.encode_padded(["a"], side="x", pad_id=0), ValueError, ("side is 'x'",)),  # type: ignore[arg-type]
    (lambda: TOK.encode_padded(["a"], pad_to_multiple_of=0, pad_id=0), ValueError, ("pad_to_multiple_of is 0",)),
    (lambda: TOK.encode_padded(["a"], pad_id=2**40), ValueError, ("pad_id is 1099511627776", "0 to 4294967295")),
    (lambda: TOK.encode_padded(["a"], pad_id="x"), TypeError, ("pad_id must be an int, not str",)),  # type: ignore[arg-type]
]
DECODING: list[Row] = [
    (lambda: TOK.decode(None), TypeError, (NO_IDS, "NoneType")),  # type: ignore[arg-type]
    (lambda: TOK.decode(5), TypeError, (NO_IDS, "int")),  # type: ignore[arg-type]
    (lambda: TOK.decode([1.5]), TypeError, ("an id is an int, not float",)),  # type: ignore[list-item]
    (lambda: TOK.decode([10**6]), T, ("1000000 is out of range", "expected 0 to 268")),
    (lambda: TOK.decode([-1]), T, ("-1 is out of range", "expected 0 to 268")),
    (lambda: TOK.decode([2**70]), T, (str(2**70), "is out of range")),
    (lambda: TOK.decode(np.zeros((2, 2), int)), TypeError, (NO_IDS, "2 dimensions")),
    (lambda: TOK.decode({64}), TypeError, (NO_IDS, "set")),  # type: ignore[arg-type]
    (lambda: TOK.decode_batch([1, 2]), TypeError, ("row 0", NO_IDS, "int")),  # type: ignore[list-item]
    (lambda: TOK.decode_batch(5), TypeError, ("a batch must be an iterable of rows", "int")),  # type: ignore[arg-type]
    (lambda: TOK.decode([64], unknown_ids="x"), ValueError, ("unknown_ids is 'x'", "'raise', 'skip' or 'mark'")),  # type: ignore[arg-type]
    (lambda: TOK.id_to_token(10**6), T, ("1000000 is out of range", "expected 0 to 268")),
    (lambda: TOK.id_to_token("a"), TypeError, ("an id is an int, not str",)),  # type: ignore[arg-type]
    (lambda: TOK.token_to_id("zzz"), bbpe.TokenNotFoundError, ("no token is 'zzz'", "get_vocab()", "`encode`")),
    (lambda: TOK.token_to_id(5), TypeError, ("a token is str or bytes, not int",)),  # type: ignore[arg-type]
    (lambda: TOK.eot_token, S, ("no end-of-text token", "expected one of <|endoftext|>")),
    (lambda: setattr(TOK, "a", 1), AttributeError, ("immutable", "'a'")),
]
TRAINING: list[Row] = [
    (lambda: train(TEXTS, 10), ValueError, ("vocab_size is 10", "at least 256", "the 256 bytes")),
    (lambda: train(TEXTS, "x"), TypeError, ("vocab_size must be an int, not str",)),
    (lambda: train(model="bbpe"), ValueError, ("model is 'bbpe'", "'bpe', 'wordpiece' or 'unigram'")),
    (lambda: train(specials=[]), TypeError, ("unexpected keyword argument 'specials'",)),
    (lambda: train(special_tokens=["a b", "a b"]), ValueError, ("special_tokens", "'a b' is given twice")),
    (lambda: train(special_tokens={"<p>": 0}), TypeError, ("special_tokens", "not dict", "list(special_tokens)")),
    (lambda: train(special_tokens={"<p>"}), TypeError, ("special_tokens", "not set", "sorted(special_tokens)")),
    (lambda: train(special_tokens=["a"]), ValueError, ("special_tokens: 'a'", "expected a longer text")),
    (lambda: bbpe.train_from_iterator(TEXTS, 300, min_frequency=2), TypeError, (  # type: ignore[call-arg]
        "unexpected keyword argument 'min_frequency'", "option of bbpe.BPE and bbpe.WordPiece: ",
        "model=bbpe.BPE(min_frequency=2)")),
    (lambda: bbpe.train("t.json", 300, text_field="x"), TypeError, ("counting=bbpe.Counting(text_field='x')",)),  # type: ignore[call-arg]
    (lambda: bbpe.train_from_counts(COUNTS, 300, score="pmi"), TypeError, ("model=bbpe.WordPiece(score='pmi')",)),  # type: ignore[call-arg]
    (lambda: bbpe.train("t.json", 300, vocabsize=2), TypeError, ("did you mean 'vocab_size'?",)),  # type: ignore[call-arg]
    (lambda: train("abc", 300), TypeError, ("texts is 'abc', a str; expected an iterable of texts",)),
    (lambda: train([], 300), C, ("there is no text to train on",)),
    (lambda: train([None], 300), TypeError, ("text 0", A_TEXT, "NoneType")),
    (lambda: train(pattern="gtp2"), P, ("'gtp2'", "did you mean 'gpt2'?")),
    (lambda: train(pattern="(?r)a"), P, ("(?r)",)),
    (lambda: train(tie_break="x"), ValueError, ("tie_break is 'x'", "'ids', 'bytes' or 'first'")),
    (lambda: train(max_memory="x"), ValueError, ("'x' is no size", "'4GB'")),
    (lambda: train(max_memory="1MB"), ValueError, ("max_memory is 1.0 MB", "expected at least")),
    (lambda: train(document="x"), ValueError, ("document is 'x'", "'file' or 'line'")),
    (lambda: train(sample=2), ValueError, ("Counting.sample is 2", "at most 1")),
    (lambda: train(max_memory="4x"), ValueError, ("Counting.max_memory: '4x' is no size", "such as '4GB'")),
    (lambda: train(end_of_word="x", model="wordpiece"), TypeError, ("WordPiece", "'end_of_word'")),
    (lambda: train(model=bbpe.BPE), TypeError, ("model must be a name, or a BPE()", "class 'bbpe")),
    (lambda: train(model=5), TypeError, ("model must be a name, or a BPE()", "not int")),
    (lambda: train(model="bep"), ValueError, ("model is 'bep'", "'bpe', 'wordpiece' or 'unigram'")),
    (lambda: train(counting=5), TypeError, ("counting must be a Counting or None, not int",)),
    (lambda: train(text_field="x"), ValueError, ("Counting.text_field is 'x'", "only with files")),
    (lambda: train(user_defined_symbols="ab", model="unigram"), TypeError, ("Unigram.user_defined_symbols", "str")),
    (lambda: train(threads=0), ValueError, ("threads is 0", "expected 1 to")),
    (lambda: train(executor=5), TypeError, ("executor must be a concurrent.futures.Executor, not int",)),
    (lambda: train(alphabet="x"), ValueError, ("alphabet is 'x'", "'bytes' or 'chars'")),
    (lambda: train(end_of_word="x"), ValueError, ("end_of_word", "alphabet='chars'")),
    (lambda: train(model="wordpiece", score="x"), ValueError, ("score is 'x'", "'pmi' or 'frequency'")),
    (lambda: train(TEXTS, 340, model="unigram", character_coverage=5), ValueError, ("character_coverage is 5", "1")),
    (lambda: bbpe.train(["see my eyes"], 300), FileNotFoundError, ("see my eyes", "train_from_iterator")),
    (lambda: bbpe.train_from_counts(COUNTS, 300, model="wordpiece"), ValueError, ("'wordpiece'", "use train")),  # type: ignore[arg-type]
    (lambda: bbpe.train_from_counts(COUNTS, 300, pattern="cl100k"), ValueError, ("pattern 'gpt2' and 'cl100k'",)),
    (lambda: bbpe.train_from_counts(5, 300), TypeError, ("PretokenCounts or a mapping", "int")),  # type: ignore[arg-type]
    (lambda: bbpe.train_from_counts({"a": -1}, 300), ValueError, ("count of 'a' is -1", "expected 0 to")),
    (lambda: bbpe.train_from_counts({"a": 1.5}, 300), TypeError, ("count of 'a' must be an int",)),  # type: ignore[dict-item]
    (lambda: bbpe.extend(TOK, TEXTS, add=0), ValueError, ("add is 0", "at least 1")),
    (lambda: bbpe.extend(TOK, TEXTS, add="5"), TypeError, ("add must be an int, not str",)),  # type: ignore[arg-type]
    (lambda: bbpe.count_part("out", 0), TypeError, ("plan must be what bbpe.plan_count returned, not str",)),  # type: ignore[arg-type]
    (lambda: bbpe.get_encoding(None), TypeError, ("name must be the name of a vocabulary, a str, not NoneType",)),  # type: ignore[arg-type]
    (lambda: bbpe.encoding_for_model(5), TypeError, ("model is 5, an int; expected the name of a model",)),  # type: ignore[arg-type]
    (lambda: bbpe.prune(TOK, keep=5), ValueError, ("keep is 5", "at least 257")),
    (lambda: bbpe.set_cache_limit("x"), ValueError, ("'x' is no size", "'4GB'")),
    (lambda: bbpe.split("a", pattern=""), P, ("the pattern is empty", "'none'")),
    (lambda: bbpe.split("a", pattern="gtp2"), P, ("'gtp2'", "did you mean 'gpt2'?")),
]
COUNTING: list[Row] = [
    (lambda: bbpe.count("none.txt", pattern="gpt2"), FileNotFoundError, ("none.txt",)),
    (lambda: bbpe.count("see my dogs\n", pattern="gpt2"), FileNotFoundError, ("see my dogs", "count_from_iterator")),
    (lambda: bbpe.count("*.none", pattern="gpt2"), C, ("'*.none' matches no file",)),
    (lambda: bbpe.count("empty", pattern="gpt2"), C, ("'empty' holds no files",)),
    (lambda: bbpe.count({"a"}, pattern="gpt2"), TypeError, ("a path, a glob, a folder, or a sequence", "set")),  # type: ignore[arg-type]
    (lambda: bbpe.count(5, pattern="gpt2"), TypeError, ("a path, a glob, a folder, or a sequence", "int")),  # type: ignore[arg-type]
    (lambda: count("a.jsonl", b'{"text":"a"}\n{"x":1}\n'), C, ("a.jsonl", "line 2", "'text'", "'x'", "text_field=")),
    (lambda: count("a.jsonl", b'{"text":1}\n'), C, ("a.jsonl", "line 1", "'text' is int", "string or null")),
    (lambda: count("a.jsonl", b'{"text":"a"}\n{'), C, ("a.jsonl", "line 2", "JSON object")),
    (lambda: count("a.jsonl", b'{"text":' + b"[" * 5_000 + b"\n"), C, ("a.jsonl", "line 1")),
    (lambda: count("a.zip", b"PK\x03\x04"), C, ("a.zip", "archive", "format")),
    (lambda: count("a.txt", b"\xff\xfea\0b\0"), C, ("a.txt", "UTF-16")),
    (lambda: bbpe.load_counts("none.parquet"), FileNotFoundError, ("none.parquet",)),
    (lambda: bbpe.load_counts("t.json"), C, ("t.json", "expected a Parquet file")),
    (lambda: COUNTS + bbpe.count_from_iterator(TEXTS, pattern="cl100k"), ValueError, ("'gpt2' and 'cl100k'",)),
    (lambda: COUNTS.scale(0), ValueError, ("a weight is 0", "more than 0")),
    (lambda: COUNTS.scale("x"), TypeError, ("weight must be a number, not str",)),  # type: ignore[arg-type]
]
ROWS = [*LOADING, *SAVING, *ENCODING, *DECODING, *TRAINING, *COUNTING]


@pytest.mark.parametrize("number", range(len(ROWS)))
def test_messages(number: int) -> None:
    call, kind, parts = ROWS[number]
    with pytest.raises(kind) as caught:
        call()
    message = str(caught.value)
    assert not [part for part in parts if part not in message], message
    assert len(message) <= 1000 + len("t.json: ")
    assert "Traceback" not in message


def test_there_are_a_hundred() -> None:
    assert len(ROWS) >= 100
