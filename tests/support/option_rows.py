"""The table of options: for each function two values of each, and what else the call needs for a difference to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from two_values import Row, Two

import bbpe
from bbpe.spec.rules import Template

TEXT = "see my eyes <s> first, see my dogs 123\nfirst low lower lowest newest"
OTHER = "a second text of a pair, see"


def made() -> bbpe.Tokenizer:
    tok = bbpe.train_from_iterator([TEXT, OTHER] * 3, 300, special_tokens=["<s>", "<pad>"])
    single, pair = ((0, 0), ("A", 0)), ((0, 0), ("A", 0), (0, 1), ("B", 1))
    return bbpe.Tokenizer(replace(tok.spec, template=Template(single, pair)))


TOK = made()
WITH_CHATS = bbpe.Tokenizer(replace(TOK.spec, files={"chat_template.jinja": b"<s>{{ messages[0].content }}"}))
UNIGRAM = bbpe.train_from_iterator([TEXT, OTHER] * 3, 330, model="unigram")
IDS = TOK.encode(TEXT, allowed_special="all")
TEXTS = [TEXT, OTHER, "see"]


PLAIN = bbpe.train_from_iterator([TEXT, OTHER, "newest lowest"] * 3, 290)
OTHER_TOK = bbpe.train_from_iterator([TEXT, OTHER, "newest lowest"] * 3, 292, special_tokens=["<s>", "<pad>"])
EVALUATION = bbpe.evaluate(PLAIN, texts=TEXTS)
COUNTS = bbpe.count_from_iterator([TEXT, OTHER] * 3, pattern="gpt2")
VOCAB = {byte: bytes([byte]) for byte in range(256)} | {256: b"lo"}
MESSAGES = [{"role": "user", "content": "see my dogs"}]
TOOL = {"type": "function", "function": {
    "name": "see", "description": "Sees.", "parameters": {"type": "object", "properties": {"who": {"type": "string"}}},
}}  # fmt: skip
CHAT = "{{ messages[0].content }} {{ tools }} {{ documents }} {{ add_generation_prompt }} {{ mood }}"


def chat(**given: Any) -> Any:
    pytest.importorskip("jinja2")
    more = given.pop("**options", {})
    return TOK.apply_chat_template(**given, **more)


TURNS = (
    "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}<pad>{% endfor %}{{ tools }}{{ documents }}{{ mood }}"
    "{% if add_generation_prompt %}<s>assistant: {% endif %}"
)
DIALOGUE = [*MESSAGES, {"role": "assistant", "content": "first"}, {"role": "user", "content": "see <s>"}]


def arrays(found: bbpe.EncodedChat) -> Any:
    return found.ids.tolist(), found.mask.tolist(), found.message_of.tolist(), found.places.tolist(), found.text


def encoded(**given: Any) -> Any:
    pytest.importorskip("jinja2")
    more = given.pop("**options", {})
    return arrays(TOK.encode_chat(**given, **more))


def encoded_batch(**given: Any) -> Any:
    pytest.importorskip("jinja2")
    more = given.pop("**options", {})
    return [arrays(each) for each in TOK.encode_chat_batch(**given, **more, chat_template=TURNS)]


def continued(prompted: bool = True, **given: Any) -> Any:
    pytest.importorskip("jinja2")
    begun = TOK.encode_chat(DIALOGUE, chat_template=TURNS, add_generation_prompt=prompted)
    return arrays(TOK.continue_chat(begun, **given))


def labelled(**given: Any) -> Any:
    """Of one chat and of a batch, whose labels are the same."""
    pytest.importorskip("jinja2")
    rows = TOK.encode_chat_batch([DIALOGUE], chat_template=TURNS)
    assert rows.labels(**given).tolist() == rows[0].labels(**given).tolist()
    return rows.labels(**given).tolist()


def listed(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def new_folder() -> Path:
    """A folder that is not there, below the current one."""
    return Path(f"new-{sum(1 for _ in Path().iterdir())}")


def kept(call: Callable[..., Any]) -> Callable[..., dict[str, bytes]]:
    """A call in an empty folder, and the files that it leaves there."""

    def files(**given: Any) -> dict[str, bytes]:
        folder = new_folder()
        folder.mkdir()
        call(**{name: folder / value if name.endswith("file") else value for name, value in given.items()})
        return listed(folder)

    return files


def saved(tokenizer: bbpe.Tokenizer, **given: Any) -> Any:
    pytest.importorskip("gguf")
    folder = new_folder()
    tokenizer.save(folder, **given)
    return listed(folder) if folder.is_dir() else folder.read_bytes()


def classic(**given: Any) -> Any:
    bbpe.BBPETokenizer.train_tokenizer(TEXT, 260, "v.json", "m.txt")
    return bbpe.BBPETokenizer("v.json", "m.txt").encode_batch(**given)


def loaded(load: Callable[..., bbpe.Tokenizer]) -> Callable[..., Any]:
    """The tokenizer, and whether its finished tables are stored."""
    return lambda **given: (load(**given), any(Path("tables").glob("*.tables")))


def logged(train: Callable[..., bbpe.Tokenizer]) -> Callable[..., Any]:
    """The tokenizer, and the log of its merges."""
    return lambda **given: (train(**given), [path.read_text("utf-8") for path in Path().glob("merges.tsv")])


def planned(**given: Any) -> Any:
    """The number of parts, and their counts."""
    plan = bbpe.plan_count(folder=new_folder(), **given)
    for number in range(len(plan)):
        bbpe.count_part(plan, number)
    return len(plan), bbpe.sum_counts(plan)


def arrow_type(type: Any = ...) -> Any:  # noqa: A002
    pa = pytest.importorskip("pyarrow")
    rows = TOK.encode_batch_to_numpy(TEXTS)
    return str((rows.to_arrow() if type is ... else rows.to_arrow(pa.large_list(pa.uint32()))).type)


SELECTIONS = {"allowed_special": Two(..., "all"), "disallowed_special": Two(..., "all")}
ADDS = {"add_special_tokens": Two(..., True)}
THREADS = {"threads": Two(1, 0)}
ALLOWED = {"allowed_special": Two(..., "all")}
NAMED = {"special_tokens": Two(..., {"<s>": 300}), "name": Two(..., "a")}
PUBLISHED = {"folder": Two(..., "b"), "cache": Two(False, "tables")}
COUNTING = Two(..., bbpe.Counting(text_field="more"))
TRAINED = {
    "model": Two("bpe", "unigram", {"vocab_size": 330}), "pattern": Two("gpt2", "o200k"),
    "special_tokens": Two(..., ["<s>"]), "log_merges": Two(..., "merges.tsv"),
}  # fmt: skip
ROWS_OF_TEXTS = {**SELECTIONS, **ADDS, **THREADS}
ENDS = {
    "errors": Two(..., "strict", {"ids": [TOK.encode("é")[0]]}),
    "skip_special_tokens": Two(..., True),
    "unknown_ids": Two(..., "skip", {"ids": [*IDS, 5000]}),
}
ROWS: dict[str, Row] = {
    "Tokenizer.encode": Row(TOK.encode, {"text": TEXT}, {
        "pair": Two(..., OTHER), "dropout": Two(..., 0.9, {"seed": 1}), "seed": Two(1, 2, {"dropout": 0.5}),
        **SELECTIONS, **ADDS,
    }),
    "Tokenizer.encode_bytes": Row(TOK.encode_bytes, {"text": TEXT.encode()}, SELECTIONS),
    "Tokenizer.encode_to_numpy": Row(TOK.encode_to_numpy, {"text": TEXT}, {
        "dtype": Two("int64", "uint32"), **ROWS_OF_TEXTS,
    }),
    "Tokenizer.encode_files": Row(lambda **given: list(TOK.encode_files(**given)), {"files": "a.jsonl"}, {
        "text_field": Two("text", "more"), "format": Two(..., "text"), **SELECTIONS,
    }),
    "Tokenizer.encode_batch": Row(TOK.encode_batch, {"texts": TEXTS}, ROWS_OF_TEXTS),
    "Tokenizer.encode_batch_to_numpy": Row(TOK.encode_batch_to_numpy, {"texts": TEXTS}, ROWS_OF_TEXTS),
    "Tokenizer.encode_padded": Row(TOK.encode_padded, {"texts": TEXTS, "pad_id": 1}, {
        "max_length": Two(..., 5), "pad_id": Two(1, 2), "side": Two("left", "right"),
        "pad_to_multiple_of": Two(..., 64), "truncation": Two("longest_first", "only_first",
                                                               {"texts": [(OTHER, TEXT)], "max_length": 30}),
        "truncation_side": Two("left", "right", {"max_length": 5}),
        "stride": Two(None, 2, {"max_length": 9, "truncation": "only_first"}),
        "padding": Two("longest", "max_length", {"max_length": 90}), "dtype": Two("int64", "uint32"),
        **ROWS_OF_TEXTS,
    }),
    "Tokenizer.encode_with_offsets": Row(TOK.encode_with_offsets, {"text": "é " + TEXT}, {
        "unit": Two("char", "byte"), **SELECTIONS,
    }),
    "Tokenizer.encode_aligned": Row(TOK.encode_aligned, {"text": "é " + TEXT}, {
        "pair": Two(..., OTHER), "unit": Two("char", "byte"), **SELECTIONS, **ADDS,
    }),
    "Tokenizer.encode_iterable": Row(
        lambda **given: list(TOK.encode_iterable(**given)), {"chunks": [TEXT]}, SELECTIONS,
    ),
    "Tokenizer.encode_sampled": Row(UNIGRAM.encode_sampled, {"text": TEXT, "seed": 3}, {
        "alpha": Two(0.001, 50.0), "nbest": Two(1, 50, {"alpha": 0.001}), "seed": Two(1, 2, {"alpha": 0.001}),
    }),
    "Tokenizer.decode": Row(TOK.decode, {"ids": IDS}, {**ENDS, **THREADS}),
    "Tokenizer.decode_batch": Row(
        lambda ids, **given: TOK.decode_batch([ids], **given), {"ids": IDS}, {**ENDS, **THREADS},
    ),
    "Tokenizer.decode_bytes": Row(TOK.decode_bytes, {"ids": IDS}, THREADS),
    "Tokenizer.stream_decoder": Row(
        lambda ids, **given: list(TOK.stream_decoder(**given).stream(ids)), {"ids": IDS},
        {
            **ENDS, "prompt": Two(..., TOK.encode("é")[:1], {"ids": TOK.encode("é")[1:]}),
            "stop": Two(None, [TEXT[2:5]]), "include_stop": Two(False, True, {"stop": [TEXT[2:5]]}),
        },
    ),
    "Tokenizer.truncate": Row(TOK.truncate, {"text": TEXT, "n": 8}, {"side": Two("left", "right"), **SELECTIONS}),
    "Tokenizer.chunk": Row(TOK.chunk, {"text": TEXT, "max_tokens": 9}, {
        "overlap": Two(..., 3), "boundary": Two("token", "line", {"max_tokens": 18}), **SELECTIONS,
    }),
    "Tokenizer.fits": Row(TOK.fits, {"text": TEXT, "n": len(IDS)}, SELECTIONS),
    "Tokenizer.count_tokens": Row(TOK.count_tokens, {"text": TEXT}, ROWS_OF_TEXTS),
    "Tokenizer.count_tokens_batch": Row(TOK.count_tokens_batch, {"texts": TEXTS}, ROWS_OF_TEXTS),
    "Tokenizer.pieces": Row(TOK.pieces, {"text": TEXT}, ALLOWED),
    "Tokenizer.trace": Row(TOK.trace, {"text": TEXT}, ALLOWED),
    "Tokenizer.to_html": Row(TOK.to_html, {"text": TEXT}, ALLOWED),
    "Tokenizer.from_merges": Row(
        bbpe.Tokenizer.from_merges, {"vocab": VOCAB, "merges": [(b"l", b"o")], "pattern": "gpt2"}, NAMED,
    ),
    "Tokenizer.from_ranks": Row(
        bbpe.Tokenizer.from_ranks, {"ranks": {token: rank for rank, token in VOCAB.items()}, "pattern": "gpt2"}, NAMED,
    ),
    "Tokenizer.with_added_tokens": Row(
        lambda **given: TOK.with_added_tokens(**given).special_tokens, {"tokens": ["<t>"]}, {"special": Two(..., True)},
    ),
    "Tokenizer.with_roles": Row(lambda **given: dict(TOK.with_roles(**given).spec.files), {}, {
        **{f"{role}_token": Two(..., "<s>") for role in ("bos", "eos", "pad", "unk", "cls", "sep", "mask")},
        "chat_template": Two(..., CHAT),
    }),
    "Tokenizer.apply_chat_template": Row(chat, {"messages": MESSAGES, "chat_template": CHAT}, {
        "tools": Two(..., [TOOL]), "documents": Two(..., [{"title": "a", "text": "b"}]),
        "chat_template": Two("{{ mood }} a", "{{ mood }} b"), "add_generation_prompt": Two(..., True),
        "continue_final_message": Two(..., True, {"chat_template": "{{ messages[0].content }} end"}),
        "variables": Two(..., {"mood": "glad"}), "**options": Two(..., {"mood": "sad"}),
    }),
    "Tokenizer.encode_chat": Row(encoded, {"messages": DIALOGUE, "chat_template": TURNS}, {
        "tools": Two(..., [TOOL]), "documents": Two(..., [{"title": "a", "text": "b"}]),
        "chat_template": Two(TURNS, TURNS + "."), "add_generation_prompt": Two(..., True),
        "continue_final_message": Two(..., True), "variables": Two(..., {"mood": "glad"}),
        "**options": Two(..., {"mood": "sad"}), "content_special": Two(..., {"<s>"}), "train_on": Two(..., {"user"}),
        "turn_end": Two(True, False), "max_length": Two(..., 30),
    }),
    "Tokenizer.encode_chat_batch": Row(encoded_batch, {"conversations": [MESSAGES, DIALOGUE]}, {
        "tools": Two(..., [TOOL]), "**options": Two({"turn_end": True}, {"turn_end": False}),
    }),
    "Tokenizer.continue_chat": Row(continued, {"sampled_ids": TOK.encode("see")}, {
        "messages": Two(..., MESSAGES),
        "add_generation_prompt": Two(..., True, {"sampled_ids": [], "prompted": False}),
    }),
    "EncodedChat.labels": Row(labelled, {}, {"ignore": Two(..., -1)}),
    "EncodedChats.labels": Row(labelled, {}, {"ignore": Two(..., -1)}),
    "Tokenizer.count_messages": Row(TOK.count_messages, {"messages": MESSAGES, "model": "gpt-4o"}, {
        "tools": Two(..., [TOOL]), "model": Two("gpt-4o", "gpt-4", {"tools": [TOOL]}),
        "images": Two([(512, 512)], [(513, 512)], {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}),
        "chat_template": Two("{{ 'a' }}", "{{ 'a, b and more' }}", {"model": None}),
        "variables": Two({"mood": "sad"}, {"mood": "merry"}, {"model": None, "chat_template": "{{ mood }}"}),
    }),
    "Tokenizer.save": Row(saved, {"tokenizer": TOK}, {
        "format": Two("huggingface", "gguf"),
        "drop": Two(..., ["template"], {"format": "gguf"}),
    }),
    "BBPETokenizer.encode_batch": Row(classic, {"batch": TEXTS}, {"num_threads": Two(1, 0)}),
    "BBPETokenizer.train_tokenizer": Row(
        kept(bbpe.BBPETokenizer.train_tokenizer), {"data": TEXT, "vocab_size": 260},
        {"vocab_outfile": Two(..., "v"), "merges_outfile": Two(..., "m")},
    ),
    "BBPEError": Row(bbpe.BBPEError, {}, {"message": Two("a", "b")}),
    "VocabularyError": Row(bbpe.VocabularyError, {"problem": "a"}, {"path": Two(..., "f"), "place": Two(..., "key")}),
    **{
        f"Evaluation.{name}": Row(getattr(EVALUATION, name), {}, {
            "metric": Two("tokens", "fertility"), "wide": Two(False, True),
        }) for name in ("table", "notes", "to_text", "to_markdown", "to_latex")
    },
    "Evaluation.to_html": Row(EVALUATION.to_html, {}, {"metric": Two("tokens", "fertility")}),
    "LintReport.lines": Row(
        lambda **given: list(bbpe.lint(TOK).lines(**given)), {}, {
            "examples": Two(1, 4, {"details": True}), "details": Two(True, False),
        },
    ),
    "PretokenCounts.most_common": Row(COUNTS.most_common, {}, {"n": Two(..., 1)}),
    "Ragged.to_arrow": Row(arrow_type, {}, {"type": Two(..., "large_list")}),
    "Counting.task": Row(
        lambda **given: bbpe.Counting().task("gpt2", **given).spec, {}, {"special_tokens": Two((), ["<s>"])},
    ),
    "train": Row(logged(bbpe.train), {"files": "a.jsonl", "vocab_size": 280}, {**TRAINED, "counting": COUNTING}),
    "train_from_iterator": Row(logged(bbpe.train_from_iterator), {"texts": [TEXT], "vocab_size": 280}, {
        **TRAINED, "counting": Two(..., bbpe.Counting(max_pretoken_bytes=2)),
    }),
    "train_from_counts": Row(logged(bbpe.train_from_counts), {"counts": dict(COUNTS), "vocab_size": 280}, {
        **TRAINED, **THREADS, "max_memory": Two("4GB", 1),
    }),
    "extend": Row(bbpe.extend, {"tokenizer": PLAIN, "files": "a.jsonl", "add": 5}, {
        "add": Two(5, 6), "min_frequency": Two(1, 10**6), "max_token_length": Two(None, 2),
        "tie_break": Two("ids", "first"), "pattern": Two(..., "whitespace"), "counting": COUNTING,
        "forbid": Two(None, "[a-z]"), "max_words": Two(None, 1, {"pattern": "none", "add": 150}),
    }),
    "prune": Row(bbpe.prune, {"tokenizer": TOK, "keep": 290}, {
        "keep": Two(..., 270, {"used_in": "a.jsonl"}), "used_in": Two(..., "lines.txt"),
        "min_count": Two(1, 5, {"used_in": "a.jsonl"}),
        "counting": Two(..., bbpe.Counting(text_field="more"), {"used_in": "a.jsonl", "keep": ...}),
    }),
    "vocabulary_map": Row(
        lambda **given: bbpe.vocabulary_map(TOK, TOK, **given).exact.tolist(), {},
        {"special": Two(None, {"<s>": "<pad>"})},
    ),
    "load": Row(loaded(bbpe.load), {"path": "t.json", "cache": False}, {
        "pattern": Two(..., "whitespace"), "special_tokens": Two(..., {"<x>": 400}), "name": Two(..., "a"),
        "cache": Two(False, "tables"),
    }),
    "get_encoding": Row(loaded(bbpe.get_encoding), {"name": "small", "folder": "b"}, PUBLISHED),
    "encoding_for_model": Row(loaded(bbpe.encoding_for_model), {"model": "small-model", "folder": "b"}, PUBLISHED),
    "load_counts": Row(bbpe.load_counts, {"path": "others.parquet", "pattern": "gpt2"}, {
        "pattern": Two("gpt2", "o200k"), "special_tokens": Two(..., ["<s>"]), "document": Two(..., "line"),
    }),
    "sum_counts": Row(bbpe.sum_counts, {"folder": "counts"}, {"max_memory": Two("4GB", 1)}),
    "count_tokens": Row(bbpe.count_tokens, {"files": "a.jsonl", "tokenizer": TOK}, {
        "allowed_special": Two((), "all"), "text_field": Two("text", "more"), "input_format": Two(None, "text"),
        "document": Two("file", "line", {"files": "lines.txt"}), "by": Two(None, "file"), **THREADS,
    }),
    "compare": Row(bbpe.compare, {"left": TOK, "right": PLAIN}, {
        "corpus": Two(..., "a.jsonl"), "texts": Two(..., TEXTS), "names": Two(..., ("x", "y")),
        "most": Two(0, 20, {"texts": TEXTS}), "text_field": Two("text", "more", {"corpus": "a.jsonl"}),
        "format": Two(..., "text", {"corpus": "a.jsonl"}),
    }),
    "learning_curve": Row(bbpe.learning_curve, {"tokenizers": TOK, "sizes": [260, 280], "corpora": "a.jsonl"}, {
        "corpora": Two("a.jsonl", "lines.txt"), "texts": Two(TEXTS, ["see"], {"corpora": ...}),
        "text_field": Two("text", "more"), "format": Two(..., "text"),
    }),
    "corpus_curve": Row(bbpe.corpus_curve, {"texts": TEXTS * 4, "vocab_size": 270, "held_out_texts": TEXTS}, {
        "held_out": Two("a.jsonl", "lines.txt", {"held_out_texts": ...}), "held_out_texts": Two(TEXTS, ["see"]),
        "shares": Two([0.5, 1.0], [1.0]), "model": Two("bpe", "unigram", {"vocab_size": 330}),
        "pattern": Two("gpt2", "whitespace"), "patterns": Two(["gpt2"], ["gpt2", "whitespace"]),
    }),
    "evaluate": Row(bbpe.evaluate, {"tokenizers": TOK, "texts": {"a": TEXTS * 9, "b": [OTHER]}}, {
        "corpora": Two("a.jsonl", "lines.txt", {"texts": None}), "texts": Two([TEXT], [OTHER]),
        "parity": Two("a", "b"), "seed": Two(1, 2),
        "document": Two(..., "line", {"corpora": "lines.txt", "texts": None}),
        "text_field": Two("text", "more", {"corpora": "a.jsonl", "texts": None}),
        "format": Two(..., "text", {"corpora": "a.jsonl", "texts": None}), **THREADS,
    }),
    "lint": Row(bbpe.lint, {"tokenizer": TOK}, {
        "corpus": Two(..., "a.jsonl"), "texts": Two(..., [TEXT] * 20),
        "min_count": Two(1, 1000, {"texts": [TEXT] * 20}),
        "text_field": Two("text", "more", {"corpus": "a.jsonl", "min_count": 1}),
        "format": Two(..., "text", {"corpus": "a.jsonl", "min_count": 2}),
    }),
}  # fmt: skip
FULL_MODELS: dict[str, tuple[type, dict[str, Two]]] = {
    "BPE": (bbpe.BPE, {
        "alphabet": Two("bytes", "chars"), "end_of_word": Two(..., "</w>", {"alphabet": "chars"}),
        "word_start": Two("\u2581", "_", {"alphabet": "chars"}),  # the first is the only one that files have
        "lowercase": Two(..., True, {"alphabet": "chars", "end_of_word": "</w>"}),
        "unk_token": Two(..., "<u>", {"alphabet": "chars", "end_of_word": "</w>"}),
        "max_alphabet": Two(..., 4, {"alphabet": "chars", "end_of_word": "</w>"}),
        "tie_break": Two("ids", "first"), "min_frequency": Two(1, 4), "max_token_length": Two(..., 2),
        "pad_vocab_to": Two(1, 64), "forbid": Two(None, "[lo]"),
    }),
    "WordPiece": (bbpe.WordPiece, {
        "score": Two("pmi", "frequency"), "lowercase": Two(True, False), "unk_token": Two("[UNK]", "<u>"),
        "max_alphabet": Two(..., 4), "min_frequency": Two(1, 4),
    }),
    "Unigram": (bbpe.Unigram, {
        "character_coverage": Two(1.0, 0.7), "byte_fallback": Two(True, False),
        "user_defined_symbols": Two(..., ["see my"]), "max_token_length": Two(..., 2), "pad_vocab_to": Two(1, 64),
    }),
}  # fmt: skip
#: Counting and sharding; "more" is a field of the records in a.jsonl, whose last line is no JSON.
FILES: dict[str, Two] = {
    "pattern": Two("gpt2", "whitespace"), "special_tokens": Two([], ["<s>"]), "sample": Two(1.0, 0.3),
    "document": Two("file", "line", {"files": "lines.txt", "pattern": "none"}), "max_pretoken_bytes": Two(None, 2),
    "text_field": Two("text", "more"), "format": Two(..., "text"),
    "on_error": Two("raise", "skip", {"files": "b.jsonl"}), "unique": Two(False, True, {"files": "data.jsonl"}),
}  # fmt: skip
SHARDS: dict[str, Two] = {
    "format": Two("megatron", "parquet"), "eos": Two(None, "<s>"), "bos": Two(None, "<s>"),
    "allowed_special": Two((), "all"), "dtype": Two("uint16", "int32"), "text_field": Two("text", "more"),
    "id_field": Two(None, "more", {"format": "parquet"}), "document": Two("file", "line", {"files": "lines.txt"}),
    "messages_field": Two(None, "messages", {"files": "chats.jsonl", "tokenizer": WITH_CHATS}),
    "input_format": Two(None, "text"), "part_size": Two("1MB", 300), "empty": Two("skip", "keep"),
    "on_error": Two("raise", "skip", {"files": "b.jsonl"}),
}  # fmt: skip
