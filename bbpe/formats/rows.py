"""One row for each format: the names and first bytes of its files, and the module that reads and writes them.

Errors of a module that name no file are about the one that it reads or writes.

A format module has `load(path, given) -> TokenizerSpec` and `written(spec, path) -> dict[Path, bytes]`.  It is imported
at the first file of its format, because importing all modules would take two fifths of the import time of a first load.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

from ..files import StrPath
from ..lazy import lazy_re, safe_import
from ..records import dataclass
from ..spec.models import LongestMatchModel, UnigramModel, WordLevelModel, WordPieceModel
from ..spec.spec import TokenizerSpec
from .common.given import Given
from .common.reading import about


@dataclass(frozen=True)
class FormatRow:
    """A vocabulary format.

    `names` has the sets of files that make a vocabulary, as names or suffixes; both names of a pair may have the same
    prefix.  `head` matches the beginning of the file with the tokens.  `has_folder`: `transformers` reads other files
    in the folder of files with the first names.  `writes_folder`: for a folder, the module names all files itself.

    A file whose name is like `written_as` gets this format by default, the longest of all that fit.  `synonyms` are
    names that users may know the format by.  The files hold BPE and `models`; with `holds_rules` also normalizers, a
    prefix, options of special tokens and characters; with `holds_pieces` also the pieces of a SentencePiece .model, as
    far as the module does not refuse them itself.  Without `has_pattern`, `has_ids` or `has_unknown_text` the pattern,
    the ids, or the text for the unknown token cannot be read back.
    """

    description: str
    module_name: str
    names: tuple[tuple[str, ...], ...]
    head: re.Pattern[bytes]
    has_folder: bool = False
    writes_folder: bool = False
    written_as: str = ""
    synonyms: tuple[str, ...] = ()
    models: tuple[type, ...] = ()
    holds_rules: bool = False
    holds_pieces: bool = False
    has_pattern: bool = True
    has_ids: bool = True
    has_unknown_text: bool = True

    @property
    def module(self) -> ModuleType:
        """The module that reads and writes the format."""
        return safe_import(f"{__package__}.{self.module_name}")

    def load(self, path: StrPath, given: Given) -> TokenizerSpec:
        """Read a file or folder of this format."""
        with about(path):
            found: TokenizerSpec = self.module.load(path, given)
            return found

    def written(self, spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
        """Return the paths and bytes of the files of a spec in this format, all in one folder."""
        with about(path):
            found: dict[Path, bytes] = self.module.written(spec, path)
            return found


_JSON_KEYS = rb"version|truncation|padding|added_tokens|pre_tokenizer|normalizer|post_processor|decoder|model"

#: Formats by name.  If several formats fit a folder, or a file whose name is not decisive, the first one is used.
FORMATS: dict[str, FormatRow] = {
    "huggingface": FormatRow(
        "tokenizer.json", "huggingface.tokenizer_json", (("tokenizer.json",),),
        lazy_re(rb'\s*\{\s*"(' + _JSON_KEYS + rb')"\s*:\s*[^\s\d-]'),
        writes_folder=True, written_as="?*.json",
        synonyms=("hf", "json", "tokenizer.json", "tokenizers", "transformers"),
        models=(WordPieceModel, WordLevelModel, UnigramModel), holds_rules=True, holds_pieces=True,
    ),
    "unigram_json": FormatRow(
        "the unigram.json of tokenizers", "unigram_json", (("unigram.json",),),
        lazy_re(rb'\s*\{\s*(?:"type"\s*:\s*"Unigram"\s*,\s*)?"unk_id"\s*:'),
        models=(UnigramModel,), holds_rules=True,
    ),
    # counts, then lines of two numbers, and after these one of three or, without merges, of four
    "youtokentome": FormatRow(
        "YouTokenToMe's model", "youtokentome", ((".yttm",),),
        lazy_re(rb"\d+ \d+\r?\n(?:(?:\d+ \d+\r?\n)+-?\d+ -?\d+ \d+[ \r\n]|(?:\d+ \d+\r?\n){4000})"),
        synonyms=("yttm",), holds_rules=True,
    ),
    "tiktoken": FormatRow(
        "a .tiktoken rank file", "tiktoken", ((".tiktoken",), ("tiktoken.model",)),
        lazy_re(
            rb"\s*(?=\S*[A-Za-z0-9+/=] )(?:[\w+/]{4})*(?:[\w+/]{2}==|[\w+/]{3}=|=)? +\d+\r?(?:\n|\Z)", re.ASCII
        ),
        written_as="?*.tiktoken", synonyms=("ranks",), has_pattern=False,
    ),
    "gpt2": FormatRow(
        "vocab.json with merges.txt", "gpt2_files", (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe")),
        lazy_re(rb'\s*\{\s*"(?:\\.|[^"\\])*"\s*:\s*-?\d'), True, True,
        synonyms=("vocab.json", "bpe"),
    ),
    "vocab_txt": FormatRow(
        "vocab.txt with merges.txt", "vocab_txt", (("vocab.txt", "merges.txt"),),
        lazy_re(rb"[^\s{]\S* \d+\r?(?:\n|\Z)"), writes_folder=True,
    ),
    # lines without blanks; one of them is the unknown token
    "wordpiece": FormatRow(
        "BERT's vocab.txt", "wordpiece", (("vocab.txt",),), lazy_re(rb"(?s)(?:\S+\r?\n)*\[UNK\]\r?(?:\n|\Z)"),
        True, True, written_as="?*.txt", synonyms=("bert", "vocab.txt"), models=(WordPieceModel,), holds_rules=True,
    ),
    "codes": FormatRow(
        "merges of words with </w>: codes of subword-nmt or fastBPE, CLIP's bpe_simple_vocab", "codes",
        (("bpe_simple_vocab_16e6.txt",), (".codes",)),
        lazy_re(
            rb'(?:"bpe_simple_vocab_16e6\.txt)?#version: 0\.[12]\r?\n(?:\S+ \S+\r?\n)*?\S+ \S*</w>\r?\n'
            rb"|(?:\S+ \S+ \d+\r?\n)*?\S+ \S+</w> \d+\r?\n"
        ),
        written_as="?*.codes", synonyms=("subword-nmt", "fastbpe"), holds_rules=True, has_ids=False,
    ),
    "tekken": FormatRow(
        "a tekken.json", "tekken", (("tekken.json",),),
        lazy_re(rb'\s*\{[\x00-\xff]*"(?:token_bytes"\s*:\s*"|default_num_special_tokens"\s*:\s*\d)'),
        written_as="*tekken*.json", synonyms=("mistral",),
    ),
    "minbpe": FormatRow("minbpe's .model", "minbpe", ((".model",),), lazy_re(rb"minbpe v1\r?\n")),
    "rwkv": FormatRow(
        "RWKV's vocabulary", "rwkv", (("rwkv_vocab_v20230424.txt",),),
        lazy_re(rb"\d+ b?(?:'(?:[^'\\\r\n]|\\.)*'|\"(?:[^\"\\\r\n]|\\.)*\") \d+\r?(?:\n|\Z)"),
        models=(LongestMatchModel,),
    ),
    "gguf": FormatRow(
        "a GGUF model", "gguf.model_file", ((".gguf",),), lazy_re(rb"GGUF"),
        written_as="?*.gguf", synonyms=("llama.cpp", "ggml"), models=(UnigramModel,), holds_rules=True,
        holds_pieces=True, has_unknown_text=False,
    ),
    "sentencepiece": FormatRow(
        "a SentencePiece .model", "sentencepiece.model_file",
        (
            ("tokenizer.model",), ("spiece.model",), ("sentencepiece.bpe.model",), ("spm.model",),
            ("sentencepiece.model",), ("spm_char.model",), ("source.spm",), (".model",),
        ),
        lazy_re(rb"\n[\x00-\xff]{1,2}\n[\x00-\xff]{1,80}\x15"), True,
        written_as="?*.model", synonyms=("spm", "model"), models=(WordLevelModel, UnigramModel), holds_rules=True,
        holds_pieces=True,
    ),
}
