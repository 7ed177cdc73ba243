"""Every public class, and what methods return: pickled and copied, before and after use, it is as it was."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bbpe
from bbpe.compat.tokenizers import DecodeStream

EOS = "<|endoftext|>"
TEXTS = ["see my eyes first", "see my dogs"] * 3
CHAT = "{% for m in messages %}{{ m.role }}: {{ m.content }}<|endoftext|>{% endfor %}"
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda made: pickle.loads(pickle.dumps(made)),
    "pickle 2": lambda made: pickle.loads(pickle.dumps(made, 2)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
#: What calls without arguments compute, and may keep.
USES = {"as_dict", "finish", "fingerprint", "get_vocab", "lines", "table", "to_html", "tolist", "warm_up", "cache_info"}
CLASSES = {name: kind for name in bbpe.__all__ if inspect.isclass(kind := getattr(bbpe, name))}
ERRORS = {name for name, kind in CLASSES.items() if issubclass(kind, Exception)}


def made_in(folder: Path) -> dict[str, Any]:
    """An object of each public class, and others that methods return."""
    path = folder / "a.jsonl"
    path.write_text("".join(f'{{"text": "see my dogs {number}"}}\n' for number in range(50)))
    tok = bbpe.train_from_iterator(TEXTS, 270, special_tokens=[EOS])
    small = bbpe.train_from_iterator(TEXTS, 262, special_tokens=[EOS])
    words = bbpe.train_from_iterator(TEXTS, 60, model=bbpe.WordPiece())
    unigram = bbpe.train_from_iterator(TEXTS, 290, model=bbpe.Unigram())
    plan = bbpe.plan_shards(path, folder / "shards", tok, eos=EOS, part_size=400)
    shards = bbpe.shard(path, folder / "shards", tok, eos=EOS, part_size=400)
    counting = bbpe.plan_count(path, folder / "counts", pattern="gpt2", part_size=1 << 20)
    summary = bbpe.count_part(counting, 0)
    counts = bbpe.sum_counts(counting)
    table = bbpe.count_tokens(path, [tok, small], by="file")
    evaluation = bbpe.evaluate({"a": tok, "b": small}, path)
    curve = bbpe.learning_curve(tok, [258, 262], path)
    report = bbpe.lint(tok, path)
    comparison = bbpe.compare(tok, small, path)
    tokenizers = tok.as_tokenizers()
    files = folder / "vocab.json", folder / "merges.txt"
    messages = [{"role": "user", "content": "see"}, {"role": "assistant", "content": "my"}]
    chats = tok.encode_chat_batch([messages[:1], messages], chat_template=CHAT, train_on=lambda m: m["role"] == "user")
    bbpe.BBPETokenizer.train_tokenizer("low lower lowest", 260, *files)
    return {
        "BPE": bbpe.BPE(), "Unigram": bbpe.Unigram(), "WordPiece": bbpe.WordPiece(),
        "Counting": bbpe.Counting(sample=0.5), "BBPETokenizer": bbpe.BBPETokenizer(*files), "Tokenizer": tok,
        "Tokenizer of WordPiece": words,
        "VocabularyMap": bbpe.vocabulary_map(tok, small), "Tokenizer of Unigram": unigram,
        "Tokenizer with a template": tok.with_added_tokens(["<more>"]), "spec": tok.spec,
        "special_tokens": tok.special_tokens, "get_vocab": tok.get_vocab(), "ranks": tok.ranks,
        "CacheInfo": tok.cache_info(), "AlignedIds": tok.encode_aligned("see my"),
        "Chunk": next(iter(tok.chunk("see my", 2))), "Padded": tok.encode_padded(["see", "my dogs"], pad_id=0),
        "Ragged": tok.encode_batch_to_numpy(["see", "", "my"]), "Trace": tok.trace("see my dogs"),
        "LintReport": report, "Finding": report.findings[0], "Comparison": comparison,
        "SplitPair": comparison.pairs[0], "table": comparison.table(), "Evaluation": evaluation,
        "Measures": evaluation.rows[0], "Curve": curve, "CurvePoint": curve.points[0], "CountPlan": counting,
        "Summary": summary, "PretokenCounts": counts, **made_of_shards(plan, shards, folder / "mixed"),
        "SourceTable": table, "SourceTokens": table.rows[0], "TokenCounts": bbpe.count_tokens(path, tok),
        "as_tiktoken": tok.as_tiktoken(), "as_tokenizers": tokenizers,
        "encoding": tokenizers.encode("see my dogs"), "EncodedChat": chats[1], "EncodedChats": chats,
        "chat that went on": tok.continue_chat(chats[0], tok.encode("see")),
        "as_sentencepiece": unigram.as_sentencepiece(),
    }  # fmt: skip


def made_of_shards(plan: bbpe.ShardPlan, shards: bbpe.Shards, folder: Path) -> dict[str, Any]:
    mixed = bbpe.merge_shards([(shards, 1.0)], folder, tokens=30, shuffle=1)
    assert mixed.mixture is not None
    windows, stream = shards.windows(3, shuffle=1), shards.bins(5, pad=0).stream(batch=2)
    windows.set_epoch(2)
    next(iter(stream))
    return {
        "ShardPlan": plan, "Shards": shards, "ShardEstimate": bbpe.estimate_shards(plan),
        "ShardsStatus": bbpe.shards_status(plan),
        "ShardFiles": bbpe.open_shards(shards, format="bbpe"), "document of shards": shards[0],
        "record of a part": bbpe.shard_part(plan, 0), "Mixture": mixed.mixture,
        "MixtureSource": mixed.mixture.sources[0], "Blend": bbpe.blend_shards([(shards, 1)]), "Windows": windows,
        "Bins": shards.bins(5, pad=0, shuffle=3), "RowStream": stream,
    }  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return made_in(tmp_path_factory.mktemp("made"))


def shown(made: Any) -> Any:
    """What can be seen of an object, for comparisons of objects with arrays and of those that are equal to none."""
    if isinstance(made, bbpe.ShardFiles):
        return made.files, made.reading, [ids.tolist() for ids in made]
    if isinstance(made, bbpe.Windows | bbpe.Bins):
        return made.epoch, made.options, [{name: part.tolist() for name, part in row.items()} for row in made]
    if isinstance(made, bbpe.RowStream):
        return repr(made), made.state_dict()
    if isinstance(made, bbpe.Shards):
        return [made[number].tolist() for number in range(len(made))], made.totals
    if hasattr(made, "encode") and not isinstance(made, bbpe.Tokenizer):
        return str(getattr(made.encode("see my dogs"), "ids", made.encode("see my dogs")))
    if isinstance(made, bbpe.EncodedChat):
        return made.ids.tolist(), made.mask.tolist(), made.message_of.tolist(), made.places.tolist(), made.text
    if isinstance(made, bbpe.EncodedChats):
        return [shown(each) for each in made]
    data = made.as_dict() if hasattr(made, "as_dict") else made.tolist() if isinstance(made, np.ndarray) else None
    return type(made), repr(made), str(made), str(data)


def use(made: Any) -> None:
    """Have an object compute what it may keep."""
    assert repr(made)
    for name in dir(made):
        with suppress(
            ValueError, AttributeError, DeprecationWarning
        ):  # of what this tokenizer, or this library, does not have
            value = None if name.startswith("_") else getattr(made, name)
            if name in USES and callable(value):
                needs: dict[tuple[str, type], Any] = {
                    ("to_html", bbpe.Tokenizer): "see my dogs", ("lines", bbpe.ShardEstimate): 1,
                }  # fmt: skip
                value(*[given for (method, kind), given in needs.items() if name == method and isinstance(made, kind)])


def test_the_table_is_whole(made: dict[str, Any]) -> None:
    assert {"StreamDecoder"} == CLASSES.keys() - made.keys() - ERRORS
    assert all(type(made[name]) is kind for name, kind in CLASSES.items() if name in made)


@pytest.mark.parametrize("how", COPIES)
def test_copies_are_as_their_objects_before_and_after_use(how: str, tmp_path: Path) -> None:
    for name, made in made_in(tmp_path).items():
        for _ in range(2):
            copied = COPIES[how](made)
            assert shown(copied) == shown(made), name
            assert not isinstance(made, bbpe.EncodedChat | bbpe.EncodedChats) or copied == made
            assert shown(COPIES[how](copied)) == shown(made), name
            use(made)
            use(copied)


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_errors_keep_their_message(name: str) -> None:
    error = CLASSES[name]("the message")
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_a_stream_is_copied_but_not_pickled(made: dict[str, Any]) -> None:
    tok = made["Tokenizer"]
    first, *rest = tok.encode("é 😀")
    for begun in (False, True):
        decoder = tok.stream_decoder()
        text = decoder.push(first) if begun else ""
        for make in (pickle.dumps, lambda made: pickle.dumps([made], 2)):
            with pytest.raises(TypeError, match=r"StreamDecoder cannot be pickled.*stream_decoder\(prompt=ids\)$"):
                make(decoder)
        for copied in (copy.copy(decoder), copy.deepcopy(decoder)):
            ids = rest if begun else [first, *rest]
            assert text + "".join(map(copied.push, ids)) + copied.finish() == "é 😀"


def roles_of_users(message: dict[str, str]) -> bool:
    return message["role"] == "user"


def test_a_copy_of_a_chat_goes_on_unless_its_function_was_lost(made: dict[str, Any]) -> None:
    tok, messages = made["Tokenizer"], [{"role": "user", "content": "see"}]
    for train_on in ("assistant", {"user"}, roles_of_users):
        chat = tok.encode_chat(messages, chat_template=CHAT, train_on=train_on, tools=None)
        more = tok.continue_chat(chat, tok.encode("my"), messages)
        for make in COPIES.values():
            assert tok.continue_chat(make(chat), tok.encode("my"), messages) == more
    assert more != chat
    chat = made["EncodedChat"]  # whose function is a lambda
    for make in (copy.copy, copy.deepcopy):
        assert tok.continue_chat(make(chat), tok.encode("my")) == tok.continue_chat(chat, tok.encode("my"))
    for make in (pickle.dumps, lambda made: pickle.dumps(made, 2)):
        with pytest.raises(TypeError, match=r"pickle cannot take, such as a lambda.*expected a function of a module"):
            tok.continue_chat(pickle.loads(make(chat)), tok.encode("my"))


def test_a_decode_stream_says_what_to_do(made: dict[str, Any]) -> None:
    stream = DecodeStream()
    for _ in range(2):
        with pytest.raises(TypeError, match=r"DecodeStream cannot be pickled; .* DecodeStream\(ids=ids\)$"):
            pickle.dumps(stream)
        stream.step(made["as_tokenizers"], 64)
    assert copy.deepcopy(stream).step(made["as_tokenizers"], 64) == "a"
