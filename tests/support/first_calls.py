"""Public calls by name, each as the first one of a process, for tests of imports, forks and interruptions."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import bbpe

WORDS = "see my eyes first, see my dogs. "
#: Ids, and a text and texts that are long enough for two threads.
IDS, LONG = [60, 61, 62, 257], WORDS * 20_000
TEXTS = [WORDS * 300] * 100

#: A chat, and a template with what jinja2 loads late.
CHAT = [{"role": "user", "content": WORDS}]
TEMPLATE = "{% for m in messages %}<s>{{ m.role | title }}: {{ m.content | trim | tojson }}\n{% endfor %}"

Call = Callable[[Any, Path], Any]


def prepare(folder: Path) -> None:
    """Write the files that the calls read."""
    tok = bbpe.train_from_iterator([WORDS], vocab_size=270, special_tokens=["<s>"])
    tok.save(folder / "t.json")
    tok.save(folder / "t")
    (folder / "t" / "chat_template.jinja").write_text(TEMPLATE)
    (folder / "a.txt").write_text(LONG)
    (folder / "a.jsonl").write_text('{"text": "see my dogs"}\n' * 200)
    bbpe.shard(folder / "a.jsonl", folder / "shards", tok)
    bbpe.count(folder / "a.txt", pattern="gpt2").save(folder / "a.parquet")


def load(folder: Path) -> Any:
    """Load the tokenizer, and encode nothing yet."""
    return bbpe.load(folder / "t", cache=False)


def new(folder: Path, name: str) -> Path:
    """Return the path of a file that no other process writes."""
    return folder / f"{os.getpid()}-{name}"


def parts_of_counts(folder: Path) -> int:
    """Count in parts, and sum these."""
    plan = bbpe.plan_count(folder / "a.txt", new(folder, "parts"), pattern="gpt2")
    bbpe.count_part(plan, 0)
    return len(bbpe.sum_counts(plan.folder))


def parts_of_shards(tok: Any, folder: Path) -> int:
    """Shard in parts, and finish these."""
    plan = bbpe.plan_shards(folder / "a.jsonl", new(folder, "parts of shards"), tok)
    bbpe.shard_part(plan, 0)
    return len(bbpe.finish_shards(plan))


#: Calls of methods that need no file.
METHODS: dict[str, Call] = {
    "encode": lambda tok, _: tok.encode(WORDS),
    "encode special": lambda tok, _: tok.encode(WORDS + "<s>", allowed_special={"<s>"}),
    "encode_bytes": lambda tok, _: tok.encode_bytes(b"see \xff"),
    "encode_to_numpy": lambda tok, _: tok.encode_to_numpy(LONG, threads=2).sum(),
    "encode_batch": lambda tok, _: len(tok.encode_batch(TEXTS, threads=2)),
    "encode_batch_to_numpy": lambda tok, _: tok.encode_batch_to_numpy(TEXTS, threads=2)[3].sum(),
    "encode_padded": lambda tok, _: tok.encode_padded(TEXTS, pad_id=0, threads=2)[0].shape,
    "encode_with_offsets": lambda tok, _: tok.encode_with_offsets(LONG)[1][-1],
    "encode_aligned": lambda tok, _: len(tok.encode_aligned(WORDS).ids),
    "encode_iterable": lambda tok, _: sum(1 for _ in tok.encode_iterable(TEXTS)),
    "tokenize": lambda tok, _: tok.tokenize(WORDS),
    "pieces": lambda tok, _: tok.pieces(WORDS),
    "trace": lambda tok, _: str(tok.trace(WORDS)),
    "to_html": lambda tok, _: len(tok.to_html(WORDS)),
    "count_tokens": lambda tok, _: tok.count_tokens(LONG, threads=2),
    "count_tokens_batch": lambda tok, _: list(tok.count_tokens_batch(TEXTS, threads=2)),
    "fits": lambda tok, _: tok.fits(WORDS, 3),
    "truncate": lambda tok, _: tok.truncate(WORDS * 9, 7),
    "chunk": lambda tok, _: len(tok.chunk(WORDS * 90, 20)),
    "chunk sentences": lambda tok, _: len(tok.chunk(WORDS * 90, 20, overlap=5, boundary="sentence")),
    "decode": lambda tok, _: tok.decode(IDS),
    "decode_bytes": lambda tok, _: tok.decode_bytes(IDS),
    "decode_batch": lambda tok, _: tok.decode_batch([IDS] * 500, threads=2)[-1],
    "decode_with_offsets": lambda tok, _: tok.decode_with_offsets(IDS),
    "stream_decoder": lambda tok, _: tok.stream_decoder().push(60),
    "stream_decoder copy": lambda tok, _: tok.stream_decoder().copy().push(60),
    "is_canonical": lambda tok, _: tok.is_canonical(IDS),
    "id_to_token": lambda tok, _: tok.id_to_token(60),
    "token_to_id": lambda tok, _: tok.token_to_id("s"),
    "get_vocab": lambda tok, _: len(tok.get_vocab()),
    "merges": lambda tok, _: len(tok.merges),
    "ranks": lambda tok, _: len(tok.ranks),
    "special_tokens": lambda tok, _: dict(tok.special_tokens),
    "unicode_version": lambda tok, _: tok.unicode_version,
    "with_added_tokens": lambda tok, _: len(tok.with_added_tokens(["<x>"], special=True)),
    "with_roles": lambda tok, _: len(tok.with_roles(chat_template="{{ 1 }}")),
    "apply_chat_template": lambda tok, _: tok.apply_chat_template(CHAT),
    "apply_chat_template continued": lambda tok, _: tok.apply_chat_template(CHAT, continue_final_message=True),
    "count_messages": lambda tok, _: tok.count_messages(CHAT),
    "count_messages of a model": lambda tok, _: tok.count_messages(CHAT, model="gpt-4o"),
    "cache_info": lambda tok, _: tok.cache_info().limit > 0,
    "clear_cache": lambda tok, _: tok.clear_cache(),
    "fingerprint": lambda tok, _: tok.fingerprint,
    "==": lambda tok, _: tok == deepcopy(tok),
    "hash": lambda tok, _: isinstance(hash(tok), int),
    "pickle": lambda tok, _: pickle.loads(pickle.dumps(tok)) == tok,
    "repr": lambda tok, _: repr(tok),
    "warm_up": lambda tok, _: tok.warm_up(),
    "as_tiktoken": lambda tok, _: tok.as_tiktoken().encode(WORDS),
}
#: Calls of methods that read or write files.
FILES: dict[str, Call] = {
    "encode_files": lambda tok, folder: len(list(tok.encode_files(folder / "a.txt"))),
    "save": lambda tok, folder: tok.save(new(folder, "a.json")),
    "save folder": lambda tok, folder: tok.save(new(folder, "a")),
    "save gpt2": lambda tok, folder: tok.save(new(folder, "b"), format="gpt2"),
    "save tiktoken": lambda tok, folder: tok.save(new(folder, "c.tiktoken"), drop=["special_tokens"]),
}
#: Public functions, and methods that import packages which bbpe does not require.
FUNCTIONS: dict[str, Call] = {
    "load": lambda _, folder: len(bbpe.load(folder / "t.json", cache=False)),
    "count": lambda _, folder: len(bbpe.count(folder / "a.txt", pattern="gpt2", threads=2)),
    "count with a checkpoint": lambda _, folder: len(
        bbpe.count(folder / "a.txt", pattern="gpt2", checkpoint=new(folder, "checkpoint"), threads=2)
    ),
    "count_part": lambda _, folder: parts_of_counts(folder),
    "count_from_iterator": lambda *_: len(bbpe.count_from_iterator(TEXTS, pattern="gpt2", threads=2)),
    "save counts": lambda _, folder: bbpe.count(folder / "a.txt", pattern="gpt2").save(new(folder, "d.parquet")),
    "load_counts": lambda _, folder: len(bbpe.load_counts(folder / "a.parquet")),
    "train": lambda _, folder: len(bbpe.train(folder / "a.txt", 262, counting=bbpe.Counting(threads=2))),
    "train_from_iterator": lambda *_: len(bbpe.train_from_iterator(TEXTS, 262, counting=bbpe.Counting(threads=2))),
    "train_from_counts": lambda *_: len(bbpe.train_from_counts({"see": 3, " my": 2}, 258)),
    "train unigram": lambda *_: len(bbpe.train_from_iterator(TEXTS, 300, model=bbpe.Unigram())),
    "train wordpiece": lambda *_: len(bbpe.train_from_iterator(TEXTS, 60, model=bbpe.WordPiece())),
    "extend": lambda tok, folder: len(bbpe.extend(tok, folder / "a.txt", len(tok) + 2)),
    "prune": lambda tok, folder: len(bbpe.prune(tok, used_in=folder / "a.txt")[0]),
    "vocabulary_map": lambda tok, _: len(bbpe.vocabulary_map(tok, tok)),
    "split": lambda *_: bbpe.split(WORDS, "gpt2"),
    "split_spans": lambda *_: len(bbpe.split_spans(WORDS, "gpt2")),
    "lint": lambda tok, _: len(bbpe.lint(tok).findings),
    "evaluate": lambda tok, folder: bbpe.evaluate(tok, folder / "a.txt") is not None,
    "compare": lambda tok, folder: bbpe.compare(tok, tok, folder / "a.txt") is not None,
    "learning_curve": lambda tok, folder: bbpe.learning_curve(tok, [260, 265], folder / "a.txt") is not None,
    "corpus_curve": lambda *_: bbpe.corpus_curve(TEXTS, 262, held_out_texts=[WORDS], shares=(0.5, 1.0)) is not None,
    "count_tokens of files": lambda tok, folder: bbpe.count_tokens(folder / "a.txt", tok) is not None,
    "plan_shards": lambda tok, folder: len(bbpe.plan_shards(folder / "a.jsonl", new(folder, "plan"), tok).parts),
    "shard": lambda tok, folder: len(bbpe.shard(folder / "a.jsonl", new(folder, "shards"), tok, threads=2)),
    "shard_from_iterator": lambda tok, folder: len(bbpe.shard_from_iterator(TEXTS, new(folder, "iterated"), tok)),
    "load with tables": lambda _, folder: bbpe.load(folder / "t", cache=folder / "tables").encode("see"),
    "shard_part": parts_of_shards,
    "load_shards": lambda _, folder: len(bbpe.load_shards(folder / "shards")[0]),
    "shards_status": lambda _, folder: bbpe.shards_status(folder / "shards").done,
    "estimate_shards": lambda _, folder: bbpe.estimate_shards(bbpe.load_shards(folder / "shards").plan).tokens,
    "open_shards": lambda _, folder: len(bbpe.open_shards(folder / "shards", format="bbpe")[0]),
    "windows": lambda _, folder: len(bbpe.load_shards(folder / "shards").windows(2, shuffle=1)[0]),
    "bins": lambda _, folder: len(bbpe.load_shards(folder / "shards").bins(2, ragged=True)[0]),
    "windows of files": lambda _, folder: len(bbpe.open_shards(folder / "shards", format="bbpe").windows(2)[0]),
    "convert_shards": lambda _, folder: len(
        bbpe.convert_shards(folder / "shards", new(folder, "converted"), format="olmo")
    ),
    "verify_shards": lambda _, folder: bbpe.verify_shards(folder / "shards"),
    "count_shards": lambda _, folder: len(bbpe.count_shards(folder / "shards", pattern="gpt2", threads=2)),
    "merge_shards": lambda _, folder: len(bbpe.merge_shards([folder / "shards"], new(folder, "merged"), shuffle=1)),
    "retokenize": lambda tok, folder: len(bbpe.retokenize(folder / "shards", new(folder, "retokenized"), tok)),
    "plan_retokenizing": lambda tok, folder: len(
        bbpe.plan_retokenizing(folder / "shards", new(folder, "retokenizing"), tok)
    ),
    "merge_shards with weights": lambda _, folder: len(
        bbpe.merge_shards([(folder / "shards", 1)], new(folder, "mixed"), tokens=5, shuffle=1)
    ),
    "blend_shards": lambda _, folder: str(bbpe.blend_shards([(folder / "shards", 1)])),
    "count_tokens by file": lambda tok, folder: str(bbpe.count_tokens(folder / "a.txt", [tok], by="file")),
    "set_cache_limit": lambda *_: bbpe.set_cache_limit(1 << 20),
    "as_tokenizers": lambda tok, _: tok.as_tokenizers().encode("see").ids,
    "as_tokenizers batch": lambda tok, _: len(tok.as_tokenizers().encode_batch(TEXTS)),
}
#: All of them.
CALLS: dict[str, Call] = {**METHODS, **FILES, **FUNCTIONS}
