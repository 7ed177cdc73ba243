"""The pieces of a tokenizer as SentencePiece has them: their texts and types, and texts of ids and of pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import index
from pathlib import Path
from typing import Any

from ... import formats
from ...core.normalizer import Normalizer as CompiledNormalizer
from ...encoding.nbest import UnigramSampler
from ...errors import VocabularyError
from ...files import ReadFile
from ...formats.common.reading import about
from ...formats.sentencepiece.piece_rows import BYTE, CONTROL, NORMAL, UNUSED, PieceRow, rows_of
from ...formats.sentencepiece.pieces import PieceModel as ListedPieces
from ...formats.sentencepiece.pieces import pieces_of, spec_of
from ...lazy import lazy_property
from ...pipeline.compiled_normalizers import compiled_normalizer, mapped_parts, normalize_function
from ...records import replace
from ...spec.decoders import UNMARK
from ...spec.models import WordLevelModel
from ...spec.rules import SPACE_MARK, Charsmap, Normalizer, Prepend, SqueezeBlanks
from ...text import well_formed
from ...tokenizer import Tokenizer
from .lattice import Lattice, PieceTable
from .results import ImmutableSentencePieceText

_PATH = Path("model_proto")
#: Characters whose normal form is remembered.
_CHARACTERS = 1 << 12
#: The names of the pieces around a text, and of padding, unless a model's files name others.
NAMED = {"bos": "<s>", "eos": "</s>", "pad": "<pad>"}


class SpModel:
    """A tokenizer with its pieces; `VocabularyError` when it has none."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        spec = tokenizer.spec
        if spec.characters is None or not (spec.characters.marks_blanks or UNMARK in spec.decoder):
            raise VocabularyError(
                "the symbols of the vocabulary are not characters with U+2581 for blanks, which SentencePiece needs"
            )
        if spec.rules.codes is not None:
            problem = "MarianTokenizer gives pieces other ids than a SentencePiece model"
            raise VocabularyError(f"{problem}; load source.spm alone for the ids of SentencePiece")
        self.tokenizer, self._characters = tokenizer, spec.characters
        last = spec.decoder[-1]
        self._denormalizer = last.data if isinstance(last, Charsmap) else b""
        #: The tokenizer whose texts no table has changed.
        self._plain = Tokenizer(replace(spec, decoder=spec.decoder[:-1])) if self._denormalizer else tokenizer
        self.is_scored = spec.model is not None and not isinstance(spec.model, WordLevelModel)
        self._unknown = -1 if spec.characters.unknown is None else spec.characters.unknown

    def __reduce__(self) -> tuple[type[SpModel], tuple[Tokenizer]]:
        return type(self), (self.tokenizer,)

    @classmethod
    def of_bytes(cls, data: bytes) -> SpModel:
        """Return the model of a file's bytes; `VocabularyError` if they are none."""
        return cls(Tokenizer(formats.FORMATS["sentencepiece"].load(ReadFile(_PATH, data), formats.Given())))

    def written(self) -> bytes:
        """Return a model with the same ids, as bytes; `VocabularyError` when such a model cannot hold the tokenizer."""
        return formats.FORMATS["sentencepiece"].written(self.tokenizer.spec, _PATH)[_PATH]

    @lazy_property
    def _listed(self) -> ListedPieces:
        """The pieces and flags that a file would have."""
        with about(_PATH):
            return pieces_of(self.tokenizer.spec)

    def _changed(self, listed: ListedPieces) -> SpModel:
        made = type(self)(Tokenizer(spec_of(listed, formats.Given(), place=lambda token_id: f"piece {token_id}")))
        made._listed = listed
        return made

    def lattice(self, text: str | bytes, alpha: float) -> Lattice:
        """Return the segmentations of a text; `TypeError` if the model does not score them."""
        pretokens = UnigramSampler(self.tokenizer._parts.encoder).pretokens(text)
        return Lattice(self._table, pretokens, alpha)

    @lazy_property
    def _table(self) -> PieceTable:
        return PieceTable(self.tokenizer.spec)

    def with_flags(self, flags: dict[str, bool]) -> SpModel:
        """Return the model with other flags of normalization."""
        named: dict[str, Any] = {name.replace("escape_whitespaces", "marks_blanks"): on for name, on in flags.items()}
        return self._changed(replace(self._listed, **named))

    def with_only(self, pieces: Collection[str] | None) -> SpModel:
        """Return the model that writes, of the pieces of several characters, only these; `None`: it writes all."""
        rows = []
        for text, score, kind in self._listed.pieces:
            is_in_use = pieces is None or text in pieces or len(text) == 1
            rows.append((text, score, (NORMAL if is_in_use else UNUSED) if kind in (NORMAL, UNUSED) else kind))
        return self._changed(replace(self._listed, pieces=rows))

    @lazy_property
    def _rows(self) -> list[PieceRow]:
        rows = rows_of(self.tokenizer.spec, self._characters)
        unused = PieceRow("", 0.0, UNUSED)
        return [rows.get(token_id, unused) for token_id in range(self.tokenizer.vocab_size)]

    @lazy_property
    def _ids(self) -> dict[str, int]:
        return {row.text: token_id for token_id, row in enumerate(self._rows)}

    @lazy_property
    def _normalize(self) -> Callable[[str], str] | None:
        return normalize_function(self.tokenizer.spec.rules.normalizers)

    @lazy_property
    def _sources(self) -> TextSources:
        return TextSources(self.tokenizer.spec.rules.normalizers)

    def normalized(self, text: str) -> str:
        """Return a normalized text."""
        return text if self._normalize is None else self._normalize(text)

    def normalized_with_sources(self, text: str) -> tuple[str, list[int]]:
        """Return a normalized text, and where in the text its characters and its end come from."""
        return self._sources.of(text)

    def row(self, token_id: int) -> PieceRow:
        """Return the piece of an id with its type; `IndexError` on an id out of range."""
        if not 0 <= token_id < len(self._rows):
            raise IndexError(f"piece id {token_id} is out of range; expected 0 to {len(self._rows) - 1}")
        return self._rows[token_id]

    def piece(self, token_id: int) -> str:
        """Return the text of the piece of an id."""
        return self.row(token_id).text

    def id_of(self, piece: str) -> int:
        """Return the id of a piece, or that of the unknown one."""
        return self._ids.get(piece, self._unknown)

    def named(self, use: str) -> int:
        """Return the id of the piece with a use, -1 if there is none."""
        if use == "unk":
            return self._unknown
        found = self.tokenizer._parts.vocabulary.id_of_named(use)
        usual = -1 if self.tokenizer.spec.names else self.tokenizer.spec.special_tokens.get(NAMED[use], -1)
        return usual if found is None else found

    def needed(self, use: str) -> int:
        """Return the id of the piece with a use; `ValueError` if there is none."""
        found = self.named(use)
        if found < 0:
            raise ValueError(f"the model has no piece {NAMED[use]!r} for add_{use}; expected a model with one")
        return found

    def pieces_of(
        self, text: str | bytes, ids: list[int], *, emit_unk_piece: bool, normalized: str | None = None
    ) -> list[str]:
        """Return the pieces of ids; text without a piece is a piece itself unless that of the model is wanted."""
        rows = self._rows
        found = [rows[token_id].text for token_id in ids]
        if emit_unk_piece or self._unknown not in ids:
            return found
        if normalized is None:
            normalized = self.normalized(str_of(text))
        if isinstance(self.tokenizer.spec.model, WordLevelModel):
            return list(self._words(normalized))
        at = 0
        for number, token_id in enumerate(ids):
            if token_id == self._unknown:
                # unknown text has no piece in it, and characters in a row become one id
                following = found[number + 1] if number + 1 < len(ids) else ""
                end = normalized.find(following, at + 1) if following else len(normalized)
                found[number] = normalized[at : end if end > 0 else at + 1]
            at += len(found[number])
        return found

    def _words(self, normalized: str) -> Iterator[str]:
        unknown = ""
        for word in re.findall(f"{SPACE_MARK}[^{SPACE_MARK}]*|[^{SPACE_MARK}]+", normalized):
            if self._ids.get(word, self._unknown) in (self._unknown, *self._characters.unused):
                unknown += word
                continue
            if unknown:
                yield unknown
                unknown = ""
            yield word
        if unknown:
            yield unknown

    def with_places(self, text: str | bytes, ids: list[int], *, emit_unk_piece: bool) -> ImmutableSentencePieceText:
        """Return a text with its pieces and their places.

        Of the bytes of a character the last one has it.
        """
        string = str_of(text)
        normalized, sources = self.normalized_with_sources(string)
        pieces = self.pieces_of(text, ids, emit_unk_piece=False, normalized=normalized)
        named = self.pieces_of(text, ids, emit_unk_piece=True) if emit_unk_piece else pieces
        lengths = list(map(len, pieces))
        inner = () if self._byte_ids.isdisjoint(ids) else self._spell(lengths, ids, normalized)
        borders = [sources[at] for at in accumulate(lengths, initial=0)]
        spans = tuple(pairwise(borders))
        return ImmutableSentencePieceText(string, tuple(ids), tuple(named), spans, 0.0, frozenset(inner))

    def _spell(self, lengths: list[int], ids: Sequence[int], normalized: str) -> list[int]:
        """Give the character of several bytes to the last one; returns the numbers of the others."""
        at = spelled = 0
        inner: list[int] = []
        for number, token_id in enumerate(ids):
            if token_id in self._byte_ids:
                spelled += 1
                is_last = spelled == len(normalized[at].encode())
                lengths[number], spelled = int(is_last), 0 if is_last else spelled
                inner += () if is_last else (number,)
            at += lengths[number]
        return inner

    @lazy_property
    def _byte_ids(self) -> frozenset[int]:
        return frozenset(token_id for token_id, row in enumerate(self._rows) if row.kind == BYTE)

    def decoded_with_places(self, row: Sequence[Any]) -> ImmutableSentencePieceText:
        """Return the text of a row of ids or pieces, with the place of each piece in it.

        Raises `ValueError` where a table changes the text, in which SentencePiece's places are not those of pieces.
        """
        if self._denormalizer:
            raise ValueError(
                "the model has a table that changes decoded text (denormalizer_spec), so pieces have no places in it; "
                "decode to str or bytes"
            )
        ids, is_pieces = self.ids_of(row), bool(row) and isinstance(row[0], str | bytes)
        shown = [str_of(piece) for piece in row] if is_pieces else list(map(self.piece, ids))
        surfaces = self._surfaces(row)
        spans = tuple(pairwise(accumulate(map(len, surfaces), initial=0)))
        return ImmutableSentencePieceText("".join(surfaces), tuple(ids), tuple(shown), spans)

    def _denormalized(self, text: str) -> str:
        return "".join(written for _, written in mapped_parts(self._denormalizer, text)) if self._denormalizer else text

    def _surfaces(self, row: Sequence[Any]) -> list[str]:
        """Return the text of each piece; each byte that is not UTF-8 is one U+FFFD."""
        ids = self.ids_of(row)
        texts = [str_of(piece) for piece in row] if row and isinstance(row[0], str | bytes) else [""] * len(ids)
        found, text, before = list[str](), "", list[int]()
        run = bytearray()
        for number, (token_id, piece) in enumerate(zip(ids, texts, strict=True)):
            kind = self.row(token_id).kind
            if kind == BYTE:
                run.append(self._characters.byte_ids.index(token_id))
                following = ids[number + 1] if number + 1 < len(ids) else token_id
                is_last = number + 1 == len(ids) or self.row(following).kind != BYTE
                found += _characters_of(run) if is_last else ()
                text += "\ufffd"
                continue
            run.clear()
            part = ""
            if kind != CONTROL:
                is_text = piece and token_id == self._unknown != self._ids.get(piece)
                before.append(token_id)
                part = piece if is_text else self._later(token_id) if text else self._plain.decode(before)
            text += part
            found.append(part)
        return found

    def _later(self, token_id: int) -> str:
        """Return the text of a piece that is not the first one."""
        first = self._first_piece
        return self._plain.decode([first, token_id]).removeprefix(self._plain.decode([first]))

    @lazy_property
    def _first_piece(self) -> int:
        """A piece with a text that is not a blank."""
        rows = enumerate(self._rows)
        return next(number for number, row in rows if row.kind == NORMAL and row.text.strip(SPACE_MARK))

    def ids_of(self, row: Sequence[Any]) -> list[int]:
        """Return the ids of a row of ids or of pieces; `TypeError` on what is neither."""
        if row and isinstance(row[0], str | bytes):
            return [self.id_of(str_of(piece)) for piece in row]
        return [token_id if type(token_id) is int else _checked_id(token_id) for token_id in row]

    def decoded(self, row: Sequence[Any]) -> str:
        """Return the text of a row of ids or of pieces."""
        ids = self.ids_of(row)
        if row and isinstance(row[0], str | bytes):
            texts = [str_of(piece) for piece in row]
            if any(token_id == self._unknown != self._ids.get(text) for text, token_id in zip(texts, ids, strict=True)):
                return self._denormalized("".join(self._surfaces(row)))
        kept = [token_id for token_id in ids if self.row(token_id).kind != CONTROL]
        text = self._plain.decode(kept)
        return self._denormalized("".join(self._surfaces(row)) if "\ufffd" in text else text)


class TextSources:
    """Normalizes texts and finds where their characters come from; the tables of rules are read once."""

    def __init__(self, rules: tuple[Normalizer, ...]) -> None:
        self._rules = rules
        self._squeeze = next((rule for rule in rules if isinstance(rule, SqueezeBlanks)), None)
        self._prepends = any(isinstance(rule, Prepend) for rule in rules)
        self._has_suffix = any(isinstance(rule, Charsmap) and rule.suffix for rule in rules)

    @lazy_property
    def _compiled(self) -> CompiledNormalizer:
        return compiled_normalizer(self._rules, marks_blanks=False)

    @lazy_property
    def _character(self) -> Callable[[str], str]:
        """What the rules before those of blanks make of one character."""
        assert self._squeeze is not None
        before = self._rules[: self._rules.index(self._squeeze)]
        plain = [Charsmap(rule.data, rule.kept) if isinstance(rule, Charsmap) else rule for rule in before]
        return lru_cache(_CHARACTERS)(normalize_function(plain) or str)

    def of(self, text: str) -> tuple[str, list[int]]:
        """Return a normalized text, and where in the text its characters and its end come from.

        The blank in front comes from where no more blanks are removed, the one at the end from where others begin.
        """
        start, end = self._without_blanks(text)
        normalized, first = self._compiled.with_characters(text)
        if first and self._prepends:
            first[0] = start
        if first and self._has_suffix:
            first[-1] = end
        first.append(end)
        return normalized, first

    def _without_blanks(self, text: str) -> tuple[int, int]:
        """Return where blanks that are removed end at the beginning of a text, and where they begin at its end."""
        if self._squeeze is None:
            return 0, len(text)
        apply = self._character
        removed = " " + SPACE_MARK if self._squeeze.drops_marks else " "
        start, end = 0, len(text)
        while start < len(text) and apply(text[start]) == " ":
            start += 1
        for at in range(len(text) - 1, -1, -1):
            char = apply(text[at])
            if char.strip(removed):
                return start, end
            end = at if char else end  # characters without a text stay before the end
        if start == len(text):
            return start, 0
        if self._prepends:
            return start, start
        # what is left is removed again from the first mark on, as blanks are not written where none is before them
        marks = (at for at in range(start, len(text)) if self._squeeze.drops_marks and SPACE_MARK in apply(text[at]))
        return start, next(marks, len(text))


def _characters_of(data: bytes | bytearray) -> list[str]:
    """Return the text of each of some bytes: the last byte of a character has it, and one of no character U+FFFD."""
    found: list[str] = []
    while len(found) < len(data):
        for size in (1, 2, 3, 4):
            try:
                char = data[len(found) : len(found) + size].decode()
            except UnicodeDecodeError:
                continue
            found += [*[""] * (size - 1), char] if len(char) == 1 else [*char]
            break
        else:
            found.append("\ufffd")
    return found


def _checked_id(token_id: Any) -> int:
    try:
        return index(token_id)
    except TypeError:
        raise TypeError(f"an id is an int, not {type(token_id).__name__}") from None


def checked_text(text: Any) -> str | bytes:
    """Return a text; `TypeError` on anything else."""
    if not isinstance(text, str | bytes):
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}")
    return text


def str_of(text: Any) -> str:
    """Return a text as a string."""
    checked = checked_text(text)
    return well_formed(checked) if isinstance(checked, str) else checked.decode("utf-8", "replace")
