"""`bbpe shards convert`: the same as `bbpe.convert_shards`, at once and in parts."""

import json
from pathlib import Path

import pytest
from id_files import megatron, nanogpt

import bbpe
from bbpe.cli import main

DOCS = [[number % 7 + 1] * (number % 5 + 1) + [0] for number in range(60)]
SOURCE = "shards convert in/a.bin --from nanogpt --dtype uint16 --eos 0"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in").mkdir()
    nanogpt("in/a", DOCS)


def documents(folder):
    return [ids.tolist() for ids in bbpe.load_shards(folder)]


def test_it_converts(capsys):
    assert main(f"{SOURCE} --to megatron -o out --quiet".split()) == 0
    assert capsys.readouterr().out == "60 documents, 240 tokens; 1 part of megatron: out\n"
    assert documents("out") == DOCS
    assert main("shards verify out --sample 1".split()) == 0


def test_parts_are_written_anywhere(capsys):
    options = f"{SOURCE} --to olmo --part-size 100 -o out"
    assert main(f"{options} --plan-only --json".split()) == 0
    parts = json.loads(capsys.readouterr().out)["parts"]
    assert parts > 2
    for share in ("1/2", "0/2"):
        assert main(f"shards convert -o out --part {share} --threads 1 --quiet".split()) == 0
    assert main("shards convert -o out --finish --json".split()) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["documents"] == 60
    assert documents("out") == DOCS


def test_a_plan_says_what_is_read(capsys):
    """What is copied is known, so nothing is estimated."""
    nanogpt("in/b", DOCS[:5])
    options = f"{SOURCE.replace(' --from', ' in/b.bin --from')} --to olmo --part-size 100 -o out --plan-only"
    size = 2 * sum(map(len, DOCS + DOCS[:5]))
    assert main(f"{options} --json".split()) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts.keys() == {"output", "parts", "files", "size", "commands"}
    assert (facts["output"], facts["files"], facts["size"]) == ("out", 2, size)
    assert main(options.split()) == 0
    parts, read, *commands = capsys.readouterr().out.splitlines()
    assert (parts.partition(":")[0], read) == (f"{facts['parts']} parts", f"2 files, {size} bytes")
    assert commands == facts["commands"]


def test_options_of_what_is_written():
    main(f"{SOURCE} --to megatron --to-dtype int32 -o wide --quiet".split())
    assert bbpe.load_shards("wide")[0].dtype == "int32"
    megatron("in/b", [[1], [], [2]])
    for empty, count in (("keep", 3), ("skip", 2)):
        main(f"shards convert in/b --from megatron --to olmo --empty {empty} -o {empty} --quiet".split())
        assert len(bbpe.load_shards(empty)) == count
    main("shards convert wide --from bbpe --to numpy -o own --quiet".split())
    assert documents("own") == DOCS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("shards convert in/a.bin --from nanogpt -o out", "expected files, their format (--from) and another (--to)"),
        ("shards convert in/a.bin --from nanogpt --to olmo --eos 0 -o out", "--dtype is None; files of 'nanogpt' do"),
        ("shards convert in/a.bin --from nanogpt --dtype uint16 --to olmo -o out", "give --eos or --bos, the token or"),
        ("shards convert in x --from bbpe --to olmo -o out", "expected one folder with --from bbpe"),
        ("shards convert in/a.bin --from nanogpt --dtype uint16 --eos 5 --to olmo -o out", "--on-missing keep"),
        ("shards convert in/a.bin --from nanogpt --dtype f4 --eos 0 --to olmo -o out", "--dtype is 'float32'"),
        (f"{SOURCE} --to olmo --pattern gpt2 -o out", "--pattern is for the file of a tokenizer; expected -t with it"),
        (f"{SOURCE} --to olmo --to-dtype int7 -o out", "error: --to-dtype is 'int7'"),
        (f"{SOURCE} --to olmo --to-dtype int32 -o out", "error: --to-dtype is 'int32'; the format 'olmo' has"),
    ],
)
def test_errors_name_options(words, message, capsys):
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(words.split()))
    assert ended.value.code in (1, 2)
    assert message in capsys.readouterr().err
