"""Published vocabularies: their files, special tokens and models, as their publishers have them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from small_published import file_of, put
from strings import adversarial_strings

import bbpe
from bbpe.published.names import MODELS, PREFIXES, counted_by_provider, name_for_model
from bbpe.published.table import ALIASES, DISTRIBUTIONS, PUBLISHED
from bbpe.splitting.patterns import PATTERNS

#: Names whose files lie in `../shared/vocabs` or are in a package.
KEPT = {
    "gpt2": ["gpt2.tiktoken"],
    "r50k_base": ["gpt2.tiktoken"],
    "p50k_base": ["p50k_base.tiktoken"],
    "p50k_edit": ["p50k_base.tiktoken"],
    "cl100k_base": ["cl100k_base.tiktoken"],
    "o200k_base": ["o200k_base.tiktoken"],
    "o200k_harmony": ["o200k_base.tiktoken"],
    "llama3": ["llama3.tiktoken"],
    "llama3.1": ["llama3.tiktoken"],
    "qwen": ["qwen.tiktoken"],
    "qwen2": ["qwen_gpt2_files/vocab.json", "qwen_gpt2_files/merges.txt"],
    "qwen2.5": ["qwen.tiktoken"],
    "qwen3": ["qwen.tiktoken"],
    "qwen3.5": ["qwen3_6.tiktoken"],
    "whisper_en": ["gpt2.tokenizer.json"],
    "mistral_v1": ["mistral_v1.model"],
    "whisper": ["multilingual.tiktoken"],
    "mistral_v2": ["mistral_v2.model"],
    "mistral_v3": ["mistral_v3.model"],
    "mistral_v7": ["mistral_v7.model"],
    "tekken_240718": ["tekken_240718.json"],
    "tekken_240911": ["tekken_240911.json"],
    "deepseek_v3": ["deepseek_v3.tokenizer.json"],
    "deepseek_v4": ["deepseek_v4.tokenizer.json"],
}




def test_the_table() -> None:
    for row in PUBLISHED.values():
        assert row.pattern is None or row.pattern in PATTERNS
        for file in (file for form in row.forms for file in form.files):
            assert len(file.sha256) == 64
            assert file.git is None or len(file.git) == 40
            assert file.size > 0
        first = row.forms[0]
        assert len(first.files) == 1
        assert first.files[0].url or first.files[0].packages
        for inside in first.files[0].packages:
            assert "/" in inside
            assert inside.partition("/")[0] in (*DISTRIBUTIONS, "litellm", "dashscope")
    assert set(ALIASES.values()) <= set(PUBLISHED)
    assert not set(ALIASES) & set(PUBLISHED)
    assert {name_for_model(model) for model in MODELS} | {name for _, name in PREFIXES} <= set(PUBLISHED)


#: The beginning of the SHA-256 of each row of the table, compared with the publishers' files when it was written.
DIGESTS = {
    "gpt2": "6918bab2e7123a0e",
    "r50k_base": "0799770542ecdddc",
    "p50k_base": "880985e324fb979e",
    "p50k_edit": "4e1ce8742c786c36",
    "cl100k_base": "bb5c1b4534cb521c",
    "o200k_base": "9178be0bd8dd31a8",
    "o200k_harmony": "fe6c0640d07a587b",
    "llama3": "4c0c1aa014ccc30e",
    "llama3.1": "5b34666e3f6a117a",
    "llama4": "0dbaff878febb59d",
    "qwen": "54ec19d2ce04f9e8",
    "qwen2": "bb73cf21802617c0",
    "qwen2.5": "b4fe3cad1575186d",
    "qwen3": "3f42ae090fdbc9a8",
    "qwen3.5": "fa210bc695c6caef",
    "whisper": "8101bbf1e10d6473",
    "whisper_v3": "c7181c4338c22850",
    "whisper_en": "4ab22d40df192821",
    "mistral_v1": "c10f66868ec00a48",
    "mistral_v2": "282d94aed059dcc9",
    "mistral_v3": "96dbdecc84e1bf20",
    "mistral_v7": "d2b0df65a22cf1c4",
    "tekken_240718": "599d8a62cd0b5c79",
    "tekken_240911": "77d232254220cce7",
    "deepseek_v3": "4fefafea41e67a25",
    "deepseek_v4": "6186a76ef560ac00",
}


def digest_of_row(name: str) -> str:
    row = PUBLISHED[name]
    specials = None if row.special_tokens is None else list(row.special_tokens.items())
    files = [[form.format, *(vars(file) for file in form.files)] for form in row.forms]
    record = [name, row.pattern, row.is_nfc, specials, list(row.added_tokens.items()), files]
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()[:16]


def test_rows_stay_as_they_were_compared_with_their_files() -> None:
    """Ids of special tokens, checksums and addresses are facts: none changes without a look at the source."""
    assert {name: digest_of_row(name) for name in PUBLISHED} == DIGESTS
    names = {"llama3.2": "llama3.1", "llama3.3": "llama3.1", "qwen3.6": "qwen3.5", "qwen3_5": "qwen3.5"}
    assert {**names, "qwen3_6": "qwen3.5", "tekken": "tekken_240911"} == ALIASES


@pytest.mark.parametrize("name", KEPT)
def test_real_files(name: str, vocab_path: Callable[[str], Path], bare: Path) -> None:
    row, paths = PUBLISHED[name], []
    for kept in KEPT[name]:
        folder, _, file = kept.rpartition("/")
        paths.append(vocab_path(folder) / file if folder else vocab_path(file))
    form = next(form for form in row.forms if [file.name for file in form.files] == [path.name for path in paths])
    for file, path in zip(form.files, paths, strict=True):
        data = path.read_bytes()
        assert file_of(file.name, data) == replace(file, url=None, packages=())
    if form.format == "sentencepiece":
        pytest.importorskip("google.protobuf")
    tok = bbpe.get_encoding(name, folder=paths[0].parent)
    assert tok.name in (name, None)
    assert tok.name == name or row.special_tokens is None
    if row.special_tokens is not None:
        assert tok.special_tokens == row.special_tokens
        assert tok.spec.added_tokens == row.added_tokens
        assert set(tok.special_tokens.values()).isdisjoint(tok.spec.vocab)
    assert tok.decode(tok.encode("a 12 中")) == "a 12 中"


def test_special_tokens_that_stand_at_known_places() -> None:
    at = {name: {i: text for text, i in (row.special_tokens or {}).items()} for name, row in PUBLISHED.items()}
    assert len(at["o200k_harmony"]) == 1090
    assert at["o200k_harmony"][200013] == "<|reserved_200013|>"
    assert [at["llama3"][i] for i in (128004, 128009, 128010, 128255)] == [
        "<|reserved_special_token_2|>", "<|eot_id|>", "<|reserved_special_token_5|>", "<|reserved_special_token_250|>",
    ]  # fmt: skip
    assert [at["llama3.1"][i] for i in (128004, 128008, 128011, 128255)] == [
        "<|finetune_right_pad_id|>", "<|eom_id|>", "<|reserved_special_token_3|>", "<|reserved_special_token_247|>",
    ]  # fmt: skip
    assert [at["llama4"][i] for i in (200005, 200080, 200092, 201143, 202047)] == [
        "<|header_start|>", "<|image_start|>", "<|patch|>", "<|reasoning_thinking_end|>",
        "<|reserved_special_token_903|>",
    ]  # fmt: skip
    assert PUBLISHED["qwen3"].added_tokens["</think>"] == 151668
    assert at["qwen3.5"][248076] == "<|audio_pad|>"
    assert (at["whisper"][50363], at["whisper_v3"][50364], at["whisper_v3"][50365]) == (
        "<|notimestamps|>", "<|notimestamps|>", "<|0.00|>",
    )  # fmt: skip
    assert max(at["whisper"]) == 51864
    assert max(at["whisper_v3"]) == 51865


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "p50k_edit", "cl100k_base", "o200k_base", "o200k_harmony"])
def test_as_tiktoken(
    name: str, vocab_path: Callable[[str], Path], bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """tiktoken's own definition of the name, from a cache made for it; and we find the file in that cache."""
    tiktoken = pytest.importorskip("tiktoken")
    public = pytest.importorskip("tiktoken_ext.openai_public")
    file = PUBLISHED[name].forms[0].files[0]
    data = vocab_path(file.name).read_bytes()
    put(bare / "home/tiktoken" / hashlib.sha1((file.url or "").encode()).hexdigest(), data)
    tok, peer = bbpe.get_encoding(name), tiktoken.Encoding(**public.ENCODING_CONSTRUCTORS[name]())
    theirs = {text: i for text, i in peer._special_tokens.items() if text != "<|reserved_200018|>"}
    assert tok.special_tokens == theirs
    assert (tok.vocab_size, tok.eot_token) == (peer.n_vocab, peer.eot_token)
    for text in adversarial_strings(40, seed=41):
        mixed = text + "<|endoftext|>" + text + list(theirs)[-1]
        assert tok.encode(text) == peer.encode_ordinary(text)
        assert tok.encode(mixed, allowed_special="all") == peer.encode(mixed, allowed_special="all")


@pytest.mark.parametrize("name", [pytest.param("qwen3", marks=pytest.mark.full), "qwen3.5"])
def test_qwen_in_nfc(name: str, vocab_path: Callable[[str], Path], bare: Path, tmp_path: Path) -> None:
    """Qwen's tokenizer.json has the normalizer NFC; so has what is written of a name, and `tokenizers` agrees."""
    hf = pytest.importorskip("tokenizers")
    tok = bbpe.get_encoding(name, folder=vocab_path(KEPT[name][0]).parent)
    assert tok.encode("e\u0301 \u212b") == tok.encode("é Å")
    tok.save(tmp_path / "tokenizer.json")
    peer = hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    texts = [text + rest for text, rest in product(adversarial_strings(25, seed=42), ["", "a\u0301", "か\u3099"])]
    assert tok.encode_batch(texts, allowed_special="all") == [peer.encode(text).ids for text in texts]


def test_models_as_tiktoken() -> None:
    model = pytest.importorskip("tiktoken.model")
    assert {name: name_for_model(name) for name in model.MODEL_TO_ENCODING} == model.MODEL_TO_ENCODING
    for prefix, name in model.MODEL_PREFIX_TO_ENCODING.items():
        assert name_for_model(prefix + "x") == name
    assert set(MODELS) == set(model.MODEL_TO_ENCODING)
    assert dict(PREFIXES) == model.MODEL_PREFIX_TO_ENCODING


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("meta-llama/Meta-Llama-3-8B-Instruct", "llama3"),
        ("meta-llama/Llama-3.1-70B", "llama3.1"),
        ("meta-llama/Llama-3.2-1B", "llama3.1"),
        ("meta-llama/Llama-3.2-11B-Vision", None),
        ("meta-llama/Llama-4-Scout-17B-16E", "llama4"),
        ("Qwen/Qwen-7B-Chat", "qwen"),
        ("Qwen/Qwen2-7B", "qwen2"),
        ("Qwen/Qwen2-VL-7B", None),
        ("Qwen/Qwen2.5-Coder-32B-Instruct", "qwen2.5"),
        ("Qwen/Qwen3-235B-A22B", "qwen3"),
        ("Qwen/Qwen3.6-27B", "qwen3.5"),
        ("openai/whisper-large-v3-turbo", "whisper_v3"),
        ("openai/whisper-tiny.en", "whisper_en"),
        ("openai/whisper-small", "whisper"),
        ("openai/gpt-oss-20b", "o200k_harmony"),
        ("mistralai/Mistral-7B-Instruct-v0.2", "mistral_v1"),
        ("mistralai/Mixtral-8x7B-v0.1", "mistral_v1"),
        ("mistralai/Mistral-7B-v0.3", "mistral_v3"),
        ("mistralai/Mistral-Nemo-Instruct-2407", "tekken_240718"),
        ("deepseek-ai/DeepSeek-V3", "deepseek_v3"),
        ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", None),
        ("nobody/nothing", None),
        ("Qwen/Qwen-1_8B", "qwen"),
        ("Qwen/Qwen-13B", None),
        ("Qwen/Qwen2-7B-Instruct", "qwen2"),
        ("Qwen/Qwen2-Math-1.5B", "qwen2"),
        ("Qwen/Qwen2.5-Math-7B-Instruct", "qwen2.5"),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3"),
        ("meta-llama/Llama-3.3-70B-Instruct", "llama3.1"),
        ("mistralai/Mistral-7B-v0.1", "mistral_v1"),
        ("mistralai/Mistral-7B-Instruct-v0.3", "mistral_v3"),
        ("mistralai/Pixtral-12B-2409", "tekken_240911"),
        ("deepseek-ai/DeepSeek-V3-0324", "deepseek_v3"),
        ("openai/whisper-large-v2", "whisper"),
        ("openai/whisper-large-v3", "whisper_v3"),
        ("openai/whisper-medium.en", "whisper_en"),
        ("openai/gpt-4o", "o200k_base"),
        ("openai/gpt-5-mini", "o200k_base"),
        ("deepseek-chat", "deepseek_v4"),
        ("deepseek-reasoner", "deepseek_v4"),
        ("deepseek-v4-pro", "deepseek_v4"),
        ("deepseek-ai/DeepSeek-V4-Flash", "deepseek_v4"),
        ("open-mistral-nemo", "tekken_240718"),
    ],
)
def test_open_models(model: str, name: str | None) -> None:
    assert name_for_model(model) == name


def test_dated_models_of_mistral_as_mistral_common(monkeypatch: pytest.MonkeyPatch) -> None:
    mistral = pytest.importorskip("mistral_common.tokens.tokenizers.mistral")
    files = {inside.rpartition("/")[2]: row.name for row in PUBLISHED.values() for form in row.forms
             for file in form.files for inside in file.packages if inside.startswith("mistral_common/")}  # fmt: skip
    monkeypatch.setattr(mistral.MistralTokenizer, "from_file", lambda path, **_: Path(path).name)
    theirs = {model: files.get(make()) for model, make in mistral.MODEL_NAME_TO_TOKENIZER_CLS.items()}
    assert {model: name_for_model(model) for model in theirs} == theirs
    assert len({*theirs.values()}) > 5


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-opus-4-5", "Anthropic"), ("us.anthropic.claude-3-5-sonnet-20240620-v1:0", "Anthropic"),
        ("claude-sonnet-4@20250514", "Anthropic"), ("anthropic/claude-3.5-sonnet", "Anthropic"),
        ("Claude", "Anthropic"), ("gemini-2.5-pro", "Google"), ("models/gemini-2.0-flash", "Google"),
        ("openrouter/google/gemini-3-pro", "Google"),
        ("google/gemma-3-4b-it", None), ("someone/claude-like", None), ("claudette", None), ("./gemini-1", None),
    ],
)  # fmt: skip
def test_models_whose_providers_count(model: str, family: str | None) -> None:
    said = counted_by_provider(model)
    assert (said is None) if family is None else str(said).startswith(f"model {model!r}: {family} has published no voc")
    if family is not None:
        for call in (bbpe.encoding_for_model, bbpe.get_encoding, bbpe.load):
            with pytest.raises((bbpe.VocabularyError, OSError), match=f"{family} has published no vocabulary"):
                call(model)
        with pytest.raises(TypeError, match=rf"expected a Tokenizer: model .* {family} has published no vocabulary"):
            bbpe.lint(model)  # type: ignore[arg-type]
