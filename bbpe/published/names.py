"""Find what names stand for: models, repositories in the cache of `huggingface_hub`, encodings of tiktoken's plugins.

Nothing is downloaded.  Source for OpenAI's models: `tiktoken/model.py`.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import VocabularyError
from ..lazy import in_gate, lazy_re, safe_import
from ..records import did_you_mean, kind
from .find import hub_cache
from .table import ALIASES, PUBLISHED

_OPENAI_MODELS = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
    "text-embedding-3-small text-embedding-3-large",
    "p50k_base": "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 "
    "code-cushman-001 davinci-codex cushman-codex",
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
    "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 text-similarity-ada-001 "
    "text-search-davinci-doc-001 text-search-curie-doc-001 text-search-babbage-doc-001 text-search-ada-doc-001 "
    "code-search-babbage-code-001 code-search-ada-code-001",
    "gpt2": "gpt2 gpt-2",
}
#: Vocabularies by the full name of a model.
MODELS: dict[str, str] = {model: name for name, models in _OPENAI_MODELS.items() for model in models.split()}

#: Vocabularies by the prefix of a model's name; the first match counts.
PREFIXES: tuple[tuple[str, str], ...] = (
    *((prefix, "o200k_base") for prefix in "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-".split()),
    *((prefix, "cl100k_base") for prefix in "gpt-4- gpt-3.5-turbo- gpt-35-turbo-".split()),
    ("gpt-oss-", "o200k_harmony"),
    ("ft:gpt-4o", "o200k_base"),
    *((prefix, "cl100k_base") for prefix in "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002".split()),
)

# Open models, by the last part of their names in lower case; only families whose special tokens are known.
_OPEN = (
    (r"gpt-oss-.*", "o200k_harmony"),
    (r"(?:meta-)?llama-3(?:-.*)?", "llama3"),
    (r"(?:meta-)?llama-3\.[13](?:-.*)?", "llama3.1"),
    (r"llama-3\.2-[13]b(?:-.*)?", "llama3.1"),
    (r"llama-4-.*", "llama4"),
    (r"qwen-(?:1_8|7|14|72)b(?:-.*)?", "qwen"),
    (r"qwen2-(?:math-)?\d[\d.]*b(?:-.*)?", "qwen2"),
    (r"qwen2\.5-(?:coder-|math-)?\d[\d.]*b(?:-.*)?", "qwen2.5"),
    (r"qwen3-(?:coder-)?\d[\d.]*b(?:-.*)?", "qwen3"),
    (r"qwen3\.[56]-.*", "qwen3.5"),
    (r"whisper-(?:tiny|base|small|medium)\.en", "whisper_en"),
    (r"whisper-large-v3(?:-.*)?", "whisper_v3"),
    (r"whisper-(?:tiny|base|small|medium|large)(?:-v2)?", "whisper"),
    (r"mistral-7b(?:-instruct)?-v0\.[12]|mixtral-8x7b(?:-instruct)?-v0\.1", "mistral_v1"),
    (r"mistral-7b(?:-instruct)?-v0\.3", "mistral_v3"),
    (r"mistral-nemo-(?:base|instruct)-2407", "tekken_240718"),
    (r"pixtral-12b(?:-base)?-2409", "tekken_240911"),
    (r"deepseek-v3(?:-base|-0324)?", "deepseek_v3"),
    # names of APIs, and dates of their versions; DeepSeek's first two stood for V4 Flash when they were retired
    (r"deepseek-(?:chat|reasoner|v4-(?:flash|pro))", "deepseek_v4"),
    (r"mistral-medium-2312", "mistral_v1"),
    (r"mistral-(?:tiny-2312|small-2312|small-2402|large-2402)", "mistral_v2"),
    (r"mistral-(?:tiny|large)-2407|open-mixtral-8x22b-2404|codestral-(?:2405|mamba-2407)", "mistral_v3"),
    (r"mistral-large-2411", "mistral_v7"),
    (r"open-mistral-nemo(?:-2407)?|ministral-8b-2410|mistral-small-2409", "tekken_240718"),
)
# Families whose publishers keep their vocabularies, and count for you, by the names that clouds and routers use too,
# such as "us.anthropic.claude-opus-4" and "openrouter/google/gemini-2.5-pro"
_PROVIDER = lazy_re(
    r"(?:(?:[\w.-]+/)*(?:anthropic|bedrock|gemini|google|models|vertex_ai)/)?(?:\w+\.)*(claude|gemini)(?:[-@.:].*)?"
)
_COUNTS = {
    "claude": "Anthropic has published no vocabulary of this model; count its tokens with "
    "`client.messages.count_tokens(model=..., messages=...)` of the package anthropic",
    "gemini": "Google has published no vocabulary of this model; count its tokens with "
    "`client.models.count_tokens(model=..., contents=...)` of the package google-genai",
}

_NAME, _REVISION = lazy_re(r"\w[\w.-]*/\w[\w.-]*"), lazy_re(rb"\s*([0-9a-f]+)\s*")
# tiktoken's own plugin, whose encodings bbpe has
_OWN = "tiktoken_ext.openai_public"


def name_for_model(model: str) -> str | None:
    """Return the name of the vocabulary of a model, `None` when the model is not known.

    >>> name_for_model("gpt-4o-mini"), name_for_model("Qwen/Qwen3-8B"), name_for_model("gpt-1")
    ('o200k_base', 'qwen3', None)
    """
    kind("model", model, str, "the name of a model, a str")
    model = model.removeprefix("openai/")
    if model in MODELS:
        return MODELS[model]
    for prefix, name in PREFIXES:
        if model.startswith(prefix):
            return name
    last = model.rpartition("/")[2].lower()
    return next((name for source, name in _OPEN if re.fullmatch(source, last)), None)


def vocabulary_named(name: str) -> str | None:
    """Return the published vocabulary that a text names, by itself or as a model; `None` for any other text.

    A path into a folder that exists is not the name of a model.

    >>> vocabulary_named("gpt2"), vocabulary_named("Qwen/Qwen3-8B"), vocabulary_named("models/my/qwen3-8b")
    ('gpt2', 'qwen3', None)
    """
    if name in (*PUBLISHED, *ALIASES):
        return name
    folder = name.rpartition("/")[0]
    if folder and (not is_repository(name) or Path(folder).exists()):
        return None
    return name_for_model(name)


def near_names(name: str) -> str:
    """Return a hint with the vocabularies and models whose names are most like an unknown one; empty if none is.

    >>> near_names("GPT-4o"), near_names("zebra")
    (" (did you mean 'gpt-4o' or 'gpt-4'?)", '')
    """
    return did_you_mean(name, (*PUBLISHED, *ALIASES, *MODELS), most=2)


def maker_of(name: object) -> str | None:
    """Return the words that a tokenizer of this name is made by a function; `None` when it is no name that we know.

    >>> maker_of("gpt-4o"), maker_of("llama3"), maker_of("tok.json")
    ("bbpe.encoding_for_model('gpt-4o') makes one", "bbpe.get_encoding('llama3') makes one", None)
    """
    if not isinstance(name, str):
        return None
    if name in (*PUBLISHED, *ALIASES):
        return f"bbpe.get_encoding({name!r}) makes one"
    return counted_by_provider(name) or (
        None if name_for_model(name) is None else f"bbpe.encoding_for_model({name!r}) makes one"
    )


def counted_by_provider(model: str) -> str | None:
    """Return who counts the tokens of a model whose vocabulary nobody else has, and how; `None` for any other model.

    >>> str(counted_by_provider("claude-opus-4-5")).partition(";")[0]
    "model 'claude-opus-4-5': Anthropic has published no vocabulary of this model"
    """
    found = _PROVIDER.fullmatch(model.lower())
    return None if found is None else f"model {model!r}: {_COUNTS[found[1]]}"


def is_repository(name: str) -> bool:
    """Return whether a text may be the name of a repository, `org/name`, and does not look like a path.

    >>> is_repository("mistralai/Mistral-7B-v0.3"), is_repository("../models"), is_repository("a/b/c")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def hub_folder(name: str) -> Path | None:
    """Return the folder of the repository `org/name`, in its main revision; `None` when it is not in the cache."""
    if not is_repository(name):
        return None
    repository = hub_cache() / ("models--" + name.replace("/", "--"))
    main = repository / "refs/main"
    revision = _REVISION.fullmatch(main.read_bytes()) if main.is_file() else None
    if revision is None:
        return None
    folder = repository / "snapshots" / revision[1].decode()
    return folder if folder.is_dir() else None


@cache
def plugin_constructors() -> Mapping[str, Callable[[], dict[str, Any]]]:
    """Return the functions of all plugins by the names of their encodings; each returns arguments of an `Encoding`.

    Raises `VocabularyError` on a plugin without constructors, and on two of the same name.
    """
    spec = in_gate(lambda: find_spec("tiktoken_ext"))
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    for module in pkgutil.iter_modules(folders, "tiktoken_ext."):
        if module.name == _OWN:
            continue
        constructors = getattr(safe_import(module.name), "ENCODING_CONSTRUCTORS", None)
        if not isinstance(constructors, Mapping):
            raise VocabularyError(f"plugin {module.name} has no ENCODING_CONSTRUCTORS; expected a dict of functions")
        for name, constructor in constructors.items():
            if found.setdefault(name, constructor) is not constructor:
                raise VocabularyError(f"plugin {module.name} defines {name!r}, as another plugin does; expected one")
    return found
