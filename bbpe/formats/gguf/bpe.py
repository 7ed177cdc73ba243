"""The vocabulary of a GGUF file with byte-level BPE: tokens in the byte alphabet, special tokens in plain text.

The file has no pattern.  It has the name of a pre-tokenizer of llama.cpp, `tokenizer.ggml.pre`, and the name also
decides whether whole pretokens are looked up.  llama.cpp rewrites the regexes of the original tokenizers for its regex
engine, which knows case in ASCII alone.  So for o200k, tekken, Kimi and others it gives other ids than the original
tokenizers, and this module follows it.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NoReturn

from ...errors import VocabularyError
from ...files import StrPath
from ...records import dataclass
from ...spec.decoders import ByteLevel
from ...spec.models import Vocab
from ...spec.rules import Characters
from ...spec.spec import TextRules, TokenizerSpec, make_spec
from ...splitting.patterns import PATTERNS, get_pattern
from ..common.given import Given
from ..common.key_tables import KeyTable
from ..common.keys import byte_symbols, keys_of, merge_keys, read_keys
from ..common.ranks import live_merges
from ..huggingface.pre_tokenizers import PreTokenization
from ..sentencepiece.piece_rows import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED, PieceRow, padded
from .fields import PREFIX, GGUFFields

_FOLD = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"


# white space outside ASCII is a line tabulation where a regex of llama.cpp has no class of Unicode
_HAN = r"[[一-龥ࠀ-一가-\ud7ff]&&[^\s]]+"
_LEAD, _ENDING = r"[^\r\n\p{L}\p{N}]?", r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])?"
# the letters with case of some version of Unicode, as DeepSeek's files list them
_CASED = (
    "A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚ"
    r"\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4"
    r"\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc"
    r"\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139\u213c-\u213f"
    "ⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃"
)


@dataclass(frozen=True)
class _Pre:
    """A pre-tokenizer of llama.cpp: its pattern, and whether whole pretokens are looked up."""

    pattern: str | tuple[str, ...]
    whole: bool = False


_LLAMA3 = "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano".split()
# llama.cpp adds BOS for these if the file does not define whether to add it
_ADDS_BOS = (*_LLAMA3, "tekken", "chameleon")


def _rows() -> dict[str, _Pre]:
    named = {
        "gpt2": "gpt-2 phi-2 jina-es jina-de gigachat jina-v2-es jina-v2-de a.x-4.0 mellum modern-bert jina-v1-en "
        "jina-v2-code roberta-bpe mpt olmo jais trillion granite-docling exaone4",
        "llama3": "dbrx smaug-bpe glm4 chatglm-bpe",
        "qwen2": "qwen2 deepseek-r1-qwen kormo f2llmv2 stablelm2 hunyuan megrez solar-open grok-2",
        "qwen3_5": "qwen35",
        "deepseek_v3": "deepseek-v3 hunyuan-dense joyai-llm hy_v4",
        "starcoder": "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
        "falcon": "falcon",
        "bloom": "bloom poro-chat gpt3-finnish",
    }
    rows = {pre: _Pre(pattern) for pattern, names in named.items() for pre in names.split()}
    rows |= {pre: _Pre("llama3", whole=True) for pre in _LLAMA3}
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
    rows["deepseek-coder"] = _Pre((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", _HAN, r"\p{N}"))
    marks = r"\s?[!-/:-~！-／：-～‘-‟\u3001-。]+"
    rows["deepseek-llm"] = _Pre((r"[\r\n]", rf"\s?[{_CASED}]+", marks, r"\s+(?![\s\S])", _HAN, r"\p{N}+"))
    rows["default"] = _Pre((r"[\p{P}\$\+<=>\^~\|]+", PATTERNS["gpt2"].steps[0], r"\p{N}+", "[0-9][0-9][0-9]"))
    rows["minicpm5"] = _Pre((r"\p{N}{1,3}", words), whole=True)
    return rows | _rows_of_cases(rest) | _rows_of_digits(rest) | _rows_of_words(rest)


def _rows_of_cases(rest: str) -> dict[str, _Pre]:
    """Return the rows of patterns in which upper case begins a word."""
    upper, lower = r"[^\P{L}a-z]", r"[^\P{L}A-Z]"
    cased = rf"{_LEAD}{upper}*{lower}+{{0}}|{_LEAD}{upper}+{lower}*{{0}}"
    marked = cased.replace(upper, r"[[\p{L}\p{M}]&&[^a-z]]").replace(lower, r"[[\p{L}\p{M}]&&[^A-Z]]")
    digits, others = r"\p{N}{1,3}", rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{rest}"
    o200k = _Pre((f"{cased.replace('{0}', _ENDING)}|{digits}|{others}",))
    # its function for Kimi knows no case
    han = r"\u4e00-\u9fff\u3400-\u4dbf\U00020000-\U0002a6df\U0002a700-\U0002ebef\uf900-\ufaff\U0002f800-\U0002fa1f"
    kimi = rf"[{han}]+|{_LEAD}[\p{{L}}&&[^{han}]]+{_ENDING}|{digits}|{others.replace('/', '')}"
    return {
        **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"), o200k),
        "granite-embed-multi-97m": _Pre((f"{marked.replace('{0}', _ENDING)}|{digits}|{others}",), whole=True),
        "tekken": _Pre((rf"{cased.replace('{0}', '')}|\p{{N}}|{others}",), whole=True),
        "kimi-k2": _Pre((kimi,)),
    }


def _rows_of_digits(rest: str) -> dict[str, _Pre]:
    """Return the rows of patterns that group digits from the right, or split off scripts first."""
    deepseek = PATTERNS["deepseek_v3"].steps[2]
    words = rf"{_LEAD}[\p{{L}}\p{{M}}]+{_ENDING}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{rest}"
    spark = deepseek.replace(rf"+[\r\n]*|{rest}", r"+|[\r\n]|\s+(?!\S)|\s+")
    # groups of three from the right; the text before digits stays with the first of them
    groups = r"\P{N}*\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))"
    aya = _Pre((groups, words))
    scripts = (
        "[\u4e00-\u9fff\u3400-\u4dbf\u8c48-\ufaff\u3040-\u309f\u30a0-\u30ff\uff65-\uff9f\u2f00-\u2fdf\u0e40-\u0e7f"
        "\u0e80-\u0eff\u1780-\u17ff\u1000-\u109f\uaa60-\uaa7f\ua9e0-\ua9ff\uac00-\ud7af\u1100-\u11ff]+"
    )
    youtu = (
        "[\uac00-\ud7a3\u3131-\u318e]+|[\uff01\u2026\u201c\u201d\u2018\u2019\u2014\uff1a\uff1b\uff0c\u3001-\u303f"
        "\ufe30-\ufe4f]+|[\u3105-\u312f]+|[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"
    )
    return {
        "tiny_aya": aya,
        "cohere2moe": aya,
        "superbpe": _Pre((r"\p{N}+", r"(?=(?:[0-9]{3})+(?![0-9]))")),
        "afmoe": _Pre((groups, scripts, deepseek)),
        "spark2_5": _Pre((*PATTERNS["deepseek_v3"].steps[:2], spark, r"\p{N}")),
        "youtu": _Pre((youtu, words.replace(r"\p{N}{1,3}", r"\p{N}")), whole=True),
    }


def _rows_of_words(rest: str) -> dict[str, _Pre]:
    """Return the rows of patterns with words of their own."""
    marks = r"[\p{P}!-/:-@\[-`{-~]"
    llama3, qwen2, gpt2 = (PATTERNS[name].steps[0] for name in ("llama3", "qwen2", "gpt2"))
    blanks = "|".join(rf"\s{{{size}}}(?!\S)" for size in (512, 256, 128, 64, 32, 16, 8, 4, "1,2"))
    letters = r"[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+"
    return {
        "jais-2": _Pre((llama3.replace(r"\s+(?!\S)|\s+", rf"{blanks}|\s"),)),
        "laguna": _Pre((r"[^\n]+|\n+", qwen2)),
        "ufakzeka": _Pre((qwen2.removeprefix(f"{_FOLD}|"),)),
        "exaone-moe": _Pre(
            (rf"{_FOLD}|{letters}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",)
        ),
        "chameleon": _Pre(
            ("<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", r"[\t\n]|    |  ", r"\p{N}", marks, gpt2)
        ),
    }


#: Pre-tokenizers by their names in `tokenizer.ggml.pre`.
_PRE = _rows()
#: The names for a pattern in written files; the first one is preferred.  llama.cpp splits otherwise for o200k, tekken
#: and kimi, so such a file is written only where the caller gives up the pattern.
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


def read_byte_level(fields: GGUFFields, given: Given) -> TokenizerSpec:
    """Return the spec of a file whose model is "gpt2"."""
    pre = fields.text("pre", "default")  # llama.cpp reads files without it so
    row = _PRE.get(pre)
    pattern = row.pattern if given.pattern is None and row is not None else given.pattern
    if pattern is None:
        _refuse_pre(fields, pre)
    texts, kinds, pairs = fields.texts("tokens"), fields.counted_kinds(), fields.merges()
    kinds, both = fields.retyped(texts, kinds)
    template = fields.template(len(texts), adds=["bos"] if pre in _ADDS_BOS else (), ids=(11, 11))
    fields.done()
    special: dict[str, int] = {}
    added: dict[str, int] = {}
    found: dict[int, dict[str, int]] = {NORMAL: {}, CONTROL: special, UNKNOWN: special, USER_DEFINED: added, UNUSED: {}}
    fields.sort(texts, kinds, found, "1 to 5 in byte-level BPE")
    special |= {texts[token_id]: token_id for token_id in both}
    keys = KeyTable.of(found[NORMAL])
    if given.special_tokens is not None:
        special = dict(given.special_tokens)
        added = {text: token_id for text, token_id in added.items() if text not in special}
    tokens, split, characters = _read(keys, PreTokenization(get_pattern(pattern), byte_level=True), fields.path)
    merges = pairs.merges(keys, tokens)
    spec = make_spec(
        tokens,
        merges,
        pattern=split.pattern,
        special_tokens=special,
        added_tokens=added,
        whole_pretokens=row is not None and row.whole,
        name=given.name,
        rules=TextRules((), None, split.rules),
        template=template,
        characters=characters,
        decoder=(ByteLevel(),),
    )
    if row is None:
        _check_all_made(spec, pre, fields)
    return spec


def _read(keys: KeyTable, split: PreTokenization, path: StrPath) -> tuple[Vocab, PreTokenization, Characters | None]:
    """Return the tokens of keys with the split and the characters that fit them.

    A token outside the byte alphabet, such as the emoji of Command R, is never found.  All tokens are then texts in
    this alphabet, as in a `tokenizer.json`.
    """
    tokens = Vocab.of_keys(keys.table, [])
    if tokens is not None:
        return tokens, split, byte_symbols(tokens, Characters(are_bytes=True))
    texts, symbols = read_keys(
        keys, Characters(), byte_fallback=False, left_out=set(), path=path, place=PREFIX + "tokens"
    )
    return texts, split.spelled(), symbols


def _refuse_pre(fields: GGUFFields, pre: str) -> NoReturn:
    if not pre:
        fields.refuse("the name is empty; give pattern=, a name or a regex", "pre")
    near = difflib.get_close_matches(pre, _PRE, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    known = ", ".join(sorted(_PRE))
    fields.refuse(f"pre-tokenizer {pre!r} is not supported{hint}; give pattern=, or a file with one of: {known}", "pre")


def byte_level_pieces(spec: TokenizerSpec) -> tuple[list[PieceRow], list[str], str]:
    """Return the tokens, the merges and the name of the pre-tokenizer to write.

    Raises `VocabularyError` when llama.cpp has no name for the pattern, and when it would look up whole pretokens and
    the spec would not, or the reverse.
    """
    pre, merges = _written_splitting(spec)
    ordinary = keys_of(spec, marked=True)
    rows = {token_id: PieceRow(key, 0.0, NORMAL) for key, token_id in ordinary.items()}
    rows |= {token_id: PieceRow(text, 0.0, CONTROL) for text, token_id in spec.special_tokens.items()}
    rows |= {token_id: PieceRow(text, 0.0, USER_DEFINED) for text, token_id in spec.added_tokens.items()}
    lines = [f"{left} {right}" for left, right in merge_keys(spec, merges)]
    return padded(rows, spec.vocab_size), lines, pre


def _written_splitting(spec: TokenizerSpec) -> tuple[str, Sequence[tuple[int, int, int]]]:
    """Return the name of the pre-tokenizer and the merges to write."""
    names = _WRITTEN.get(spec.pattern.name or "", ())
    names = names or tuple(pre for pre, row in _PRE.items() if get_pattern(row.pattern) == spec.pattern)
    if not names:
        known = ", ".join(_WRITTEN)
        raise VocabularyError(
            f"GGUF has no name for the pattern {str(spec.pattern)!r}; expected one of: {known}. Write tokenizer.json",
        )
    pre = next((pre for pre in names if _PRE[pre].whole is spec.whole_pretokens), None)
    if pre is not None and spec.merges is not None:
        return pre, spec.merges
    live = live_merges(spec)
    if pre is None and live.unmade:
        reads = "does not find" if spec.whole_pretokens else "finds"
        raise VocabularyError(
            f"no merge makes {len(live.unmade)} tokens, such as {spec.vocab[live.unmade[0]]!r}, and with this pattern "
            f"llama.cpp {reads} them as whole pretokens, unlike this tokenizer. Write tokenizer.json",
        )
    return pre or names[0], live.merges if spec.merges is None else spec.merges


def _check_all_made(spec: TokenizerSpec, pre: str, fields: GGUFFields) -> None:
    unmade = live_merges(spec).unmade
    if unmade:
        fields.refuse(
            f"pre-tokenizer {pre!r} is not known, and {spec.vocab[unmade[0]]!r}, which no merge makes, is found only "
            "if it looks up whole pretokens; expected a file in which merges make all tokens",
            "pre",
        )
