"""Random tokenizer.json files of all components that HF's `tokenizers` has, and texts that are hard for them."""

from __future__ import annotations

import base64
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from rule_files import named, replaced
from strings import adversarial_strings
from vocabularies import added, split

from bbpe.text import BYTE_ORDER, bytes_to_alphabet

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
SIMPLE = ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents")
SCHEMES = ("always", "first", "never")
REGEXES = (
    r"\s+", r"\p{L}+|\p{N}", r"in|the", r" ?[^\s\w]+", r"\w+|[^\w\s]+", r"[a-e]+", r"\s+(?!\S)|\s",
    r"(?i)THE", r"\d{1,2}",
)  # fmt: skip
STRINGS = (" ", "in", "\u2581", "a", "é", "\n", "th", "中", ".")
SYMBOLS = "theingas12éÅ中.,'\n \u2581Ġ\u3000\u0301AT<>"
CONTENTS = (
    "<s>", "</s>", "<x>", " the", "ing", "é", "e\u0301", "THE", "\n", "  ", "\u2581",
    "\u2581the", "中", "a b", "A", "<b> ", "12", "Å", "[SEP]",
)  # fmt: skip
HARD = (
    "", " ", "  ", "\t", "\r\n", "\n\n\n", "\x00", "a\x00b", " \t \n ", "\xa0",
    "\u3000the\u3000", "\u2581", "\u2581\u2581the", "the\u2581in",
    "e\u0301", "\u0301", "a\u0301\u0323b", "\u0301\u0301 x",
    "\u1112\u1161\u11ab\u1100\u1173\u11af", "\ud55c\uad6d\uc5b4", "\u1100 \u1161",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", "\U0001f44d\U0001f3fd!",
    "\U0001d7d8\U0001d7d9",
    "שלום עולם", "مرحبا بالعالم", "the \u202ethe\u202c in", "\ufeffthe", "the\u200bin",
    "\u00adthe", "\u2028\u2029", "\x85the",
    "ﬁne Å ẞ İ ǅ ς", "ｔｈｅ　ｉｎｇ", "①②½²", "ｶﾞ", "नमस्ते", "สวัสดี", "中文字符the中", "日本語カタカナー",
    "привет the мир", "\U00020000\U00020001",
    "the ing the", "The THE tHe", "12 1212 a1", "a.b,c!? the", "it's the 's",
    "aaaa aaaaa", "<s>", "<s>the</s>", " <s> the <x> ", "<s><s>",
    "the<x>ing <b> in", "[SEP] a [sep]", "in the\ning\n", "Ġthe", "##ing", "ing##",
    "the</w>", "<0x41><0xE4>", "<unk> [UNK]", "|a||b|",
    "\ufffd", "\ue000", "\x7f\x1f\x1c", "a" * 200, "ab " * 70, " " * 90, "\u0301" * 40,
    "中" * 80, "the" * 60 + " ing" * 30,
)  # fmt: skip


@dataclass(frozen=True)
class Pool:
    """The regexes, strings, symbols and token contents of random files, and the texts that are hard for them."""

    regexes: Sequence[str]
    strings: Sequence[str]
    symbols: str
    contents: Sequence[str]
    hard: Sequence[str]


_FIRST = Pool(REGEXES, STRINGS, SYMBOLS, CONTENTS, HARD)
_SECOND = Pool(
    regexes=(
        r"[^\S\n]+", r"\p{Lu}\p{Ll}*|\p{Ll}+", r"(?:'s|'t)|\w", r"\n+|[ \t]", r"[\u4e00-\u9fff]", r"\d",
        r"\p{P}|\p{S}", "(?<=a)b|c", r"\S+\s?", "[[:alpha:]]+", r"\b", r"^\s", ".", "(?i)[a-z]+", r"\p{M}",
        "the|they|then", "x*", r"\s*$", r"[A-Z]{2,}(?=\s)|ß",
    ),
    strings=(
        "  ", "the", "\t", "b", "ü", "aa", "e", "語", "-", "\u0301", "Ġ", "ss", "\r\n", "_",
    ),
    symbols="abcdehrs\xd6\xdf\u8a9e\u5b57-;\t \u2581_\u0136\u2003\u0308XYZ{}09\r",
    contents=(
        "<pad>", "<|im_start|>", " a", "ab", "ß", "u\u0308", "XY", "\t", "\n\n", "_", "\u2581b", "語字", "the end",
        "Z", "<q>\t", "0", "Ö", "{{x}}", "\xa0", "B", "aa", "<|im", "'",
    ),
    hard=(
        "", "   ", "\x0b\x0c", "\r", "\n \n", "\x01", "\x00\x00", "\xa0a", "\u2009\u2003x", "\u2581a\u2581",
        "_a_b_", "__", "Ġa", "ĶÖß", "u\u0308\u0323", "\u0308", "a\u0308\u0301\u0327b", "\u1ea1\u0308",
        "\uac01\u11a8", "\u115f\u1160",
        "각", "\u0e33\u0eb3", "\U0001f468\U0001f3fe\u200d\U0001f9b0 x", "\u2764\ufe0f", "1\ufe0f\u20e3",
        "\U0001f3f4\U000e0067\U000e007f", "\U0001d400\U0001d7ce", "\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd",
        "\ufdfa", "\ufefb", "\ufb00\ufb03\u017ft", "\u01f0\u0149\u0390", "ẞSSß", "İiIı", "ΣΑΣ", "ΌΣΟΣ ς",
        "\uff38\uff59\uff10", "\u337f\u3300",
        "\uff76\uff9e\uff8a\uff9f", "\u0a16\u0a3c\u0915\u093c", "\u0958", "\u1e9b\u0323", "\u2126\u212b\u212a",
        "\u037e;", "\u1fef`", "语言字", "語字ab", "あいうゔ", "\u30cf\u309c",
        "\u3099a", "\u0436\u0308\u0451", "\U0002f800\U0002fa1d", "\U00030000", "aab aa a", "AbCd aBcD",
        "X1 Y22 Z333",
        "a-b;c--d", "don't 's 'S \u2019s", "aaaaaaaaaa b", "<pad>", "a<|im_start|>b<|im_end|>", " <pad> <pad>",
        "<pad><pad>", "ab<q>\tcd", "{{x}}{{x}", "the end the ending", "\tthe\tend\r\n", "ab##cd", "cd##",
        "cd</w>ab", "<0x0A><0x20>", "[UNK]<unk>", "~`^|", "\u200d\u200c\u200e", "\ufffe\uffff", "\x80\x9f",
        "\x1b[0m", "b" * 150, "cd " * 50, "\t" * 60, "\u0308" * 30, "\u8a9e" * 60, "the" * 30 + " end" * 20,
        "a\u0308" * 20,
    ),
)  # fmt: skip


def pool_of(seed: int) -> Pool:
    """The pool of a random file: seeds from 2000 on have the second one."""
    return _FIRST if seed < 2000 else _SECOND


def hard_texts(seed: int, count: int) -> list[str]:
    """At least the fixed texts, and random ones of their parts, of symbols and of special tokens."""
    rng, of = random.Random(seed), pool_of(seed)
    short = [text for text in of.hard if len(text) < 30]
    pool = [*of.contents, *of.symbols, *of.symbols, " ", " ", "the", "ing", *short]
    texts = list(of.hard)
    texts += adversarial_strings(max(0, count - len(texts)) // 3, seed=seed)
    while len(texts) < count:
        texts.append("".join(rng.choices(pool, k=rng.randint(1, 14))))
    return texts[:count]


@cache
def charsmap(rule: str) -> str:
    """A table of SentencePiece in base64; "" when the package is not installed."""
    try:
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        return ""
    norm = sentencepiece.SentencePieceNormalizer(
        rule_name=rule, add_dummy_prefix=False, escape_whitespaces=False, remove_extra_whitespaces=False
    )
    model = sentencepiece_model_pb2.ModelProto()
    model.ParseFromString(norm.serialized_model_proto())
    return base64.b64encode(model.normalizer_spec.precompiled_charsmap).decode()


class RandomFile:
    """A random tokenizer.json: `value` is its object."""

    def __init__(self, seed: int) -> None:
        self.rng, self.pool = random.Random(seed), pool_of(seed)
        self.model_kind = self.rng.choice(("bytes", "bytes", "chars", "chars", "WordPiece", "Unigram", "WordLevel"))
        normalizer, pre_tokenizer = self._normalizer(), self._pre_tokenizer()
        model = self._model()
        keys = _ids_of(model)
        tokens = self._added_tokens(keys)
        self.value: dict[str, Any] = {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": tokens,
            "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": self._post_processor({token["content"]: token["id"] for token in tokens} or keys),
            "decoder": self._decoder(),
            "model": model,
        }

    def _flag(self, probability: float = 0.5) -> bool:
        return self.rng.random() < probability

    def _sequence(self, name: str, parts: list[dict[str, Any]]) -> dict[str, Any] | None:
        """Some parts: nothing, the part alone, or a Sequence, sometimes one in another."""
        if not parts:
            return None
        if len(parts) == 1 and self._flag():
            return parts[0]
        if len(parts) > 2 and self._flag(0.2):
            parts = [parts[0], {"type": "Sequence", name: parts[1:]}]
        return {"type": "Sequence", name: parts}

    def _count(self, most: int) -> int:
        return self.rng.choice([0, *range(1, most + 1), 1])

    def _pattern(self) -> tuple[str, str]:
        pool, is_regex = self.pool, self._flag()
        return (self.rng.choice(pool.regexes), "Regex") if is_regex else (self.rng.choice(pool.strings), "String")

    def _replace(self) -> dict[str, Any]:
        source, kind = self._pattern()
        return replaced(source, self.rng.choice(("", " ", "\u2581", "x", "the", "é ", "  ")), kind)

    def _normalizer(self) -> dict[str, Any] | None:
        make = {
            **{kind: partial(named, kind) for kind in SIMPLE},
            "Strip": lambda: named("Strip", strip_left=self._flag(), strip_right=self._flag()),
            "Replace": self._replace,
            "Prepend": lambda: named("Prepend", prepend=self.rng.choice(("\u2581", " ", "é", "_"))),
            "BertNormalizer": self._bert,
            "ByteLevel": lambda: named("ByteLevel"),
            "Precompiled": self._precompiled,
        }
        weights = [0.4 if kind in ("ByteLevel", "Precompiled") else 1.6 if kind == "Replace" else 1 for kind in make]
        kinds = self.rng.choices(list(make), weights, k=self._count(3))
        return self._sequence("normalizers", [make[kind]() for kind in kinds])

    def _bert(self) -> dict[str, Any]:
        strip = self.rng.choice((None, True, False))
        return named(
            "BertNormalizer", clean_text=self._flag(), handle_chinese_chars=self._flag(), strip_accents=strip,
            lowercase=self._flag(),
        )  # fmt: skip

    def _precompiled(self) -> dict[str, Any]:
        table = charsmap(self.rng.choice(("nmt_nfkc", "nmt_nfkc_cf", "nfkc")))
        return named("Precompiled", precompiled_charsmap=table) if table else named("NFKC")

    def _pre_tokenizer(self) -> dict[str, Any] | None:
        make = {
            "Split": self._split,
            "Whitespace": lambda: named("Whitespace"),
            "WhitespaceSplit": lambda: named("WhitespaceSplit"),
            "Punctuation": lambda: named("Punctuation", behavior=self.rng.choice(BEHAVIORS)),
            "Digits": lambda: named("Digits", individual_digits=self._flag()),
            "Metaspace": self._metaspace,
            "BertPreTokenizer": lambda: named("BertPreTokenizer"),
            "CharDelimiterSplit": lambda: named("CharDelimiterSplit", delimiter=self.rng.choice(" -|a\u2581")),
            "UnicodeScripts": lambda: named("UnicodeScripts"),
            "FixedLength": lambda: named("FixedLength", length=self.rng.randint(1, 6)),
        }
        parts = [make[kind]() for kind in self.rng.choices(list(make), k=self._count(2))]
        if self.model_kind == "bytes":
            flags = {"add_prefix_space": self._flag(), "trim_offsets": self._flag(), "use_regex": self._flag(0.7)}
            level = named("ByteLevel", **flags)
            parts.insert(self.rng.choice((len(parts), len(parts), self.rng.randint(0, len(parts)))), level)
        return self._sequence("pretokenizers", parts)

    def _split(self) -> dict[str, Any]:
        source, kind = self._pattern()
        return split("", pattern={kind: source}, behavior=self.rng.choice(BEHAVIORS), invert=self._flag(0.3))

    def _metaspace(self) -> dict[str, Any]:
        mark = "\u2581" if self._flag(0.8) else "_"
        return named("Metaspace", replacement=mark, prepend_scheme=self.rng.choice(SCHEMES), split=self._flag())

    def _symbols(self) -> list[str]:
        if self.model_kind == "bytes":
            alphabet = [bytes_to_alphabet(bytes((byte,))) for byte in BYTE_ORDER]
            return alphabet if self._flag(0.7) else self.rng.sample(alphabet, 200)
        return self.rng.sample(self.pool.symbols, self.rng.randint(8, len(self.pool.symbols)))

    def _words(self, symbols: Sequence[str], count: int) -> list[str]:
        """Distinct strings of symbols, with some that texts have."""
        blank = "Ġ" if self.model_kind == "bytes" else "\u2581"
        some = ["the", "ing", "in", "aaa", "12", f"{blank}the", f"{blank}{blank}", f"{blank}a", "中the", "'s"]
        words = [word for word in some if set(word) <= set(symbols) and self._flag(0.7)]
        words += ["".join(self.rng.choices(symbols, k=self.rng.randint(2, 4))) for _ in range(count)]
        return list(dict.fromkeys(words))

    def _model(self) -> dict[str, Any]:
        match self.model_kind:
            case "WordPiece":
                return self._wordpiece()
            case "WordLevel":
                return self._word_level()
            case "Unigram":
                return self._unigram()
        return self._bpe()

    def _wordpiece(self) -> dict[str, Any]:
        symbols, prefix = self._symbols(), self.rng.choice(("##", "##", "", "_"))
        words = [word for word in (*symbols, *self._words(symbols, 25)) if word.strip()]
        keys = list(dict.fromkeys(["[UNK]", *words, *(prefix + word for word in words if self._flag(0.7))]))
        self.rng.shuffle(keys)
        most = self.rng.choice((100, 100, 5))
        return named(
            "WordPiece", unk_token="[UNK]", continuing_subword_prefix=prefix, max_input_chars_per_word=most,
            vocab=_numbered(keys),
        )  # fmt: skip

    def _word_level(self) -> dict[str, Any]:
        symbols = self._symbols()
        keys = list(dict.fromkeys(["<unk>", *symbols, *self._words(symbols, 40), "the", "ing", "12"]))
        return named("WordLevel", vocab=_numbered(keys), unk_token="<unk>")

    def _unigram(self) -> dict[str, Any]:
        symbols, fallback = self._symbols(), self._flag(0.4)
        tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256) if fallback), *symbols, *self._words(symbols, 25)]
        scores = [0.0 if token == "<unk>" else -round(self.rng.uniform(1, 12), 3) for token in tokens]
        rows = [[token, score] for token, score in zip(tokens, scores, strict=True)]
        return named("Unigram", unk_id=0, vocab=rows, byte_fallback=fallback)

    def _bpe(self) -> dict[str, Any]:
        symbols = self._symbols()
        is_of_chars = self.model_kind == "chars"
        fallback = is_of_chars and self._flag(0.3)
        prefix = self.rng.choice(("", "", "##")) if not fallback else ""
        end = self.rng.choice(("", "", "</w>")) if not fallback else ""
        unknown = self.rng.choice((None, "<unk>")) if not fallback or self._flag(0.3) else "<unk>"
        keys = [unknown] if unknown else []
        keys += [f"<0x{byte:02X}>" for byte in range(256) if fallback]
        marks = [(a, b) for a in ("", prefix) for b in ("", end)]
        pairs = dict.fromkeys(marks)
        tokens = {f"{before}{symbol}{after}" for symbol in symbols for before, after in pairs if self._flag(0.9)}
        merges = self._merges(sorted(tokens), prefix, end)
        made = [left + right.removeprefix(prefix) for left, right in merges]
        return {
            "type": "BPE",
            "dropout": None,
            "unk_token": unknown,
            "continuing_subword_prefix": prefix or None,
            "end_of_word_suffix": end or None,
            "fuse_unk": self._flag(),
            "byte_fallback": fallback,
            "ignore_merges": self._flag(0.2) and not prefix,
            "vocab": _numbered(list(dict.fromkeys([*keys, *sorted(tokens), *made]))),
            "merges": [list(pair) for pair in merges],
        }

    def _merges(self, tokens: list[str], prefix: str, end: str) -> list[tuple[str, str]]:
        """Random merges of what is there and what they make, some of them those of words."""
        merges: dict[tuple[str, str], None] = {}
        wanted = self._words(["t", "h", "e", "i", "n", "g", "a"], 0)
        for word in wanted:
            left = word[0]
            for at, char in enumerate(word[1:], 1):
                right = prefix + char + (end if at == len(word) - 1 else "")
                if left not in tokens or right not in tokens:
                    break
                merges[left, right] = None
                left += right.removeprefix(prefix)
                tokens.append(left)
        for _ in range(self.rng.randint(0, 25)):
            left = self.rng.choice([token for token in tokens if not end or not token.endswith(end)] or tokens)
            rights = [token for token in tokens if token.startswith(prefix) and token != prefix]
            right = self.rng.choice(rights or tokens)
            if right.startswith(prefix) and len(left) + len(right) < 14:
                merges[left, right] = None
                tokens.append(left + right.removeprefix(prefix))
        return list(merges)

    def _added_tokens(self, keys: Mapping[str, int]) -> list[dict[str, Any]]:
        free = 1 + max(keys.values())
        found = []
        contents = self.rng.sample(self.pool.contents, self._count(5))
        if "<unk>" in keys and self._flag(0.3):
            contents.append("<unk>")
        for content in contents:
            token_id = keys.get(content, free)
            free += token_id == free
            flags = {name: self._flag(0.25) for name in ("single_word", "lstrip", "rstrip")}
            special = self._flag()
            normalized = self._flag(0.1) if special else self._flag(0.6)
            found.append(added(content, token_id, special=special, normalized=normalized, **flags))
        return sorted(found, key=lambda token: int(token["id"]))

    def _post_processor(self, ids: Mapping[str, int]) -> dict[str, Any] | None:
        first, last = self.rng.choice(list(ids)), self.rng.choice(list(ids))
        blanks = {"trim_offsets": self._flag(), "add_prefix_space": self._flag()}
        ends = {"cls": [first, ids[first]], "sep": [last, ids[last]]}
        make = [
            lambda: named("ByteLevel", use_regex=True, **blanks),
            lambda: named("BertProcessing", **ends),
            lambda: named("RobertaProcessing", **ends, **blanks),
            lambda: _template({first: ids[first], last: ids[last]}),
        ]
        parts = [make[kind]() for kind in self.rng.sample(range(4), self.rng.choice((0, 0, 1, 1, 2)))]
        return self._sequence("processors", parts)

    def _strip(self) -> dict[str, Any]:
        content, start, stop = self.rng.choice(" \u2581a"), self.rng.randint(0, 2), self.rng.randint(0, 1)
        return named("Strip", content=content, start=start, stop=stop)

    def _decoder(self) -> dict[str, Any] | None:
        make = [
            lambda: named("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True),
            self._metaspace,
            lambda: named("WordPiece", prefix=self.rng.choice(("##", "_")), cleanup=self._flag()),
            lambda: named("BPEDecoder", suffix="</w>"),
            lambda: named("ByteFallback"),
            lambda: named("Fuse"),
            self._strip,
            self._replace,
            lambda: named("CTC", pad_token="<s>", word_delimiter_token="|", cleanup=self._flag()),
        ]
        if self.model_kind == "bytes" and self._flag(0.6):
            return make[0]()
        parts = [self.rng.choice(make)() for _ in range(self._count(3))]
        return self._sequence("decoders", parts)


def _template(ids: Mapping[str, int]) -> dict[str, Any]:
    first, last = next(iter(ids)), list(ids)[-1]

    def token(text: str, kind: int = 0) -> dict[str, Any]:
        return {"SpecialToken": {"id": text, "type_id": kind}}

    def sequence(name: str, kind: int) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": kind}}

    single = [token(first), sequence("A", 0), token(last)]
    return named(
        "TemplateProcessing",
        single=single,
        pair=[*single, sequence("B", 1), token(last, 1)],
        special_tokens={text: {"id": text, "ids": [token_id], "tokens": [text]} for text, token_id in ids.items()},
    )


def _numbered(keys: Sequence[str]) -> dict[str, int]:
    return {key: number for number, key in enumerate(keys)}


def _ids_of(model: Mapping[str, Any]) -> dict[str, int]:
    vocab = model["vocab"]
    if isinstance(vocab, dict):
        return dict(vocab)
    return {row[0]: number for number, row in reversed(list(enumerate(vocab)))}
