"""`bbpe shards merge` with weights, and `bbpe shards blend`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

import bbpe
from bbpe.cli import main

EOS = "</s>"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mix")
    tok = bbpe.train_from_iterator(["low lower"], 259, special_tokens=[EOS])
    for name, count in (("web", 90), ("code", 30), ("web:1", 3)):
        (folder / "a.jsonl").write_text("".join(f'{{"text": "low {n}"}}\n' for n in range(count)))
        bbpe.shard(folder / "a.jsonl", folder / name, tok, eos=EOS, part_size=500)
    return folder


@pytest.fixture(autouse=True)
def here(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made)


def say(capsys: pytest.CaptureFixture[str], *words: object, status: int = 0) -> str:
    assert main(["shards", *map(str, words)]) == status
    found = capsys.readouterr()
    return found.err if status else found.out


def test_a_mixture_is_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--tokens", "0.3k", "--shuffle", 42, "--exact")
    found = say(capsys, "merge", "web:0.75", "code:0.25", *options, "-o", tmp_path / "mix")
    done = bbpe.load_shards(tmp_path / "mix")
    assert done.mixture is not None
    assert [source.tokens for source in done.mixture] == [225, 75]
    header, web, code, sums = found.splitlines()
    assert header.split() == ["source", "weight", "documents", "wanted", "tokens", "share", "epochs"]
    assert web.split()[1:] == ["0.75", str(done.mixture.sources[0].documents), "225", "225", "75.0%", *web.split()[-1:]]
    assert code.split()[0].endswith("code")
    assert sums.startswith(f"{done.documents} documents, 300 tokens; ")
    assert "not chosen" in sums
    as_json = json.loads(say(capsys, "merge", "web:0.75", "code:0.25", *options, "-o", tmp_path / "mix", "--json"))
    assert as_json["mixture"] == done.mixture.as_dict()
    assert as_json["tokens"] == 300
    shown = say(capsys, "show", tmp_path / "mix")
    assert str(done.mixture) in shown
    assert json.loads(say(capsys, "show", tmp_path / "mix", "--json"))["mixture"] == done.mixture.as_dict()


def test_a_source_that_is_too_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("merge", "web:1", "code:9", "-o", tmp_path / "mix", "--tokens", "1M")
    found = say(capsys, *words[:1], "./web:1:1", *words[2:], status=2)
    assert "1,000,000" in found
    assert "give --tokens" in found
    assert "--repeat epochs to read it more than once" in found


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("web:1", "code:1"), "web:1 is a folder, and so is web; give web:1:WEIGHT for the one, or rename it"),
        (("web", "code:1"), "web has no weight, and others have one; give web:WEIGHT, or no weights"),
        (("web:many",), "web:many: 'many' is no weight; expected a number above 0, as in web:0.6"),
        (("web:-1",), "web:-1: '-1' is no weight; expected a number above 0, as in web:0.6"),
        (("web:nan",), "web:nan: 'nan' is no weight; expected a number above 0, as in web:0.6"),
        (("web", "--tokens", "5"), "--tokens is given, and folders have no weights"),
    ],
)
def test_weights_that_mean_nothing(
    words: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in say(capsys, "merge", *words, "-o", tmp_path / "mix", status=2)
    assert not (tmp_path / "mix").exists()


@pytest.mark.parametrize("number", ["", "0", "-5", "1.5", "1e6", "100BB", "B", "1,000", "0.0001k", "\u0661", "inf"])
def test_numbers_of_tokens_that_are_none(number: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["shards", "merge", "code:1", "-o", str(tmp_path / "mix"), f"--tokens={number}"])
    assert "expected a" in capsys.readouterr().err


def test_a_folder_whose_name_ends_like_a_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    say(capsys, "merge", "web:1:0.5", "code:0.5", "-o", tmp_path / "mix")
    done = bbpe.load_shards(tmp_path / "mix")
    assert [Path(source.folder).name for source in done.mixture or ()] == ["web:1", "code"]


def test_a_blend_shares_weights_by_tokens(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(say(capsys, "blend", "web:3", "code:1", "--json"))
    line = say(capsys, "blend", "web:3", "code:1")
    words = shlex.split(line)
    assert (list(map(float, words[::2])), words[1::2]) == (found["weights"], found["paths"])
    web, code = (bbpe.load_shards(made / name) for name in ("web", "code"))
    assert len(web.plan) > 2
    assert len(words) == 2 * (len(web.plan) + len(code.plan))
    for shards, weight in ((web, 0.75), (code, 0.25)):
        for number in range(len(shards.plan)):
            share = len(shards.part(number)[0]) / shards.tokens
            assert float(words[words.index(str(shards.plan.stem(number))) - 1]) == pytest.approx(weight * share)


def test_what_cannot_be_blended(made: Path, tmp_path: Path) -> None:
    tok = bbpe.load_shards(made / "web").tokenizer
    other = bbpe.shard(made / "a.jsonl", tmp_path / "llmc", tok, format="llmc", eos=EOS)
    with pytest.raises(ValueError, match="has the format 'llmc'; expected 'megatron'"):
        bbpe.blend_shards([(other, 1)])
    with pytest.raises(TypeError, match="has no weight; expected pairs"):
        bbpe.blend_shards([made / "web"])  # type: ignore[list-item]
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n')
    empty = bbpe.shard(tmp_path / "a.jsonl", tmp_path / "empty", tok)
    with pytest.raises(ValueError, match="has no tokens; leave it out of the blend"):
        bbpe.blend_shards([(made / "web", 1), (empty, 1)])
    no_end = bbpe.shard(made / "a.jsonl", tmp_path / "no-end", tok)
    with pytest.raises(bbpe.CorpusError, match=r"shards with eos \d+ and None are no corpus of one model$"):
        bbpe.blend_shards([(made / "web", 1), (no_end, 1)])
    other_tok = bbpe.train_from_iterator(["other words"], 260, special_tokens=[EOS])
    other = bbpe.shard(made / "a.jsonl", tmp_path / "other", other_tok, eos=EOS)
    with pytest.raises(bbpe.CorpusError, match=r"shards with fingerprint .*; bbpe\.retokenize gives one of them the"):
        bbpe.blend_shards([(made / "web", 1), (other, 1)])


def test_a_blend_needs_weights(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["shards", "blend", "web", "code"]) == 2
    assert "bbpe: error: web has no weight; give web:WEIGHT" in capsys.readouterr().err


def test_a_table_of_tokens(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name, text in (("x", "low lower"), ("y", "lower lower low")):
        (tmp_path / f"{name}.txt").write_text(text)
        bbpe.train_from_iterator([text], 258, special_tokens=[EOS]).save(tmp_path / f"{name}.json")
    files = [str(tmp_path / f"{name}.txt") for name in "xy"]
    toks = [word for name in "xy" for word in ("-t", str(tmp_path / f"{name}.json"))]
    right = bbpe.count_tokens(files, {name: bbpe.load(tmp_path / f"{name}.json") for name in "xy"}, by="file")
    assert main(["tokens", *files, *toks, "--by", "file", "--quiet", "-o", str(tmp_path / "t.parquet")]) == 0
    shown = capsys.readouterr().out
    assert shown == f"{right.text(100)}\n"
    assert max(map(len, shown.splitlines())) <= 100
    assert len(parquet.read_table(tmp_path / "t.parquet")) == 4
    assert main(["tokens", *files, *toks, "--by", "folder", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["source"] for row in found["rows"]] == [str(tmp_path)]
    assert found["total"]["tokenizers"] == right.as_dict()["total"]["tokenizers"]
    assert main(["tokens", *files, *toks, "--quiet"]) == 0
    assert capsys.readouterr().out.split("\n")[1].split()[:2] == ["corpus", "2"]
    for words, message in (
        (["--by", "file"], "--by file goes with files, and standard input has no name"),
        ([*files, "--by", "file", "--per-line"], "--per-line, --truncate and --chunk go with one tokenizer"),
        ([*files, "-o", "t.csv"], "expected a name that ends with .parquet or .json"),
    ):
        assert main(["tokens", *words, *toks]) == 2
        assert message in capsys.readouterr().err
