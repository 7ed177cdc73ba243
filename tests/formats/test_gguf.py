"""GGUF: what is read and written, judged by the `gguf` package, and what is refused, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from struct import pack
from typing import Any

import gguf_splits
import numpy as np
import pytest
from gguf_files import PREFIX, gguf, string, value, vocabulary
from vocabularies import MERGES, keys, merge_lines, small_spec, vocab_of

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.formats.common.ranks import merges_of
from bbpe.formats.gguf.bpe import _PRE, _WRITTEN
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.rules import Template
from bbpe.spec.spec import TokenizerSpec, make_spec
from bbpe.splitting.patterns import PATTERNS, get_pattern
from bbpe.tokenizer import Tokenizer

REAL = [
    pytest.param("gpt2.tokenizer.json", marks=pytest.mark.full),
    "p50k_base.tiktoken",
    pytest.param("deepseek_v3.tokenizer.json", marks=pytest.mark.full),
    pytest.param("qwen_gpt2_files", marks=pytest.mark.full),
    pytest.param("llama3.tiktoken", marks=pytest.mark.full),
]


def write(path: Path, data: bytes | dict[str, Any]) -> Path:
    path.write_bytes(gguf(data) if isinstance(data, dict) else data)
    return path


def fails(path: Path, *named: str, **options: Any) -> None:
    with pytest.raises(VocabularyError) as caught:
        formats.load(path, **options)
    message, at = str(caught.value), 0
    for part in (path.name, *named):
        assert part in message[at:], message
        at = message.index(part, at)


@pytest.mark.parametrize(("order", "version"), [("<", 3), ("<", 2), (">", 3)])
def test_what_is_read(tmp_path: Path, order: str, version: int) -> None:
    path = write(tmp_path / "x.gguf", gguf(vocabulary(), order=order, version=version))
    assert formats.sniff(path) == "gguf"
    spec = formats.load(path, name="x")
    expected = make_spec(
        vocab_of(),
        MERGES,
        pattern=get_pattern("gpt2"),
        special_tokens={"<|endoftext|>": 267},
        added_tokens={"<tool>": 268},
    )
    assert spec.template is not None
    assert fingerprint(replace(spec, template=None)) == fingerprint(expected)
    assert (spec.merges, spec.whole_pretokens, spec.name) == (expected.merges, False, "x")
    assert formats.load(path, special_tokens={"<s>": 300}).special_tokens == {"<s>": 300}


@pytest.mark.parametrize("kind", [2, 3])
def test_the_unknown_token_is_special(tmp_path: Path, kind: int) -> None:
    """llama.cpp finds neither it nor control tokens in plain text."""
    types = [1] * 267 + [kind, 4, 5]
    tok = bbpe.load(write(tmp_path / "x.gguf", vocabulary(token_type=types)))
    assert dict(tok.special_tokens) == {"<|endoftext|>": 267}
    assert 267 not in tok.spec.vocab
    plain = bbpe.Tokenizer(small_spec(special_tokens={})).encode("a<|endoftext|>")
    assert tok.encode("a<|endoftext|>", add_special_tokens=False) == plain
    allowed = tok.encode("a<|endoftext|>", allowed_special="all", add_special_tokens=False)
    assert allowed == [*plain[:1], 267]


@pytest.mark.parametrize("pre", _PRE)
def test_every_known_splitting(tmp_path: Path, pre: str) -> None:
    spec = formats.load(write(tmp_path / "x.gguf", vocabulary(pre=pre)))
    row = _PRE[pre]
    assert spec.whole_pretokens is row.whole
    if isinstance(row.pattern, str):
        assert spec.pattern is PATTERNS[row.pattern]
    else:
        assert spec.pattern == get_pattern(row.pattern)
    assert "".join(spec.pattern.split("I'm 12345 x\r\n  y")) == "I'm 12345 x\r\n  y"


def test_every_splitting_is_as_it_was() -> None:
    """A model in a file has one splitting for ever; a new name gets its row by `tests/support/gguf_splits.py`."""
    assert gguf_splits.rows() == gguf_splits.kept()


def test_an_own_pattern(tmp_path: Path) -> None:
    path = write(tmp_path / "x.gguf", vocabulary(pre="mine"))
    fails(path, PREFIX + "pre", "'mine' is not supported", "pattern=", "gpt-2")
    assert formats.load(path, pattern="llama3").pattern.name == "llama3"
    # a token that no merge makes would be found as a whole pretoken by some splittings
    path = write(tmp_path / "x.gguf", vocabulary(pre="mine", merges=merge_lines()[:-1]))
    fails(path, PREFIX + "pre", 'b"\'s"', "no merge makes", pattern="llama3")
    path = write(tmp_path / "x.gguf", vocabulary(pre=...))
    assert formats.load(path).pattern == get_pattern(_PRE["default"].pattern)  # as llama.cpp reads older files
    assert formats.load(path, pattern="llama3").pattern.name == "llama3"


def test_bytes_without_a_token(tmp_path: Path) -> None:
    """Published vocabularies lack bytes that UTF-8 never has; a special token may be the key of one."""
    tokens = [key for key in keys() if key not in ("!", "ÿ")]
    values = vocabulary(tokens=[*tokens, "ÿ"], token_type=[1] * len(tokens) + [4], add_bos_token=False)
    spec = formats.load(write(tmp_path / "x.gguf", values))
    tok = bbpe.Tokenizer(spec)
    assert tok.encode("a!b") == [tokens.index("a"), tokens.index("b")]
    assert tok.encode("ÿ") == [len(tokens)]
    tok.save(tmp_path / "again.gguf")
    assert bbpe.load(tmp_path / "again.gguf") == tok


def test_tokens_outside_the_alphabet(tmp_path: Path) -> None:
    """Command R has 300 emoji as ordinary tokens, which llama.cpp never finds: it splits texts into bytes first."""
    extra = ["\u200d", "\U0001f600", "a b", "中"]
    tokens = [*keys(), *extra]
    kinds = [1] * len(tokens)
    plain = bbpe.Tokenizer(formats.load(write(tmp_path / "x.gguf", vocabulary())))
    tok = bbpe.load(write(tmp_path / "y.gguf", vocabulary(tokens=tokens, token_type=kinds)), cache=False)
    for text in ("the thing", "see my\U0001f468\u200d\U0001f680", "a b 中\n\n \x00é 123", ""):
        assert tok.encode(text) == plain.encode(text)
        assert tok.decode(tok.encode(text)) == text
    assert [tok.decode([len(keys()) + number]) for number in range(4)] == extra
    assert tok.vocab_size == len(tokens)
    tok.save(tmp_path / "tokenizer.json")
    assert bbpe.load(tmp_path / "tokenizer.json") == tok
    with pytest.raises(VocabularyError, match=r"z\.gguf: .* write tokenizer\.json"):
        tok.save(tmp_path / "z.gguf")


BERT = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "▁see", "▁my", "▁dog", "s", "▁!", "[unused0]", "og", "▁d"]


def bert(**changes: Any) -> dict[str, Any]:
    uses = {"cls_token_id": 2, "seperator_token_id": 3, "unknown_token_id": 1, "padding_token_id": 0}
    plain = {"model": "bert", "tokens": BERT, "token_type": [3, 2, 3, 3, 3] + [1] * 8, "pre": ..., "merges": ...}
    return vocabulary(**{**plain, **uses, "bos_token_id": ..., "eos_token_id": ..., "add_bos_token": ..., **changes})


def test_words(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = {key.removeprefix("▁") if key[0] in "▁[" else f"##{key}": number for number, key in enumerate(BERT)}
    peer = tokenizers.Tokenizer(tokenizers.models.WordPiece(words, unk_token="[UNK]"))
    peer.normalizer = tokenizers.normalizers.BertNormalizer()
    peer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tok = bbpe.load(write(tmp_path / "x.gguf", bert()))
    for text in ("see my dogs", "SEE, my dog!", "dogog d x", "", "see\n\nmy"):
        assert tok.encode(text) == peer.encode(text, add_special_tokens=False).ids
    assert tok.encode("see", add_special_tokens=True) == [2, 5, 3]
    assert tok.encode("[CLS]", allowed_special="all") == [2]
    assert tok.decode([7, 8]) == "dogs"
    begun = bbpe.load(write(tmp_path / "x.gguf", bert(cls_token_id=..., bos_token_id=2)))
    assert begun.spec.template == tok.spec.template
    plain = bbpe.load(write(tmp_path / "x.gguf", bert(add_bos_token=False, add_sep_token=False)))
    assert plain.encode("see", add_special_tokens=True) == [2, 5, 3]  # llama.cpp does not look at these flags
    assert bbpe.load(write(tmp_path / "x.gguf", bert(pre="jina-v2-en"))) == tok  # nor at the pre-tokenizer
    fails(write(tmp_path / "x.gguf", bert(pre=5)), "pre", "expected a string")
    unnamed = {f"{use}_token_id": ... for use in ("cls", "seperator", "unknown", "padding")}
    for count, template in ((100, []), (101, []), (102, [101, 5]), (103, [101, 5, 102])):
        texts = [*BERT, *(f"[x{number}]" for number in range(count - len(BERT)))]
        values = bert(tokens=texts, token_type=[3, 2, 3, 3, 3] + [1] * (count - 5), **unnamed)
        found = bbpe.load(write(tmp_path / "x.gguf", values)).encode("see", add_special_tokens=True)
        assert found == (template or [5])
    fails(write(tmp_path / "x.gguf", bert(tokens=[*BERT[:-1], "▁my"])), "tokens[12]", "'▁my' already has id 6")
    fails(write(tmp_path / "x.gguf", bert(token_type=[1])), "token_type", "found 1 types of tokens; expected 13")
    fails(write(tmp_path / "x.gguf", bert(cls_token_id=13)), "cls_token_id", "found 13; expected an id, 0 to 12")


@pytest.mark.parametrize("lowers", [None, False, True])
@pytest.mark.parametrize("strips", [None, False, True])
def test_words_with_case_and_accents(tmp_path: Path, lowers: bool | None, strips: bool | None) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = {"[UNK]": 0, "see": 1, "See": 2, "\u00e9t": 3, "et": 4, "\u00c9t": 5, "Et": 6}
    flags = {"normalizer.lowercase": lowers, "normalizer.strip_accents": strips}
    changes: dict[str, Any] = {name: ... if flag is None else flag for name, flag in flags.items()}
    changes |= {"cls_token_id": ..., "seperator_token_id": ..., "padding_token_id": ..., "unknown_token_id": 0}
    texts = ["[UNK]", *("\u2581" + word for word in words if word != "[UNK]")]
    tok = bbpe.load(write(tmp_path / "x.gguf", bert(tokens=texts, token_type=[3] + [1] * 6, **changes)))
    peer = tokenizers.Tokenizer(tokenizers.models.WordPiece(words, unk_token="[UNK]"))
    options = {"lowercase": lowers is not False, "strip_accents": lowers is not False if strips is None else strips}
    peer.normalizer = tokenizers.normalizers.BertNormalizer(**options)
    peer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    for text in ("see See", "\u00e9t \u00c9t Et"):
        assert tok.encode(text) == peer.encode(text, add_special_tokens=False).ids


def test_longest_matches(tmp_path: Path) -> None:
    rows = ["<s>", *(f"\\x{byte:02x}" for byte in range(256)), "ab", "abc", "\\n\\n", "\\\\t", "é"]
    rwkv = bert(model="rwkv", tokens=rows, token_type=[3] + [1] * (len(rows) - 1))
    tok = bbpe.load(write(tmp_path / "x.gguf", rwkv))
    assert tok.encode("abcab\n\n\\té\n") == [258, 257, 259, 260, 261, 11]
    assert tok.encode("<s>", allowed_special="all") == [0]
    assert bbpe.load(write(tmp_path / "x.gguf", {**rwkv, PREFIX + "pre": "rwkv"})) == tok
    fails(write(tmp_path / "x.gguf", {**rwkv, PREFIX + "pre": 5}), "pre", "expected a string")


def nested() -> bytes:
    return pack("<IIQ", 9, 9, 1) + pack("<IQ", 8, 1) + string("x")


TOKENS = [*keys(), "<|endoftext|>", "<tool>", "[PAD269]"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"model": "llama"}, ("pre", "'gpt-2' is not supported", "expected 'default'")),
        ({"model": "plamo2"}, ("model", "'plamo2'", "expected one of 'gpt2', 'llama', 't5', 'bert', 'rwkv'")),
        ({"model": ...}, ("model", "the value is missing")),
        ({"model": 5}, ("model", "expected a string")),
        ({"model": b"\x08\x00\x00\x00" + string(b"\xff")}, ("model", "byte 0xFF", "UTF-8")),
        ({"pre": ""}, ("pre", "the name is empty")),
        ({"tokens": ...}, ("tokens", "the value is missing; expected a list")),
        ({"tokens": "a"}, ("tokens", "expected a list of strings")),
        ({"tokens": [1, 2]}, ("tokens", "expected a list of strings")),
        ({"tokens": [*TOKENS[:-1], b"\x80"]}, ("tokens[269]", "0x80", "UTF-8")),
        ({"tokens": TOKENS[:-1]}, ("token_type", "found 270 types", "expected 269")),
        ({"tokens": [*TOKENS[:-1], "!"]}, ("tokens[269]", "'!' already has id 0")),
        ({"token_type": ...}, ("token_type", "the value is missing")),
        ({"token_type": ["x"]}, ("token_type", "expected a list of numbers")),
        ({"token_type": [1] * 267 + [3, 4, 6]}, ("token_type[269]", "'[PAD269]' has type 6", "expected 1 to 5")),
        ({"merges": ...}, ("merges", "the value is missing")),
        ({"merges": ["t h", "t"]}, ("merges[1]", "'t'", "two tokens with one blank between")),
        ({"merges": ["t h", "q q"]}, ("merges[1]", "'qq' has no id")),
        ({"add_space_prefix": True}, ("add_space_prefix", "not supported; expected false")),
        ({"precompiled_charsmap": [1]}, ("precompiled_charsmap", "the value is not supported")),
        ({"add_bos_token": 1}, ("add_bos_token", "expected true or false")),
        ({"bos_token_id": ...}, ("bos_token_id", "the value is missing; expected an id, 0 to 269")),
        ({"add_eos_token": True, "eos_token_id": 270}, ("eos_token_id", "found 270; expected an id, 0 to 269")),
        ({"surprise": 1}, ("surprise", "the value is not supported")),
        ({"surprise": nested()}, ("byte ", "surprise is a list of type 9")),
        ({"surprise": pack("<I", 77)}, ("byte ", "surprise has type 77", "expected 0 to 12")),
    ],
)
def test_broken_vocabularies(tmp_path: Path, changes: dict[str, Any], named: tuple[str, ...]) -> None:
    fails(write(tmp_path / "x.gguf", vocabulary(**changes)), *named)


def huge_list(kind: int) -> bytes:
    return gguf({PREFIX + "tokens": pack("<IIQ", 9, kind, 1 << 30)})


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (b"", ("an empty file",)),
        (b"GGUF", ("byte 4", "the version takes 4 bytes, but the file ends after 0")),
        (gguf({}), ("found no vocabulary",)),
        (gguf({"a": 5}), ("found no vocabulary",)),
        (gguf({}, version=1), ("byte 4", "found version 1; expected 2 or 3")),
        (gguf({}, version=77 << 16), ("byte 4", "version", "expected 2 or 3")),
        (gguf(vocabulary())[:-3], ("byte ", "tokenizer.chat_template takes 7 bytes", "ends after 4")),
        (gguf(vocabulary())[:3000], ("byte ", "expected a whole file")),
        (b"GGUF" + pack("<IQQ", 3, 0, 1 << 30), ("byte 16", "found 1073741824 values, but 0 bytes are left")),
        (b"GGUF" + pack("<IQQQ", 3, 0, 1, 1 << 40) + b"abcdefgh", ("a name takes 1099511627776 bytes",)),
        (huge_list(8), ("byte ", "1073741824 strings", "0 bytes are left")),
        (huge_list(0), ("byte ", "1073741824 numbers", "0 bytes are left")),
        (huge_list(5), ("byte ", "1073741824 numbers", "0 bytes are left")),
        (
            b"GGUF" + pack("<IQQ", 3, 0, 2) + 2 * (string("a.b") + value(5)),
            ("byte 43", "'a.b' is listed twice"),
        ),
        (gguf({"x" * 70_000: 5}), ("byte 24", "a name of 70000 bytes")),
    ],
)
def test_broken_files(tmp_path: Path, data: bytes, named: tuple[str, ...]) -> None:
    fails(write(tmp_path / "x.gguf", data), *named)


def test_truncation_at_every_byte(tmp_path: Path) -> None:
    whole = gguf({name: of for name, of in vocabulary().items() if name not in (PREFIX + "tokens", PREFIX + "merges")})
    for size in range(4, len(whole), 7):
        fails(write(tmp_path / "x.gguf", whole[:size]), "expected")


# -- writing ---------------------------------------------------------------------------------------------


def everything(pattern: str = "gpt2", **options: Any) -> TokenizerSpec:
    return make_spec(
        {token_id + (token_id > 258): token for token_id, token in vocab_of().items()},
        MERGES,
        pattern=get_pattern(pattern),
        special_tokens={"<|endoftext|>": 270, "<｜中｜>": 271},
        added_tokens={"<think>": 273},
        **options,
    )


# llama.cpp has regexes of its own for these
OTHERWISE = {"o200k": "gpt-4o", "tekken": "tekken", "kimi": "kimi-k2"}


@pytest.mark.parametrize("pattern", sorted(_WRITTEN.keys() - OTHERWISE))
@pytest.mark.parametrize("whole", [False, True])
def test_round_trip(tmp_path: Path, pattern: str, whole: bool) -> None:
    pytest.importorskip("gguf")
    spec = everything(pattern, whole_pretokens=whole)
    path = tmp_path / "x.gguf"
    formats.dump(spec, path)
    again = formats.load(path)
    assert fingerprint(again) == fingerprint(spec)
    assert again.merges == spec.merges
    assert {file.name for file in tmp_path.iterdir()} == {"x.gguf"}


@pytest.mark.parametrize("pattern", OTHERWISE)
def test_patterns_that_llama_cpp_has_otherwise(tmp_path: Path, pattern: str) -> None:
    """A file with such a name has other pretokens, so a tokenizer with the pattern itself is not saved in one."""
    reader, pre = pytest.importorskip("gguf").GGUFReader, OTHERWISE[pattern]
    tok = Tokenizer(everything(pattern, whole_pretokens=_PRE[pre].whole))
    path = tmp_path / "x.gguf"
    with pytest.raises(VocabularyError, match=r"would lose or change the pattern; .* drop=\['pattern'\]"):
        tok.save(path)
    tok.save(path, drop=["pattern"])
    assert reader(path).fields[PREFIX + "pre"].contents() == pre
    theirs = bbpe.load(path)
    assert theirs.spec.pattern == get_pattern(_PRE[pre].pattern) != tok.spec.pattern
    theirs.save(tmp_path / "y.gguf")
    assert bbpe.load(tmp_path / "y.gguf") == theirs


@pytest.mark.parametrize(("bos", "eos"), [(True, False), (False, True), (True, True), (False, False)])
def test_what_stands_around_a_text(tmp_path: Path, bos: bool, eos: bool) -> None:
    path = write(tmp_path / "x.gguf", vocabulary(add_bos_token=bos, add_eos_token=eos, eos_token_id=268))
    tok = Tokenizer(formats.load(path))
    assert tok.encode("the") == [257]
    assert tok.encode("the", add_special_tokens=True) == [267] * bos + [257] + [268] * eos
    pytest.importorskip("gguf")
    formats.dump(tok.spec, tmp_path / "y.gguf")
    assert formats.load(tmp_path / "y.gguf").template == tok.spec.template
    two = replace(tok.spec, template=Template(((267, 0), (267, 0), ("A", 0))))
    with pytest.raises(VocabularyError, match=r"y\.gguf: GGUF holds one token before"):
        formats.dump(two, tmp_path / "y.gguf")


def test_written_files_as_the_gguf_package_reads_them(tmp_path: Path) -> None:
    peer = pytest.importorskip("gguf")
    formats.dump(everything(), tmp_path / "x.gguf")
    fields = peer.GGUFReader(tmp_path / "x.gguf").fields
    tokens, kinds = (fields[PREFIX + name].contents() for name in ("tokens", "token_type"))
    assert fields[PREFIX + "model"].contents() == "gpt2"
    assert fields[PREFIX + "merges"].contents() == merge_lines()
    assert (tokens[259], tokens[270:]) == ("[PAD259]", ["<|endoftext|>", "<｜中｜>", "[PAD272]", "<think>"])
    assert (kinds[258:261], kinds[268:]) == ([1, 5, 1], [5, 5, 3, 3, 5, 4])
    assert fields[PREFIX + "eos_token_id"].contents() == 270


def test_files_that_the_gguf_package_writes(tmp_path: Path) -> None:
    peer = pytest.importorskip("gguf")
    path = tmp_path / "x.gguf"
    writer = peer.GGUFWriter(path, "llama")
    for name, of in vocabulary().items():
        if isinstance(of, list):
            writer.add_array(name, of)
        elif name != "general.architecture":
            {str: writer.add_string, bool: writer.add_bool, int: writer.add_uint32}[type(of)](name, of)
    writer.add_tensor("w", np.zeros((4, 4), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert fingerprint(formats.load(path)) == fingerprint(formats.load(write(tmp_path / "y", vocabulary())))


def test_what_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    unmade = MERGES[:-1]
    vocab = vocab_of()
    specs = {
        "no name for the pattern 'cl100k'": small_spec(pattern="cl100k"),
        "llama.cpp does not find them": make_spec(vocab, unmade, pattern=get_pattern("gpt2"), whole_pretokens=True),
        "llama.cpp finds them": make_spec(vocab, unmade, pattern=get_pattern("tekken")),
        "ids up to 2000000": small_spec(special_tokens={"<s>": 2_000_000}),
        "the name of the padding": small_spec(special_tokens={"[PAD268]": 267, "<s>": 269}),
    }
    for message, spec in specs.items():
        with pytest.raises(VocabularyError, match=message):
            formats.dump(spec, path)
    assert not path.exists()


@pytest.mark.parametrize("name", REAL)
def test_real_vocabularies(name: str, vocab_path: Callable[[str], Path], tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    spec = replace(formats.load(vocab_path(name)), token_options={})  # which a GGUF file does not hold
    # llama.cpp makes control tokens of these
    around_code = {text: number for text, number in spec.added_tokens.items() if "fim" in text}
    if around_code:
        with pytest.raises(VocabularyError, match="would lose or change special tokens"):
            bbpe.Tokenizer(spec).save(tmp_path / "x.gguf")
        others = {text: number for text, number in spec.added_tokens.items() if text not in around_code}
        spec = replace(spec, special_tokens={**spec.special_tokens, **around_code}, added_tokens=others)
    formats.dump(spec, tmp_path / "x.gguf")
    again = formats.load(tmp_path / "x.gguf")
    # and of an ordinary token that ends texts elsewhere
    ends = {text: number for text, number in again.special_tokens.items() if text not in spec.special_tokens}
    assert ends in ({}, {"</s>": 128247})
    spec = replace(spec, special_tokens={**spec.special_tokens, **ends})
    assert fingerprint(again) == fingerprint(spec)
    assert merges_of(again) == merges_of(spec)
    text = " don't  123 中文\r\n\u0301é 🫨" * 20
    assert bbpe.Tokenizer(again).encode(text) == bbpe.Tokenizer(spec).encode(text)
