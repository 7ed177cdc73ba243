"""`tekken.json` of Mistral's models: ranks in base64, the pattern and the special tokens.

Special tokens have the first ids, and ordinary tokens follow in order of rank.  `default_vocab_size` limits how many of
the ranks in the file are used.  A pretoken that is a token becomes that token without merging.
Source of the format, and of the special tokens that files up to version 7 do not list: Mistral's `mistral-common`
(`tokens/tokenizers/tekken.py`).
"""

from __future__ import annotations

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..core.json_lines import find_members
from ..errors import PatternError, VocabularyError
from ..files import ReadFile, StrPath
from ..lazy import safe_import
from ..spec.models import Vocab
from ..spec.rules import Template
from ..spec.spec import MAX_ID, TokenizerSpec, make_spec
from ..splitting.patterns import Pattern, get_pattern, recognise
from .common.given import Given
from .common.key_tables import Unread, loads_without
from .common.ranks import ranks_of
from .common.reading import Fields, read_file, read_json, shown

# the special tokens 0, 1, 2, ... of files of versions up to 7 that do not list them
_UNLISTED = (
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] [/TOOL_RESULTS] [TOOL_CALLS] "
    "[IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] [SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]"
).split()
_BOS = "<s>"
_VERSIONS = ("v1", "v2", "v3", "v7", "v11", "v13", "v15")
_UNLISTED_UP_TO = _VERSIONS.index("v7")
_MOST_UNLISTED = 1 << 16
# fields that do not affect texts
_NOT_TEXT = ("image", "multimodal", "audio", "model_settings_builder", "version", "type")


def load(path: StrPath, given: Given) -> TokenizerSpec:
    """Read a `tekken.json`.

    `pattern` replaces the regex of the file, `special_tokens` its special tokens.  Control tokens are never found in a
    text unless a call allows them, as in `mistral-common`.  In the folder of a Mistral model, BOS precedes a text.

    Raises `VocabularyError` with file and position on malformed JSON, unknown fields, ranks out of order, bad base64
    and inconsistent sizes; `PatternError` on a regex that may mean something else for tiktoken.
    """
    data = read_file(path)
    document = _quick_document(data)
    if document is not None:
        with suppress(VocabularyError, PatternError):  # the slower reader explains what is wrong
            return _spec(document, path, given)
    return _spec(read_json(ReadFile(Path(path), data)), path, given)


def _quick_document(data: bytes) -> dict[str, Any] | None:
    """Return the value of a document with `Unread` rows; `None` when something is out of the ordinary or wrong."""
    places = find_members(data, b"vocab")
    if places is None or (0, 0) in places:
        return None
    value = loads_without(data, places)
    return value and {**value, "vocab": Unread(data, *places[0])}


def _spec(value: object, path: StrPath, given: Given) -> TokenizerSpec:
    document = Fields(value, path=path, place="")
    for field in _NOT_TEXT:
        document.take(field, None)
    config = Fields(document.take("config"), path=path, place="config")
    rows = document.take("vocab") if isinstance(document.peek("vocab"), Unread) else document.take_type("vocab", list)
    listed = document.take("special_tokens", None)
    document.done()
    source, count, size = _sizes(config, MAX_ID if isinstance(rows, Unread) else len(rows))
    vocab = _vocab(rows, count, size - count, path)
    special = _special_tokens(listed, count, config)
    config.done()
    special = dict(given.specials_or(special))
    return make_spec(
        vocab,
        None,
        pattern=_pattern(source, path) if given.pattern is None else get_pattern(given.pattern),
        special_tokens=special,
        whole_pretokens=True,
        name=given.name,
        template=_template(listed, special, path) if _BOS in special and _is_mistral(given) else None,
    )


def _template(listed: list[dict[str, Any]] | None, special: Mapping[str, int], path: StrPath) -> Template:
    """Return the template with BOS, whose id is the `rank` of its row, unlike the ids of special tokens in a text."""
    ranks = {row["token_str"]: row["rank"] for row in listed or ()}
    bos = ranks.get(_BOS, special[_BOS])
    if bos not in special.values():
        problem = f"the rank of {_BOS!r}, which is the id of BOS, is {bos}; expected the id of a special token"
        raise VocabularyError(problem, path=path, place="special_tokens")
    return Template(((bos, 0), ("A", 0)))


def _is_mistral(given: Given) -> bool:
    """Return whether this is a folder for which `transformers` asks `mistral-common`, which puts BOS in front."""
    if given.folder is None or not given.is_folder:
        return False
    safe_import("bbpe.formats.transformers.names")
    from .transformers.names import MISTRAL

    name, _, kind = given.folder.stated
    return kind in MISTRAL or name == "MistralCommonBackend"


def written(spec: TokenizerSpec, path: Path) -> dict[Path, bytes]:
    """Return a `tekken.json` that `mistral-common` reads to the same ids.

    Raises `VocabularyError` on added tokens; on special tokens that do not have the first ids; on ordinary tokens that
    do not follow them without a gap or do not begin with the 256 bytes in order; on merges that ranks cannot replace;
    and on a pattern of several regexes or an unknown one.
    """
    ranks = sorted(ranks_of(spec).items(), key=lambda item: item[1])
    count = len(spec.special_tokens)
    _check_order(spec, [token_id for _, token_id in ranks])
    wrong = next((byte for byte in range(256) if ranks[byte][0] != bytes((byte,))), None)
    if wrong is not None:
        raise VocabularyError(
            f"the token of rank {wrong} is {ranks[wrong][0]!r}; expected the single byte 0x{wrong:02X}, because "
            "tekken.json begins with the 256 bytes in order; write tokenizer.json",
        )
    document = {
        "config": {
            "pattern": _written_pattern(spec.pattern),
            "num_vocab_tokens": len(ranks),
            "default_vocab_size": count + len(ranks),
            "default_num_special_tokens": count,
            "version": "v7",
        },
        "vocab": [
            {"rank": rank, "token_bytes": b2a_base64(token, newline=False).decode(), "token_str": _text(token)}
            for rank, (token, _) in enumerate(ranks)
        ],
        "special_tokens": [
            {"rank": token_id, "token_str": text, "is_control": True}
            for text, token_id in sorted(spec.special_tokens.items(), key=lambda item: item[1])
        ],
    }
    return {path: json.dumps(document, ensure_ascii=False).encode()}


def _sizes(config: Fields, rows: int) -> tuple[str, int, int]:
    """Return the regex, the number of special tokens, and the number of all tokens."""
    source = config.take_type("pattern", str)
    config.take_type("num_vocab_tokens", int, rows)  # readers ignore this field
    count = config.take_type("default_num_special_tokens", int)
    size = config.take_type("default_vocab_size", int)
    if not 0 <= count <= size:
        config.refuse(f"found {count}; expected 0 to default_vocab_size, {size}", "default_num_special_tokens")
    if size > MAX_ID or size - count > rows:
        config.refuse(
            f"found {size}; expected at most {rows} tokens of vocab plus {count} special tokens", "default_vocab_size"
        )
    return source, count, size


def _vocab(rows: Unread | list[Any], first: int, most: int, path: StrPath) -> Vocab:
    """Return the tokens of the first `most` rows, with the ids `first` and up."""
    if not isinstance(rows, Unread):
        return Vocab(dict(enumerate(_tokens(rows[:most], path), first)))
    found = Vocab.of_tekken(rows.data, rows.start, rows.end, first, most)
    if found is None:
        raise VocabularyError("a row is out of the ordinary; expected a rank, a token and its text")
    return found


def _tokens(rows: list[Any], path: StrPath) -> list[bytes]:
    tokens: dict[bytes, int] = {}
    for rank, value in enumerate(rows):
        row = Fields(value, path=path, place=f"vocab[{rank}]")
        found, encoded = row.take_type("rank", int), row.take_type("token_bytes", str)
        row.take("token_str")
        row.done()
        if found != rank:
            row.refuse(f"found {found}; expected {rank}, because ranks number the tokens", "rank")
        try:
            token = a2b_base64(encoded, strict_mode=True)
        except ValueError as error:  # also bad base64
            row.refuse(f"found {shown(encoded)}; expected a token in base64 ({error})", "token_bytes")
        if tokens.setdefault(token, rank) != rank:
            row.refuse(f"token {token!r} is already in vocab[{tokens[token]}]; expected each token once", "token_bytes")
    return list(tokens)


def _special_tokens(listed: object, count: int, config: Fields) -> dict[str, int]:
    """Return the special tokens; an id without a text in the file gets the text `<SPECIAL_n>`."""
    version = config.take_type("version", str)
    if version not in _VERSIONS:
        config.refuse(f"found {version!r}; expected one of {', '.join(_VERSIONS)}", "version")
    texts: list[str] = []
    if listed is None:
        if _VERSIONS.index(version) > _UNLISTED_UP_TO:
            config.refuse(f"found {version}, which requires the field special_tokens; expected that field", "version")
        texts += _UNLISTED
    elif not isinstance(listed, list):
        raise VocabularyError(f"found {shown(listed)}; expected a list", path=config.path, place="special_tokens")
    else:
        for number, value in enumerate(listed):
            texts.append(_special_token(Fields(value, path=config.path, place=f"special_tokens[{number}]")))
    if len(texts) > count:
        config.refuse(f"found {count}; expected at least {len(texts)}, the listed ones", "default_num_special_tokens")
    if count - len(texts) > _MOST_UNLISTED:
        config.refuse(
            f"found {count}, of which {len(texts)} have a text; expected at most {_MOST_UNLISTED} without one",
            "default_num_special_tokens",
        )
    texts += [f"<SPECIAL_{number}>" for number in range(len(texts), count)]
    special = {text: number for number, text in enumerate(texts)}
    if len(special) < len(texts):
        number = next(number for number, text in enumerate(texts) if special[text] != number)
        problem = f"special token {texts[number]!r} is listed twice; expected each token once"
        raise VocabularyError(problem, path=config.path, place=f"special_tokens[{number}]")
    return special


def _special_token(row: Fields) -> str:
    row.take_type("rank", int)  # readers count the rows
    text = row.take_type("token_str", str)
    row.take_type("is_control", bool)
    row.done()
    return text


def _pattern(source: str, path: StrPath) -> Pattern:
    """Return the pattern of a regex in tiktoken's dialect, fancy-regex: text that it does not match is dropped."""
    try:
        return _tiktoken_pattern(source)
    except PatternError as error:
        raise PatternError(f"{path}: config.pattern: {error}") from None


def _tiktoken_pattern(source: str) -> Pattern:
    pattern = recognise((source,))
    if pattern.scheme is not None:
        return pattern
    safe_import("bbpe.splitting.automaton")
    safe_import("bbpe.splitting.fancy_regex")
    from ..splitting.automaton import may_begin_empty
    from ..splitting.fancy_regex import tiktoken_pattern

    pattern = tiktoken_pattern(source)
    if may_begin_empty(pattern.steps[0]):
        raise PatternError(f"{shown(source)} matches the empty text, for which tiktoken fails; expected characters")
    return pattern


def _written_pattern(pattern: Pattern) -> str:
    problem = f"tekken.json cannot hold the pattern {str(pattern)!r}"
    if len(pattern.steps) != 1 or pattern.drops_gaps is (pattern.scheme is not None):
        raise VocabularyError(f"{problem}; expected a single regex of a known pattern. Write tokenizer.json")
    try:
        is_same = _tiktoken_pattern(pattern.steps[0]) == pattern
    except PatternError as error:
        raise VocabularyError(f"{problem}: {error}. Write tokenizer.json") from None
    if not is_same:
        raise VocabularyError(f"{problem}, which has another meaning in tiktoken's dialect. Write tokenizer.json")
    return pattern.steps[0]


def _check_order(spec: TokenizerSpec, ids: list[int]) -> None:
    count = len(spec.special_tokens)
    if spec.added_tokens:
        problem = f"tekken.json cannot hold the added token {min(spec.added_tokens)!r}; write tokenizer.json"
        raise VocabularyError(problem)
    numbered = sorted(spec.special_tokens.items(), key=lambda item: item[1])
    for number, (text, token_id) in enumerate(numbered):
        if token_id != number:
            raise VocabularyError(
                f"special token {text!r} has id {token_id}; expected {number}, because tekken.json numbers special "
                "tokens from 0. Write tokenizer.json",
            )
    for number, token_id in enumerate(ids, count):
        if token_id != number:
            raise VocabularyError(
                f"token {spec.vocab[token_id]!r} has id {token_id}; expected {number}, because ordinary tokens follow "
                "special tokens without a gap in tekken.json. Write tokenizer.json",
            )


def _text(token: bytes) -> str | None:
    try:
        return token.decode("utf-8")
    except UnicodeDecodeError:
        return None
