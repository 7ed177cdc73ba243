"""GGUF, llama.cpp's model files: the vocabulary in the metadata of those with byte-level BPE.

Tokens are written in the byte alphabet, special ones as they are.  The file does not hold the pattern but
the name of a kind of splitting, `tokenizer.ggml.pre`, that llama.cpp knows (`src/llama-vocab.cpp`); the
regexes behind the names are those of the models' own tokenizers here, which llama.cpp rewrites to what its
regex engine can follow: for o200k and tekken it gives other ids than the models' tokenizers where there are
marks, or large letters that are not ASCII.  The names also say whether a pretoken that is a token is that token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from ..errors import VocabularyError
from ..files import StrPath, read_bytes, write_atomic
from ..patterns import PATTERNS, Pattern, get_pattern
from ..rules import Template
from ..spec import TokenizerSpec, make_spec
from ..specials import END_OF_TEXT
from .gguf_metadata import read_metadata
from .keys import MergeKeys, keys_of, merge_keys, merged_bytes, tokens_of
from .known import check_special_tokens
from .ranks import live_merges
from .reading import about

NAMES = ((".gguf",),)
HEAD = re.compile(rb"GGUF")

_PREFIX = "tokenizer.ggml."
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED = 1, 2, 3, 4, 5
# what says nothing about the ids of a text
_NOT_TEXT = re.compile(r"(?:\w+_token_ids?|add_(?:bos|eos|sep)_token|scores|token_type_count|suppress_tokens)\Z")
# what would change ids, and does not in the models that have it
_OFF = ("add_space_prefix", "remove_extra_whitespaces")
_MOST_PADDING = 1 << 16
_FOLD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"


@dataclass(frozen=True)
class _Pre:
    """A kind of splitting: its pattern, and whether a pretoken that is a token is that token."""

    pattern: str | tuple[str, ...]
    whole: bool = False


def _rows() -> dict[str, _Pre]:
    llama3 = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano"
    named = {
        "gpt2": "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en "
        "jina-v2-code roberta-bpe mpt olmo jais trillion granite-docling exaone4",
        "llama3": "dbrx smaug-bpe glm4 chatglm-bpe",
        "qwen2": "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan megrez solar-open grok-2",
        "qwen3_5": "qwen35",
        "o200k": "gpt-4o llama4 kanana2 talkie minimax-m2",
        "kimi": "kimi-k2",
        "deepseek_v3": "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
        "starcoder": "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
        "falcon": "falcon",
        "bloom": "bloom poro-chat gpt3-finnish",
    }
    rows = {pre: _Pre(pattern) for pattern, names in named.items() for pre in names.split()}
    rows |= {pre: _Pre("llama3", whole=True) for pre in llama3.split()}
    rows["tekken"] = _Pre("tekken", whole=True)
    rows["viking"] = _Pre((*PATTERNS["bloom"].steps, r"\p{N}"))
    bailing = (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
    )
    rows |= {pre: _Pre((bailing,)) for pre in ("bailingmoe", "bailingmoe2", "llada-moe")}
    rest = r"\s*[\r\n]+|\s+(?!\S)|\s+"
    rows["seed-coder"] = _Pre(
        (rf"{_FOLD}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{rest}",)
    )
    words = rf"{_FOLD}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{rest}"
    rows["minicpm5"] = _Pre((r"\p{N}{1,3}", words), whole=True)
    return rows


#: Kinds of splitting by the names that `tokenizer.ggml.pre` has for them.
_PRE = _rows()
#: The names to write for a pattern, the first of which fits best where it does not matter.
_WRITTEN = {
    "gpt2": ("gpt-2",),
    "llama3": ("llama-bpe", "dbrx"),
    "qwen2": ("qwen2",),
    "qwen3_5": ("qwen35",),
    "o200k": ("gpt-4o",),
    "tekken": ("tekken",),
    "kimi": ("kimi-k2",),
    "deepseek_v3": ("deepseek-v3",),
    "starcoder": ("starcoder",),
    "falcon": ("falcon",),
    "bloom": ("bloom",),
}


def load(
    path: StrPath,
    *,
    pattern: str | Sequence[str] | Pattern | None = None,
    special_tokens: Mapping[str, int] | None = None,
    name: str | None = None,
) -> TokenizerSpec:
    """Read the vocabulary of a GGUF file.

    Control tokens are special tokens, user-defined ones added tokens; unused ones, which pad models, are
    left out.  `pattern` replaces what `tokenizer.ggml.pre` says, `special_tokens` the control tokens.
    Whether BOS and EOS shall stand around a text becomes the template for `add_special_tokens=True`.

    Raises `VocabularyError` with file and place on a model that is no byte-level BPE or a kind of splitting
    that is not known, by name; on a file that ends too early, lists of different lengths, and a broken
    vocabulary.
    """
    given = check_special_tokens(special_tokens)
    values = read_metadata(path, lambda key: key.startswith(_PREFIX))
    fields = _Metadata({key.removeprefix(_PREFIX): value for key, value in values.items()}, path)
    fields.model()
    pre = fields.text("pre", "")
    row = _PRE.get(pre)
    if pattern is None and row is not None:
        pattern = row.pattern
    if pattern is None:
        fields.refuse(
            f"splitting {pre!r} is not supported; give pattern=, or expected one of: {', '.join(sorted(_PRE))}"
            if pre
            else "the file does not say how text is split; give pattern=, a name or a regex",
            "pre",
        )
    texts, kinds, pairs = fields.texts("tokens"), fields.kinds(), fields.merges()
    template = fields.template(len(texts))
    fields.done()
    keys, special, added = _sorted(texts, kinds, path)
    if given is not None:
        special, added = given, {text: token_id for text, token_id in added.items() if text not in given}
    tokens = tokens_of(keys, path=path, place=_PREFIX + "tokens")
    with about(path):
        spec = make_spec(
            {keys[key]: token for key, token in tokens.items()},
            merged_bytes(pairs, tokens),
            pattern=get_pattern(pattern),
            special_tokens=special,
            added_tokens=added,
            whole_pretokens=row is not None and row.whole,
            name=name,
            template=template,
        )
    if row is None:
        _check_all_made(spec, pre, fields)
    return spec


def dump(spec: TokenizerSpec, path: StrPath) -> None:
    """Write a GGUF file of a vocabulary alone, as llama.cpp's converter does with `--vocab-only`.

    Ids without a token get an unused one, `[PADn]`.

    Raises `VocabularyError` when llama.cpp has no name for the pattern, or finds other tokens as whole
    pretokens than the spec; `ImportError` without the `gguf` package, which `pip install bbpe[gguf]` brings.
    """
    pre, merges = _written_splitting(spec, path)
    if spec.template is not None and max(map(len, spec.template.around)) > 1:
        problem = "GGUF has a place for one token before a text and one behind it; its template has more"
        raise VocabularyError(f"{problem}. Write tokenizer.json", path=path)
    keys = {token_id: (key, _NORMAL) for key, token_id in keys_of(spec, path=path, marked=True).items()}
    keys |= {token_id: (text, _CONTROL) for text, token_id in spec.special_tokens.items()}
    keys |= {token_id: (text, _USER_DEFINED) for text, token_id in spec.added_tokens.items()}
    if spec.vocab_size > 2 * len(keys) + _MOST_PADDING:
        problem = f"{len(keys)} tokens have ids up to {spec.vocab_size - 1}; GGUF has a token for each id"
        raise VocabularyError(f"{problem}. Write tokenizer.json", path=path)
    rows = [keys.get(token_id, (f"[PAD{token_id}]", _UNUSED)) for token_id in range(spec.vocab_size)]
    if len({text for text, _ in rows}) < len(rows):
        raise VocabularyError("a token is called like the padding of another id; write tokenizer.json", path=path)
    write_atomic(path, _written(rows, [f"{left} {right}" for left, right in merge_keys(spec, merges)], pre, spec))


def _written_splitting(spec: TokenizerSpec, path: StrPath) -> tuple[str, Sequence[tuple[int, int, int]]]:
    """Return the name of the splitting and the merges to write."""
    names = _WRITTEN.get(spec.pattern.name or "")
    if names is None:
        known = ", ".join(_WRITTEN)
        raise VocabularyError(
            f"GGUF has no name for the pattern {str(spec.pattern)!r}; expected one of: {known}. Write tokenizer.json",
            path=path,
        )
    pre = next((pre for pre in names if _PRE[pre].whole is spec.whole_pretokens), None)
    if pre is not None and spec.merges is not None:
        return pre, spec.merges
    live = live_merges(spec)
    if pre is None and live.unmade:
        reads = "does not find" if spec.whole_pretokens else "finds"
        raise VocabularyError(
            f"{len(live.unmade)} tokens are made by no merge, such as {spec.vocab[live.unmade[0]]!r}, and with this "
            f"pattern llama.cpp {reads} them as whole pretokens, unlike this tokenizer. Write tokenizer.json",
            path=path,
        )
    return pre or names[0], live.merges if spec.merges is None else spec.merges


def _written(rows: list[tuple[str, int]], merges: list[str], pre: str, spec: TokenizerSpec) -> bytes:
    try:
        from gguf import GGUFWriter
    except ImportError:
        raise ImportError("writing GGUF needs the gguf package: pip install bbpe[gguf]") from None
    with TemporaryDirectory() as folder:
        file = Path(folder, "vocabulary.gguf")
        writer = GGUFWriter(file, "llama")
        writer.add_type("model")
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre(pre)
        writer.add_token_list([text for text, _ in rows])
        writer.add_token_types([kind for _, kind in rows])
        writer.add_token_merges(merges)
        before, behind = ((), ()) if spec.template is None else spec.template.around
        ends = [spec.special_tokens[text] for text in END_OF_TEXT if text in spec.special_tokens]
        for token_id in before:
            writer.add_bos_token_id(token_id)
        for token_id in (*behind, *ends)[:1]:
            writer.add_eos_token_id(token_id)
        writer.add_add_bos_token(bool(before))
        if behind:
            writer.add_add_eos_token(True)
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.close()
        return read_bytes(file)


def _sorted(
    texts: list[str], kinds: list[int], path: StrPath
) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return ordinary keys, special tokens and added ones with their ids."""
    by_kind: dict[int, dict[str, int]] = {_NORMAL: {}, _CONTROL: {}, _USER_DEFINED: {}, _UNUSED: {}}
    by_kind[_UNKNOWN] = by_kind[_CONTROL]
    seen: dict[str, int] = {}
    if len(kinds) != len(texts):
        problem = f"found {len(kinds)} kinds of tokens; expected {len(texts)}, one for each token"
        raise VocabularyError(problem, path=path, place=_PREFIX + "token_type")
    for token_id, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        if kind not in by_kind:
            problem = f"token {text!r} is of kind {kind}; expected 1 to 5, as byte-level BPE has"
            raise VocabularyError(problem, path=path, place=f"{_PREFIX}token_type[{token_id}]")
        if seen.setdefault(text, token_id) != token_id:
            problem = f"token {text!r} already has id {seen[text]}; expected each token once"
            raise VocabularyError(problem, path=path, place=f"{_PREFIX}tokens[{token_id}]")
        by_kind[kind][text] = token_id
    return by_kind[_NORMAL], by_kind[_CONTROL], by_kind[_USER_DEFINED]


def _check_all_made(spec: TokenizerSpec, pre: str, fields: _Metadata) -> None:
    unmade = live_merges(spec).unmade
    if unmade:
        fields.refuse(
            f"splitting {pre!r} is not known, so neither is whether {spec.vocab[unmade[0]]!r}, which no merge makes, "
            "is found as a whole pretoken; expected a file whose tokens merges can make",
            "pre",
        )


class _Metadata:
    """The values below `tokenizer.ggml.`, taken one by one so that none is overlooked."""

    def __init__(self, values: dict[str, Any], path: StrPath) -> None:
        self._left, self._path = values, path

    def model(self) -> None:
        """Refuse every model but byte-level BPE."""
        if not self._left:
            raise VocabularyError(f"found no vocabulary; expected values below {_PREFIX}", path=self._path)
        model = self.text("model")
        if model == "llama":
            self.refuse("found 'llama', a SentencePiece vocabulary; load the model's tokenizer.model instead", "model")
        if model != "gpt2":
            self.refuse(f"found {model!r}, which is no byte-level BPE; expected 'gpt2'", "model")

    def text(self, key: str, default: str | None = None) -> str:
        """Return a string."""
        value = self._left.pop(key, default)
        if isinstance(value, str):
            return value
        if not isinstance(value, bytes):
            self.refuse("expected a string" if value is not None else "it is missing; expected a string", key)
        return self._decoded(value, key)

    def texts(self, key: str) -> list[str]:
        """Return a list of strings."""
        values = self._left.pop(key, None)
        if not isinstance(values, list) or not all(isinstance(value, bytes) for value in values):
            self.refuse("it is missing; expected a list" if values is None else "expected a list of strings", key)
        try:
            return [value.decode("utf-8") for value in values]
        except UnicodeDecodeError:
            return [self._decoded(value, f"{key}[{number}]") for number, value in enumerate(values)]

    def kinds(self) -> list[int]:
        """Return the kinds of the tokens."""
        values = self._left.pop("token_type", None)
        if not isinstance(values, list) or not all(type(value) is int for value in values):
            found = "it is missing; expected a list" if values is None else "expected a list of numbers"
            self.refuse(found, "token_type")
        return values

    def merges(self) -> MergeKeys:
        """Return the merges."""
        pairs: list[tuple[str, str]] = []
        for number, merge in enumerate(self.texts("merges")):
            left, _, right = merge.partition(" ")
            if not left or not right or " " in right:
                self.refuse(f"found {merge[:60]!r}; expected two tokens with one blank between", f"merges[{number}]")
            pairs.append((left, right))
        return MergeKeys(pairs, self._path, lambda number: f"{_PREFIX}merges[{number}]")

    def template(self, count: int) -> Template | None:
        """Return what stands around a text, of `count` tokens; `None` when that is nothing."""
        before, behind = self._added("bos", count), self._added("eos", count)
        return Template((*before, ("A", 0), *behind)) if before or behind else None

    def _added(self, kind: str, count: int) -> tuple[tuple[int, int], ...]:
        flag = self._left.pop(f"add_{kind}_token", False)
        if type(flag) is not bool:
            self.refuse("expected true or false", f"add_{kind}_token")
        if not flag:
            return ()
        token_id = self._left.get(f"{kind}_token_id")
        if type(token_id) is not int or not 0 <= token_id < count:
            found = "it is missing" if token_id is None else f"found {token_id!r}"
            self.refuse(f"{found}; expected an id, 0 to {count - 1}, as add_{kind}_token is true", f"{kind}_token_id")
        return ((token_id, 0),)

    def done(self) -> None:
        """Refuse the values that nobody took and that might change ids."""
        for key, value in self._left.items():
            if not _NOT_TEXT.match(key) and not (key in _OFF and value is False):
                self.refuse("it is not supported" + ("; expected false" if key in _OFF else ""), key)

    def refuse(self, problem: str, key: str) -> NoReturn:
        """Raise a `VocabularyError` about a value."""
        raise VocabularyError(problem, path=self._path, place=_PREFIX + key)

    def _decoded(self, value: bytes, key: str) -> str:
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError as error:
            self.refuse(f"found byte 0x{value[error.start]:02X}; expected UTF-8 text", key)
