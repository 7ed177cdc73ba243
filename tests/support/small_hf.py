"""Small tokenizers of HF's `tokenizers`: byte-level BPE, WordPiece and Unigram, with templates."""

from __future__ import annotations

from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

LINES = ["see my eyes first", "see my dogs", "I have 12 dogs, naïve café 中文"] * 4
_SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "<s>"]


def _bytes() -> Any:
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    options = {"special_tokens": _SPECIAL, "initial_alphabet": alphabet, "show_progress": False}
    trainer = trainers.BpeTrainer(vocab_size=320, **options)
    made.train_from_iterator(LINES, trainer)
    ids = (("[SEP]", 2), ("[CLS]", 1))
    made.post_processor = processors.RobertaProcessing(*ids, trim_offsets=True, add_prefix_space=False)
    return made


def _wordpiece() -> Any:
    made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=80, special_tokens=_SPECIAL, show_progress=False)
    made.train_from_iterator(LINES, trainer)
    pair = "[CLS] $A [SEP] $B:1 [SEP]:1"
    ids = [("[CLS]", 1), ("[SEP]", 2)]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair=pair, special_tokens=ids)
    return made


def _unigram() -> Any:
    made = tokenizers.Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer, made.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=70, special_tokens=_SPECIAL, unk_token="[UNK]", show_progress=False)
    made.train_from_iterator(LINES, trainer)
    ids = [("[SEP]", 2)]
    made.post_processor = processors.TemplateProcessing(single="$A [SEP]", pair="$A [SEP] $B [SEP]", special_tokens=ids)
    return made


KINDS = {"bytes": _bytes, "wordpiece": _wordpiece, "unigram": _unigram}
