"""The `decoder` of a `tokenizer.json`: the steps that turn tokens back into text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...files import StrPath
from ...spec.models import WordPieceModel
from ...spec.rules import PREPEND_SCHEMES, SPACE_MARK, Characters, PrependScheme
from ...spec.spec import TokenizerSpec
from ..reading import Fields, parts_of, shown

_KNOWN = (
    "expected ByteLevel, or for tokens of characters Metaspace or a Sequence of Replace (U+2581 by a blank), "
    "ByteFallback, Fuse and Strip (blanks at the beginning), WordPiece, and for words with an end BPEDecoder"
)
_MOST_STRIPPED = 1 << 20  # blanks at the beginning of a text


@dataclass
class Decoder:
    """The steps of a `decoder`."""

    byte_level: bool = False
    joins_bytes: bool = False  # byte tokens such as <0xE4> become bytes
    marks_blanks: bool = False  # U+2581 becomes a blank
    strip_blanks: int = 0  # the most blanks removed from the beginning of a text
    word_prefix: str | None = None  # removed from tokens that continue a word; blanks go before all other tokens
    cleanup: bool = False  # blanks before some punctuation are removed
    end_of_word: str | None = None  # becomes a blank
    dropped: str | None = None  # removed wherever it occurs

    def undoes(self, prefix: str, end: str) -> bool:
        """Return whether decoding removes the prefix and the end of word of a BPE model."""
        removed = self.dropped if end else self.word_prefix
        other = self.word_prefix if end else self.dropped
        return (removed or "", other, self.end_of_word or "") == (prefix, None, end)


def read_decoder(value: object, *, path: StrPath, byte_level: bool) -> Decoder:
    """Return the steps of a `decoder`; `VocabularyError` on an unknown one or one that does not fit the vocabulary."""
    decoder = Decoder()
    if value is None:
        Fields({}, path=path, place="decoder").refuse(f"null is not supported; {_KNOWN}")
    parts = parts_of(value, "decoders", path, "decoder")
    for part, place in parts:
        fields = Fields(part, path=path, place=place)
        _add(fields, fields.take_type("type", str), decoder)
        fields.done()
    if decoder.byte_level and (len(parts) > 1 or not byte_level):
        problem = "ByteLevel needs the pre_tokenizer ByteLevel and no other decoder"
        Fields({}, path=path, place="decoder").refuse(problem)
    if byte_level and not decoder.byte_level:
        kinds = " and ".join(shown(part.get("type") if isinstance(part, dict) else part) for part, _ in parts)
        Fields({}, path=path, place="decoder").refuse(f"{kinds} is not supported; expected ByteLevel")
    return decoder


def _add(fields: Fields, kind: str, decoder: Decoder) -> None:
    match kind:
        case "ByteLevel":
            for name in ("add_prefix_space", "trim_offsets", "use_regex"):
                fields.take(name, True)
            decoder.byte_level = True
        case "WordPiece":
            decoder.word_prefix = fields.take_type("prefix", str)
            decoder.cleanup = fields.take_type("cleanup", bool)
        case "BPEDecoder":
            decoder.end_of_word = fields.take_type("suffix", str)
        case "ByteFallback":
            decoder.joins_bytes = True
        case "Fuse":
            pass
        case "Replace":
            match fields.take("pattern"), fields.take_type("content", str):
                case {"String": found}, " " if found == SPACE_MARK:
                    decoder.marks_blanks = True
                case {"String": str(found)}, "" if decoder.dropped is None:
                    decoder.dropped = found
                case _:
                    expected = "U+2581 replaced by a blank, or the prefix of BPE by the empty string"
                    fields.refuse(f"this Replace is not supported; expected {expected}")
        case "Strip":
            fields.only("content", " ")
            fields.only("stop", 0)
            decoder.strip_blanks = fields.take_int("start", 0, _MOST_STRIPPED)
        case "Metaspace":
            fields.only("replacement", SPACE_MARK)
            scheme = read_prepend_scheme(fields)
            fields.take_type("split", bool, True)
            decoder.marks_blanks, decoder.strip_blanks = True, 0 if scheme == "never" else 1
        case _:
            fields.refuse(f"{kind!r} is not supported; {_KNOWN}")


def read_prepend_scheme(fields: Fields) -> PrependScheme:
    """Take the field `prepend_scheme` of Metaspace, or the older field `add_prefix_space`."""
    older = fields.take("add_prefix_space", None)
    scheme = fields.take("prepend_scheme", "always" if older in (None, True) else "never")
    known = next((known for known in PREPEND_SCHEMES if known == scheme), None)
    if known is None or (older is not None and older != (scheme != "never")):
        fields.refuse(f"found {shown(scheme)}; expected always, first or never", "prepend_scheme")
    return known


def write_decoder(spec: TokenizerSpec) -> dict[str, Any]:
    """Return the `decoder` of a spec."""
    if isinstance(spec.model, WordPieceModel):
        return {"type": "WordPiece", "prefix": spec.model.prefix, "cleanup": spec.model.cleanup}
    if spec.characters is not None and spec.characters.marks_words and not spec.characters.are_bytes:
        return _of_words(spec.characters)
    if spec.model is None and (spec.characters is None or spec.characters.are_bytes):
        return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    parts: list[dict[str, Any]] = []
    if spec.characters is not None and spec.characters.marks_blanks:
        parts.append({"type": "Replace", "pattern": {"String": SPACE_MARK}, "content": " "})
    if spec.characters is not None and spec.characters.byte_ids:
        parts.append({"type": "ByteFallback"})
    parts.append({"type": "Fuse"})
    if spec.rules.strip_blanks:
        parts.append({"type": "Strip", "content": " ", "start": spec.rules.strip_blanks, "stop": 0})
    return {"type": "Sequence", "decoders": parts}


def _of_words(characters: Characters) -> dict[str, Any]:
    if not characters.end_of_word:
        return {"type": "WordPiece", "prefix": characters.prefix, "cleanup": characters.cleanup}
    ended = {"type": "BPEDecoder", "suffix": characters.end_of_word}
    if not characters.prefix:
        return ended
    dropped = {"type": "Replace", "pattern": {"String": characters.prefix}, "content": ""}
    return {"type": "Sequence", "decoders": [dropped, ended]}
