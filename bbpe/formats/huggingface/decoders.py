"""The `decoder` of a `tokenizer.json`: the steps that turn tokens back into text."""

from __future__ import annotations

from typing import Any

from ...errors import VocabularyError
from ...files import StrPath
from ...spec.decoders import (
    CTC,
    Blanks,
    BPEDecoder,
    ByteFallback,
    ByteLevel,
    DecoderStep,
    Fuse,
    Metaspace,
    Strip,
    WordPiece,
)
from ...spec.rules import PREPEND_SCHEMES, PrependScheme, Replace
from ..common.reading import Fields, parts_of, shown
from .normalizers import read_replace, write_replace

_KNOWN = (
    "ByteLevel, Metaspace, WordPiece, BPEDecoder, ByteFallback, Fuse, Strip, Replace, CTC, a Sequence of these, or null"
)
_MOST_STRIPPED = 1 << 20  # characters at either end of a text


def read_decoder(value: object, *, path: StrPath) -> tuple[DecoderStep, ...]:
    """Return the steps of a `decoder`; `VocabularyError` on an unknown one or one with a wrong value."""
    steps: list[DecoderStep] = []
    for part, place in parts_of(value, "decoders", path, "decoder"):
        fields = Fields(part, path=path, place=place)
        steps.append(_read(fields, fields.take_type("type", str)))
        fields.done()
    # an empty sequence joins the tokens
    return tuple(steps) or (Fuse(),)


def _read(fields: Fields, kind: str) -> DecoderStep:
    match kind:
        case "ByteLevel":
            for name in ("add_prefix_space", "trim_offsets", "use_regex"):
                fields.take(name, True)
            return ByteLevel()
        case "WordPiece":
            return WordPiece(fields.take_type("prefix", str), fields.take_type("cleanup", bool))
        case "BPEDecoder":
            return BPEDecoder(fields.take_type("suffix", str))
        case "ByteFallback":
            return ByteFallback()
        case "Fuse":
            return Fuse()
        case "Replace":
            return read_replace(fields)
        case "Strip":
            content = _character(fields, "content")
            start, stop = (fields.take_int(name, 0, _MOST_STRIPPED) for name in ("start", "stop"))
            return Strip(content, start, stop)
        case "Metaspace":
            mark = _character(fields, "replacement")
            fields.take_type("str_rep", str, mark)  # `tokenizers` ignores it
            scheme = read_prepend_scheme(fields)
            fields.take_type("split", bool, True)  # changes no text
            return Metaspace(mark, scheme)
        case "CTC":
            pad, delimiter = fields.take_type("pad_token", str), fields.take_type("word_delimiter_token", str)
            return CTC(pad, delimiter, fields.take_type("cleanup", bool))
    return fields.refuse(f"{kind!r} is not supported; expected {_KNOWN}")


def _character(fields: Fields, name: str) -> str:
    content = fields.take_type(name, str)
    if len(content) != 1:
        fields.refuse(f"found {shown(content)}; expected one character", name)
    return content


def read_prepend_scheme(fields: Fields) -> PrependScheme:
    """Take the field `prepend_scheme` of Metaspace, or the older field `add_prefix_space`."""
    older = fields.take("add_prefix_space", None)
    scheme = fields.take("prepend_scheme", "always" if older in (None, True) else "never")
    known = next((known for known in PREPEND_SCHEMES if known == scheme), None)
    if known is None or (older is not None and older != (scheme != "never")):
        fields.refuse(f"found {shown(scheme)}; expected always, first or never", "prepend_scheme")
    return known


def write_decoder(steps: tuple[DecoderStep, ...]) -> dict[str, Any] | None:
    """Return the `decoder` of steps; `VocabularyError` when they are more than blanks between tokens."""
    if steps == (Blanks(),):
        return None
    parts = [_written(step) for step in steps]
    return parts[0] if len(parts) == 1 else {"type": "Sequence", "decoders": parts}


def _written(step: DecoderStep) -> dict[str, Any]:
    match step:
        case ByteLevel():
            return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        case WordPiece(prefix, cleanup):
            return {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}
        case BPEDecoder(suffix):
            return {"type": "BPEDecoder", "suffix": suffix}
        case Strip(content, start, stop):
            return {"type": "Strip", "content": content, "start": start, "stop": stop}
        case Replace():
            return write_replace(step)
        case Metaspace(mark, scheme):
            return {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": True}
        case CTC(pad, delimiter, cleanup):
            return {"type": "CTC", "pad_token": pad, "word_delimiter_token": delimiter, "cleanup": cleanup}
        case Blanks():
            raise VocabularyError("tokenizer.json puts blanks between tokens only where there is no other decoder")
        case _:
            return {"type": type(step).__name__}
