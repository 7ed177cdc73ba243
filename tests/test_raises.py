"""Every error that a docstring names in `Raises` comes: each entry has calls that raise it, at once or when consumed.

An entry of a public function or method that the table lacks fails `test_the_table_is_whole`.  Types are exact: what a
docstring calls `ValueError` is none of our own types, which have entries of their own, and `OSError` is any of them.
"""

from __future__ import annotations

import builtins
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import two_values
from of_others import OF_OTHERS
from option_rows import COUNTS, MESSAGES, PLAIN, TEXT, TEXTS, TOK, UNIGRAM
from raising import (
    FILES,
    HOLE,
    NO_PAIR,
    OPTIONS,
    ORIGINS,
    PAIR,
    PART_OF_A_CHARACTER,
    RANKS,
    REFUSED,
    RULES,
    TIKTOKEN,
    TYPES,
    VIEW,
    VOCAB,
    WORDS,
    Call,
    after,
    arrow,
    as_folder,
    big,
    chats,
    classic,
    count_plan,
    counted,
    cut,
    emptied,
    encoding,
    gone,
    kinds,
    lost,
    needs_more,
    operators,
    plan,
    ragged,
    reports,
    rewritten,
    shards,
    shortened,
    sources_of_shards,
    taken,
    unwritten,
    without,
)
from small_published import make_bare
from two_values import public

import bbpe
import bbpe.ray
import bbpe.tiktoken
from bbpe.compat.tokenizers import Tokenizer
from bbpe.compat.tokenizers.encoding import Encoding
from bbpe.published.names import MODELS

T: Any = bbpe.Tokenizer
PAIRS: dict[str, Any] = {"texts": [("a", "b")], **PAIR}


TABLE: dict[str, list[Call]] = {
    **kinds("BPE", bbpe.BPE, TypeError={"lowercase": 1, "alphabet": "chars"}, ValueError=[{"tie_break": "x"}, {
        "end_of_word": "</w>"}]),
    **kinds("WordPiece", bbpe.WordPiece, TypeError={"lowercase": 1}, ValueError={"score": "x"}),
    **kinds("Unigram", bbpe.Unigram, TypeError={"byte_fallback": 1}, ValueError={"character_coverage": 0}),
    **kinds("Counting", bbpe.Counting, TypeError={"sample": "1"}, ValueError={"document": "page"}),
    **kinds("BBPETokenizer", bbpe.BBPETokenizer,
            VocabularyError={"vocab_path": "a.txt", "merges_path": "a.txt"},
            OSError={"vocab_path": "missing.txt", "merges_path": "a.txt"}),
    **kinds("BBPETokenizer.decode", lambda **given: classic().decode(**given), TokenIdError={"tokens": [999]}),
    **kinds("BBPETokenizer.train_tokenizer", bbpe.BBPETokenizer.train_tokenizer,
            ValueError={"data": TEXT, "vocab_size": 255}, CorpusError={"data": "", "vocab_size": 256},
            OSError={"data": TEXT, "vocab_size": 256, "vocab_outfile": "a.txt/v"}),
    **reports(),
    "Ragged.from_rows TypeError": [lambda: bbpe.Ragged.from_rows([[1.5]])],
    "Ragged.from_rows OverflowError": [lambda: bbpe.Ragged.from_rows([[-1]])],
    "Ragged.from_arrow TypeError": [lambda: bbpe.Ragged.from_arrow([1]), lambda: bbpe.Ragged.from_arrow(arrow([None]))],
    "Ragged.from_arrow OverflowError": [
        lambda: bbpe.Ragged.from_arrow(arrow([[-1]])), lambda: bbpe.Ragged.from_arrow(arrow([[1 << 32]])),
    ],
    "Ragged.to_arrow ImportError": [without("pyarrow", lambda: TOK.encode_batch_to_numpy(["a"]).to_arrow())],
    "Ragged.to_arrow OverflowError": [lambda: ragged(1 << 31).to_arrow()],
    "StreamDecoder.stream TokenIdError": [lambda: list(TOK.stream_decoder().stream([9999]))],
    # -- encoding
    **kinds("Tokenizer.from_merges", T.from_merges,
            VocabularyError={"vocab": VOCAB, "merges": [(b"l", b"o")], "pattern": "gpt2"},
            PatternError={"vocab": VOCAB, "merges": [], "pattern": "gpt17"}),
    **kinds("Tokenizer.from_ranks", T.from_ranks,
            VocabularyError=[
                {"ranks": {b"a": 0}, "pattern": "gpt2"}, {"ranks": {**RANKS, b"ab": 97}, "pattern": "gpt2"}],
            PatternError={"ranks": RANKS, "pattern": "gpt17"}),
    **encoding("encode", TypeError={"text": 5}, ValueError=[
        {"text": TEXT, "dropout": 2.0}, {"text": TEXT, "dropout": 0.1, "seed": -1},
        lambda: NO_PAIR.encode("a", "b", **PAIR)]),
    **encoding("encode_bytes", TypeError={"text": "see"}),
    **encoding("encode_to_numpy", ValueError=[
        {"text": TEXT, "dtype": "float32"}, lambda: big().encode_to_numpy(TEXT, dtype="uint16")]),
    **encoding("encode_batch", "texts", TypeError=[*TYPES, lambda: TOK.encode_batch(arrow(["a", None]))],
               ValueError=[lambda: NO_PAIR.encode_batch(**PAIRS)]),
    **encoding("encode_batch_to_numpy", "texts", TypeError=TYPES,
               ValueError=[lambda: NO_PAIR.encode_batch_to_numpy(**PAIRS)]),
    **{"Tokenizer.encode_padded SpecialTokenError": [
        lambda: PLAIN.encode_padded(["a"]), lambda: TOK.encode_padded([TEXT], pad_id=0, **REFUSED)]},
    **kinds("Tokenizer.encode_padded", TOK.encode_padded, ValueError=[
        {"texts": ["a"], "pad_id": 0, "max_length": -1}, {"texts": ["a"], "pad_id": 0, "pad_to_multiple_of": 0},
        {"texts": [("a", TEXT)], "pad_id": 0, "max_length": 3, "truncation": "only_first"},
        lambda: NO_PAIR.encode_padded(pad_id=0, **PAIRS)]),
    **encoding("encode_with_offsets"),
    **encoding("encode_aligned", ValueError=[
        {"text": "a", "unit": "word"}, lambda: NO_PAIR.encode_aligned("a", "b", **PAIR)]),
    **kinds("Tokenizer.encode_files", lambda **given: list(TOK.encode_files(**given)), **FILES),
    **kinds("Tokenizer.encode_nbest", UNIGRAM.encode_nbest, TypeError=[lambda: TOK.encode_nbest("a", 1)],
            ValueError=[{"text": "a", "n": 0}, {"text": "a", "n": 65_537}]),
    **kinds("Tokenizer.encode_sampled", UNIGRAM.encode_sampled, TypeError=[lambda: TOK.encode_sampled("a")],
            ValueError=[{"text": "a", "alpha": -1.0}, {"text": "a", "nbest": 0}]),
    "Tokenizer.trace ValueError": [lambda: TOK.trace("a" * 4097)],
    **encoding("count_tokens"),
    **encoding("count_tokens_batch", "texts", TypeError=TYPES),
    "Tokenizer.fits ValueError": [lambda: TOK.fits("a", -1)],
    **encoding("truncate", more={"n": 9}, ValueError=[{"text": "a", "n": -1}, {"text": "a", "n": 1, "side": "top"}]),
    **encoding("chunk", more={"max_tokens": 9}, ValueError=[
        {"text": "a", "max_tokens": 0}, {"text": "a", "max_tokens": 2, "overlap": 2},
        {"text": "\u4e2d", "max_tokens": 1}], TypeError={"text": "a", "max_tokens": 2, "boundary": lambda _: 1}),
    # -- decoding and the vocabulary
    **kinds("Tokenizer.decode", HOLE.decode, TokenIdError=[{"ids": [-1]}, {"ids": [9999]}, {"ids": [300]}],
            TypeError=[{"ids": 5}, {"ids": "ab"}, {"ids": np.array([1.5])}], ValueError={"ids": [1], "errors": "x"}),
    **kinds("Tokenizer.decode_bytes", HOLE.decode_bytes, TokenIdError={"ids": [300]}, TypeError={"ids": 5}),
    **kinds("Tokenizer.decode_batch", HOLE.decode_batch, TokenIdError={"batch": [[1], [300]]}, TypeError=[
        {"batch": 5}, {"batch": {1}}, {"batch": {1: 2}}, {"batch": [[1], 5]}], ValueError={"batch": [], "errors": "x"}),
    **kinds("Tokenizer.decode_with_offsets", HOLE.decode_with_offsets, UnicodeDecodeError={"ids": PART_OF_A_CHARACTER},
            TokenIdError={"ids": [300]}),
    **kinds("Tokenizer.stream_decoder", HOLE.stream_decoder, ValueError=[{"stop": [""]}, {"include_stop": True}],
            TokenIdError={"prompt": [300]}, TypeError=[{"prompt": 5}, {"stop": "x"}]),
    "Tokenizer.is_canonical TokenIdError": [lambda: HOLE.is_canonical([300])],
    "Tokenizer.id_to_token TokenIdError": [lambda: HOLE.id_to_token(300), lambda: HOLE.id_to_token(-1)],
    **kinds("Tokenizer.token_to_id", TOK.token_to_id, TokenNotFoundError={"token": "none such"},
            TypeError={"token": 5}),
    **kinds("Tokenizer.with_added_tokens", TOK.with_added_tokens, TypeError={"tokens": [5]},
            ValueError={"tokens": [""]}),
    # -- files, chats and views
    **kinds("Tokenizer.save", TOK.save, VocabularyError={"path": "x.tiktoken"},
            ValueError=[{"path": "x", "format": "x"}, {"path": "x", "drop": ["x"]}, {"path": "https://a/t.json"}],
            CorpusError={"path": "nosuchscheme://b/t.json"},
            OSError={"path": "a.txt/t.json"}),
    **kinds("Tokenizer.apply_chat_template", chat := TOK.apply_chat_template, VocabularyError=[
        {"messages": MESSAGES}, {"messages": MESSAGES, "chat_template": "{{ raise_exception('no') }}"},
        {"messages": MESSAGES, "chat_template": "{{ 1 / 0 }}"},
        {"messages": MESSAGES, "chat_template": "{{ 'a' * 99999999 }}"},
    ], TypeError=[{"messages": [5], "chat_template": "{{ a }}"},
                  {"messages": MESSAGES, "tools": [5], "chat_template": "{{ a }}"},
                  {"messages": MESSAGES, "chat_template": "{{ a }}", "no_such": 1}],
            ValueError={"messages": MESSAGES, "chat_template": "{{ a }}", "tokenize": True}),
    **kinds("Tokenizer.encode_chat", TOK.encode_chat, VocabularyError=[
        {"messages": MESSAGES}, {"messages": MESSAGES, "chat_template": "{{ 1 / 0 }}"},
    ], SpecialTokenError={"messages": MESSAGES, "chat_template": "{{ a }}", "content_special": {"no such"}},
            TypeError=[{"messages": [5], "chat_template": "{{ a }}"},
                       {"messages": MESSAGES, "chat_template": "{{ a }}", "train_on": 5},
                       {"messages": MESSAGES, "chat_template": "{{ a }}", "no_such": 1}],
            ValueError={"messages": MESSAGES, "chat_template": "long", "max_length": 1}),
    **kinds("Tokenizer.encode_chat_batch", TOK.encode_chat_batch,
            TypeError={"conversations": MESSAGES, "chat_template": "{{ a }}"}),
    **kinds("Tokenizer.continue_chat", lambda **given: TOK.continue_chat(
        TOK.encode_chat(MESSAGES, chat_template="{{ messages | length }}"), **given
    ), TypeError={"sampled_ids": ["a"]}, ValueError={"sampled_ids": [], "messages": MESSAGES},
            TokenIdError={"sampled_ids": [99999]}),
    **kinds("Tokenizer.encode_segments", TOK.encode_segments, SpecialTokenError={"segments": [("a", {"no such"})]},
            TypeError=[{"segments": ["a"]}, {"segments": 5}]),
    **kinds("Tokenizer.count_messages", TOK.count_messages, VocabularyError={"messages": MESSAGES},
            TypeError={"messages": [5], "model": "gpt-4o"},
            ValueError={"messages": [{"role": "user", "content": [{"type": "image_url"}]}], "model": "gpt-4o"}),
    **chats(),
    "Tokenizer.as_tiktoken VocabularyError": [tok.as_tiktoken for tok in (RULES, OPTIONS, WORDS)],
    "Tokenizer.as_sentencepiece VocabularyError": [TOK.as_sentencepiece],
}  # fmt: skip
#: A corpus or texts that a function of reports measures.
MEASURED: dict[str, Any] = {"CorpusError": {"corpora": "broken.jsonl"}, "OSError": {"corpora": "missing.txt"}}
TABLE |= {
    **kinds("compare", lambda **given: bbpe.compare(TOK, PLAIN, **given), TypeError=[{"most": "5"}, {"names": 5}],
            ValueError={"corpus": "a.txt", "texts": ["a"]}, CorpusError={"corpus": "broken.jsonl"},
            OSError={"corpus": "missing.txt"}),
    **kinds("corpus_curve", lambda **given: bbpe.corpus_curve(TEXTS, 260, held_out_texts=["a"], **given),
            ValueError=[{"shares": [0.0]}, {"shares": [1.5]}]),
    **kinds("evaluate", lambda tokenizers=TOK, **given: bbpe.evaluate(tokenizers, **given), ValueError=[
        {"tokenizers": [], "texts": ["a"]}, {}, {"texts": {"a": ["a"]}, "parity": "b"}],
        TypeError={"texts": ["a"], "seed": "1"}, **MEASURED),
    **kinds("learning_curve", bbpe.learning_curve, ValueError=[
        {"tokenizers": TOK, "sizes": [3], "texts": ["a"]}, {"tokenizers": TOK, "sizes": [9999], "texts": ["a"]}],
        VocabularyError={"tokenizers": WORDS, "sizes": [30], "texts": ["a"]}),
    **kinds("lint", lambda corpus=None, **given: bbpe.lint(TOK, corpus, **given), TypeError={"min_count": "1"},
            ValueError={"min_count": -1}, CorpusError={"corpus": "broken.jsonl"}, OSError={"corpus": "missing.txt"}),
    # -- counting and training
    **kinds("count", count := lambda files="a.jsonl", **given: bbpe.count(files, **{"pattern": "gpt2", **given}),
            ValueError={"sample": 0}, TypeError={"sample": "1"}, OSError=FILES["OSError"],
            CorpusError=[*FILES["CorpusError"], lambda: count(checkpoint=taken())],
            ImportError=[without("pyarrow", lambda: count("a.parquet"))]),
    **kinds("count_from_iterator", texts := lambda texts=("a",), **given: bbpe.count_from_iterator(
            texts, **{"pattern": "gpt2", **given}), ValueError={"sample": 0},
            TypeError=[{"sample": "1"}, {"texts": [5]}], CorpusError={"checkpoint": "."}),
    **kinds("plan_count", lambda files="a.jsonl", **given: bbpe.plan_count(files, "counts", **{
            "pattern": "gpt2", **given}), CorpusError=[FILES["CorpusError"][0], after(count_plan, lambda made: (
                bbpe.plan_count("a.txt", "counts", pattern="gpt2")))],
            ValueError={"sample": 0}, OSError=FILES["OSError"]),
    **kinds("count_part", bbpe.count_part, CorpusError=[
        after(lambda: rewritten(count_plan()), lambda made: bbpe.count_part(made, 0))],
        ValueError=[after(count_plan, lambda made: bbpe.count_part(made, 99))],
        TypeError=[{"plan": "counts", "number": 0}, after(count_plan, lambda made: bbpe.count_part(made, "0"))],
        OSError=[after(lambda: gone(count_plan()), lambda made: bbpe.count_part(made, 0))]),
    **kinds("sum_counts", bbpe.sum_counts, CorpusError=[
        after(count_plan, bbpe.sum_counts), after(lambda: (counted(), cut("counts/run-00000.parquet")), lambda made: (
            bbpe.sum_counts("counts")))], OSError={"folder": "missing"}, TypeError={"folder": 5}),
    **kinds("train", bbpe.train, ValueError={"files": "a.txt", "vocab_size": 3},
            TypeError={"files": "a.txt", "vocab_size": "300"}, CorpusError=[
                {"files": "empty.txt", "vocab_size": 300}, {"files": "broken.jsonl", "vocab_size": 300}],
            MemoryLimitError=[needs_more(lambda how: bbpe.train("a.txt", 300, counting=how))],
            OSError={"files": "missing.txt", "vocab_size": 300}),
    **kinds("train_from_counts", bbpe.train_from_counts, ValueError=[
        {"counts": {"a": 1}, "vocab_size": 3}, {"counts": COUNTS, "vocab_size": 300, "pattern": "o200k"}],
        TypeError={"counts": 5, "vocab_size": 300}, CorpusError={"counts": {}, "vocab_size": 300},
        MemoryLimitError=[needs_more(lambda how: bbpe.train_from_counts(COUNTS, 300, max_memory=how.max_memory))]),
    **kinds("train_from_iterator", bbpe.train_from_iterator, ValueError={"texts": ["a"], "vocab_size": 3},
            TypeError=[{"texts": ["a"], "vocab_size": "300"}, {"texts": ["a", 5], "vocab_size": 300}],
            CorpusError={"texts": [], "vocab_size": 300}),
    **kinds("extend", lambda tokenizer=PLAIN, files="a.txt", **given: bbpe.extend(tokenizer, files, **given),
            VocabularyError=[{"tokenizer": RULES}, {"tokenizer": WORDS}], ValueError=[{"add": 0}, {
                "files": bbpe.count_from_iterator(["a"], pattern="o200k")}], TypeError={"add": "1"},
            CorpusError=[{"files": "empty.txt"}, {"files": "broken.jsonl"}],
            MemoryLimitError=[needs_more(lambda how: bbpe.extend(PLAIN, "a.txt", 5, counting=how))]),
    **kinds("prune", lambda tokenizer=PLAIN, **given: bbpe.prune(tokenizer, **given), TypeError={"keep": "5"},
            ValueError=[{"keep": 5}, {"keep": [9999]}, {"used_in": bbpe.count_from_iterator(["a"], pattern="o200k")}],
            VocabularyError=[{"tokenizer": WORDS, "keep": 30}, {"tokenizer": RULES, "used_in": "a.txt"}]),
    # -- files of vocabularies
    **kinds("load", bbpe.load, VocabularyError=[{"path": "a.txt"}, {"path": "archive.txt"}],
            PatternError=[lambda: (TOK.save("t.json"), bbpe.load("t.json", pattern="gpt17"))],
            OSError={"path": "missing.json"}),
    "get_encoding FileNotFoundError": [lambda: bbpe.get_encoding("gpt2", folder="none")],
    "encoding_for_model FileNotFoundError": [lambda: bbpe.encoding_for_model("gpt-4o", folder="none")],
    "get_encoding VocabularyError": [
        lambda: bbpe.get_encoding("no such name"), without("tiktoken_ext", lambda: bbpe.get_encoding("small")),
    ],
    "encoding_for_model VocabularyError": [
        lambda: bbpe.encoding_for_model("no such model"), lambda: bbpe.encoding_for_model("small-model"),
    ],
    **kinds("set_cache_limit", bbpe.set_cache_limit, ValueError=[{"limit": -1}, {"limit": 1 << 63}, {"limit": "much"}],
            TypeError={"limit": 1.5}),
    **kinds("split", bbpe.split, PatternError={"text": "a", "pattern": "gpt17"},
            TypeError={"text": b"a", "pattern": "gpt2"}),
    **kinds("split_spans", bbpe.split_spans, PatternError=[
        {"text": "a", "pattern": "gpt17"}, {"text": "a b", "pattern": "whitespace"}]),
    # -- shards
    **kinds("plan_shards", lambda files="a.jsonl", folder="out", **given: bbpe.plan_shards(files, folder, TOK, **given),
            CorpusError=[after(shards, lambda made: plan(eos="<s>")), {"files": ".", "folder": "out"},
                         {"files": "archive.txt"}, {"files": "a.jsonl", "text_field": "none such"}],
            ValueError=[{"format": "x"}, {"folder": "s3://bucket/out"}], TypeError=[{"no_such": 1}, {"part_size": 1.5}],
            OSError={"files": "missing.txt"}),
    **kinds("shard", lambda files="a.jsonl", **given: bbpe.shard(files, "out", TOK, **given), CorpusError=[
        *FILES["CorpusError"], after(shards, lambda made: bbpe.shard("a.jsonl", "out", TOK, eos="<s>"))],
        ValueError={"format": "x"}, TypeError={"threads": "1"}, OSError=FILES["OSError"]),
    **kinds("shard_part", bbpe.shard_part, CorpusError=[
        after(lambda: rewritten(plan()), lambda made: bbpe.shard_part(made, 0))],
        ValueError=[after(plan, lambda made: bbpe.shard_part(made, 99))],
        OSError=[after(lambda: gone(plan()), lambda made: bbpe.shard_part(made, 0))]),
    **kinds("finish_shards", bbpe.finish_shards, CorpusError=[
        after(plan, bbpe.finish_shards), after(lambda: lost(plan()), bbpe.finish_shards)],
        OSError=[after(lambda: as_folder(lost(plan())), bbpe.finish_shards)]),
    **kinds("load_shards", bbpe.load_shards, CorpusError=[
        after(plan, lambda made: bbpe.load_shards("out")),
        after(lambda: (shards(), cut("out/manifest.json")), lambda made: bbpe.load_shards("out")),
        after(lambda: (shards(), cut("out/part-00000.bin")), lambda made: list(bbpe.load_shards("out")))],
        OSError={"folder": "missing"}, TypeError={"folder": 5}),
    **ORIGINS,
    **kinds("merge_shards", lambda folders=(), **given: bbpe.merge_shards(folders, "all", **given), CorpusError=[
        after(lambda: (shards("x"), shards("y", eos="<s>")), lambda made: bbpe.merge_shards(["x", "y"], "all")),
        after(lambda: emptied(shards("x"), "part-00000.json"), lambda made: bbpe.merge_shards(["x"], "all"))],
        TypeError={"folders": {"out": 1.0}}, ValueError=[{}, {"folders": ["out"], "shuffle": -1},
            after(shards, lambda made: bbpe.merge_shards([made], "all", shard_size=5))],
        OSError={"folders": ["missing"]}),
    **operators(),
    **OF_OTHERS,
    **kinds("count_shards", lambda folder, **given: bbpe.count_shards(folder, pattern="gpt2", **given), TypeError={
            "folder": 5}, ValueError={"folder": "x", "sample": 0}, OSError={"folder": "missing"}, CorpusError=[
            after(lambda: (shards(), cut("out/plan.json")), lambda _: bbpe.count_shards("out", pattern="gpt2"))]),
    **kinds("count_tokens", lambda files="a.jsonl", **given: bbpe.count_tokens(files, TOK, **given),
            ValueError={"threads": 0}, TypeError={"threads": "1"}, **FILES),
    **sources_of_shards(),
}  # fmt: skip
HF, TIK = "compat.tokenizers.Tokenizer", "tiktoken.core.Encoding"
VIEW_ENCODING = "compat.tokenizers.encoding.Encoding"
TIK_ARGUMENTS: dict[str, Any] = {"pat_str": "[a-z]+", "mergeable_ranks": RANKS, "special_tokens": {}}
TABLE |= {
    **kinds(f"{HF}.encode", VIEW.encode, TypeError=[{"sequence": 5}, {"sequence": "a b", "is_pretokenized": True}],
            ValueError=[lambda: shortened().encode("a", TEXT)]),
    **kinds(f"{HF}.encode_batch", VIEW.encode_batch, TypeError=[{"input": "a"}, {"input": [5]}, lambda: (
        VIEW.encode_batch(arrow(["a", None])))], ValueError=[lambda: shortened().encode_batch([("a", TEXT)])]),
    **kinds(f"{HF}.encode_batch_fast", VIEW.encode_batch_fast, TypeError=[{"input": "a"}, {"input": [5]}],
            ValueError=[lambda: shortened().encode_batch_fast([("a", TEXT)])]),
    **kinds(f"{HF}.enable_truncation", TOK.as_tokenizers().enable_truncation, ValueError=[
        {"max_length": 5, "strategy": "x"}, {"max_length": 5, "direction": "x"}, {"max_length": 5, "stride": 9},
        {"max_length": -1}], TypeError={"max_length": "5"}),
    **kinds(f"{HF}.enable_padding", VIEW.enable_padding, ValueError={"pad_id": -1}, TypeError={"length": ""}),
    **kinds(f"{HF}.add_tokens", TOK.as_tokenizers().add_tokens, TypeError=[{"tokens": [5]}, {"tokens": "a"}]),
    f"{HF}.to_str VocabularyError": [unwritten],
    **kinds(f"{HF}.save", VIEW.save, VocabularyError=[lambda: unwritten("x.json")], OSError={"path": "a.txt/t.json"}),
    **kinds(f"{VIEW_ENCODING}.pad", VIEW.encode("a").pad, TypeError={"length": ""}, ValueError={"length": -1}),
    **kinds(f"{VIEW_ENCODING}.truncate", VIEW.encode(TEXT).truncate, ValueError=[
        {"max_length": 2, "direction": "x"}, {"max_length": 2, "stride": 2}], TypeError={"max_length": 1.5}),
    **kinds(TIK, lambda **given: bbpe.tiktoken.Encoding("x", **{**TIK_ARGUMENTS, **given}), VocabularyError=[
        {"explicit_n_vocab": 300}, RULES.as_tiktoken], PatternError={"pat_str": "("},
        ValueError=[lambda: TIKTOKEN.encode(TEXT)], TypeError=[lambda: TIKTOKEN.encode(5)],
        KeyError=[lambda: TIKTOKEN.decode([9999])], OverflowError=[lambda: TIKTOKEN.decode([-1])]),
    f"{TIK}.encode ValueError": [lambda: TIKTOKEN.encode(TEXT)],
    f"{TIK}.encode_to_numpy UnicodeEncodeError": [lambda: TIKTOKEN.encode_to_numpy("\ud800")],
    f"{TIK}.encode_with_unstable UnicodeEncodeError": [lambda: TIKTOKEN.encode_with_unstable("\ud800")],
    **kinds(f"{TIK}.encode_ordinary_batch", TIKTOKEN.encode_ordinary_batch, TypeError=[
        {"text": [5]}, lambda: TIKTOKEN.encode_ordinary_batch(arrow(["a", None]))]),
    **kinds(f"{TIK}.encode_batch", TIKTOKEN.encode_batch, ValueError={"text": [TEXT]}, TypeError=[
        {"text": [5]}, lambda: TIKTOKEN.encode_batch(arrow(["a", None]))]),
    **kinds(f"{TIK}.encode_single_token", TIKTOKEN.encode_single_token, KeyError={"text_or_bytes": "none such"},
            TypeError={"text_or_bytes": 5}),
    f"{TIK}.decode_with_offsets UnicodeDecodeError": [lambda: TIKTOKEN.decode_with_offsets(PART_OF_A_CHARACTER)],
    f"{TIK}.decode_bytes_batch ValueError": [lambda: TIKTOKEN.decode_bytes_batch([[1]], num_threads=0)],
}  # fmt: skip
FOLDER = "compat/of_transformers"
#: Entries that need a package, or a process, and the tests with their calls.
ELSEWHERE = {
    "Tokenizer.encode_with_offsets VocabularyError": "encoding/test_aligned.py::test_text_of_the_unknown_token",
    "Tokenizer.encode_aligned VocabularyError": "encoding/test_aligned.py::test_words_in_a_row_have_no_places",
    "Tokenizer.encode_chat ImportError": "test_import.py::test_packages_that_are_not_there",
    "Tokenizer.apply_chat_template ImportError": "test_import.py::test_packages_that_are_not_there",
    "accelerate AccelerationError": f"{FOLDER}/test_acceleration.py::test_what_is_refused_is_unchanged",
    "accelerate OSError": f"{FOLDER}/test_acceleration.py::test_a_path_or_name",
    "accelerate TypeError": f"{FOLDER}/test_acceleration.py::test_what_is_no_tokenizer_of_transformers_is_named",
    "patch_transformers TypeError": "test_argument_kinds.py::test_what_is_no_bool_is_refused",
    "patch_transformers ImportError": "test_import.py::test_packages_that_are_not_there",
    "Tokenizer.as_huggingface ImportError": f"{FOLDER}/test_huggingface_view.py::test_without_the_package",
    "Tokenizer.as_huggingface VocabularyError": f"{FOLDER}/test_huggingface_view.py::test_without_the_package",
    "ray.RayExecutor ImportError": "test_ray.py::test_without_ray_it_says_what_to_install",
}

VIEWS = (bbpe.tiktoken.Encoding, Tokenizer, Encoding, bbpe.ray.RayExecutor)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with the files of the table."""
    make_bare(tmp_path, monkeypatch)
    monkeypatch.setitem(MODELS, "small-model", "small")
    monkeypatch.chdir(tmp_path)
    Path("a.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS * 9))
    Path("a.txt").write_text("see my dogs\n" * 9)
    Path("empty.txt").touch()
    Path("broken.jsonl").write_text('{"text": "a"\n')
    Path("archive.txt").write_bytes(b"PK\x03\x04" + bytes(40))
    Path("a.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")


def entries(owner: object) -> Iterator[tuple[str, str]]:
    """The errors in the `Raises` of a docstring, and when they come."""
    found = re.search(r"^Raises:\n((?:    .*\n?|\n)*)", inspect.getdoc(owner) or "", re.MULTILINE)
    for line in textwrap.dedent(found[1]).splitlines() if found else ():
        if line[:1].strip():
            yield line.partition(":")[0], line.partition(":")[2]


def documented() -> dict[str, str]:
    found = {f"{name} {error}": when for name, call in public(*VIEWS) for error, when in entries(call)}
    for kind in (*map(bbpe.__dict__.get, bbpe.__all__), *VIEWS):
        if inspect.isclass(kind):
            found |= {f"{two_values.label(kind)} {error}": when for error, when in entries(kind)}
    return found


def test_the_table_is_whole() -> None:
    known = documented()
    assert len(known) > 180
    assert known.keys() - {*TABLE, *ELSEWHERE} == set()
    assert {*TABLE, *ELSEWHERE} - known.keys() == set()
    assert all(map(two_values.is_there, ELSEWHERE.values()))


@pytest.mark.parametrize("entry", TABLE)
def test_it_raises(entry: str) -> None:
    name = entry.split()[1]
    kind: type[Exception] = getattr(bbpe, name, None) or getattr(builtins, name)
    for call in TABLE[entry]:
        with pytest.raises(Exception) as caught:  # noqa: PT011 - of any type, which is looked at
            call()
        error = caught.value
        is_right = isinstance(error, kind) if kind in (OSError, ImportError) else type(error) is kind
        assert is_right, repr(error)
