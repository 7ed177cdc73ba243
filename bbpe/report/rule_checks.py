"""Checks of lint that look at what is around the tokens: special tokens, templates, patterns, bytes, Unicode."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

from ..core.split import UNICODE_VERSION
from ..errors import VocabularyError
from ..lazy import lazy_re
from ..pipeline.special_tokens import END_OF_TEXT
from ..spec.chat_templates import chat_templates
from ..spec.models import WordLevelModel, WordPieceModel
from ..spec.named_tokens import named_tokens
from ..spec.rules import BYTE_KEYS, UnicodeForm
from ..spec.spec import TextRules
from ..text import counted, shortened
from .findings import Example, Finding, Subject, unknown_id

#: Texts of every kind of character, which a round trip keeps or not.
_SAMPLES = {
    "English": "Hello, world! It's 2024.",
    "runs of blanks": "a  b   c",
    "leading and trailing blanks": "  a ",
    "line ends and tabs": "a\r\n\n\tb\n",
    "upper case": "ABC Def",
    "accents": "café naïve Ünï",
    "decomposed accents": "cafe\u0301",
    "Chinese": "你好，世界",
    "other scripts": "привет שלום नमस्ते 안녕 สวัสดี",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪",
    "full width": "ＡＢＣ１２３",
    "controls": "a\x00\x1b\u200bb",
    "the mark of blanks": "a▁b",
    "rare characters": "𒀀𠮷\U0010fffd",
}
_LIKE_SPECIAL = lazy_re(r"<\|[^|<>\s]{1,60}\|>|<｜[^｜<>]{1,60}｜>|\[/?[A-Z_]{3,30}\]")


def _named(subject: Subject) -> Iterator[Finding]:
    id_of = subject.tokenizer._parts.vocabulary.id_of_text
    missing = {use: text for use, text in named_tokens(subject.spec).items() if id_of(text) is None}
    if missing:
        shown = ", ".join(f"{use}_token {shortened(text, quoted=True)}" for use, text in missing.items())
        yield Finding(
            "named-tokens", "error", len(missing),
            f"the configuration names tokens that the vocabulary does not have: {shown}",
            "Other libraries add them with new ids, beyond the embeddings of the model.",
            "Correct tokenizer_config.json, or add the tokens.",
            tuple(Example(None, text.encode("utf-8", "surrogatepass"), use) for use, text in missing.items()),
        )  # fmt: skip


def _chat_template(subject: Subject) -> Iterator[Finding]:
    template = _template_of(subject)
    known = {*subject.spec.special_tokens, *subject.spec.added_tokens}
    named = sorted(set(_LIKE_SPECIAL.findall(template)) - known)
    missing = [text for text in named if subject.tokenizer._parts.vocabulary.id_of_text(text) is None]
    if missing:
        yield Finding(
            "chat-template", "error", len(missing),
            f"the chat template writes {counted(len(missing), 'text', 'that looks', 'that look')} like special tokens "
            f"and {'is' if len(missing) == 1 else 'are'} none: "
            f"{', '.join(shortened(text, quoted=True) for text in missing[:6])}",
            "They are encoded as ordinary text, which the model was not trained on.",
            "Add them as special tokens, or use the template of this tokenizer.",
            tuple(Example(None, text.encode(), "") for text in missing[:12]),
        )  # fmt: skip


def _template_of(subject: Subject) -> str:
    try:
        return "\n".join(template.source for template in chat_templates(subject.spec).values())
    except VocabularyError:
        return ""  # the files hold no template that can be read


def _special_texts(subject: Subject) -> Iterator[Finding]:
    spec = subject.spec
    by_text = {token: token_id for token_id, token in spec.vocab.items()}
    twice, plain = [], []
    for text, token_id in {**spec.added_tokens, **spec.special_tokens}.items():
        token = text.encode("utf-8", "surrogatepass")
        other = by_text.get(token)
        if other is not None and other != token_id:
            twice.append(Example(token_id, token, f"is also token {other}"))
        elif text in spec.special_tokens and re.fullmatch(r"[\w ]+", text):
            plain.append(Example(token_id, token))
    if twice:
        yield Finding(
            "special-twice", "warning", len(twice),
            f"{counted(len(twice), 'special or added token', 'is also an', 'are also')} ordinary "
            f"{'token' if len(twice) == 1 else 'tokens'} with another id",
            "One text has two ids: which one a text gets depends on the call and the library.",
            "Remove such texts from the training text, and pass them as special tokens.",
            tuple(twice[:12]), tuple(each.id for each in twice if each.id is not None),
        )  # fmt: skip
    if plain:
        yield Finding(
            "special-is-text", "warning", len(plain),
            counted(len(plain), "special token", "is an ordinary word", "are ordinary words"),
            "Text from outside that has the word becomes a control token where special tokens are allowed.",
            "Give special tokens a form that no text has, such as <|name|>.",
            tuple(plain[:12]), tuple(each.id for each in plain if each.id is not None),
        )  # fmt: skip


def _padding(subject: Subject) -> Iterator[Finding]:
    tokenizer, spec = subject.tokenizer, subject.spec
    names = named_tokens(spec)
    if "pad" not in names and spec.padding is None:
        is_trained = spec.template is not None or bool(spec.files)
        yield Finding(
            "no-pad", "warning" if is_trained else "info", 1,
            "no token for padding is named",
            "Batches are padded with the end-of-text token; a loss that leaves it out teaches a model never to end.",
            "Name a pad_token in tokenizer_config.json, or pass `pad_id=`, and mask padding in the loss.",
        )  # fmt: skip
    if "eos" not in names and not any(text in tokenizer.special_tokens for text in END_OF_TEXT):
        yield Finding(
            "no-end", "info", 1,
            "no token for the end of a text is named",
            "A model that never sees an end does not learn to stop.",
            "Train with a special token such as <|endoftext|>, and name it as eos_token.",
        )  # fmt: skip


def _missing_bytes(subject: Subject) -> Iterator[Finding]:
    spec = subject.spec
    characters = spec.characters
    if characters is None:
        if isinstance(spec.model, WordPieceModel | WordLevelModel):
            yield from _unknown(subject, spec.model.unknown)
        return
    if characters.are_bytes:
        tokens = set(spec.vocab.values())
        missing = [byte for byte in range(256) if bytes((byte,)) not in tokens]
        if missing:
            yield Finding(
                "missing-bytes", "warning", len(missing),
                f"{len(missing)} of 256 bytes have no token: {' '.join(BYTE_KEYS[byte] for byte in missing[:6])} ...",
                "Texts with these bytes are not encoded as a whole.",
                "Train with all bytes (bbpe does, `tokenizers` with `initial_alphabet`).",
                tuple(Example(None, bytes((byte,))) for byte in missing[:12]),
            )  # fmt: skip
    elif not characters.byte_ids:
        yield from _unknown(subject, characters.unknown)


def _unknown(subject: Subject, unknown: int | None) -> Iterator[Finding]:
    lost = unknown is None
    yield Finding(
        "unknown-characters", "warning" if lost else "info", 1,
        "characters without a token are left out" if lost else f"characters without a token become one unknown token "
        f"({unknown_id(subject.spec)})",
        "Such text cannot be decoded again.",
        "Use byte fallback or a byte-level vocabulary where every text matters.",
    )  # fmt: skip


def _round_trip(subject: Subject) -> Iterator[Finding]:
    tok = subject.tokenizer
    lost = {kind: text for kind, text in _SAMPLES.items() if tok.decode(tok.encode(text)) != text}
    if not lost:
        return
    spec = subject.spec
    is_by_rule = spec.rules != TextRules() or spec.pattern.drops_gaps
    is_by_rule |= spec.characters is not None or spec.model is not None
    examples = tuple(
        Example(None, text.encode(), f"becomes {shortened(tok.decode(tok.encode(text)), quoted=True)}")
        for text in lost.values()
    )
    yield Finding(
        "round-trip", "info" if is_by_rule else "error", len(lost),
        f"decoding does not give back texts with: {', '.join(lost)}",
        "What is lost in encoding, a model cannot learn or write."
        if is_by_rule else "A tokenizer of bytes without rules gives back every text; this one does not.",
        "Expected with normalizers and unknown tokens; use a byte-level vocabulary where texts must survive."
        if is_by_rule else "Report it with the file.",
        examples[:12],
    )  # fmt: skip


def _drops(subject: Subject) -> Iterator[Finding]:
    pattern = subject.spec.pattern
    if pattern.drops_gaps:
        yield Finding(
            "pattern-drops", "warning", 1,
            f"the split pattern {shortened(str(pattern), 80)} drops the text that it does not match",
            "White space, or more, is lost in encoding.",
            "Choose a pattern that keeps all text if decoding must give it back.",
        )  # fmt: skip
        return
    for text in _SAMPLES.values():
        spans = list(pattern.spans(text))
        joined = all(end == start for (_, end), (start, _) in pairwise(spans))
        if not joined or (spans and (spans[0][0], spans[-1][1]) != (0, len(text))):
            yield Finding(
                "pattern-loses", "error", 1,
                f"the split pattern loses or repeats a part of {text!r}",
                "Encoding does not cover the text.", "Correct the regex.",
            )  # fmt: skip
            return


def _unicode(subject: Subject) -> Iterator[Finding]:
    classifies = any("\\" in step for step in subject.spec.pattern.steps)
    if not (classifies and any(isinstance(rule, UnicodeForm) for rule in subject.spec.rules.normalizers)):
        return
    yield Finding(
        "unicode-versions", "info", 1,
        f"characters are classified by Unicode {UNICODE_VERSION}, normal forms by Unicode 9.0",
        "Other libraries may split or normalize characters that are newer than one of the versions in another way.",
        "Pin the versions of the libraries that encode, or test the characters that matter.",
    )  # fmt: skip


#: What is looked at of the rules of a tokenizer.
RULE_CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    _named, _chat_template, _special_texts, _padding, _missing_bytes, _round_trip, _drops, _unicode,
)  # fmt: skip
