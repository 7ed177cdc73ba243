"""What the suite times, the most telling first, so that a run cut short leaves out the least.

`FULL` fits 25 minutes on two quiet cores, `QUICK` three.  An area is a job with its corpora, the combinations of its
options, and the libraries worth their time there; those that are not installed are shown as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.compare import combinations
from benchmarks.runs import Case
from benchmarks.texts import WORST

ENCODERS = (
    "bbpe", "gigatoken", "fastokens", "snaptokens", "quicktok", "toktok", "splintr", "tiktoken", "tokenizers",
)  # fmt: skip
ALL = ("en", "code", "multi", "ja", "zh")


@dataclass(frozen=True)
class Area:
    """`title` heads its table, whose rows are the cases; `note` says what a reader must know to read it."""

    title: str
    job: str
    corpora: Sequence[str]
    options: dict[str, str] = field(default_factory=dict)
    libraries: Sequence[str] = ENCODERS
    note: str = ""

    def cases(self, size: str, natural: Sequence[str]) -> Iterator[Case]:
        """Its cases over those corpora that are there; made-up texts always are."""
        there = [corpus for corpus in self.corpora if corpus in natural or corpus in WORST]
        # nothing but what every machine has: code and prose of Python itself
        chosen = there or [corpus for corpus in natural if corpus not in ALL][: len(self.corpora)]
        yield from combinations([self.job], chosen, {"size": size, **self.options})


COLD, WARM = {"passes": "1"}, {"passes": "3"}
STARTERS = ("bbpe", "tokenizers", "tiktoken", "sentencepiece", "gigatoken", "splintr", "kitoken")
STARTED = "cl100k,o200k,gpt2,mistral_v1,deepseek_v3,t5,bert,mistral_v1.model"
CHOSEN = ("bbpe", "gigatoken", "quicktok", "toktok", "tiktoken", "tokenizers")
TRAINERS = ("bbpe", "gigabpe", "tokenizers")
# each where it can be imported: they need torch, which no extra installs
LOADERS = ("bbpe", "litdata", "streaming")

FULL = (
    Area("Encoding a text, cold", "encode_flat", ALL, COLD,
         note="the first pass of a new tokenizer, to an array, with cl100k"),
    Area("Training, 32,000 tokens", "train", ("en", "code", "ja", "zh"), {}, TRAINERS, "each line is a text"),
    Area("Encoding a text, warm", "encode_flat", ALL, WARM, note="the third pass over the same text"),
    Area("Encoding documents to lists, cold", "encode_lists", ("en", "code", "ja"), COLD, note="documents of 2 kB"),
    Area("Encoding documents to lists, warm", "encode_lists", ("en", "ja"), WARM),
    Area("A short text, warm", "latency", ("en",), {"chars": "20,100,2000"},
         note="a text of 20, 100 or 2,000 characters, to a list"),
    Area("Two threads, one text, cold", "encode_threads", ("en", "ja"), COLD, CHOSEN),
    Area("Decoding an array", "decode_array", ("en", "zh"), {}, CHOSEN),
    Area("Decoding a list", "decode_list", ("en", "zh"), {}, CHOSEN),
    Area("Splitting", "split_count", ("en", "ja"), {"pattern": "gpt2,cl100k,o200k"}, ("bbpe", "regex", "tokenizers"),
         "pretokens are counted, and none is returned"),
    Area("Worst cases", "worst", tuple(WORST), {"size": "200000"},
         note="texts of 200 kB that take quadratic time in some libraries"),
    Area("Start, first word", "start", ("en",), {"tokenizer": STARTED, "first": "word", "tables": "no,yes"}, STARTERS,
         "CPU time of a new Python process, with imports and loading; yes: with tables that an earlier process wrote"),
    Area("Loading", "load", ("en",), {"size": "1000"}, note="from the file of a vocabulary to the first encoded word"),
    Area("Training, a file is a text", "train", ("en", "ja"), {"document": "file"}, ("bbpe", "gigatoken", "rustbpe"),
         "rustbpe breaks ties by another rule, so it has no ratio"),
    Area("Counting pretokens", "count", ("en", "ja"), {}, TRAINERS,
         "training of a single merge, which is nearly all counting"),
    Area("Encoding documents to one array, cold", "encode_batch_flat", ("en", "ja"), COLD, (*CHOSEN, "fastokens")),
    Area("Unigram, lists, warm", "unigram", ("en", "zh"), WARM, ("bbpe", "sentencepiece", "splintr"), "8,000 tokens"),
    Area("WordPiece, lists, cold", "wordpiece", ("en", "zh"), COLD, ("bbpe", "tokenizers", "splintr", "nanotoken"),
         "8,000 tokens, BERT rules"),
    Area("SentencePiece's BPE, lists, warm", "pieces", ("en", "ja"), WARM, ("bbpe", "sentencepiece", "gigatoken"),
         "a published vocabulary of 32,000 tokens"),
    Area("Training WordPiece", "train_wordpiece", ("en",), {}, ("bbpe", "tokenizers"), "30,000 tokens"),
    Area("Training BPE of words", "train_words", ("en",), {}, ("bbpe", "tokenizers"), "30,000 tokens"),
    Area("Training Unigram", "train_unigram", ("en",), {"vocab_size": "8000", "size": "4000000"},
         ("bbpe", "sentencepiece"), "8,000 tokens, 4 MB"),
    Area("Memory", "memory", ("ja",), {"size": "2000000", "bytes": "32000000"}, CHOSEN,
         "the peak while 32 MB are encoded, without text and ids"),
    Area("Rows of tokens for training", "windows", ("en",), {"access": "loop,random", "dtype": "stored,int64"}, LOADERS,
         "2,048 ids, by stored order or a random one"),
    Area("Rows of whole documents", "bins", ("en",), {}, LOADERS, "at most 2,048 ids, padded"),
    Area("Start, first text", "start", ("en",),
         {"tokenizer": STARTED, "first": "20000,1000000", "tables": "no,yes"}, STARTERS,
         "as for the first word, with a text of 20,000 or 1,000,000 characters"),
)

FEW = ("bbpe", "gigatoken", "tiktoken", "tokenizers")
QUICK = (
    Area("Encoding a text, cold", "encode_flat", ("en", "ja"), COLD, FEW, "to an array, with cl100k"),
    Area("Encoding a text, warm", "encode_flat", ("en", "ja"), WARM, FEW),
    Area("Training, 32,000 tokens", "train", ("en",), {}, TRAINERS),
    Area("Encoding documents to lists, cold", "encode_lists", ("en",), COLD, FEW),
    Area("A short text, warm", "latency", ("en",), {"chars": "100"}, FEW),
    Area("Decoding an array", "decode_array", ("en",), {}, FEW),
    Area("Splitting", "split_count", ("en",), {"pattern": "cl100k"}, ("bbpe", "regex", "tokenizers")),
    Area("Worst cases", "worst", ("one-letter", "random-letters"), {"size": "100000"}, FEW),
    Area("Loading", "load", ("en",), {"size": "1000"}, FEW),
    Area("Unigram, lists, warm", "unigram", ("en",), WARM, ("bbpe", "sentencepiece")),
    Area("WordPiece, lists, cold", "wordpiece", ("en",), COLD, ("bbpe", "tokenizers")),
    Area("Memory", "memory", ("ja",), {"size": "500000", "bytes": "4000000"}, ("bbpe", "tiktoken")),
)
