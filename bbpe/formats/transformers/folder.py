"""The files beside a vocabulary in the folder of a model, as HF's `transformers` reads them.

`tokenizer_config.json` (`added_tokens_decoder`, tokens named by their uses, lists of special tokens),
`special_tokens_map.json` and `added_tokens.json` have tokens that the vocabulary need not have; `transformers` adds
these after it.  Files without `added_tokens_decoder` are older, and only then the other two are read.  A class of
tokenizers, which `tokenizer_config.json` or `config.json` names, has usual tokens for uses that no file names.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import VocabularyError
from ...files import ReadFile, StrPath
from ...lazy import lazy_property
from ...records import dataclass, field, replace
from ...spec.rules import Prefix, SqueezeBlanks, Template, TokenOptions
from ...spec.spec import TokenizerSpec, other_tokens, without_specials
from ..common.reading import Fields, read_file, read_json
from .tokens import (
    ADDITIONAL,
    EXTRA,
    NAMED,
    FolderToken,
    chosen_tokens,
    document_tokens,
    flag,
    listed_tokens,
    named_tokens,
    numbered_tokens,
    table_tokens,
)

CONFIG, MAP, ADDED, MODEL = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json"
DOCUMENT = "tokenizer.json"
#: The field that names the class of a tokenizer.
CLASS = "tokenizer_class"
#: Files that do not define the vocabulary and are saved unchanged.
OTHER_FILES = (CONFIG, MAP, ADDED, "chat_template.jinja", "chat_template.json", "generation_config.json")
#: The folder of further chat templates, which are saved unchanged too.
TEMPLATES = "additional_chat_templates"
#: What a folder has of these if its vocabulary is not all that it says.
WITHIN = (*OTHER_FILES, TEMPLATES)
_NONE: Mapping[str, Any] = {}


@dataclass(frozen=True)
class FolderConfig:
    """The tokens in order, and a flag, which is `None` if no file has it.

    `uses` has the texts of tokens by their uses, such as `bos_token`; `named` also those of lists.
    """

    tokens: tuple[FolderToken, ...] = ()
    uses: Mapping[str, str] = field(default_factory=dict)
    add_prefix_space: bool | None = None
    named: frozenset[str] = frozenset()

    @property
    def names(self) -> dict[str, str]:
        """The texts of tokens by their uses, such as `bos`."""
        return {use.removesuffix("_token"): text for use, text in self.uses.items() if use in NAMED}


_ENDS = {"bos_token": FolderToken("<s>"), "eos_token": FolderToken("</s>")}


class ClassFolder:
    """The folder of a vocabulary, each of whose files is opened and parsed once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._data: dict[str, bytes] = {}
        self._values: dict[str, Any] = {}

    @classmethod
    def of(cls, vocabulary: Path) -> ClassFolder:
        """Return the folder of a file, or the folder itself."""
        return cls(vocabulary if vocabulary.is_dir() else vocabulary.parent)

    def file(self, name: str) -> ReadFile:
        """Return a file of the folder with its bytes."""
        path = self.path / name
        if name not in self._data:
            self._data[name] = read_file(path)
        return ReadFile(path, self._data[name])

    def opened(self, path: Path) -> StrPath:
        """Return the path of a file, with its bytes if this has opened it."""
        return self.file(path.name) if path.name in self._data and path.parent == self.path else path

    @lazy_property
    def _entries(self) -> dict[str, bool] | None:
        """What is in the folder, by name, and whether it is a file; `None` where the system does not list it."""
        try:
            with os.scandir(self.path) as entries:
                return {entry.name: entry.is_file() for entry in entries}
        except OSError:
            return None

    def has(self, name: str) -> bool:
        """Return whether there is a file of this name."""
        return (self.path / name).is_file() if self._entries is None else self._entries.get(name, False)

    def json(self, name: str) -> Any:
        """Return the value of a JSON file, an empty object without one; `VocabularyError` when it is malformed."""
        if name not in self._values:
            self._values[name] = read_json(self.file(name)) if self.has(name) else {}
        return self._values[name]

    @property
    def has_others(self) -> bool:
        """Whether there are other files than a vocabulary, or a folder of chat templates."""
        known = self._entries
        return any((self.path / name).exists() if known is None else name in known for name in WITHIN)

    def other_names(self) -> list[str]:
        """Return the names of the other files; a further chat template has the name of its folder too."""
        found = [name for name in OTHER_FILES if self.has(name)]
        if self._entries is None or TEMPLATES in self._entries:
            templates = (path for path in (self.path / TEMPLATES).glob("*.jinja") if path.is_file())
            found += sorted(f"{TEMPLATES}/{path.name}" for path in templates)
        return found

    def other_files(self) -> dict[str, bytes]:
        """Return the other files by name, as they are."""
        names = self.other_names()
        for name in names:
            check_within(self.path / name, self.path)
        return {name: self.file(name).data for name in names}

    @lazy_property
    def stated(self) -> tuple[str, str, str]:
        """The class that a file names, the file, and the type of the model, "" without one."""
        found = {name: self.json(name) for name in (CONFIG, MODEL)}
        configs = {name: value if isinstance(value, dict) else {} for name, value in found.items()}
        kind = configs[MODEL].get("model_type")
        if kind == "encoder-decoder" and isinstance(configs[MODEL].get("encoder"), dict):
            kind = configs[MODEL]["encoder"].get("model_type")
        names = ((config.get(CLASS), name) for name, config in configs.items())
        stated = next(((value, name) for value, name in names if isinstance(value, str)), ("", CONFIG))
        return *stated, kind if isinstance(kind, str) else ""

    @property
    def has_code(self) -> bool:
        """Whether `tokenizer_config.json` names a class of custom code, so that no type replaces the stated class."""
        config = self.json(CONFIG)
        named = config.get("auto_map") if isinstance(config, dict) else None
        return isinstance(named, list) or (isinstance(named, dict) and named.get("AutoTokenizer") is not None)

    @property
    def fields(self) -> Fields:
        """The configuration; in old folders, `special_tokens_map.json` replaces its fields."""
        values = self.json(CONFIG)
        if isinstance(values, dict) and "added_tokens_decoder" not in values:
            names = self.json(MAP)
            values = {**values, **(names if isinstance(names, dict) else {})}
        return Fields(values, path=self.path / CONFIG, place="")

    def config(
        self, usual: Mapping[str, FolderToken] = _NONE, listed: Sequence[FolderToken] = (), taken: Collection[int] = ()
    ) -> FolderConfig:
        """Return what the files define, with tokens of a class: for uses that no file names, and if no file has a list.

        Tokens of `added_tokens.json` with ids that are `taken`, as those of a tokenizer.json are, do not count.

        Raises `VocabularyError` naming the file and the field that is malformed.
        """
        config, names = self._object(CONFIG), self._object(MAP)
        is_older = config.peek("added_tokens_decoder") is None
        sources = (names, config) if is_older else (config,)
        found = named_tokens(sources, usual)
        listed = listed_tokens(sources, listed)
        tokens = [token for _, token in table_tokens(config)]
        named = {token.text for token in found.values()}
        if is_older:
            known = {*named, *(token.text for token in listed if token.is_special)}
            numbered = numbered_tokens(self._object(ADDED), known)
            tokens += [token for token_id, token in numbered if token_id not in taken]
        tokens = [replace(token, is_special=token.is_special or token.text in named) for token in tokens]
        known = {token.text for token in tokens}
        listed = [replace(token, is_special=True) if token.text in named else token for token in listed]
        chosen = chosen_tokens((*found.values(), *listed))
        tokens += [token for text, token in chosen.items() if text not in known]
        uses = {use: token.text for use, token in found.items()}
        return FolderConfig(tuple(tokens), uses, flag(config, "add_prefix_space"), frozenset(chosen))

    def config_in_python(
        self, usual: Mapping[str, FolderToken], listed: Sequence[FolderToken] = (), kept: Collection[str] = ()
    ) -> tuple[FolderConfig, dict[str, int]]:
        """Return what the files define for a class of Python, and the ids that they give tokens.

        Without `added_tokens_decoder` a tokenizer.json has further tokens.  Only tokens with a use or in a list are
        special, and where no file gives them an id they have no options, but for tokens of the uses `kept`.
        """
        config, names = self._object(CONFIG), self._object(MAP)
        has_table = "added_tokens_decoder" in config
        sources = (config,) if has_table else (names, config)
        found, listed = named_tokens(sources, usual), listed_tokens(sources, listed)
        numbered = [] if has_table else numbered_tokens(self._object(ADDED), set())
        rows = dict(table_tokens(config)) if has_table else dict(numbered)
        if not has_table:
            rows |= document_tokens(self._object(DOCUMENT))
        ids = {token.text: token_id for token_id, token in rows.items()}
        if len(ids) < len(rows):
            text = next(token.text for token_id, token in rows.items() if ids[token.text] != token_id)
            config.refuse(f"{text!r} has two ids; expected each token once", "added_tokens_decoder")
        special = {token.text for token in (*found.values(), *listed)}
        tokens: dict[str, FolderToken] = {}
        for text, token_id in ids.items():  # which are found in texts as they are
            options = replace(rows[token_id].options, normalized=False)
            tokens[text] = replace(rows[token_id], is_special=text in special, options=options)
        for use, token in (*found.items(), *(("", token) for token in listed)):
            tokens.setdefault(token.text, token if use in kept else FolderToken(token.text))
        uses = {use: token.text for use, token in found.items()}
        return FolderConfig(tuple(tokens.values()), uses, flag(config, "add_prefix_space")), ids

    def completed(self, spec: TokenizerSpec, *, has_flags: bool, has_ends: bool) -> TokenizerSpec:
        """Return the spec of a vocabulary with the tokens and the flag of the other files.

        `has_flags`: the class `TokenizersBackend` reads it, so flags for BOS and EOS count, and tokens are found in
        texts as they are.  `has_ends`: it has usual tokens for both, whatever those of the vocabulary are.
        """
        config = self.config(_ENDS if has_ends else _NONE)
        if has_ends:
            self._check_symbols(spec, config)
            # U+2581 at the end of a text is dropped by SentencePiece alone
            kept, marked = SqueezeBlanks(drops_marks=False), SqueezeBlanks()
            rules = tuple(kept if rule == marked else rule for rule in spec.rules.normalizers)
            names = {use: text for use, text in spec.names.items() if f"{use}_token" not in _ENDS}
            spec = replace(spec, rules=replace(spec.rules, normalizers=rules), names=names)
        if has_flags:
            plain = [replace(token, options=replace(token.options, normalized=False)) for token in config.tokens]
            config = replace(config, tokens=tuple(plain))
            self._check_names(spec)
        special, added, options = dict(spec.special_tokens), dict(spec.added_tokens), dict(spec.token_options)
        tokens = {**other_tokens(spec), **spec.vocab}
        known = {token.decode("utf-8", "replace"): token_id for token_id, token in tokens.items()}
        next_id = spec.vocab_size
        for token in config.tokens:
            text = token.text
            if token.is_named and (text in special or (text in added and not has_ends)):
                continue
            token_id = special.pop(text, added.pop(text, known.get(text, next_id)))
            next_id = max(next_id, token_id + 1)
            (special if token.is_special else added)[text] = token_id
            options.pop(text, None)
            if token.options != TokenOptions():
                options[text] = token.options
        vocab: Mapping[int, bytes] = spec.vocab
        if spec.model is None and spec.characters is None:
            vocab = without_specials(vocab, {**added, **special}, spec.merges)
        made = replace(spec, vocab=vocab, special_tokens=special, added_tokens=added, token_options=options)
        if spec.model is None and (spec.characters is None or spec.characters.are_bytes) and config.add_prefix_space:
            made = replace(made, rules=replace(made.rules, prefix=Prefix(" ")))
        made = replace(made, files=self.other_files(), names={**spec.names, **config.names})
        return replace(made, template=self._flagged(made)) if has_flags else made

    def _check_symbols(self, spec: TokenizerSpec, config: FolderConfig) -> None:
        """Refuse tokens that `transformers` finds otherwise, and a list that makes pieces of symbols that it lacks."""
        fields = self._object(CONFIG)
        listed = next((name for name in (EXTRA, ADDITIONAL) if isinstance(fields.peek(name), list)), None)
        known = {token.text for token in config.tokens}
        unknown = None if spec.characters is None else spec.characters.unknown
        lost = [text for text, token_id in spec.special_tokens.items() if text not in known and token_id != unknown]
        named, own = config.uses.get("unk_token"), [each for each, i in spec.special_tokens.items() if i == unknown]
        if named is not None and own and named != own[0]:
            fields.refuse(f"found {named!r}; expected {own[0]!r}, the unknown piece of the model", "unk_token")
        tokens = (each for each in config.tokens if each.is_named and each.options.normalized)
        text = next((each.text for each in tokens if each.text not in spec.special_tokens), None)
        if text is not None:
            problem = f"the token {text!r} has normalized, which is not supported for a model without a class"
            fields.refuse(f"{problem}; expected false, or a row of added_tokens_decoder")
        if listed is not None and lost:
            problem = f"transformers finds {lost[0]!r}, which this list lacks, as a piece, and that is not supported"
            fields.refuse(f"{problem}; add it to the list, or leave the list out", listed)

    def _check_names(self, spec: TokenizerSpec) -> None:
        """Refuse a table of tokens that gives a piece another text, by which `transformers` would find it."""
        known = {**spec.added_tokens, **spec.special_tokens}
        config, added = self._object(CONFIG), self._object(ADDED)
        table = config.peek("added_tokens_decoder")
        rows = table_tokens(config) if table is not None else numbered_tokens(added, set())
        tokens = {**other_tokens(spec), **spec.vocab}
        for key, row in rows:
            token, text = tokens.get(key), row.text
            if token is not None and text not in known and token.decode("utf-8", "replace") != text:
                problem = f"{text!r} is another text for the piece {token.decode('utf-8', 'replace')!r}"
                source, place = (config, f"added_tokens_decoder.{key}") if table is not None else (added, text)
                source.refuse(f"{problem}, which is not supported; expected that", place)

    def _flagged(self, spec: TokenizerSpec) -> Template | None:
        """Return the template that flags for BOS and EOS define; a token that no file names is left out."""
        fields = self.fields
        if spec.characters is not None and "legacy" in fields and not fields.peek("legacy"):
            problem = "false or null is supported only for LlamaTokenizer; expected true, or the path of the model"
            fields.refuse(problem, "legacy")
        ids = {**spec.added_tokens, **spec.special_tokens}
        texts = {use: spec.names.get(use) for use in ("bos", "eos") if flag(fields, f"add_{use}_token")}
        found = {use: ids[text] for use, text in texts.items() if text in ids}
        if not found:
            return spec.template

        def around(text: str, kind: int) -> tuple[tuple[int | str, int], ...]:
            first, last = ([(found[use], kind)] if use in found else [] for use in ("bos", "eos"))
            return (*first, (text, kind), *last)

        return Template(around("A", 0), (*around("A", 0), *around("B", 1)))

    def _object(self, name: str) -> Fields:
        value: object = {}
        path = self.path / name
        if self.has(name):
            check_within(path, self.path)
            with suppress(VocabularyError):  # a file that is not JSON has no effect; it is only saved again
                value = self.json(name)
        return Fields(value, path=path, place="")


def check_within(path: Path, folder: Path) -> None:
    """Raise `VocabularyError` when a file is a link out of its folder, because saving would copy the target.

    Links within the cache of `huggingface_hub` are allowed, where a snapshot links to the blobs of its repository.
    """
    if not (path.is_symlink() or path.parent.is_symlink()):
        return
    own, target = folder.resolve(), path.resolve()
    folders = [own / path.parent.relative_to(folder)]
    folders += [own.parents[1] / "blobs"] if own.parent.name == "snapshots" else []
    if target.parent not in folders:
        problem = f"the file is a link to {target}, out of its folder, and would be saved with the tokenizer"
        raise VocabularyError(f"{problem}; replace the link by the file, or remove it", path=path)
