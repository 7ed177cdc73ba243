"""SentencePiece's normalizer by itself: that of a model, or one of its rules by name."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import Any

from ...files import StrPath
from ...lazy import lazy_property
from ...loading import load
from ...pipeline.compiled_normalizers import normalize_function
from ...spec.rules import SPACE_MARK, Charsmap, Nmt, Normalizer, Prepend, Replace, SqueezeBlanks, UnicodeForm
from .model import SpModel, TextSources, str_of
from .results import of_bytes, snake_case, truth

_NFKC = (UnicodeForm("NFKC"),)
#: The rules of each name, and whether letters lose their case.
_RULES: dict[str, tuple[tuple[Normalizer, ...], bool]] = {
    "identity": ((), False),
    "nfkc": (_NFKC, False),
    "nfkc_cf": (_NFKC, True),
    "nmt_nfkc": ((Nmt(), *_NFKC), False),
    "nmt_nfkc_cf": ((Nmt(), *_NFKC), True),
}
# SentencePiece's "nmt" rules keep two characters that HF's `Nmt` and NFKC change, and make a blank of a third
_KEPT, _BLANK = "\u200d\uff5e", {0x061C: " "}
# characters that no rule changes: noncharacters, and those for private use
_PLAIN = (range(0xFDD0, 0xFDF0), range(0xF0000, 0x110000))


@snake_case
class SentencePieceNormalizer:
    """The interface of `sentencepiece.SentencePieceNormalizer`: the normalization of a model without its pieces.

    A rule by name is a normal form of Unicode 9.0.  SentencePiece's own tables have about 170 newer characters, and do
    not bring marks into their canonical order.

    Args:
        model_file: The path of a model.
        model_proto: The bytes of a model.
        rule_name: "identity", "nfkc", "nfkc_cf", "nmt_nfkc" or "nmt_nfkc_cf", in place of a model.
        add_dummy_prefix: Whether a text gets a blank in front.
        escape_whitespaces: Whether blanks become U+2581.
        remove_extra_whitespaces: Whether each run of blanks becomes one, and those at the ends are removed.

    Example:
        >>> SentencePieceNormalizer(rule_name="nfkc_cf").Normalize("ＡＢ")
        'ab'
    """

    def __init__(
        self,
        model_file: StrPath | None = None,
        model_proto: bytes | None = None,
        rule_name: str | None = None,
        add_dummy_prefix: bool = False,
        escape_whitespaces: bool = False,
        remove_extra_whitespaces: bool = False,
    ) -> None:
        if (model_file is not None) + (model_proto is not None) + (rule_name is not None) != 1:
            raise ValueError("expected one of model_file, model_proto and rule_name")
        self._folds = False
        self._is_nmt = rule_name is not None and rule_name.startswith("nmt")
        if rule_name is None:
            model = SpModel(load(model_file)) if model_file is not None else SpModel.of_bytes(model_proto or b"")
            found = model.tokenizer.spec.rules.normalizers
            tables = (rule.data for rule in found if isinstance(rule, Charsmap))
            rules: tuple[Normalizer, ...] = tuple(Charsmap(data) for data in tables if data)
        elif rule_name in _RULES:
            rules, self._folds = _RULES[rule_name]
        else:
            raise ValueError(f"rule_name is {rule_name!r}; expected one of {', '.join(_RULES)}")
        escapes = truth("escape_whitespaces", escape_whitespaces)
        prefix = (Prepend(" "),) if truth("add_dummy_prefix", add_dummy_prefix) else ()
        removes = truth("remove_extra_whitespaces", remove_extra_whitespaces)
        squeezes = (SqueezeBlanks("", escapes),) if removes else ()
        self._rules = (
            *(() if squeezes else prefix),  # also of what becomes nothing
            *rules,
            *squeezes,
            *(prefix if squeezes else ()),
            *((Replace(" ", False, SPACE_MARK),) if escapes else ()),
        )

    @lazy_property
    def _sources(self) -> TextSources:
        return TextSources(self._rules)

    @lazy_property
    def _apply(self) -> Callable[[str], str] | None:
        return normalize_function(self._rules)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("_sources", "_apply")}

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Return the normalized text, or of a list each one; with offsets, also the character that each comes from.

        Of bytes these are bytes, and the offsets are those of bytes.
        """
        with_offsets = with_offsets is not None and truth("with_offsets", with_offsets)
        if isinstance(input, list):
            return [self.Normalize(text, with_offsets) for text in input]
        text, is_bytes = str_of(input), isinstance(input, bytes)
        held = _stand_ins(text) if self._is_nmt else {}
        kept = text.translate({**held, **_BLANK}) if self._is_nmt else text
        if with_offsets:
            normalized, sources = self._sources.of(kept)
            normalized = self._finished(normalized, held)
            return of_bytes(text, normalized, sources) if is_bytes else (normalized, sources)
        normalized = self._finished(kept if self._apply is None else self._apply(kept), held)
        return normalized.encode() if is_bytes else normalized

    def _finished(self, text: str, held: dict[int, str]) -> str:
        """Return a normalized text with the characters that were held, and without case if the rule says so."""
        text = _folded(text) if self._folds else text
        return text.translate({ord(found): chr(code) for code, found in held.items()})


def _stand_ins(text: str) -> dict[int, str]:
    """Return what stands for the characters that are kept: characters that the text does not have."""
    free = (char for char in map(chr, chain(*_PLAIN)) if char not in text)
    return dict(zip(map(ord, _KEPT), free, strict=False))


def _folded(text: str) -> str:
    """Return a text without the case of letters; each character stays one."""
    return "".join(next((to for to in (char.casefold(), char.lower()) if len(to) == 1), char) for char in text)
