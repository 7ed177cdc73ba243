"""tekken.json: the ids that Mistral's own reader gives, what is written, and what is refused."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from strings import adversarial_strings
from tekken_files import ordered_vocab, tekken
from vocabularies import MERGES, small_spec, write_json

import bbpe
from bbpe import formats
from bbpe.errors import PatternError, VocabularyError
from bbpe.formats import tekken as tekken_json
from bbpe.formats.tekken import _UNLISTED
from bbpe.records import replace
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.models import Vocab
from bbpe.spec.spec import TokenizerSpec, make_spec
from bbpe.splitting.patterns import get_pattern, recognise

CORPORA = ["en", "code", "multi", "ja", "zh"]




def small_tekken(special: int = 3, pattern: str = "tekken") -> TokenizerSpec:
    texts = ["<unk>", "<s>", "</s>", "[中]"][:special]
    specials = {text: number for number, text in enumerate(texts)}
    return make_spec(
        ordered_vocab(special),
        None,
        pattern=get_pattern(pattern),
        special_tokens=specials,
        whole_pretokens=True,
    )




def row(**changes: Any) -> list[Any]:
    """The vocabulary with fields of its token 260 changed; `...` takes a field out."""
    rows = tekken()["vocab"]
    rows[260] = {key: value for key, value in {**rows[260], **changes}.items() if value is not ...}
    return rows


def loaded(path: Path) -> TokenizerSpec | str:
    """What a file is, or the message by which it is refused."""
    try:
        return formats.load(path)
    except (VocabularyError, PatternError) as error:
        return str(error)


def test_rows_in_c_are_those_of_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, path, quick = random.Random(81), tmp_path / "tekken.json", tekken_json._quick_document
    texts = [json.dumps(tekken(), indent=space) for space in (None, 1)]
    texts += [json.dumps(tekken(vocab=[dict(reversed(row.items())) for row in tekken()["vocab"]]))]
    texts += [json.dumps(tekken(vocab=[{**row, "token_str": 'a"\u4e2d{'} for row in tekken()["vocab"]]))]
    texts += [json.dumps(tekken(config__default_vocab_size=size)) for size in (258, 261, 270, 300)]
    whole = texts[0].encode()
    start = whole.index(b"vocab")
    broken = []
    for _ in range(60):
        data, at = bytearray(whole), rng.randrange(start, len(whole))
        data[at : at + rng.randint(0, 2)] = bytes(rng.choices(b'{}[]",: 0x=An\\\xff', k=rng.randint(0, 2)))
        broken.append(bytes(data))
    assert quick(whole) is not None
    for data in [*(text.encode() for text in texts), *broken]:
        path.write_bytes(data)
        found = loaded(path)
        with monkeypatch.context() as slow:
            slow.setattr(tekken_json, "_quick_document", lambda data: None)
            assert loaded(path) == found


@pytest.mark.parametrize(
    ("rows", "most", "expected"),
    [
        ('[{"rank": 0, "token_bytes": "YQ==", "token_str": "a"}]', 1, {5: b"a"}),
        ('[{"rank":0,"token_bytes":"YQ=="},{"rank":1}]', 1, None),
        ('[{"rank":0,"token_bytes":"YQ==","token_str":null},{"rank":1,"token_bytes":"YQ==","token_str":""}]', 2, None),
        ('[{"rank": 0, "token_bytes": "YQ==", "token_str": n ull}]', 1, None),
        ('[{"rank": 0, "token_bytes": "YQ=", "token_str": null}]', 1, None),
        ('[{"rank": 0, "token_bytes": "", "token_str": null}]', 1, None),
        ('[{"rank": 1, "token_bytes": "YQ==", "token_str": null}]', 1, None),
        ('[{"rank": 0, "token_bytes": "YQ==", "token_str": null}] 1', 1, None),
        ('[{"rank": 0, "token_bytes": "YQ==", "token_str": null}', 1, None),
        ('[{"rank": 0, "token_bytes": "YQ==", "token_str": null, "x": 1}]', 1, None),
        ('[{"rank": 0, "token_bytes": "YQ==", "token_str": null}]', 2, None),
        ("[]", 0, None),
    ],
)
def test_usual_rows(rows: str, most: int, expected: dict[int, bytes] | None) -> None:
    assert Vocab.of_tekken(rows.encode(), 0, len(rows), 5, most) == expected


def test_round_trip(tmp_path: Path) -> None:
    for spec in (small_tekken(), small_tekken(0), small_tekken(4, "gpt2")):
        path = tmp_path / "tekken.json"
        formats.dump(spec, path)
        assert formats.sniff(path) == formats.sniff(tmp_path) == "tekken"
        again = formats.load(tmp_path)
        assert fingerprint(again) == fingerprint(spec)
        assert (again.merges, again.whole_pretokens, again.pattern.name) == (None, True, spec.pattern.name)


def test_each_field_of_a_written_file_is_the_one_that_mistral_common_reads(tmp_path: Path) -> None:
    """Special tokens are in the order of their ids, whatever the order in which they were given."""
    ordinary = [*(bytes([byte]) for byte in range(256)), b"ab", b"\xc3\xa9"]
    spec = make_spec(
        dict(enumerate(ordinary, 3)),
        None,
        pattern=get_pattern("tekken"),
        special_tokens={"</s>": 2, "<unk>": 0, "[\u4e2d]": 1},
        whole_pretokens=True,
    )
    formats.dump(spec, tmp_path / "tekken.json")
    tokens = [*((bytes([byte]), chr(byte) if byte < 128 else None) for byte in range(256)), (b"ab", "ab")]
    tokens.append((b"\xc3\xa9", "\u00e9"))
    assert json.loads((tmp_path / "tekken.json").read_text("utf-8")) == {
        "config": {
            "pattern": get_pattern("tekken").steps[0],
            "num_vocab_tokens": 258, "default_vocab_size": 261, "default_num_special_tokens": 3, "version": "v7",
        },
        "vocab": [
            {"rank": rank, "token_bytes": b64encode(token).decode(), "token_str": text}
            for rank, (token, text) in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": rank, "token_str": text, "is_control": True}
            for rank, text in enumerate(["<unk>", "[\u4e2d]", "</s>"])
        ],
    }  # fmt: skip


def test_it_is_known_by_what_it_holds(tmp_path: Path) -> None:
    formats.dump(small_tekken(), tmp_path / "tekken_1.json")
    (tmp_path / "tekken_1.json").rename(tmp_path / "x")
    assert formats.sniff(tmp_path / "x") == "tekken"
    # special tokens first, and so many that no token is near the beginning
    value = tekken(special_tokens=[{"rank": i, "token_str": f"<{i}>", "is_control": True} for i in range(2000)])
    value["config"] |= {"default_num_special_tokens": 2000, "default_vocab_size": 2267}
    first = {key: value[key] for key in ("config", "special_tokens", "vocab")}
    assert formats.sniff(write_json(tmp_path / "y", first)) == "tekken"
    assert formats.load(tmp_path / "y").special_tokens["<1999>"] == 1999


def test_what_the_file_does_not_list(tmp_path: Path) -> None:
    value = tekken(special_tokens=..., config__default_num_special_tokens=22, config__version="v3")
    value["config"]["default_vocab_size"] = 22 + 258  # the last tokens of the list do not count
    spec = formats.load(write_json(tmp_path / "tekken.json", value))
    assert list(spec.special_tokens.values()) == list(range(22))
    assert list(spec.special_tokens)[1:3] == ["<s>", "</s>"]
    assert list(spec.special_tokens)[19:] == ["[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_21>"]
    assert (min(spec.vocab), max(spec.vocab)) == (22, 279)
    assert formats.load(tmp_path / "tekken.json", special_tokens={"<x>": 5}).special_tokens == {"<x>": 5}
    assert formats.load(tmp_path / "tekken.json", pattern="gpt2").pattern.name == "gpt2"


@pytest.mark.parametrize("version", ["v1", "v2", "v3", "v7", "v11", "v13", "v15"])
def test_files_of_versions_up_to_7_need_not_list_their_special_tokens(tmp_path: Path, version: str) -> None:
    value = tekken(special_tokens=..., config__default_num_special_tokens=20, config__default_vocab_size=287)
    value["config"]["version"] = version
    path = write_json(tmp_path / "tekken.json", value)
    if version in ("v1", "v2", "v3", "v7"):
        assert formats.load(path).special_tokens["[TOOL_CONTENT]"] == 19
        assert (min(formats.load(path).vocab), max(formats.load(path).vocab)) == (20, 286)
    else:
        with pytest.raises(VocabularyError, match=rf"config\.version: found {version}, which requires the field"):
            formats.load(path)


@pytest.mark.parametrize("count", [7, 8])
def test_the_most_special_tokens_without_a_text(
    tmp_path: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them have one."""
    monkeypatch.setattr(tekken_json, "_MOST_UNLISTED", 5)
    value = tekken(config__default_num_special_tokens=count, config__default_vocab_size=count + 260)
    path = write_json(tmp_path / "tekken.json", value)
    if count == 7:
        assert list(formats.load(path).special_tokens) == ["<unk>", "<s>", *(f"<SPECIAL_{i}>" for i in range(2, 7))]
    else:
        with pytest.raises(VocabularyError, match="found 8, of which 2 have a text; expected at most 5 without one"):
            formats.load(path)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"vocab": {}}, ("vocab", "{}", "expected a list")),
        ({"vocab": ...}, ("field 'vocab' is missing",)),
        ({"config": []}, ("config", "[]", "expected an object")),
        ({"surprise": 1}, ("unknown field 'surprise'",)),
        ({"config__surprise": 1}, ("config", "unknown field 'surprise'")),
        ({"config__pattern": 5}, ("config.pattern", "5", "expected a string")),
        ({"config__version": "v99"}, ("config.version", "'v99'", "expected one of v1, v2")),
        ({"config__version": "v11", "special_tokens": ...}, ("config.version", "requires the field special_tokens")),
        ({"config__default_num_special_tokens": -1}, ("default_num_special_tokens", "-1", "expected 0 to")),
        (
            {"config__default_num_special_tokens": 1, "config__default_vocab_size": 268},
            ("default_num_special_tokens", "1", "at least 2, the listed"),
        ),
        ({"config__default_vocab_size": 1_000_000_000}, ("default_vocab_size", "at most 267 tokens of vocab")),
        ({"config__num_vocab_tokens": "x"}, ("config.num_vocab_tokens", '"x"', "expected a whole number")),
        ({"config__default_vocab_size": "x"}, ("config.default_vocab_size", '"x"', "expected a whole number")),
        ({"config__default_vocab_size": 200}, ("single bytes have no token", "0xC6")),
        ({"vocab": row(rank=5)}, ("vocab[260].rank", "found 5; expected 260")),
        ({"vocab": row(rank="260")}, ("vocab[260].rank", '"260"', "expected a whole number")),
        ({"vocab": row(rank=...)}, ("vocab[260]", "'rank' is missing")),
        ({"vocab": row(token_bytes=...)}, ("vocab[260]", "'token_bytes' is missing")),
        ({"vocab": row(token_str=...)}, ("vocab[260]", "'token_str' is missing")),
        ({"vocab": row(new=1)}, ("vocab[260]", "unknown field 'new'")),
        ({"vocab": row(token_bytes="YW")}, ("vocab[260].token_bytes", '"YW"', "expected a token in base64")),
        ({"vocab": row(token_bytes="Ye==x")}, ("vocab[260].token_bytes", "base64")),
        ({"vocab": row(token_bytes="é")}, ("vocab[260].token_bytes", "base64")),
        ({"vocab": row(token_bytes=5)}, ("vocab[260].token_bytes", "5", "expected a string")),
        ({"vocab": row(token_bytes="dGg=")}, ("vocab[260].token_bytes", "b'th' is already in vocab[256]")),
        ({"vocab": [*tekken()["vocab"][:5], 7]}, ("default_vocab_size", "at most 6 tokens")),
        ({"special_tokens": {}}, ("special_tokens", "expected a list")),
        ({"special_tokens": [5]}, ("special_tokens[0]", "5", "expected an object")),
        ({"special_tokens": [{"token_str": "<s>", "is_control": True}]}, ("special_tokens[0]", "'rank' is missing")),
        (
            {"special_tokens": [{"rank": i, "token_str": "<s>", "is_control": True} for i in (0, 1)]},
            ("special_tokens[0]", "'<s>' is listed twice"),
        ),
        (
            {"special_tokens": [{"rank": 0, "token_str": "", "is_control": True}]},
            ("empty string",),
        ),
        (
            {"special_tokens": [{"rank": 0, "token_str": "\ud800", "is_control": True}]},
            ("special_tokens[0].token_str", "half a surrogate pair"),
        ),
        (
            {"special_tokens": [{"rank": 0, "token_str": "<s>", "is_control": 1}]},
            ("special_tokens[0].is_control", "expected true or false"),
        ),
    ],
)
def test_broken_files(tmp_path: Path, changes: dict[str, Any], named: tuple[str, ...]) -> None:
    path = write_json(tmp_path / "tekken.json", tekken(**changes))
    with pytest.raises(VocabularyError) as caught:
        formats.FORMATS["tekken"].load(path, formats.Given())
    message, at = str(caught.value), 0
    for part in ("tekken.json", *named):
        assert part in message[at:], message
        at = message.index(part, at)


@pytest.mark.parametrize("indent", [None, 1])
def test_rows_that_the_sizes_promise_are_there(tmp_path: Path, indent: int | None) -> None:
    """Compact files are read in C, others by Python."""
    rows = len(tekken()["vocab"])
    for more in (-1, 0, 1):
        value = tekken(config__default_vocab_size=2 + rows + more)
        (tmp_path / "tekken.json").write_text(json.dumps(value, indent=indent))
        if more > 0:
            with pytest.raises(VocabularyError, match=f"found {3 + rows}; expected at most {rows} tokens of vocab"):
                formats.load(tmp_path / "tekken.json")
        else:
            assert len(formats.load(tmp_path / "tekken.json").vocab) == rows + more


@pytest.mark.parametrize("regex", ["(a", "a*", "(?=a)|b", r"\K"])
def test_patterns_that_tiktoken_cannot_use_are_refused(tmp_path: Path, regex: str) -> None:
    path = write_json(tmp_path / "tekken.json", tekken(config__pattern=regex))
    with pytest.raises(PatternError, match=r"tekken\.json: config\.pattern: "):
        formats.load(path)
    assert formats.load(path, pattern="o200k").pattern.name == "o200k"


def test_what_cannot_be_written(tmp_path: Path) -> None:
    spec = small_tekken()
    specs = {
        "expected the single byte 0x00": small_spec(None, special_tokens={}),
        "id 2; expected 1": make_spec(
            ordered_vocab(3), None, pattern=spec.pattern, special_tokens={"<s>": 0, "</s>": 2}, whole_pretokens=True
        ),
        "id 3; expected 1": make_spec(
            ordered_vocab(3), None, pattern=spec.pattern, special_tokens={"<s>": 0}, whole_pretokens=True
        ),
        "added token '<a>'": make_spec(
            ordered_vocab(1), None, pattern=spec.pattern, added_tokens={"<a>": 0}, whole_pretokens=True
        ),
        "cannot hold the pattern 'deepseek_v3'": small_tekken(pattern="deepseek_v3"),
        "cannot hold the pattern": small_tekken(pattern=r"\w+|\W"),
        "another meaning in tiktoken's dialect": replace(spec, pattern=recognise((r"\h+",), drops_gaps=True)),
        "merging by rank differs": make_spec(ordered_vocab(), MERGES[::-1], pattern=spec.pattern),
    }
    for message, one in specs.items():
        with pytest.raises(VocabularyError, match=message):
            formats.dump(one, tmp_path / "tekken.json")
    assert not list(tmp_path.iterdir())


# -- as Mistral's own library has it ---------------------------------------------------------------------


def reader(path: Path) -> Any:
    return pytest.importorskip("mistral_common.tokens.tokenizers.tekken").Tekkenizer.from_file(path)


def test_written_files_as_mistral_common(tmp_path: Path) -> None:
    spec = small_tekken()
    formats.dump(spec, tmp_path / "tekken.json")
    tok, peer = bbpe.Tokenizer(spec), reader(tmp_path / "tekken.json")
    for text in adversarial_strings(400, seed=31, tokens=list(spec.vocab.values())):
        assert tok.encode(text) == peer.encode(text, bos=False, eos=False)
    assert [peer.id_to_piece(token_id) for token_id in range(3)] == ["<unk>", "<s>", "</s>"]
    assert json.loads((tmp_path / "tekken.json").read_text("utf-8"))["vocab"][128]["token_str"] is None


REGEXES = [
    r"\w+|\s+|[^\w\s]+", r"\p{L}+", r"\S+", r"\p{N}{2,3}?|\p{L}+| ", r"(?i:'s|'re|[stk])|.", r"(?>a+)b|.|\s",
    r"(?<=a)l|.", r"\p{L}+$|\s+", r"\w+\b|\W", "[[:alpha:]]+|.", r"\h+|.", "(?i:[a-z]+)|.", "(?i)a", "^a", "[a-c&&a]",
    r"\p{Punct}", r"[\p{alpha}]", "a{1,2}+", r"(a)\1", r"\N+",
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|\s+(?!\S)|\s", r"\p{Script=Latin}+|[^\p{Latin}]", r"\x61++|\u4e2d|.",
]  # fmt: skip

#: Regexes that are translated for the `regex` package into what tiktoken's dialect spells otherwise.
NOT_WRITTEN = ["(?i:[a-z]+)|.", r"(a)\1"]


@pytest.mark.parametrize("regex", REGEXES)
def test_patterns_of_ones_own_as_mistral_common(tmp_path: Path, regex: str) -> None:
    """tiktoken drops text that a pattern does not match."""
    path = write_json(tmp_path / "tekken.json", tekken(config__pattern=regex))
    tok, peer = bbpe.load(path), reader(path)
    texts = adversarial_strings(30, seed=5, tokens=list(tok.spec.vocab.values()))
    for text in [*texts, "the \u4e2d\u6587 it's 12345"]:
        assert tok.encode(text) == peer.encode(text, bos=False, eos=False), text
        assert tok.count_tokens(text) == len(tok.encode(text))
    if regex in NOT_WRITTEN:
        with pytest.raises(VocabularyError, match="another meaning in tiktoken's dialect"):
            tok.save(tmp_path / "other_tekken.json")
    else:
        tok.save(tmp_path / "other_tekken.json")
        assert bbpe.load(tmp_path / "other_tekken.json") == tok


@pytest.mark.parametrize("ranks", [(2, 0, 1), (0, 0, 0), (-5, 7, 3), (0, 1, 9)])
def test_special_tokens_count_by_their_rows_as_in_mistral_common(tmp_path: Path, ranks: tuple[int, ...]) -> None:
    rows = zip(("</s>", "<unk>", "<s>"), ranks, strict=True)
    listed = [{"rank": rank, "token_str": text, "is_control": True} for text, rank in rows]
    sizes = {"config__default_num_special_tokens": 4, "config__default_vocab_size": 260}
    path = write_json(tmp_path / "tekken.json", tekken(special_tokens=listed, **sizes))
    tok, peer = bbpe.load(path), reader(path)
    assert [peer.id_to_piece(number) for number in range(4)] == list(tok.special_tokens)
    assert tok.special_tokens == {"</s>": 0, "<unk>": 1, "<s>": 2, "<SPECIAL_3>": 3}
    # but the id of BOS, with which the folder of a model puts one in front, is the rank of its row
    (tmp_path / "config.json").write_text('{"model_type": "mistral"}')
    if ranks[2] in range(4):
        assert bbpe.load(tmp_path).encode("a", add_special_tokens=True) == peer.encode("a", bos=True, eos=False)
    else:
        with pytest.raises(VocabularyError, match="which is the id of BOS, is 9; expected the id of a special token"):
            bbpe.load(tmp_path)


@pytest.mark.parametrize(
    ("files", "has_bos"),
    [
        ({}, False), ({"config.json": {"model_type": "mistral"}}, True),
        ({"tokenizer_config.json": {"tokenizer_class": "MistralCommonBackend"}}, True),
    ],
)  # fmt: skip
def test_the_folder_of_a_mistral_model_puts_bos_in_front(
    tmp_path: Path, files: dict[str, Any], has_bos: bool
) -> None:
    """The file alone does not, as in `mistral-common`; and readers ignore the number of tokens in its vocabulary."""
    for name, value in files.items():
        write_json(tmp_path / name, value)
    for changes in ({}, {"num_vocab_tokens": 5}, {"num_vocab_tokens": 1 << 40}):
        value = tekken()
        del value["config"]["num_vocab_tokens"]
        value["config"] |= changes
        path = write_json(tmp_path / "tekken.json", value)
        assert bbpe.load(tmp_path).encode("a", add_special_tokens=True) == [*([1] if has_bos else []), 99]
        assert bbpe.load(path).encode("a", add_special_tokens=True) == [99]


def test_the_names_of_unlisted_special_tokens() -> None:
    module = pytest.importorskip("mistral_common.tokens.tokenizers.tekken")
    theirs = [row["token_str"] for row in module.Tekkenizer.DEPRECATED_SPECIAL_TOKENS]
    assert [str(getattr(text, "value", text)) for text in theirs] == _UNLISTED


@pytest.mark.parametrize("size", [8_000, pytest.param(2_000_000, marks=pytest.mark.full)])
def test_real_tekken_as_mistral_common(
    size: int, vocab_path: Callable[[str], Path], corpus: Callable[..., str], tmp_path: Path
) -> None:
    path = vocab_path("tekken_240911.json")
    tok, peer = bbpe.load(path), reader(path)
    assert (tok.vocab_size, tok.pattern, len(tok.special_tokens)) == (131072, "tekken", 1000)
    for name in CORPORA:
        text = corpus(name, size)
        assert tok.encode(text) == peer.encode(text, bos=False, eos=False), name
    tokens = [token for token in tok.spec.vocab.values() if len(token) > 1]
    for text in adversarial_strings(size // 100, seed=32, tokens=tokens):
        assert tok.encode(text) == peer.encode(text, bos=False, eos=False), text
    for token_id in range(1000):
        assert tok.special_tokens[peer.id_to_piece(token_id)] == token_id
    tok.save(tmp_path / "tekken.json")
    assert bbpe.load(tmp_path / "tekken.json") == tok
    again = reader(tmp_path / "tekken.json")
    text = corpus("multi", size // 2)
    assert again.encode(text, bos=True, eos=True) == peer.encode(text, bos=True, eos=True)
