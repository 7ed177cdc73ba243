"""Values at the borders of what a file may have, and the files of a folder that take precedence over others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from struct import pack
from typing import Any

import class_folders
import pytest
from gguf_files import PREFIX, gguf, piece_vocabulary, vocabulary
from small_published import RANKS, SPECIAL
from tekken_files import tekken
from test_gguf import bert
from vocabularies import added, document, keys, merge_lines, small_spec, write_json

import bbpe
from bbpe import formats
from bbpe.errors import VocabularyError
from bbpe.formats.common import given
from bbpe.formats.gguf.metadata import read_metadata
from bbpe.pipeline.special_tokens import END_OF_TEXT
from bbpe.published.names import name_for_model
from bbpe.published.table import ALIASES
from bbpe.spec.decoders import BPEDecoder, WordPiece
from bbpe.spec.fingerprint import fingerprint
from bbpe.spec.models import UnigramModel, WordPieceModel
from bbpe.spec.rules import Characters, Replace, RowPadding, Template, TokenOptions
from bbpe.spec.spec import usual_decoder

PADDING = {
    "strategy": {"Fixed": 4}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0,
    "pad_token": "[UNK]",
}  # fmt: skip


def refused(path: Path, *named: str) -> None:
    with pytest.raises(VocabularyError) as caught:
        formats.load(path)
    for part in (path.name, *named):
        assert part in str(caught.value), caught.value


def write_gguf(path: Path, values: dict[str, Any], **options: Any) -> Path:
    path.write_bytes(gguf(values, **options))
    return path


# -- borders --------------------------------------------------------------------------------------------------


def test_ids_at_the_end_of_the_vocabulary(tmp_path: Path) -> None:
    """The last id is one, and the next is refused by the name of its field."""
    path = tmp_path / "x.gguf"
    for field in ("bos", "eos"):
        tokens = [*keys(), "<tool>", "<|endoftext|>"]
        plain = {"tokens": tokens, "token_type": [1] * (len(tokens) - 2) + [3, 3], "add_bos_token": False}
        last = len(tokens) - 1
        flags = {f"{field}_token_id": last, f"add_{field}_token": True}
        template = formats.load(write_gguf(path, vocabulary(**{**plain, **flags}))).template
        assert template is not None
        assert (last, 0) in template.single
        flags[f"{field}_token_id"] = last + 1
        write_gguf(path, vocabulary(**{**plain, **flags}))
        refused(path, f"{PREFIX}{field}_token_id", f"found {last + 1}; expected an id, 0 to {last}")
    model: dict[str, Any] = {"type": "Unigram", "vocab": [["a", -1.0], ["b", -2.0]]}
    path = tmp_path / "tokenizer.json"
    for unknown in (0, 1):
        write_json(path, document(model={**model, "unk_id": unknown}, pre_tokenizer=None, decoder=None))
        assert bbpe.load(path).encode("x") == [unknown]
    for unknown in (2, -1, True):
        write_json(path, document(model={**model, "unk_id": unknown}, pre_tokenizer=None, decoder=None))
        refused(path, "model.unk_id", "expected the id of a token, or null")


def test_versions_of_gguf(tmp_path: Path) -> None:
    for version in (0x100, 1, 4, 0x10000):
        path = write_gguf(tmp_path / "x.gguf", vocabulary(), version=version)
        found = version if version & 0xFFFF else 0x100  # in the other byte order
        refused(path, "byte 4", f"found version {found}; expected 2 or 3")


def test_json_of_tokens_under_another_name(tmp_path: Path) -> None:
    for count, words in ((256, "found 256 tokens and ids under another name"), (255, 'without the field "model"')):
        refused(write_json(tmp_path / "x.json", {f"{number}k": number for number in range(count)}), words)


def test_special_keys_of_a_vocabulary(tmp_path: Path) -> None:
    """A key of two or more ASCII characters in no merge is a special token; a byte, and a key of a merge, is not."""
    write_json(tmp_path / "vocab.json", {**keys(), "zz": 267, "q": keys()["q"]})
    (tmp_path / "merges.txt").write_text("".join(f"{line}\n" for line in merge_lines()), "utf-8")
    tok = bbpe.load(tmp_path, pattern="gpt2")
    assert dict(tok.special_tokens) == {"zz": 267}
    assert tok.encode("zz") == [keys()["z"]] * 2


@pytest.mark.parametrize(
    ("special", "is_ordinary"), [({"zz": 267}, False), ({"zz": 300}, True), ({"<s>": 300}, True), ({}, True)], ids=str
)
def test_a_key_is_ordinary_unless_it_is_given_as_a_special_token_with_its_id(
    tmp_path: Path, special: dict[str, int], is_ordinary: bool
) -> None:
    write_json(tmp_path / "vocab.json", {**keys(), "zz": 267})
    (tmp_path / "merges.txt").write_text("".join(f"{line}\n" for line in merge_lines()), "utf-8")
    tok = bbpe.load(tmp_path, pattern="gpt2", special_tokens=special)
    assert tok.spec.vocab.get(267) == (b"zz" if is_ordinary else None)
    assert dict(tok.special_tokens) == special


def test_a_table_of_bytes_with_a_sign(tmp_path: Path) -> None:
    """llama.cpp's converter writes the table of normalization as bytes without a sign, others with one."""
    table = class_folders.base64.b64decode(class_folders.charsmap("nmt_nfkc"))
    specs = []
    for kind, code in ((0, "B"), (1, "b")):
        signed = [byte - 256 if code == "b" and byte > 127 else byte for byte in table]
        block = pack("<IIQ", 9, kind, len(table)) + pack(f"<{len(table)}{code}", *signed)
        specs.append(formats.load(write_gguf(tmp_path / "x.gguf", piece_vocabulary("t5", precompiled_charsmap=block))))
    assert specs[0] == specs[1]
    assert bbpe.Tokenizer(specs[0]).encode("\uff49n") == bbpe.Tokenizer(specs[0]).encode("in")
    wrong = pack("<IIQ", 9, 5, 1) + pack("<i", -129)
    refused(write_gguf(tmp_path / "x.gguf", piece_vocabulary("t5", precompiled_charsmap=wrong)), "precompiled_charsmap")


# -- around texts ---------------------------------------------------------------------------------------------


def test_templates_of_gguf(tmp_path: Path) -> None:
    """Pairs of BERT have the second type; a written file names the token of the template, not another with its text."""
    spec = formats.load(write_gguf(tmp_path / "x.gguf", bert()))
    one = ((2, 0), ("A", 0), (3, 0))
    assert spec.template == Template(one, (*one, ("B", 1), (3, 1)))
    values = piece_vocabulary("llama", add_bos_token=True, bos_token_id=2)
    pieces = formats.load(write_gguf(tmp_path / "y.gguf", values))
    assert pieces.template == Template(((2, 0), ("A", 0)))
    bbpe.Tokenizer(pieces).save(tmp_path / "z.gguf")
    assert formats.load(tmp_path / "z.gguf").template == pieces.template
    bare = replace(pieces, template=None)
    bbpe.Tokenizer(bare).save(tmp_path / "z.gguf")
    assert formats.load(tmp_path / "z.gguf").template is None


def test_rows_of_a_model_of_words(tmp_path: Path) -> None:
    """A fixed length is kept in a field of the model, which readers of words and of scores take too."""
    words = {"[UNK]": 0, "see": 1}
    for model in (
        {"type": "WordPiece", "unk_token": "[UNK]", "vocab": words}, {"type": "WordLevel", "vocab": words},
        {"type": "Unigram", "unk_id": 0, "vocab": [["[UNK]", 0.0], ["s", -1.0]]},
    ):  # fmt: skip
        path = write_json(
            tmp_path / "tokenizer.json", document(model=model, padding=PADDING, pre_tokenizer=None, decoder=None)
        )
        tok = bbpe.load(path)
        tok.save(tmp_path / "saved.json")
        assert bbpe.load(tmp_path / "saved.json").spec.padding == tok.spec.padding
        assert tok.spec.padding is not None


def test_options_of_tokens_stay_beside_other_special_tokens(tmp_path: Path) -> None:
    rows = [added("<a>", 267, lstrip=True, special=False), added("<b>", 268, rstrip=True)]
    rows.append(added("<c>", 269, lstrip=True))
    path = write_json(tmp_path / "tokenizer.json", document(added_tokens=rows))
    spec = formats.load(path, special_tokens={"<b>": 268})
    assert dict(spec.added_tokens) == {"<a>": 267}
    assert dict(spec.token_options) == {"<a>": TokenOptions(lstrip=True), "<b>": TokenOptions(rstrip=True)}
    # a special token that is added again is found as it is written
    again = bbpe.load(path).with_added_tokens(["<b>", "<a>"], special=True)
    assert dict(again.spec.token_options) == {"<c>": TokenOptions(lstrip=True)}


def test_the_text_of_an_unknown_piece_is_kept_in_a_tokenizer_json(tmp_path: Path) -> None:
    from sentencepiece import sentencepiece_model_pb2

    for is_bpe in (False, True):
        path, made = tmp_path / "x.model", sentencepiece_model_pb2.ModelProto()
        made.ParseFromString(class_folders.model("?<unk> <s>", is_bpe=is_bpe, rule="identity"))
        made.normalizer_spec.remove_extra_whitespaces = False
        path.write_bytes(made.SerializeToString())
        tok = bbpe.load(path)
        tok.save(tmp_path / "x.json")
        assert tok.decode([0]) == bbpe.load(tmp_path / "x.json").decode([0]) == " \u2047 "


# -- folders --------------------------------------------------------------------------------------------------


def pair(folder: Path, names: tuple[str, str], config: dict[str, Any], more: dict[str, Any] | None = None) -> Path:
    ends = {text: 267 + number for number, text in enumerate(("<s>", "</s>", "<unk>", "<pad>", "<mask>"))}
    write_json(folder / names[0], {**keys(), **ends})
    (folder / names[1]).write_text("".join(f"{line}\n" for line in merge_lines()), "utf-8")
    for name, value in {"tokenizer_config.json": config, **(more or {})}.items():
        write_json(folder / name, value)
    return folder


def test_a_class_is_that_of_the_files_under_their_own_names(tmp_path: Path) -> None:
    names, config = ("x-vocab.json", "x-merges.txt"), {"tokenizer_class": "RobertaTokenizer"}
    own = bbpe.load(pair(tmp_path, ("vocab.json", "merges.txt"), config))
    assert own.encode("a", add_special_tokens=True) == [267, keys()["a"], 268]
    other = bbpe.load(pair(tmp_path, names, config) / names[0])
    assert (other.spec.template, other.spec.names, other.pattern) == (None, {}, "gpt2")


def test_the_class_of_the_tokenizer_goes_before_that_of_the_model(tmp_path: Path) -> None:
    names = ("vocab.json", "merges.txt")
    for more in ({"tokenizer_class": "RobertaTokenizer"}, {"model_type": "roberta"}):
        tok = bbpe.load(pair(tmp_path, names, {"tokenizer_class": "GPT2Tokenizer"}, {"config.json": more}))
        assert tok.encode("a", add_special_tokens=True) == [keys()["a"]]
        tok = bbpe.load(pair(tmp_path, names, {}, {"config.json": more}))
        assert tok.encode("a", add_special_tokens=True) == [267, keys()["a"], 268]


def test_a_model_under_another_name_has_no_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.model").write_bytes(class_folders.model("?<unk> <s>", rule="identity"))
    write_json(tmp_path / "tokenizer_config.json", {"pad_token": "<p>"})
    assert "<p>" not in bbpe.load(tmp_path / "mine.model").special_tokens
    (tmp_path / "mine.model").rename(tmp_path / "tokenizer.model")
    for path in (tmp_path, tmp_path / "tokenizer.model"):
        assert "<p>" in bbpe.load(path).special_tokens


def test_a_file_with_special_tokens_of_its_own_has_no_folder(tmp_path: Path) -> None:
    """`mistral-common` reads tekken.json alone, and ignores fields for images and sounds."""
    fields = ("image", "multimodal", "audio", "model_settings_builder", "version", "type")
    others: dict[str, Any] = {field: {"a": 1} for field in fields}
    write_json(tmp_path / "tokenizer_config.json", {"pad_token": "<p>"})
    write_json(tmp_path / "tekken.json", {**tekken(), **others})
    tok = bbpe.load(tmp_path)
    assert set(tok.special_tokens) == {"<unk>", "<s>"}
    assert formats.load(write_json(tmp_path / "alone.json", tekken())) == tok.spec


def test_tokens_after_one_that_the_vocabulary_has(tmp_path: Path) -> None:
    flags = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": False}
    table = {"257": {"content": "the", **flags}, "300": {"content": "<x>", **flags}}
    folder = pair(tmp_path, ("vocab.json", "merges.txt"), {"added_tokens_decoder": table, "pad_token": "<p>"})
    spec = formats.load(folder, pattern="gpt2")
    size = len(keys()) + 5
    assert dict(spec.added_tokens) == {"the": keys()["the"], "<x>": size}
    assert spec.special_tokens["<p>"] == size + 1
    assert spec.names == {"pad": "<p>"}


def test_rows_of_classes(tmp_path: Path) -> None:
    """Llama's rows are padded at the left, and at the side and with the type that a configuration has."""
    config: dict[str, Any] = {"pad_token": "</s>"}
    for more, expected in (
        ({}, RowPadding(2, "</s>", 0, "left")), ({"pad_token_type_id": 3}, RowPadding(2, "</s>", 3, "left")),
        ({"padding_side": "right"}, None),
    ):  # fmt: skip
        class_folders.fill(tmp_path, "LlamaTokenizer", {**config, **more}, {})
        assert bbpe.load(tmp_path).spec.padding == expected


def test_fields_of_a_written_model(tmp_path: Path) -> None:
    from sentencepiece import sentencepiece_model_pb2

    for rule, name in (("nmt_nfkc", "user_defined"), ("identity", "identity")):
        (tmp_path / "x.model").write_bytes(class_folders.model("<pad> <s> ?<unk> </s>", rule=rule))
        bbpe.load(tmp_path / "x.model").save(tmp_path / "y.model")
        made = sentencepiece_model_pb2.ModelProto.FromString((tmp_path / "y.model").read_bytes())
        trainer = made.trainer_spec
        assert (trainer.unk_id, trainer.bos_id, trainer.eos_id, trainer.pad_id) == (2, 1, 3, 0)
        assert made.normalizer_spec.name == name
        assert (trainer.vocab_size, trainer.unk_piece, trainer.model_type) == (len(made.pieces), "<unk>", 1)


def test_the_end_of_a_text_in_a_written_gguf(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    for text in END_OF_TEXT:
        bbpe.Tokenizer(small_spec(special_tokens={text: 267})).save(tmp_path / "x.gguf")
        values = read_metadata(tmp_path / "x.gguf", lambda name: name.startswith(PREFIX))
        assert (values[f"{PREFIX}eos_token_id"], values[f"{PREFIX}add_bos_token"]) == (267, False), text


def test_an_alias_of_a_vocabulary_is_no_model() -> None:
    for name in ALIASES:
        if name_for_model(name) is None:
            with pytest.raises(VocabularyError, match=f"'{name}' is a vocabulary, not a model"):
                bbpe.encoding_for_model(name)


def test_a_list_of_a_class_and_that_of_a_file(tmp_path: Path) -> None:
    """As in `transformers`: an empty list replaces the usual one, and a list the options of a token with a use."""
    class_folders.fill(tmp_path, "T5Tokenizer", {"additional_special_tokens": [], "extra_ids": 3}, {})
    assert set(bbpe.load(tmp_path).special_tokens) == {"</s>", "<pad>", "<unk>"}
    (tmp_path / "other").mkdir()
    mask = {"content": "<mask>", "lstrip": False, "rstrip": False, "single_word": False, "normalized": False}
    config = {"mask_token": {**mask, "lstrip": True}, "additional_special_tokens": [{**mask, "rstrip": True}]}
    class_folders.fill(tmp_path / "other", "RobertaTokenizer", config, {})
    spec = formats.load(tmp_path / "other")
    assert dict(spec.token_options) == {"<mask>": TokenOptions(rstrip=True)}


@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("XLNetTokenizer", [0, 0, 1, 1, 2]), ("FunnelTokenizer", [2, 0, 0, 1, 1]), ("BertTokenizer", [0, 0, 0, 1, 1]),
        ("AlbertTokenizer", [0, 0, 0, 1, 1]), ("T5Tokenizer", [0, 0, 0, 0]), ("MPNetTokenizer", [0] * 6),
    ],
)  # fmt: skip
def test_types_of_pairs(tmp_path: Path, kind: str, types: list[int]) -> None:
    """The `token_type_ids` of `transformers`, with one for each text."""
    class_folders.fill(tmp_path, kind, {}, {})
    template = formats.load(tmp_path).template
    assert template is not None
    assert [number for _, number in template.pair] == types


def test_the_first_unknown_piece_is_the_unknown_one(tmp_path: Path) -> None:
    """In GGUF; a second one of a .model is refused, as by SentencePiece."""
    values = piece_vocabulary("t5")
    values[f"{PREFIX}token_type"][3] = 2
    tok = bbpe.load(write_gguf(tmp_path / "x.gguf", values))
    assert tok.encode("\u20ac")[-1] == 0
    assert tok.special_tokens["<tool>"] == 3
    (tmp_path / "x.model").write_bytes(class_folders.model("<s> ?<unk> ?<other>", rule="identity"))
    refused(tmp_path / "x.model", "piece 2: '<other>' is the second piece of the type UNKNOWN")


def test_decoders_of_marks() -> None:
    marks = Characters(prefix="##")
    assert usual_decoder(marks, None) == (WordPiece("##", cleanup=False),)
    assert usual_decoder(None, WordPieceModel(0, "@@")) == (WordPiece("@@"),)
    assert usual_decoder(replace(marks, end_of_word="</w>"), None) == (Replace("##", False, ""), BPEDecoder("</w>"))


def test_the_template_of_the_configuration_goes_before_that_of_an_older_file(tmp_path: Path) -> None:
    write_json(tmp_path / "tokenizer.json", document())
    write_json(tmp_path / "tokenizer_config.json", {"chat_template": "new{{ 1 }}"})
    write_json(tmp_path / "chat_template.json", {"chat_template": "old{{ 1 }}"})
    messages = [{"role": "user", "content": "x"}]
    assert bbpe.load(tmp_path).apply_chat_template(messages) == "new1"
    # of several files without a default none is chosen, and fields do not count beside files
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates/rag.jinja").write_text("rag{{ 1 }}")
    with pytest.raises(VocabularyError, match="none is the default"):
        bbpe.load(tmp_path).apply_chat_template(messages)
    assert bbpe.load(tmp_path).apply_chat_template(messages, chat_template="rag") == "rag1"


def test_special_tokens_of_a_file_that_several_tokenizers_share(
    bare: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only those that all of them have are known by the file."""
    monkeypatch.setitem(given._NAMES, "small", "small")
    first = next(iter(SPECIAL))
    monkeypatch.setitem(given._SHARED, "small", [first])
    (tmp_path / "mine.tiktoken").write_bytes(RANKS)
    assert dict(bbpe.load(tmp_path / "mine.tiktoken").special_tokens) == {first: SPECIAL[first]}


# -- fingerprints ---------------------------------------------------------------------------------------------


def test_fingerprints_of_what_splits_and_scores() -> None:
    spec = small_spec()
    dropping = replace(spec, pattern=replace(spec.pattern, drops_gaps=not spec.pattern.drops_gaps))
    assert fingerprint(dropping) != fingerprint(spec)
    # whole pretokens change nothing where merges make all tokens
    assert fingerprint(replace(spec, whole_pretokens=True)) == fingerprint(spec)
    # a score that a length replaces has no effect
    one, other = (UnigramModel((0.0, -1.0, score), user_defined=(2,)) for score in (-3.0, -4.0))
    assert one.identity() == other.identity() != UnigramModel((0.0, -2.0, -3.0), user_defined=(2,)).identity()
