"""Mixtures by tokens: each source has its share, the seed alone chooses its documents, and the bytes are always equal.

A slow twin in plain Python chooses the documents again, from the definition.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from seeds import then_full

import bbpe
from bbpe.shards import passes, shuffle, streams
from bbpe.shards.mixture import Mixture, wanted_of
from bbpe.shards.passes import whole_pass

EOS = "</s>"
MASK = (1 << 64) - 1
WORDS = ["low", "lower", "lowest", "slow", "\u00e9\u6f22"]
Rows = list[list[int]]


def texts_of(seed: int, count: int) -> list[str]:
    generator = random.Random(seed)
    return [" ".join(generator.choices(WORDS, k=generator.choice((0, 1, 3, 9, 40)))) for _ in range(count)]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory, tok: bbpe.Tokenizer) -> Path:
    """Three sources of 120, 45 and 7 documents in parts of some documents each, with empty documents."""
    folder = tmp_path_factory.mktemp("mixtures")
    for name, count in (("web", 120), ("code", 45), ("math", 7)):
        lines = [json.dumps({"text": text, "id": f"{name}-{n}"}) for n, text in enumerate(texts_of(count, count))]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
        for kind, options in (("plain", {}), ("parquet", {"format": "parquet", "id_field": "id"})):
            more: Any = {"eos": EOS, "empty": "keep", "part_size": 900, **options}
            bbpe.shard(folder / f"{name}.jsonl", folder / kind / name, tok, **more)
    return folder


def key_of(seed: int, number: int) -> int:
    """Splitmix64, as its authors write it."""
    key = (seed + (number + 1) * 0x9E3779B97F4A7C15) & MASK
    key = ((key ^ key >> 30) * 0xBF58476D1CE4E5B9) & MASK
    key = ((key ^ key >> 27) * 0x94D049BB133111EB) & MASK
    return key ^ key >> 31


def slow_wanted(weights: list[Any], tokens: int) -> list[int]:
    exact = [Fraction(Decimal(str(weight))) for weight in weights]
    shares = [weight * tokens / sum(exact) for weight in exact]
    wanted = [share.numerator // share.denominator for share in shares]
    for _ in range(tokens - sum(wanted)):
        rests = [share - mine for share, mine in zip(shares, wanted, strict=True)]
        wanted[rests.index(max(rests))] += 1
    return wanted


def slow_source(rows: Rows, source: int, wanted: int, seed: int, exact: bool) -> list[tuple[int, list[int]]]:
    """The documents of a source in a mixture, with their numbers."""
    epochs, rest = divmod(wanted, sum(map(len, rows)))
    found = list(enumerate(rows)) * epochs
    own_seed = key_of(key_of(seed, source), epochs)
    taken: dict[int, list[int]] = {}
    for number in sorted(range(len(rows)), key=lambda number: key_of(own_seed, number)):
        ids = rows[number]
        if len(ids) > rest:
            if exact and rest:
                taken[number] = [*ids[: rest - 1], ids[-1]]
            elif not exact and 2 * rest >= len(ids):
                taken[number] = ids
            break
        taken[number] = ids
        rest -= len(ids)
    return found + (sorted(taken.items()) if wanted % sum(map(len, rows)) else [])


def slow_order(rows: list[Any], seed: int | None) -> list[Any]:
    numbers = range(len(rows))
    return [rows[n] for n in (numbers if seed is None else sorted(numbers, key=lambda number: key_of(seed, number)))]


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("part-*")}


@pytest.mark.parametrize("number", then_full(range(6), range(6, 30)))
def test_random_recipes(number: int, sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(number)
    kind = ("plain", "parquet")[number % 2]
    names = generator.choices(("web", "code", "math"), k=generator.choice((1, 2, 3, 5)))
    weights = [generator.choice((1, 2.5, 0.1, 0.6, 7, 1e-3)) for _ in names]
    tokens: Any = generator.choice((None, 1, 50, 400, 3000, "4k"))
    seed, exact = generator.choice((None, 0, 42, MASK)), generator.random() < 0.5
    repeat: Any = "error" if tokens is None else "epochs"
    monkeypatch.setattr(shuffle, "_BUCKET", generator.choice((1 << 25, 2000)))
    monkeypatch.setattr(shuffle, "_MOST", generator.choice((256, 2)))
    monkeypatch.setattr(passes, "_BITS", generator.choice((16, 1)))
    monkeypatch.setattr(streams, "_DOCUMENTS", generator.choice((1 << 16, 5)))
    pairs = [(sources / kind / name, weight) for name, weight in zip(names, weights, strict=True)]
    options: Any = {"tokens": tokens, "shuffle": seed, "exact": exact, "repeat": repeat}
    done = bbpe.merge_shards(pairs, tmp_path / "mix", threads=1, **options)
    all_rows = {name: [ids.tolist() for ids in bbpe.load_shards(sources / kind / name)] for name in set(names)}
    had = [sum(map(len, all_rows[name])) for name in names]
    if tokens is None:
        total = sum(Fraction(str(weight)) for weight in weights)
        tokens = int(min(many * total / Fraction(str(w)) for many, w in zip(had, weights, strict=True)))
        assert all(share <= many for share, many in zip(slow_wanted(weights, tokens), had, strict=True))
        assert any(share > many for share, many in zip(slow_wanted(weights, tokens + len(names)), had, strict=True))
    wanted = slow_wanted(weights, 4000 if tokens == "4k" else tokens)
    found = [slow_source(all_rows[name], n, wanted[n], seed or 0, exact) for n, name in enumerate(names)]
    right = [(name, *each) for name, rows in zip(names, found, strict=True) for each in rows]
    assert [ids.tolist() for ids in done] == [ids for *_, ids in slow_order(right, seed)]
    assert done.mixture is not None
    for source, share, rows in zip(done.mixture, wanted, found, strict=True):
        counts = (len(rows), sum(len(ids) for _, ids in rows))
        assert (source.wanted, source.documents, source.tokens) == (share, *counts)
        longest = max(map(len, all_rows[Path(source.folder).name]))
        assert 2 * abs(source.tokens - share) <= (0 if exact else longest)
    if kind == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        ids = parquet.read_table(tmp_path / "mix" / "part-00000.parquet", columns=["id"]).column(0).to_pylist()
        assert ids == [f"{name}-{number}" for name, number, _ in slow_order(right, seed)]
    assert bbpe.verify_shards(tmp_path / "mix") == []
    assert bbpe.load_shards(tmp_path / "mix").mixture == done.mixture
    again = bbpe.merge_shards(pairs, tmp_path / "4", threads=4, **options)
    assert digests(tmp_path / "4") == digests(tmp_path / "mix")
    assert again.totals == done.totals


def test_a_mixture_in_parts_resumes_to_equal_bytes(sources: Path, tmp_path: Path) -> None:
    pairs = [(sources / "plain" / "web", 3), (sources / "plain" / "code", 1)]
    options: Any = {"tokens": 1500, "shuffle": 5, "shard_size": 400}
    done = bbpe.merge_shards(pairs, tmp_path / "mix", **options)
    right = digests(tmp_path / "mix")
    assert len(done.plan) == 4
    for name in ("part-00000.json", "part-00002.json", "manifest.json"):
        (tmp_path / "mix" / name).unlink()
        again = bbpe.merge_shards(pairs, tmp_path / "mix", **options)
        assert (digests(tmp_path / "mix"), again.mixture) == (right, done.mixture)
    (tmp_path / "mix" / "manifest.json").unlink()
    (tmp_path / "mix" / ".shuffle-of-a-killed-run").mkdir()
    (tmp_path / "mix" / ".shuffle-of-a-killed-run" / "0.ids").touch()
    bbpe.merge_shards(pairs, tmp_path / "mix", **options)
    assert not list((tmp_path / "mix").glob(".*"))
    with pytest.raises(bbpe.CorpusError, match="the folder has another plan, with mixture"):
        bbpe.merge_shards([(pairs[0][0], 2), pairs[1]], tmp_path / "mix", **options)
    (tmp_path / "mix" / "part-00001.json").unlink()
    with pytest.raises(bbpe.CorpusError, match="the documents were shuffled when shards were merged"):
        bbpe.shard_part(done.plan, 1)


def test_sources_and_passes_differ_in_what_the_seed_chooses(sources: Path, tmp_path: Path) -> None:
    web = sources / "plain" / "web"
    rows = {}
    for seed in (1, 2):
        done = bbpe.merge_shards([(web, 1), (web, 1)], tmp_path / str(seed), tokens=800, shuffle=seed)
        rows[seed] = Counter(tuple(ids.tolist()) for ids in done)
    # the same folder twice is two choices: of 1,800 tokens, 400 and 400 are seldom the same
    known = Counter(tuple(ids.tolist()) for ids in bbpe.load_shards(web))
    assert max((rows[1] - known).values(), default=0) <= 2
    assert rows[1] != rows[2]
    assert any(count % 2 for count in rows[1].values())


def test_each_document_is_chosen_as_often(sources: Path) -> None:
    shards = bbpe.load_shards(sources / "plain" / "code")
    chosen = np.zeros(len(shards), int)
    for seed in range(200):
        for _, numbers in _numbers_of(passes.passes_of(0, shards, shards.tokens // 2, seed, exact=False)):
            chosen[numbers] += 1
    # 100 of 200 times, give or take seven
    assert chosen.min() > 72
    assert chosen.max() < 128


def test_numbers_say_where_each_document_comes_from(sources: Path) -> None:
    """They are in the order of what is merged, and shuffled as ids are."""
    web, code = (bbpe.load_shards(sources / "plain" / name) for name in ("web", "code"))
    taken = [*passes.passes_of(0, web, web.tokens * 2 + 300, 7, exact=False), whole_pass(1, code)]
    found = [(source, n) for source, numbers in _numbers_of(taken) for n in numbers.tolist()]
    rows = [ids.tobytes() for each, _ in streams.documents_of(taken, streams.read_ids) for ids in _split(*each)]
    assert rows == [(web, code)[source][number].tobytes() for source, number in found]
    assert [number for source, number in found if source == 1] == list(range(45))


def _numbers_of(taken: list[passes.Pass]) -> Iterator[tuple[int, Any]]:
    """Yield a source, and the numbers of documents of it that are taken, in order."""
    for block in streams.blocks_of(taken):
        chosen = block.taken.chosen(block.first, len(block.lengths))
        yield block.taken.source, block.first + (np.arange(len(block.lengths)) if chosen is None else chosen)


def _split(data: Any, sizes: Any) -> list[Any]:
    return np.split(data, np.cumsum(sizes)[:-1]) if len(sizes) else []


def test_masks_of_chats_go_along(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["low lower"] * 3, 260, special_tokens=[EOS])
    (tmp_path / "model").mkdir()
    tok.save(tmp_path / "model/tokenizer.json")
    template = "{% for m in messages %}{{ m.role }}:{{ m.content }}\n{% endfor %}"
    (tmp_path / "model/chat_template.jinja").write_text(template)
    chats = [
        {"messages": [{"role": "user", "content": "a" * n}, {"role": "assistant", "content": f"low {n}"}]}
        for n in range(40)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(chat) + "\n" for chat in chats))
    options: Any = {"messages_field": "messages", "eos": EOS}
    plain = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "a", bbpe.load(tmp_path / "model"), **options)
    known = {plain[n].tobytes(): plain.mask(n).tobytes() for n in range(40)}
    mixed = bbpe.merge_shards([(plain, 1), (plain, 2)], tmp_path / "mix", tokens=900, shuffle=3)
    assert mixed.documents > 10
    assert all(mixed.mask(n).tobytes() == known[mixed[n].tobytes()] for n in range(len(mixed)))
    exact = bbpe.merge_shards([(plain, 1)], tmp_path / "exact", tokens=500, shuffle=3, exact=True)
    (cut,) = [n for n in range(len(exact)) if exact[n].tobytes() not in known]
    whole = next(n for n in range(40) if plain[n][: len(exact[cut]) - 1].tolist() == exact[cut][:-1].tolist())
    assert exact[cut][-1] == plain[whole][-1]
    assert exact.mask(cut).tolist() == [*plain.mask(whole)[: len(exact[cut]) - 1].tolist(), 0]


def test_a_mixture_is_merged_again(sources: Path, tmp_path: Path) -> None:
    web, code = (sources / "plain" / name for name in ("web", "code"))
    for seed, name in ((None, "in order"), (3, "shuffled")):
        mixed = bbpe.merge_shards([(web, 1), (code, 1)], tmp_path / name, tokens=600, shuffle=seed)
        both = bbpe.merge_shards([mixed, code], tmp_path / f"{name} again", shuffle=1)
        assert both.tokens == mixed.tokens + bbpe.load_shards(code).tokens
        again = bbpe.merge_shards([(mixed, 1), (code, 1)], tmp_path / f"{name} mixed", tokens=300)
        assert all(abs(source.tokens - 150) <= 200 for source in again.mixture or ())
        with pytest.raises(bbpe.CorpusError, match="merge them with a seed again, or with weights"):
            bbpe.merge_shards([mixed], tmp_path / "no")
        shutil.rmtree(tmp_path / f"{name} again")
    first, second = tmp_path / "in order", tmp_path / "shuffled"
    bbpe.merge_shards([first], tmp_path / "x", shuffle=1)
    with pytest.raises(bbpe.CorpusError, match="the folder has another plan, with merged"):
        bbpe.merge_shards([second], tmp_path / "x", shuffle=1)


def test_unknown_tokens_of_a_mixture_are_counted(tmp_path: Path) -> None:
    tok = bbpe.train_from_iterator(["low lower lowest"], 20, model=bbpe.WordPiece(unk_token="[UNK]"))
    (tmp_path / "a.jsonl").write_text("".join(f'{{"text": "low {"q" * (n % 3)} lower"}}\n' for n in range(90)))
    plain = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "a", tok, eos="[UNK]")
    mixed = bbpe.merge_shards([(plain, 1)], tmp_path / "mix", tokens=100, shuffle=1)
    assert plain.totals.unknown == 60
    found = sum(int((ids[:-1] == tok.unk_token_id).sum()) for ids in mixed)
    assert 0 < mixed.totals.unknown == found < 60


WRONG: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ({"web": 0.5}, {}, TypeError, r"not dict: give \[\*folders.items\(\)\], which are pairs"),
    ([("web", 1), "code"], {}, TypeError, r"folders\[1\] has no weight, and folders\[0\] has one"),
    ([("web", 1, 2)], {}, TypeError, r"folders\[0\] has 3 values; expected a folder and its weight"),
    ([(5, 1)], {}, TypeError, r"folders\[0\] must be a folder, not int"),
    ([("web", "1")], {}, TypeError, r"the weight of folders\[0\] must be a number, not str"),
    ([("web", True)], {}, TypeError, r"the weight of folders\[0\] must be a number, not bool"),
    ([("web", 1), ("web", 0)], {}, ValueError, r"the weight of folders\[1\] is 0; expected a finite number above 0"),
    ([("web", float("nan"))], {}, ValueError, "the weight of .* is nan"),
    ([("web", float("inf"))], {}, ValueError, "the weight of .* is inf"),
    (["web"], {"tokens": 5}, ValueError, "tokens is given, and folders have no weights"),
    (["web"], {"exact": True, "repeat": "epochs"}, ValueError, "repeat and exact are given"),
    ([("web", 1)], {"repeat": "epochs"}, ValueError, "repeat is 'epochs' without tokens"),
    ([("web", 1)], {"repeat": "twice"}, ValueError, "repeat is 'twice'; expected 'error' or 'epochs'"),
    ([("web", 1)], {"exact": 1}, TypeError, "exact must be True or False, not int"),
    ([("web", 1)], {"tokens": 0}, ValueError, "tokens is 0; expected at least 1"),
    ([("web", 1)], {"tokens": "12 tokens"}, ValueError, "tokens is '12 tokens'; expected a number such as"),
    ([("web", 1)], {"tokens": 1.5}, TypeError, "tokens must be an int or a string such as '100B', not float"),
    ([("web", 1), ("code", 1)], {"tokens": "1M"}, ValueError,
     r"folders\[0\] \(.*web\) has 3,\d+ tokens, and its share of 1,000,000 is 500,000: give tokens=\d+ or less"),
]  # fmt: skip


@pytest.mark.parametrize(("folders", "options", "error", "message"), WRONG)
def test_what_has_no_meaning_is_an_error(
    folders: Any, options: Any, error: Any, message: str, sources: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(sources / "plain")
    with pytest.raises(error, match=message):
        bbpe.merge_shards(folders, tmp_path / "mix", **options)
    assert not (tmp_path / "mix").exists()


def test_the_tokens_of_the_message_can_be_had(sources: Path, tmp_path: Path) -> None:
    pairs = [(sources / "plain" / "web", 0.3), (sources / "plain" / "math", 0.7)]
    most = bbpe.merge_shards(pairs, tmp_path / "largest", exact=True).tokens
    with pytest.raises(ValueError, match=rf"math\) has .*: give tokens={most} or less"):
        bbpe.merge_shards(pairs, tmp_path / "mix", tokens=most + 2)
    assert bbpe.merge_shards(pairs, tmp_path / "mix", tokens=most, exact=True).tokens == most


def test_a_source_without_tokens(tmp_path: Path, tok: bbpe.Tokenizer) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    empty = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "a", tok, empty="keep")
    with pytest.raises(ValueError, match=r"folders\[0\] \(.*\) has no tokens; leave it out of the mixture"):
        bbpe.merge_shards([(empty, 1)], tmp_path / "mix", tokens=5, repeat="epochs")


def test_many_passes_and_large_numbers(sources: Path) -> None:
    """10**15 tokens of a small source are one pass that is repeated, and a part."""
    math = bbpe.load_shards(sources / "plain" / "math")
    found = passes.passes_of(0, math, 10**15, 3, exact=True)
    assert len(found) <= 2
    assert sum(each.times * each.tokens for each in found) == 10**15
    assert wanted_of([Fraction(1, 3), Fraction(2, 3)], 10**18 + 1) == [333333333333333334, 666666666666666667]


def test_a_manifest_with_another_sum_is_found(sources: Path, tmp_path: Path) -> None:
    done = bbpe.merge_shards([(sources / "plain" / "web", 1)], tmp_path / "mix", tokens=300)
    path = tmp_path / "mix" / "part-00000.json"
    record = json.loads(path.read_text())
    record["mixed"][0][1] += 1
    path.write_text(json.dumps(record))
    with pytest.raises(bbpe.CorpusError, match="the sources of the mixture have"):
        bbpe.finish_shards(done.plan)
    assert done.mixture is not None
    assert Mixture.from_json(json.loads(json.dumps(done.mixture.as_dict()))) == done.mixture
