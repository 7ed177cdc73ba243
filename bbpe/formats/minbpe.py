"""minbpe's `.model`: a version, a pattern, special tokens with their ids, and merges as pairs of ids.

Ids 0 to 255 are the bytes, and each merge makes the next id.  An empty pattern means that texts are not split.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import VocabularyError
from ..files import StrPath
from ..spec.spec import TokenizerSpec, make_spec
from ..splitting.patterns import get_pattern
from .common.given import Given
from .common.reading import read_text

_VERSION = "minbpe v1"


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a model; the arguments replace its pattern and its special tokens.

    Raises `VocabularyError` with the line that is not as expected, and on a merge of ids that are not made before it.
    """
    lines = [line.removesuffix("\r") for line in read_text(path).rstrip("\r\n").split("\n")]
    if lines[0] != _VERSION:
        raise VocabularyError(f"found {lines[0][:40]!r}; expected {_VERSION!r}", place="line 1")
    count = lines[2] if len(lines) > 2 else ""
    if not (count.isascii() and count.isdigit() and len(count) < 7):
        raise VocabularyError(f"found {count[:40]!r}; expected the number of special tokens", place="line 3")
    first = 3 + int(count)
    if len(lines) < first:
        raise VocabularyError(f"found {len(lines) - 3:,} special tokens; expected {int(count):,}", place="the end")
    special = given.special_tokens
    if special is None:
        special = dict(_special(line, number) for number, line in enumerate(lines[3:first], 4))
    vocab = {byte: bytes((byte,)) for byte in range(256)}
    pairs = []
    for number, line in enumerate(lines[first:], first + 1):
        ids = line.split(" ")
        if len(ids) != 2 or not all(part.isascii() and part.isdigit() and len(part) < 10 for part in ids):
            raise VocabularyError(f"found {line[:40]!r}; expected the two ids of a merge", place=f"line {number}")
        left, right = map(int, ids)
        if left not in vocab or right not in vocab:
            problem = f"merge of {left} and {right}: expected ids below {len(vocab)}, which are made before it"
            raise VocabularyError(problem, place=f"line {number}")
        pairs.append((vocab[left], vocab[right]))
        vocab[len(vocab)] = vocab[left] + vocab[right]
    own = lines[1] or "none"
    chosen = get_pattern(own if given.pattern is None else given.pattern)
    return make_spec(vocab, pairs, pattern=chosen, special_tokens=special, name=given.name)


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a model.

    Raises `VocabularyError` on a spec whose ids are not the bytes and then the results of merges in order, or whose
    pattern is not one regex.
    """
    merges = spec.merges if spec.characters is None and spec.model is None else None
    bytes_first = all(spec.vocab.get(byte) == bytes((byte,)) for byte in range(256))
    if merges is None or not bytes_first or [made for _, _, made in merges] != list(range(256, 256 + len(merges))):
        problem = "minbpe's ids are the 256 bytes and then the results of merges in order; write tokenizer.json"
        raise VocabularyError(problem)
    if len(spec.pattern.steps) > 1 or spec.pattern.drops_gaps or any("\n" in step for step in spec.pattern.steps):
        raise VocabularyError("minbpe holds one regex on one line; write tokenizer.json")
    broken = next((text for text in spec.special_tokens if "\n" in text or text != text.strip()), None)
    if broken is not None or spec.added_tokens:
        raise VocabularyError("minbpe holds no added tokens or special tokens with white space")
    lines = [_VERSION, *(spec.pattern.steps or ("",)), str(len(spec.special_tokens))]
    lines += [f"{text} {token_id}" for text, token_id in spec.special_tokens.items()]
    lines += [f"{left} {right}" for left, right, _ in merges]
    return {path: "".join(f"{line}\n" for line in lines).encode()}


def _special(line: str, number: int) -> tuple[str, int]:
    text, _, token_id = line.rpartition(" ")
    if not text or not (token_id.isascii() and token_id.isdigit() and len(token_id) < 10):
        problem = f"found {line[:40]!r}; expected a special token, a blank and its id"
        raise VocabularyError(problem, place=f"line {number}")
    return text, int(token_id)
