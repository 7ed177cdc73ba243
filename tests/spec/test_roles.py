"""Names of special tokens by their roles, and chat templates: what a tokenizer gets, saves and reads back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import bbpe
from bbpe.cli import main
from bbpe.spec.roles import lost_roles

TEXT = "see my eyes first, see my dogs"
CHAT = "{% for message in messages %}<|user|>{{ message.content }}<|end|>{% endfor %}"
SPECIALS = ["<|end|>", "<|pad|>", "<|user|>"]
TOK = bbpe.train_from_iterator([TEXT], 280, special_tokens=SPECIALS)
ROLES = ("bos", "eos", "pad", "unk", "cls", "sep", "mask")
MESSAGES = [{"role": "user", "content": "see"}]


def config_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "tokenizer_config.json").read_bytes())
    return found


@pytest.mark.parametrize("role", ROLES)
def test_each_role_is_kept(role: str, tmp_path: Path) -> None:
    named: dict[str, Any] = {f"{role}_token": "<|end|>"}
    tok = TOK.with_roles(**named)
    assert tok == TOK
    tok.save(tmp_path / "model")
    assert config_of(tmp_path / "model")[f"{role}_token"] == "<|end|>"
    again = bbpe.load(tmp_path / "model")
    assert again == tok
    assert lost_roles(tok.spec, again.spec) == []
    if role in ("bos", "eos", "pad", "unk"):
        assert getattr(again, f"{role}_token") == "<|end|>"
        assert getattr(again, f"{role}_token_id") == tok.token_to_id("<|end|>")
        assert getattr(TOK, f"{role}_token") is None


def test_roles_stay_and_are_replaced(tmp_path: Path) -> None:
    tok = TOK.with_roles(eos_token="<|end|>", chat_template=CHAT).with_roles(pad_token="<|pad|>")
    assert (tok.eos_token, tok.pad_token) == ("<|end|>", "<|pad|>")
    assert tok.apply_chat_template(MESSAGES) == "<|user|>see<|end|>"
    assert tok.with_roles(eos_token="<|pad|>").eos_token == "<|pad|>"
    assert tok.with_roles() == tok
    tok.save(tmp_path)
    again = bbpe.load(tmp_path).with_roles(chat_template="{{ messages[0].content }}!")
    assert again.apply_chat_template(MESSAGES) == "see!"
    assert again.eos_token == "<|end|>"


def test_the_files_of_a_folder_are_changed_and_not_only_one_of_them(tmp_path: Path) -> None:
    """An older folder names tokens in two files, the second of which counts; templates are in three places."""
    TOK.save(tmp_path)
    config = {"eos_token": {"content": "<|user|>", "lstrip": False}, "chat_template": "{{ 1 }}", "model_max_length": 9}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "special_tokens_map.json").write_text(json.dumps({"eos_token": "<|user|>", "pad_token": "<|pad|>"}))
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("{{ 2 }}")
    tok = bbpe.load(tmp_path)
    assert (tok.eos_token, tok.pad_token) == ("<|user|>", "<|pad|>")
    named = tok.with_roles(eos_token="<|end|>", chat_template=CHAT)
    assert (named.eos_token, named.pad_token) == ("<|end|>", "<|pad|>")
    assert named.apply_chat_template(MESSAGES, tools=[]) == "<|user|>see<|end|>"
    named.save(tmp_path / "model")
    assert config_of(tmp_path / "model")["model_max_length"] == 9
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "chat_template.jinja", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json",
    ]
    assert bbpe.load(tmp_path / "model").eos_token == "<|end|>"


@pytest.mark.parametrize(("given", "error", "said"), [
    ({"eos_token": "<|no|>"}, ValueError, "eos_token is '<|no|>', which is no special token of this tokenizer; train"),
    ({"pad_token": "s"}, ValueError, "pad_token is 's', which is no special token"),
    ({"bos_token": 5}, TypeError, "bos_token must be the text of a special token or None, not int"),
    ({"chat_template": "default"}, ValueError, "chat_template is 'default'; expected a text with {{ or {%"),
    ({"chat_template": b"{{ 1 }}"}, TypeError, "chat_template must be the text of a template or None, not bytes"),
])  # fmt: skip
def test_wrong_roles(given: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        TOK.with_roles(**given)
    assert str(caught.value).startswith(said)


def test_a_configuration_that_is_not_json_is_named(tmp_path: Path) -> None:
    TOK.save(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text("{")
    with pytest.raises(bbpe.VocabularyError, match=r"tokenizer_config\.json"):
        bbpe.load(tmp_path).with_roles(eos_token="<|end|>")


# -- the command line ----------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(f"{TEXT}\n" * 9)
    Path("chat.jinja").write_text(CHAT)
    return tmp_path


@pytest.mark.parametrize("words", [
    "--vocab-size 280", "--vocab-size 60 --model wordpiece", "--vocab-size 280 --model unigram",
    "--vocab-size 60 --alphabet chars --end-of-word </w>",
])  # fmt: skip
def test_every_model_is_trained_with_roles(words: str, here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    roles = "--eos-token <|end|> --pad-token <|pad|> --bos-token <|end|> --chat-template chat.jinja"
    line = f"train a.txt {words} --special-token <|user|> {roles} -o model --quiet"
    assert main(line.split()) == 0
    tok = bbpe.load("model")
    assert (tok.eos_token, tok.pad_token, tok.bos_token) == ("<|end|>", "<|pad|>", "<|end|>")
    order = [text for text in tok.special_tokens if text.startswith("<|")]
    assert order == ["<|user|>", "<|end|>", "<|pad|>"]
    assert tok.apply_chat_template(MESSAGES) == "<|user|>see<|end|>"
    capfd.readouterr()
    assert main(["lint", "-t", "model"]) in (0, 1)
    out = capfd.readouterr().out
    assert "no-pad" not in out
    assert "no token for" not in out


def test_saved_counts_are_trained_with_roles(here: Path) -> None:
    pytest.importorskip("pyarrow")
    assert main("count a.txt --special-token <|user|> -o c.parquet --quiet".split()) == 0
    assert main("train --counts c.parquet --vocab-size 280 --mask-token <|m|> -o model --quiet".split()) == 0
    assert [*bbpe.load("model").special_tokens] == ["<|user|>", "<|m|>"]
    assert config_of(here / "model")["mask_token"] == "<|m|>"


@pytest.mark.parametrize("output", ["x.json", "x.tiktoken"])
def test_an_output_without_a_place_for_roles_is_refused_before_the_work(
    output: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = f"train a.txt --vocab-size 280 --eos-token <|end|> --chat-template chat.jinja -o {output}"
    drop = " --drop special_tokens" if output == "x.tiktoken" else ""
    assert main((line + drop).split()) == 2
    said = f"{output} has no place for --eos-token and --chat-template; save to a folder, such as -o model/"
    assert capfd.readouterr().err == f"bbpe: error: {said}\nsee `bbpe train --help`\n"
    assert not Path(output).exists()


def test_transformers_reads_the_roles(here: Path) -> None:
    transformers = pytest.importorskip("transformers")
    line = "train a.txt --vocab-size 280 --eos-token <|end|> --pad-token <|pad|> --chat-template chat.jinja -o model"
    assert main([*line.split(), "--special-token", "<|user|>", "--quiet"]) == 0
    tok, theirs = bbpe.load("model"), transformers.AutoTokenizer.from_pretrained("model")
    assert (theirs.eos_token, theirs.pad_token, theirs.bos_token) == ("<|end|>", "<|pad|>", None)
    chat = theirs.apply_chat_template(MESSAGES, tokenize=False)
    assert chat == tok.apply_chat_template(MESSAGES) == "<|user|>see<|end|>"
    assert theirs(chat)["input_ids"] == tok.encode(chat, allowed_special="all")
    assert theirs(["see", "see my eyes"], padding=True)["input_ids"][0][-1] == tok.pad_token_id
