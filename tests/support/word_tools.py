"""The interfaces of subword-nmt and YouTokenToMe over tokenizers of bbpe."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import bbpe

MARK = "\u2581"
#: A model that YouTokenToMe 1.0.6 trained.
YTTM = """
20 26;233 17;102 8;115 6;99 23;25991 9;109 13;101 5;114 12;111 19;103 21;116 11;20013 10;239 16;9601
4;121 7;100 22;105 14;118 18;97 15;110 20;4 6 24;24 5 25;25 5 26;4 8 27;27 14 28;28 12 29;29 6 30;30
11 31;13 7 32;4 32 33;10 9 34;4 34 35;5 7 36;36 5 37;37 6 38;4 38 39;23 15 40;40 8 41;41 17 42;4 42
43;22 19 44;44 21 45;45 6 46;4 46 47;15 16 48;4 20 49;1 0 2 3
""".replace("\n", " ").strip().split(";")


def yttm_file(path: Path, rows: Sequence[str] = YTTM) -> Path:
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    return path


class SubwordNmt:
    """subword-nmt's `BPE`: words with "@@ " between their pieces, and texts of glossaries that stay whole."""

    def __init__(self, tok: bbpe.Tokenizer, glossaries: Sequence[str] = (), separator: str = "@@") -> None:
        self._tok, self._separator = tok, separator
        self._glossary = re.compile(f"({'|'.join(glossaries)})") if glossaries else None

    def process_line(self, line: str) -> str:
        """A segmented line; the white space at both its ends stays."""
        core = line.strip("\r\n ")
        start = line.index(core) if core else len(line)
        return line[:start] + self.segment(core) + line[start + len(core) :]

    def segment(self, sentence: str) -> str:
        """A segmented sentence; words are separated by spaces only."""
        words = (word for word in sentence.split(" ") if word)
        return " ".join(f"{self._separator} ".join(self.pieces(word)) for word in words)

    def pieces(self, word: str) -> list[str]:
        """The pieces of a word, each of them text of the word."""
        parts = self.isolated(word)
        return [piece for part in parts for piece in self._pieces(part, is_last=part is parts[-1])]

    def isolated(self, word: str) -> list[str]:
        """The parts of a word: glossaries, and the text between."""
        return [part for part in self._glossary.split(word) if part] if self._glossary else [word]

    def _pieces(self, part: str, *, is_last: bool) -> list[str]:
        if self._glossary and self._glossary.fullmatch(part):
            return [part]
        # a part that does not end the word has no end mark: it is the beginning of a longer word
        text = part if is_last else part + "\ue000"
        _, spans = self._tok.encode_with_offsets(text)
        found = [text[start:end] for start, end in spans.tolist()]
        return found if is_last else found[:-1]


class YouTokenToMe:
    """YouTokenToMe's `BPE`: batches of ids or of subwords, and decoding that leaves out some ids."""

    def __init__(self, tok: bbpe.Tokenizer) -> None:
        self._tok, self._view = tok, tok.as_sentencepiece()

    def encode(
        self, texts: Sequence[str], *, bos: bool = False, eos: bool = False, reverse: bool = False
    ) -> list[list[int]]:
        """The ids of each text."""
        named = self._tok.special_tokens
        first, last = [named["<BOS>"]] * bos, [named["<EOS>"]] * eos
        rows = ([*first, *row, *last] for row in self._tok.encode_batch(list(texts)))
        return [row[::-1] if reverse else row for row in rows]

    def subwords(self, texts: Sequence[str]) -> list[list[str]]:
        """The subwords of each text; unknown characters are text."""
        return [list(self._subwords(text)) for text in texts]

    def _subwords(self, text: str) -> Iterator[str]:
        for word in text.split():
            at, marked = 0, MARK + word
            for token_id in self._tok.encode(word):
                if token_id != self._unknown:
                    piece = self.id_to_subword(token_id)
                    start = marked.index(piece, at)
                    yield from [marked[at:start]] if at < start else []
                    yield piece
                    at = start + len(piece)
            yield from [marked[at:]] if at < len(marked) else []

    @property
    def _unknown(self) -> int:
        return self._tok.special_tokens["<UNK>"]

    def decode(self, rows: Sequence[Sequence[int]], ignore_ids: Sequence[int] = ()) -> list[str]:
        """The text of each row."""
        return [self._tok.decode([token_id for token_id in row if token_id not in ignore_ids]) for row in rows]

    def vocab(self) -> list[str]:
        """All subwords."""
        return [self.id_to_subword(token_id) for token_id in range(self.vocab_size())]

    def vocab_size(self) -> int:
        """The number of subwords."""
        return self._tok.vocab_size

    def id_to_subword(self, token_id: int) -> str:
        """The subword of an id."""
        return str(self._view.id_to_piece(token_id))

    def subword_to_id(self, subword: str) -> Any:
        """The id of a subword."""
        return self._view.piece_to_id(subword)
