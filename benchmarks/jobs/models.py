"""The other models: encoding documents and training, against the library that each comes from.

Models are trained here, on the first two million bytes of the text, and written in the form that all libraries of a
job read.  Encoding is warm or cold by `passes`, as elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers import NotSupported
from benchmarks.texts import documents

from .encoding import lists_as_bytes
from .registry import Timed, define, job
from .training import written

_TRAINED_ON = 2_000_000
_SPECIALS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

for _name in ("unigram", "wordpiece"):
    define(_name, lists_as_bytes, vocab_size="8000", document="2000")
define("pieces", lists_as_bytes, model="mistral_v1.model", document="2000")
for _name in ("train_unigram", "train_wordpiece", "train_words"):
    define(_name, lambda size: str(size).encode(), vocab_size="30000")


def trained(kind: str, suffix: str, text: bytes, options: dict[str, str]) -> Path:
    """The model of a kind, as a file; the first process that needs it trains it, before its clock starts."""
    import bbpe

    path = Path(options["folder"], f"{kind}.{len(text)}.{options['vocab_size']}{suffix}")
    if not path.exists():
        some = text[:_TRAINED_ON].decode("utf-8", "ignore").replace("\0", "")
        specials = _SPECIALS if kind == "wordpiece" else []
        model: Any = bbpe.WordPiece(score="frequency") if kind == "wordpiece" else kind
        bbpe.train_from_iterator([some], int(options["vocab_size"]), model=model, special_tokens=specials).save(path)
    return path


def encoding(load: Callable[[Path], Callable[[list[str]], Any]], path: Path, text: bytes, size: str) -> Timed:
    """Documents -> lists of ids, by what `load` makes of the file."""
    encode = load(path)
    texts = documents(text.decode("utf-8", "ignore").replace("\0", ""), int(size))
    encode(["hello"])
    return lambda: encode(texts)


def of_bbpe(path: Path) -> Callable[[list[str]], Any]:
    import bbpe

    tok = bbpe.load(path)
    return lambda texts: tok.encode_batch(texts, threads=1)


def of_sentencepiece(path: Path) -> Callable[[list[str]], Any]:
    import sentencepiece

    tok = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return lambda texts: tok.encode(texts, num_threads=1)


def of_tokenizers(path: Path) -> Callable[[list[str]], Any]:
    from tokenizers import Tokenizer

    tok = Tokenizer.from_file(str(path))
    return lambda texts: [row.ids for row in tok.encode_batch_fast(texts, add_special_tokens=False)]


def of_gigatoken(path: Path) -> Callable[[list[str]], Any]:
    import gigatoken

    tok = gigatoken.Tokenizer.from_sentencepiece(path)
    return lambda texts: tok.encode_batch_list(texts, parallel=False)


def of_splintr(path: Path) -> Callable[[list[str]], Any]:
    import splintr

    tok = splintr.from_json(str(path))
    return lambda texts: [tok.encode_raw(text) for text in texts]


def of_nanotoken(path: Path) -> Callable[[list[str]], Any]:
    import nanotoken

    tok = nanotoken.Tokenizer(str(path))
    return lambda texts: tok.encode_batch_list(texts, add_special_tokens=False, parallel=False)


@job("unigram", ("bbpe", "sentencepiece", "splintr"))
def unigram(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """A .model, which splintr reads as the tokenizer.json of the same tokens."""
    load = {"bbpe": of_bbpe, "sentencepiece": of_sentencepiece, "splintr": of_splintr}[library]
    suffix = ".json" if library == "splintr" else ".model"
    return encoding(load, trained("unigram", suffix, text, options), text, options["document"])


@job("wordpiece", ("bbpe", "tokenizers", "splintr", "nanotoken"))
def wordpiece(library: str, text: bytes, options: dict[str, str]) -> Timed:
    load = {"bbpe": of_bbpe, "tokenizers": of_tokenizers, "splintr": of_splintr, "nanotoken": of_nanotoken}[library]
    return encoding(load, trained("wordpiece", ".json", text, options), text, options["document"])


@job("pieces", ("bbpe", "sentencepiece", "gigatoken"))
def pieces(library: str, text: bytes, options: dict[str, str]) -> Timed:
    """SentencePiece's BPE: a published model, in the folder of the vocabularies."""
    path = Path(options["vocabularies"], options["model"])
    if not path.exists():
        raise NotSupported(f"there is no {path.name} in the folder of the vocabularies")
    load = {"bbpe": of_bbpe, "sentencepiece": of_sentencepiece, "gigatoken": of_gigatoken}[library]
    return encoding(load, path, text, options["document"])


def cleaned(text: bytes, options: dict[str, str]) -> Path:
    """The text as a file without zeros, which SentencePiece does not take."""
    return written(text.replace(b"\0", b""), options)


@job("train_unigram", "bbpe")
def train_unigram_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """Vocabularies differ, as the two learn otherwise; their sizes are compared here, likelihoods by the tests."""
    import bbpe

    path, size = cleaned(text, options), int(options["vocab_size"])
    return lambda: len(bbpe.train(path, size, model="unigram", counting=bbpe.Counting(threads=int(options["threads"]))))


@job("train_unigram", "sentencepiece")
def train_unigram_sentencepiece(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    import sentencepiece

    path, prefix = cleaned(text, options), Path(options["folder"], "theirs")

    def train() -> int:
        sentencepiece.SentencePieceTrainer.train(
            input=str(path), model_prefix=str(prefix), model_type="unigram", vocab_size=int(options["vocab_size"]),
            normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True,
            num_threads=int(options["threads"]), minloglevel=2, max_sentence_length=1 << 20,
        )
        return int(sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model").vocab_size())

    return train


@job("train_wordpiece", "bbpe")
def train_wordpiece_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """By frequency and behind BERT's rules, as HF learns it."""
    import bbpe

    path, size, threads = written(text, options), int(options["vocab_size"]), int(options["threads"])
    return lambda: len(
        bbpe.train(
            path,
            size,
            model=bbpe.WordPiece(score="frequency"),
            special_tokens=_SPECIALS,
            counting=bbpe.Counting(threads=threads),
        )
    )


@job("train_words", "bbpe")
def train_words_bbpe(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    """BPE of the characters of words with an end."""
    import bbpe

    path, size, threads = written(text, options), int(options["vocab_size"]), int(options["threads"])
    return lambda: len(
        bbpe.train(
            path, size, model=bbpe.BPE(alphabet="chars", end_of_word="</w>"), counting=bbpe.Counting(threads=threads)
        )
    )


@job("train_wordpiece", "tokenizers")
@job("train_words", "tokenizers")
def train_words_tokenizers(_library: str, text: bytes, options: dict[str, str]) -> Timed:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    path, size = written(text, options), int(options["vocab_size"])

    def train() -> int:
        if options["job"] == "train_wordpiece":
            tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
            tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
            trainer: Any = trainers.WordPieceTrainer(
                vocab_size=size, special_tokens=_SPECIALS, show_progress=False, min_frequency=1
            )
        else:
            tok = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
            tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
            trainer = trainers.BpeTrainer(
                vocab_size=size, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False
            )
        tok.train([str(path)], trainer)
        return int(tok.get_vocab_size())

    return train
