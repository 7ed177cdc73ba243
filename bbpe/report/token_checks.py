"""Checks of lint that look at tokens: can texts give them, and are they what one expects of a vocabulary."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from ..lazy import lazy_re, regex
from ..text import counted, shortened
from .findings import Example, Finding, Subject
from .reach import Reach, reach

_REASONS = {
    "cut": "the split pattern always cuts them",
    "normalized": "the normalizers change their text",
    "unmade": "no merge makes them",
    "outscored": "other tokens score higher",
    "covered": "other tokens are taken in their place",
}
#: A token with more characters is long, and with more than the second number suspicious.
_LONG, _SUSPICIOUS = 32, 64
_LINE_END = lazy_re(r"[\r\n]\s*[^\s]")
#: A long text of at most so many different characters is a repetition, such as a ruled line.
_FEW_CHARACTERS = 4
#: Scripts that are written together, as one.
_SCRIPTS = (
    "Latin", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Thai", "Bengali", "Tamil", "Telugu", "Kannada",
    "Malayalam", "Gujarati", "Gurmukhi", "Sinhala", "Georgian", "Armenian", "Ethiopic", "Khmer", "Lao", "Myanmar",
    "Tibetan", "Mongolian", "Cherokee",
)  # fmt: skip
_EAST_ASIAN = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}]"
_DIGITS = 400


def _reached(subject: Subject) -> Iterator[Finding]:
    found = reach(subject)
    for check in (_unreachable, _not_itself):
        yield from check(subject, found)


def _unreachable(subject: Subject, found: Reach) -> Iterator[Finding]:
    if not found.never:
        return
    counts = Counter(found.reasons)
    reasons = "; ".join(f"{_REASONS[reason]}: {count:,}" for reason, count in counts.most_common())
    chosen = sorted(found.never, key=lambda number: (subject.texts[number] is None, number))
    why_of = dict(zip(found.never, found.reasons, strict=True))
    examples = tuple(
        Example(each.id, each.token, f"({why_of[number]})")
        for number, each in zip(chosen, subject.examples(chosen), strict=False)
    )
    yield Finding(
        "unreachable", "warning", len(found.never),
        f"no text gives {counted(len(found.never), 'token')} ({reasons})",
        "A model never sees them in training, so their embeddings stay random, and they take memory.",
        "Train with the pattern and normalizers that encode, or drop them with `bbpe prune`.",
        examples, subject.ids_of(found.never), {"reasons": dict(counts)},
    )  # fmt: skip


def _not_itself(subject: Subject, found: Reach) -> Iterator[Finding]:
    # a vocabulary with marks for words or blanks gives a token only where its place is
    if subject.spec.characters is not None or subject.spec.model is not None or subject.spec.rules.prefix is not None:
        return
    never = set(found.never)
    within = [number for number in found.alone if number not in never]
    whole = [number for number in within if subject.texts[number] is not None]
    if not within:
        return
    yield Finding(
        "not-itself", "info", len(within),
        f"{counted(len(within), 'token', 'is', 'are')} given within longer texts only, {len(within) - len(whole):,} "
        "of them parts of characters; alone their text encodes to other tokens",
        "`encode(decode([id]))` is not `[id]` for them.",
        "Keep ids, not texts, where exact ids matter.",
        subject.examples(dict.fromkeys([*whole, *within])), subject.ids_of(within),
    )  # fmt: skip


def _undecodable(subject: Subject) -> Iterator[Finding]:
    numbers = [number for number, text in enumerate(subject.texts) if text is None]
    longer = [number for number in numbers if len(subject.tokens[number]) > 1]
    if not longer:
        return
    mixed = [number for number in longer if any(byte < 0x80 for byte in subject.tokens[number])]
    yield Finding(
        "partial-characters", "info", len(longer),
        f"{counted(len(longer), 'token', 'of several bytes begins or ends', 'of several bytes begin or end')} within a "
        f"character; {len(mixed):,} of them also with whole ASCII characters",
        "Decoding such a token alone gives U+FFFD, and a stream must wait for the rest.",
        "Decode streams with `stream_decoder()`, and cut texts with `truncate`.",
        subject.examples(dict.fromkeys([*mixed[:4], *longer])), subject.ids_of(longer),
    )  # fmt: skip


def _dead_merges(subject: Subject) -> Iterator[Finding]:
    if subject.live is None or subject.spec.merges is None:
        return
    live = set(subject.live.merges)
    dead = [merge for merge in subject.spec.merges if merge not in live]
    if not dead:
        return
    vocab = subject.spec.vocab
    examples = tuple(
        Example(made, vocab[made], _of(vocab[left], vocab[right])) for left, right, made in dead[:12]
    )
    yield Finding(
        "unused-merges", "warning", len(dead),
        f"{len(dead):,} of {counted(len(subject.spec.merges), 'merge', 'never applies', 'never apply')}, because "
        "earlier merges join their parts",
        "They take room, and hint at merges of two trainings or in another order.",
        "Save with bbpe, which keeps them, or train again; ids do not depend on them.",
        examples, tuple(made for _, _, made in dead),
    )  # fmt: skip


def _of(left: bytes, right: bytes) -> str:
    return f"of {shortened(left, quoted=True)} and {shortened(right, quoted=True)}"


def _twins(subject: Subject) -> Iterator[Finding]:
    texts = subject.texts
    whole = [(number, text) for number, text in enumerate(texts) if text is not None]
    known = {text for _, text in whole}
    spaced = [number for number, text in whole if text[:1] not in ("", " ") and f" {text}" in known]
    foreign = [(number, text) for number, text in whole if not text.isascii()]
    kinds: dict[str, Iterator[tuple[int, str]]] = {
        "case": ((number, text.lower()) for number, text in whole),
        "line ends": ((number, text.replace("\r\n", "\n")) for number, text in whole if "\r\n" in text),
        "Unicode form": ((number, unicodedata.normalize("NFC", text)) for number, text in foreign),
        "compatibility form": ((number, unicodedata.normalize("NFKC", text)) for number, text in foreign),
    }
    groups = {"a leading blank": len(spaced)}
    examples: list[Example] = []
    numbers = set(spaced)
    for kind, keys in kinds.items():
        twins = _groups(texts, keys)
        if kind == "compatibility form":
            kind = "compatibility form (NFKC)"
        groups[kind] = sum(map(len, twins)) - len(twins)
        for twin in twins:
            numbers.update(twin[1:])
        for first, second, *_ in twins[:2]:
            note = f"and {shortened(texts[first] or '', quoted=True)} ({kind})"
            examples.append(Example(int(subject.ids[second]), subject.tokens[second], note))
    shown = ", ".join(f"{kind} {count:,}" for kind, count in groups.items() if count)
    if not shown:
        return
    yield Finding(
        "twins", "info", len(numbers),
        f"{counted(len(numbers), 'token', 'equals', 'equal')} another one but for {shown}",
        "A model learns the same word several times; usual for blanks and case, for the others a sign of mixed data.",
        "Normalize texts (NFC, line ends) before training if such twins are not wanted.",
        tuple(examples), (), {"kinds": groups},
    )  # fmt: skip


def _groups(texts: list[str | None], keys: Iterable[tuple[int, str]]) -> list[list[int]]:
    """Return the places of texts that become equal, for each group of two or more, by the new texts of some places."""
    found: dict[str, list[int]] = {}
    changed = set()
    for number, key in keys:
        if key != texts[number]:
            found.setdefault(key, []).append(number)
            changed.add(number)
    # the others are in a group only if a text becomes one of them
    for number, text in enumerate(texts):
        if text in found and number not in changed:
            found[text].append(number)
    return sorted(sorted(group) for group in found.values() if len(group) > 1)


def _line_ends(subject: Subject) -> Iterator[Finding]:
    numbers = [number for number, text in enumerate(subject.texts) if text is not None and _LINE_END.search(text)]
    if not numbers:
        return
    yield Finding(
        "passes-line-end", "info", len(numbers),
        f"{counted(len(numbers), 'token', 'goes', 'go')} on after a line end with something other than white space",
        "Lines that are encoded one by one get other ids than the whole text.",
        "Encode whole documents, or choose a pattern that ends pretokens at line ends.",
        subject.examples(numbers), subject.ids_of(numbers),
    )  # fmt: skip


def _scripts(subject: Subject) -> Iterator[Finding]:
    texts = subject.texts
    foreign = [number for number, text in enumerate(texts) if text is not None and not text.isascii()]
    scripts = _scripts_of("".join(sorted({char for number in foreign for char in texts[number] or ""})))
    mixed = []
    for number in foreign:
        names = {scripts[char] for char in texts[number] or "" if char in scripts}
        if len(names) > 1:
            mixed.append((number, " and ".join(sorted(names))))
    if not mixed:
        return
    common = Counter(names for _, names in mixed).most_common(3)
    shown = ", ".join(f"{names} {count:,}" for names, count in common)
    yield Finding(
        "mixed-scripts", "info", len(mixed),
        f"{counted(len(mixed), 'token', 'has', 'have')} letters of several scripts: {shown}",
        "Some are words (as T恤), others are look-alike letters or the traces of spam.",
        "Look at them: they show what the training text contained.",
        subject.examples(number for number, _ in mixed), subject.ids_of(number for number, _ in mixed),
    )  # fmt: skip


def _scripts_of(chars: str) -> dict[str, str]:
    """Return the script of each letter of a set of characters; those written together in East Asia are one."""
    letters = "".join(regex.findall(r"\p{L}", chars + "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))
    found = dict.fromkeys(regex.findall(_EAST_ASIAN, letters), "East Asian")
    for script in _SCRIPTS:
        for char in regex.findall(rf"\p{{Script={script}}}", letters):
            found.setdefault(char, script)
    return found


def _long(subject: Subject) -> Iterator[Finding]:
    lengths = [(len(text), number) for number, text in enumerate(subject.texts) if text is not None]
    if not lengths:
        return
    texts = subject.texts
    long = [(n, number) for n, number in lengths if n > _LONG and len(set(texts[number] or "")) > _FEW_CHARACTERS]
    size, number = max(lengths)
    note = counted(size, "character")
    if not long:
        return
    long.sort(reverse=True)
    longest, is_bad = long[0], long[0][0] > _SUSPICIOUS
    if longest[1] != number:
        note += f"; the longest that is no repetition has {longest[0]}"
    yield Finding(
        "long", "warning" if is_bad else "info", len(long),
        f"{counted(len(long), 'token', 'has', 'have')} more than {_LONG} characters and "
        f"{'is' if len(long) == 1 else 'are'} no repetition; the longest token has {note}",
        "Such a token is a passage that the training text repeats, often boilerplate, and is rare elsewhere.",
        "Remove duplicates from the training text, or set `max_token_length`.",
        subject.examples(number for _, number in long), subject.ids_of(number for _, number in long),
    )  # fmt: skip


def _digits(subject: Subject) -> Iterator[Finding]:
    rng, lines, details, uneven = random.Random(0), [], {}, False
    for length in range(1, 7):
        space = 10**length
        numbers = range(space) if space <= _DIGITS else sorted(rng.sample(range(space), _DIGITS))
        texts = [f"{number:0{length}}" for number in numbers]
        counts = Counter(subject.tokenizer.count_tokens_batch(texts).tolist())
        details[str(length)] = {str(tokens): count / len(texts) for tokens, count in sorted(counts.items())}
        uneven |= len(counts) > 1 and length > 1
        lines.append(f"{length}: {'/'.join(map(str, sorted(counts)))}")
    yield Finding(
        "digits", "warning" if uneven else "info", 0,
        f"numbers of 1 to 6 digits become these numbers of tokens: {', '.join(lines)}"
        + (" (they differ between numbers of one length)" if uneven else ""),
        "Where numbers of one length are split in several ways, arithmetic is harder to learn."
        if uneven else "All numbers of one length are split alike, which helps arithmetic.",
        "Choose a pattern that splits numbers into single digits, such as qwen2; with groups of three, as in llama3 or "
        "o200k, this is so until all 1,110 groups are tokens." if uneven else "",
        (), (), {"tokens_by_digits": details},
    )  # fmt: skip


#: What is looked at of the tokens of a vocabulary.
TOKEN_CHECKS: tuple[Callable[[Subject], Iterator[Finding]], ...] = (
    _reached, _undecodable, _dead_merges, _twins, _line_ends, _scripts, _long, _digits,
)  # fmt: skip
