"""Texts to encodings over the engine of bbpe, for the views for `tokenizers` and `transformers`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from copy import copy
from itertools import chain
from typing import Any

from ...core.column import Column
from ...encoding.engine import NOTHING_AROUND, Around, added
from ...encoding.places import PlaceFinder
from ...errors import TokenIdError
from ...lazy import lazy_property, np, npt, safe_import
from ...pipeline.special_tokens import NOTHING, Matcher
from ...records import flag, replace
from ...spec.models import UnigramModel
from ...spec.rules import SPACE_MARK, Template
from ...text import WHITE_SPACE
from ...tokenizer import Tokenizer
from ..columns import text_of
from .encoding import Encoding, EncodingPart, Span, first_at

#: The template of tokenizers without one.
_NO_TEMPLATE = Template((("A", 0),), (("A", 0), ("B", 1)))
_UNKNOWN = "\ufffd"
#: The largest id that `tokenizers` takes.
_LARGEST = 0xFFFFFFFF
#: White space of a text, and the mark that may stand for it in a normalized one.
_BLANKS = WHITE_SPACE + SPACE_MARK


class HfTexts:
    """Encodes texts as `tokenizers` does: added and special tokens match in all texts."""

    def __init__(self, tokenizer: Tokenizer, keeps_types: bool = True) -> None:
        self.tokenizer, self.spec = tokenizer, tokenizer.spec
        #: Whether overflowing windows have the numbers of their texts as type ids, not those of the template.
        self.keeps_types = keeps_types
        self.template = self.spec.template or _NO_TEMPLATE

    @lazy_property
    def keys(self) -> dict[str, int]:
        """The tokens, as the vocabulary writes them, and their ids."""
        return self.tokenizer.get_vocab()

    @lazy_property
    def names(self) -> dict[int, str]:
        """The tokens by their ids."""
        names = {token_id: key for key, token_id in self.keys.items()}
        return names | {token_id: text for text, token_id in self._others.items()}

    @lazy_property
    def untrimmed(self) -> PlaceFinder:
        """The finder of places with the white space around them."""
        tokenizer = self.tokenizer
        return PlaceFinder(tokenizer._parts.encoder, replace(self.spec, trims=()), tokenizer._parts.vocabulary)

    def normalized(self, text: str) -> str:
        """Return a text as the model gets it."""
        return text if self._normalize is None else self._normalize(text)

    @lazy_property
    def _normalize(self) -> Callable[[str], str] | None:
        safe_import("bbpe.pipeline.compiled_normalizers")
        from ...pipeline.compiled_normalizers import normalize_function

        return normalize_function(self.tokenizer.spec.rules.normalizers)

    def marked(self, text: str) -> str:
        """Return a text as the model gets it, with the marks that stand for blanks in its vocabulary."""
        characters, text = self.spec.characters, self.normalized(text)
        return text.replace(" ", SPACE_MARK) if characters is not None and characters.marks_blanks else text

    def normalized_inside(self, blanks: str) -> str:
        """Return white space as the model gets it in the middle of a text."""
        if not blanks:
            return ""
        text = self.normalized(f".{blanks}.")
        return text[text.find(".") + 1 : text.rfind(".")]

    @lazy_property
    def _others(self) -> dict[str, int]:
        return {**self.spec.added_tokens, **self.spec.special_tokens}

    @lazy_property
    def _template_names(self) -> dict[int, str]:
        texts = {token_id: text for text, token_id in self._others.items()}
        items = {item for item, _ in (*self.template.single, *self.template.pair) if isinstance(item, int)}
        return {item: texts[item] if item in texts else self.names.get(item, "") for item in items}

    @lazy_property
    def varied(self) -> frozenset[int]:
        """The ids whose token is a part of the text: tokens with white space around them, unknown text of Unigram."""
        changed = {self._others[text] for text, options in self.spec.token_options.items() if text in self._others}
        return frozenset(changed if self.unknown is None else {*changed, self.unknown})

    @lazy_property
    def cutting(self) -> frozenset[int]:
        """The ids of added and special tokens that are found first, so that the text after them is normalized alone."""
        options = self.spec.token_options
        return frozenset(
            token_id for text, token_id in self._others.items() if text not in options or not options[text].normalized
        )

    @lazy_property
    def unknown(self) -> int | None:
        """The id whose token is the unknown text itself, as Unigram has it."""
        characters = self.spec.characters
        return characters.unknown if characters is not None and isinstance(self.spec.model, UnigramModel) else None

    @lazy_property
    def byte_ids(self) -> dict[int, int]:
        """The bytes of the tokens that decoding takes for bytes one by one."""
        characters = self.spec.characters
        return {} if characters is None else {token_id: byte for byte, token_id in characters.byte_tokens.items()}

    def matcher(self, plain_specials: bool) -> Matcher | None:
        """Return the matcher of a call; `plain_specials`: special tokens in a text are plain text."""
        return self._plain if plain_specials else self.tokenizer._parts.specials.matcher("all")

    @lazy_property
    def _plain(self) -> Matcher | None:
        """What finds no special tokens; as in `tokenizers`, the model makes those that it has."""
        found = self.tokenizer._parts.specials.matcher()
        if self.spec.modelled:
            found = copy(NOTHING if found is None else found)
            found.ids |= frozenset(self.spec.modelled)
        return found

    def added_count(self, is_pair: bool) -> int:
        """Return the number of ids that the template adds."""
        items = self.template.pair if flag("is_pair", is_pair) else self.template.single
        return sum(not isinstance(item, str) for item, _ in items)

    def __reduce__(self) -> tuple[type[HfTexts], tuple[Any, ...]]:
        return HfTexts, (self.tokenizer, self.keeps_types)

    # -- encoding --------------------------------------------------------------------------------------------

    @lazy_property
    def _specials(self) -> Matcher | None:
        return self.matcher(False)

    @lazy_property
    def _around(self) -> Around:
        return self.spec.template.around if self.spec.template is not None else NOTHING_AROUND

    def ids(self, text: str, plain_specials: bool, adds: bool) -> list[int]:
        """Return the ids of one text, with those of the template if `adds` is true."""
        matcher = self.matcher(True) if plain_specials else self._specials
        return self.tokenizer._parts.encoder.to_list(text, matcher, added(self._around, adds))

    def encoded(self, text: str, matcher: Matcher | None) -> Encoding:
        """Return the encoding of one text, without a template."""
        return self._of(self.tokenizer._parts.encoder.to_list(text, matcher), TextSource(self, text, matcher))

    def encoded_each(self, texts: list[str], matcher: Matcher | None) -> list[Encoding]:
        """Return the encodings of texts, without templates."""
        rows = self.tokenizer._parts.encoder.lists(list(texts), matcher, None)
        sources = (TextSource(self, text, matcher) for text in texts)
        return [self._of(ids, source) for ids, source in zip(rows, sources, strict=True)]

    def encoded_column(self, texts: Column, matcher: Matcher | None) -> list[Encoding]:
        """Return the encodings of the texts of a column, without templates."""
        rows = self.tokenizer._parts.encoder.lists(texts, matcher, None)
        return [self._of(ids, ColumnSource(self, texts, row, matcher)) for row, ids in enumerate(rows)]

    def encoded_words(self, words: Sequence[str], matcher: Matcher | None) -> Encoding:
        """Return the encoding of a text that is given as words."""
        rows = self.tokenizer._parts.encoder.lists(list(words), matcher, None)
        sources = [TextSource(self, text, matcher) for text in words]
        return self._of(list(chain.from_iterable(rows)), WordSource(sources, [len(ids) for ids in rows]))

    def _of(self, ids: list[int], source: TextSource | WordSource) -> Encoding:
        return Encoding.of(ids, [EncodingPart(source, 0, len(ids))], {}, [])

    def joined(self, texts: Sequence[Encoding], adds: bool, firsts: Sequence[Encoding] = ()) -> Encoding:
        """Return one text, or a pair, in a row, with the ids of the template if `adds` is true.

        Windows of texts are not among the `firsts`, if there are some.
        """
        template = self.template.single if len(texts) == 1 else self.template.pair
        if not template:
            template = _NO_TEMPLATE.pair
        ids, parts, ranges = list[int](), list[EncodingPart](), dict[int, Span]()
        for item, type_id in template:
            if isinstance(item, str):
                number = "AB".index(item)
                text = texts[number]
                ranges[number] = (len(ids), len(ids) + len(text))
                ids += text._ids
                is_window = self.keeps_types and firsts and not any(text is first for first in firsts)
                parts += text.replaced(number if is_window else type_id)
            elif adds:
                ids.append(item)
                parts.append(EncodingPart.added(self._template_names[item], 1, type_id, 1))
        return Encoding.of(ids, parts, ranges, [])

    # -- decoding --------------------------------------------------------------------------------------------

    def decoded(self, ids: Any, skip_special_tokens: bool) -> str:
        """Return the text of ids; ids without a token have no text."""
        decoder = self.tokenizer._parts.decoder
        try:
            text = decoder.text(ids, "replace", None, skip_special_tokens, "raise")
        except TokenIdError:
            if min(ids) < 0 or max(ids) > _LARGEST:
                raise
            ids = [token_id for token_id in ids if token_id in self.names]
            text = decoder.text(ids, "replace", None, skip_special_tokens, "raise")
        if set(_UNKNOWN.encode()) <= set(self.byte_ids.values()) and _UNKNOWN in text:
            text = decoder.text(self._with_marks(ids), "replace", None, skip_special_tokens, "raise")
        return text

    def _with_marks(self, ids: Sequence[int]) -> list[int]:
        """Return ids with U+FFFD for each byte of a run of byte tokens that is not UTF-8, as `tokenizers` has it."""
        known = {} if self.spec.characters is None else self.spec.characters.byte_tokens
        mark = [known[byte] for byte in _UNKNOWN.encode()]
        found, run = list[int](), list[int]()
        for token_id in (*map(int, ids), -1):
            if token_id in self.byte_ids:
                run.append(token_id)
                continue
            try:
                bytes(self.byte_ids[each] for each in run).decode()
            except UnicodeDecodeError:
                run = mark * len(run)
            found += [*run, token_id]
            run = []
        return found[:-1]


def _pairs(spans: npt.NDArray[np.int64]) -> list[Span]:
    """Return spans, int64[n, 2], as a list; no lists of two are made on the way, which cost three times the tuples."""
    return list(zip(*spans.T.tolist(), strict=True))


class TextSource:
    """One text, whose tokens, places and words are found when they are asked for."""

    def __init__(self, hf_texts: HfTexts, text: str, matcher: Matcher | None) -> None:
        self._hf_texts, self._text, self._matcher = hf_texts, text, matcher

    @lazy_property
    def _found(self) -> tuple[list[Span], Sequence[int | None]]:
        _, places, words = self._hf_texts.tokenizer._parts.places.words(self._text, "char", self._matcher)
        return _pairs(places), words

    @lazy_property
    def _places(self) -> list[Span]:
        finder = self._hf_texts.tokenizer._parts.places
        if finder.has_words:
            return self._found[0]
        return _pairs(finder.with_offsets(self._text, "char", self._matcher)[1])

    @lazy_property
    def _ends(self) -> tuple[npt.NDArray[np.int64], bool]:
        """The places, int64[n, 2], and whether neither starts nor ends go back, so that a search need not read all."""
        places = self._hf_texts.tokenizer._parts.places.with_offsets(self._text, "char", self._matcher)[1]
        return places, not (places[1:] < places[:-1]).any()

    def at(self, character: int, start: int, stop: int) -> int | None:
        """Return the first of some ids that comes from a character; no list of places is made for it."""
        places, is_ordered = self._ends
        if not is_ordered:
            return first_at(self._places, character, start, stop)
        number = start + int(np.searchsorted(places[start:stop, 1], character, "right"))
        return number if number < stop and places[number, 0] <= character else None

    def covered(self, spans: npt.NDArray[np.int64], start: int, stop: int) -> tuple[list[int], bool] | None:
        """Return 1 for each of some ids whose place overlaps one of the spans, int64[m, 2], and 0 for the others.

        Also return whether each span begins in its first id and ends in its last, the only one of its last character.
        It is `None` where places go back.
        """
        places, is_ordered = self._ends
        if not is_ordered:
            return None
        starts, ends = places[start:stop].T
        firsts, lasts = np.searchsorted(ends, spans[:, 0], "right"), np.searchsorted(starts, spans[:, 1], "left")
        last_ones = np.searchsorted(ends, spans[:, 1] - 1, "right") + 1
        mask, is_whole = np.zeros(stop - start, np.uint8), True
        for (begin, end), first, last, one in zip(
            spans.tolist(), firsts.tolist(), lasts.tolist(), last_ones.tolist(), strict=True
        ):
            if first < last:
                mask[first:last] = 1
                is_whole &= begin < end and last == one and starts[first] <= begin
            else:
                is_whole &= begin == end
        return mask.tolist(), is_whole

    def tokens(self, ids: list[int], start: int, stop: int) -> list[str]:
        """Return the tokens of ids."""
        names, varied = self._hf_texts.names, self._hf_texts.varied
        tokens = [names[token_id] for token_id in ids]
        if varied and not varied.isdisjoint(ids):
            tokens = [
                self._part(number, token_id) if token_id in varied else token
                for number, token_id, token in zip(range(start, stop), ids, tokens, strict=True)
            ]
        return tokens

    @lazy_property
    def _whole(self) -> tuple[list[int], list[list[int]]]:
        """Ids, and their places with the white space around tokens."""
        ids, places, _ = self._hf_texts.untrimmed.words(self._text, "char", self._matcher)
        return ids, places.tolist()

    def _part(self, number: int, token_id: int) -> str:
        """Return the part of the text, as normalized, that an id comes from."""
        hf_texts = self._hf_texts
        if token_id == hf_texts.unknown:
            return self._unknown_part(number)
        start, stop = self._whole[1][number]
        text = self._text[start:stop]
        token = hf_texts.names[token_id]
        options = hf_texts.spec.token_options[token]
        if not options.normalized:
            return text
        if not text.strip(WHITE_SPACE):
            return hf_texts.normalized_inside(text)
        # the text may have another case or another form than the token, or lack a blank that a normalizer adds
        written = token if options.verbatim else hf_texts.normalized(token)
        before, after = text[: -len(text.lstrip(WHITE_SPACE))], text[len(text.rstrip(WHITE_SPACE)) :]
        # a token before it may have taken its blanks
        written = written[max(len(token) - len(token.lstrip(WHITE_SPACE)) - len(before), 0) :]
        lead = len(written) - len(written.lstrip(_BLANKS))
        if lead > len(before) and number > 0 and self._whole[0][number - 1] not in hf_texts.cutting:
            return token  # a token of the model with the same id: normalizers add a blank only where a text begins
        before = before[: max(len(before) - lead, 0)]
        after = after[len(written) - len(written.rstrip(_BLANKS)) :]
        return hf_texts.normalized_inside(before) + written + hf_texts.normalized_inside(after)

    def _unknown_part(self, number: int) -> str:
        """Return what an unknown piece is in the normalized text: it may be a part of a character that has others."""
        ids, places = self._whole
        first = last = number
        while first > 0 and places[first - 1][1] > places[first][0]:
            first -= 1
        while last + 1 < len(places) and places[last][1] > places[last + 1][0]:
            last += 1
        whole = self._hf_texts.marked(self._text[places[first][0] : places[last][1]])
        names, unknown = self._hf_texts.names, self._hf_texts.unknown
        parts = ["(.+?)" if each == unknown else re.escape(names[each]) for each in ids[first : last + 1]]
        # a pre-tokenizer may write a blank before a text
        found = re.fullmatch("".join(parts), whole, re.DOTALL) or re.fullmatch(
            "".join(parts), SPACE_MARK + whole, re.DOTALL
        )
        if found is None:
            return self._hf_texts.marked(self._text[slice(*places[number])])
        return found[sum(each == unknown for each in ids[first : number + 1])]

    def offsets(self, start: int, stop: int) -> list[Span]:
        """Return the places of ids in the text."""
        return self._places[start:stop]

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the numbers of the words that ids are in."""
        return list(self._found[1][start:stop])


class ColumnSource(TextSource):
    """One text of a column, of which a string is made when tokens, places or words are asked for."""

    def __init__(self, hf_texts: HfTexts, column: Column, row: int, matcher: Matcher | None) -> None:
        self._hf_texts, self._column, self._row, self._matcher = hf_texts, column, row, matcher

    @lazy_property
    def _text(self) -> str:
        return text_of(self._column, self._row)


class WordSource:
    """A text that is given as words: places are those in each word."""

    def __init__(self, sources: list[TextSource], counts: list[int]) -> None:
        self._sources, self._counts = sources, counts

    def tokens(self, ids: list[int], start: int, stop: int) -> list[str]:
        """Return the tokens of ids."""
        found, done = list[str](), 0
        for source, count in zip(self._sources, self._counts, strict=True):
            first, last = max(start - done, 0), min(stop - done, count)
            if first < last:
                inside = ids[done + first - start : done + last - start]
                found += source.tokens(inside, first, last)
            done += count
        return found

    @lazy_property
    def _places(self) -> list[Span]:
        return [span for source, count in zip(self._sources, self._counts, strict=True)
                for span in source.offsets(0, count)]  # fmt: skip

    @lazy_property
    def _words(self) -> list[int | None]:
        return [number for number, count in enumerate(self._counts) for _ in range(count)]

    def offsets(self, start: int, stop: int) -> list[Span]:
        """Return the places of ids in their words."""
        return self._places[start:stop]

    def words(self, start: int, stop: int) -> list[int | None]:
        """Return the numbers of the words that ids are in."""
        return self._words[start:stop]

    def at(self, character: int, start: int, stop: int) -> int | None:
        """Return the first of some ids that comes from this character of its word."""
        return first_at(self._places, character, start, stop)
