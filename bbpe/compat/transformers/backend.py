"""The backend of an accelerated tokenizer of `transformers`: our engine in front of the tokenizer of HF.

The tokenizer of HF stays the authority on components, vocabulary and file.  Changes go to it, and the engine follows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Sequence
from copy import deepcopy
from typing import Any

from ...encoding.stream import StreamDecoder
from ...errors import AccelerationError, AccelerationWarning, BBPEError
from ...files import StrPath
from ...lazy import safe_import
from ...records import replace
from ...tokenizer import Tokenizer as _Tokenizer
from ..columns import listed
from ..tokenizers import Tokenizer, hf_texts_of_json, tokenizer_of_json
from ..tokenizers.components import with_tokens
from ..tokenizers.encoding import Encoding
from ..tokenizers.row_options import Padding, Truncation
from ..tokenizers.texts import HfTexts
from .call_options import Chosen, Options, TurnLock
from .proofs import Odd, prove, prove_ids

#: The options of models that can change ids.
_OPTIONS = (
    "dropout", "unk_token", "unk_id", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback",
    "ignore_merges", "max_input_chars_per_word",
)  # fmt: skip

_TOKENS = "added tokens"


def _component(name: str) -> Any:
    """Return a property for a component of the tokenizer of HF; whoever gets it may change it."""

    def get(self: Backend) -> Any:
        self._suspects.add(name)
        return getattr(self._own_inner(), name)

    def put(self: Backend, value: Any) -> None:
        self._suspects.add(name)
        setattr(self._own_inner(), name, value)

    return property(get, put)


def _option(name: str) -> Any:
    """Return a property for one of the options that this thread sees."""

    def get(self: Backend) -> Any:
        return getattr(self.chosen.options, name)

    def put(self: Backend, value: Any) -> None:
        self.chosen.options = self.chosen.options._replace(**{name: value})

    return property(get, put)


class Backend(Tokenizer):
    """A `tokenizers.Tokenizer` that encodes and decodes by our engine; the rest goes to the tokenizer of HF."""

    normalizer = _component("normalizer")
    pre_tokenizer = _component("pre_tokenizer")
    post_processor = _component("post_processor")
    decoder = _component("decoder")
    model = _component("model")

    def __init__(self, inner: Any, accepts_offsets: bool = False) -> None:
        hf_texts = _hf_texts_of(inner)
        self._prepare(inner, hf_texts, prove(hf_texts, inner, accepts_offsets=accepts_offsets))
        self._accepts_offsets = accepts_offsets
        cut = None if inner.truncation is None else Truncation(**inner.truncation)
        pads = None if inner.padding is None else Padding(**inner.padding)
        #: The options, as this thread sees them.
        self.chosen = Chosen(Options(cut, pads, inner.encode_special_tokens))

    def _prepare(self, inner: Any, hf_texts: HfTexts | None, odd: Odd) -> None:
        self._inner, self._owns, self._current, self._odd = inner, True, hf_texts, odd
        self._lock = TurnLock()
        # whether encoding with special tokens as plain text is proven too, and if it gives the same ids
        self._is_plain_equal: bool | None = None
        self._suspects: set[str] = set()
        self._states = {name: _state_of(inner, name) for name in COMPONENTS}

    encode_special_tokens = _option("is_plain")
    _truncation = _option("truncation")
    _padding = _option("padding")

    # -- changes ---------------------------------------------------------------------------------------------

    def _own_inner(self) -> Any:
        """Return the tokenizer of HF for a change; copies share it until then."""
        if not self._owns:
            with self._lock.turn():
                self._inner, self._owns = deepcopy(self._inner), True
        return self._inner

    def synchronized(self) -> Any:
        """Return the tokenizer of HF, with the truncation and padding of this one."""
        inner, truncation, padding = self._inner, self.truncation, self.padding
        if inner.truncation != truncation:
            inner.enable_truncation(**truncation) if truncation else inner.no_truncation()
        if inner.padding != padding:
            inner.enable_padding(**padding) if padding else inner.no_padding()
        inner.encode_special_tokens = self.encode_special_tokens
        return inner

    def by_inner(self, name: str, *arguments: Any) -> Any:
        """Return what a method of the tokenizer of HF returns with the options of this thread.

        Threads take turns, because that tokenizer has its options in one place.
        """
        with self._lock.turn():
            return getattr(self.synchronized(), name)(*arguments)

    def ready(self, is_plain: bool | None = None) -> HfTexts | None:
        """Return our engine; `None` if a change has ended the acceleration, or for the present options.

        `is_plain`: whether special tokens are plain text, instead of `encode_special_tokens`.
        """
        if self._suspects:
            with self._lock.turn():
                self._follow_components()
        plain = self.encode_special_tokens if is_plain is None else is_plain
        if plain and self._current is not None and not self._gives_equal_plain(self._current):
            return None
        return self._current

    @property
    def _hf_texts(self) -> HfTexts:  # type: ignore[override]
        hf_texts = self.ready()
        assert hf_texts is not None
        return hf_texts

    def _gives_equal_plain(self, hf_texts: HfTexts) -> bool:
        with self._lock.turn():
            if self._is_plain_equal is None:
                try:
                    prove_ids(hf_texts, self._inner, [], is_plain=True, accepts_offsets=self._accepts_offsets)
                    self._is_plain_equal = True
                except AccelerationError as error:
                    self._is_plain_equal = False
                    _warn(f"tokenizers encodes without special tokens, because bbpe differs: {error}")
            return self._is_plain_equal

    def _follow_components(self) -> None:
        suspects = set(self._suspects)
        if _TOKENS in suspects:
            self._follow_tokens()
        states = {name: _state_of(self._inner, name) for name in suspects - {_TOKENS}}
        if any(self._states[name] != state for name, state in states.items()):
            self._states |= states
            self._follow(lambda: _hf_texts_of(self._inner))
        self._suspects -= suspects  # last, so that no other thread encodes by the engine before the change

    def _follow(self, make: Callable[[], HfTexts], ids: Collection[int] | None = None) -> None:
        """Follow a change; if that is not possible, warn, and leave the work to the tokenizer of HF."""
        self._is_plain_equal = None
        try:
            hf_texts = make()
            odd = prove(hf_texts, self._inner, ids, accepts_offsets=self._accepts_offsets)
            if ids is not None:
                odd = odd[0] | (self._odd[0] - set(ids)), odd[1] | (self._odd[1] - set(ids))
            self._odd, self._current = odd, hf_texts
        except BBPEError as error:
            self._current = None
            _warn(f"a change of this tokenizer ends its acceleration: {error}")

    def add_tokens(self, tokens: Iterable[Any]) -> int:
        """Add tokens that always match; the arguments are those of `tokenizers`."""
        with self._lock.turn():
            return self._added(self._own_inner().add_tokens(list(tokens)))

    def add_special_tokens(self, special_tokens: Iterable[Any]) -> int:
        """Add special tokens; the arguments are those of `tokenizers`."""
        with self._lock.turn():
            return self._added(self._own_inner().add_special_tokens(list(special_tokens)))

    def _added(self, count: int) -> int:
        if count:
            self._suspects.add(_TOKENS)
        return count

    def _follow_tokens(self) -> None:
        hf_texts = self._current
        if hf_texts is not None:
            tokens, spec = self._inner.get_added_tokens_decoder(), hf_texts.spec
            self._follow(lambda: HfTexts(_Tokenizer(with_tokens(spec, tokens)), hf_texts.keeps_types), tokens.keys())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")
        if name in ("train", "train_from_iterator"):
            self._suspects.add("model")
            self._states["model"] = None
        return getattr(self._own_inner(), name)

    # -- encoding and decoding -------------------------------------------------------------------------------

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """Return the encoding of a text or a pair of texts."""
        if self.ready() is None:
            found: Encoding = self.by_inner("encode", sequence, pair, is_pretokenized, add_special_tokens)
            return found
        return super().encode(sequence, pair, is_pretokenized, add_special_tokens)

    def encode_batch(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Return the encodings of texts or pairs of texts."""
        if self.ready() is None:
            texts = list(listed(input))
            rows: list[Encoding] = self.by_inner("encode_batch", texts, is_pretokenized, add_special_tokens)
            return rows
        return super().encode_batch(input, is_pretokenized, add_special_tokens)

    encode_batch_fast = encode_batch

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids; `tokenizers` decodes those that it decodes in another way."""
        hf_texts, odd = self.ready(), self._odd[skip_special_tokens]
        if hf_texts is None or (odd and not odd.isdisjoint(ids)):
            return str(self._inner.decode(list(ids), skip_special_tokens))
        return hf_texts.decoded(ids, skip_special_tokens)

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the text of each row of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    def stream_decoder(self, ids: Sequence[int], skip_special_tokens: bool) -> StreamDecoder | None:
        """Return a decoder of one id at a time; `None` if `tokenizers` decodes some ids in another way."""
        if self.ready() is None or self._odd[skip_special_tokens]:
            return None
        return super().stream_decoder(ids, skip_special_tokens)

    # -- what the tokenizer of HF knows ----------------------------------------------------------------------

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return the number of ids that the template adds."""
        return int(self._inner.num_special_tokens_to_add(is_pair))

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token; None if there is no such token."""
        found: int | None = self._inner.token_to_id(token)
        return found

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id; None if there is no such id."""
        found: str | None = self._inner.id_to_token(id)
        return found

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return all tokens and their ids, or those of the model."""
        found: dict[str, int] = self._inner.get_vocab(with_added_tokens)
        return found

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens, or of those of the model."""
        return int(self._inner.get_vocab_size(with_added_tokens))

    def get_added_tokens_decoder(self) -> dict[int, Any]:
        """Return the added and special tokens by their ids."""
        found: dict[int, Any] = self._inner.get_added_tokens_decoder()
        return found

    def to_str(self, pretty: bool = False) -> str:
        """Return a tokenizer.json."""
        return str(self.by_inner("to_str", pretty))

    def save(self, path: StrPath, pretty: bool = True) -> None:
        """Write a tokenizer.json."""
        self.by_inner("save", str(path), pretty)

    # -- copies ----------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo: object = None) -> Backend:
        copy: Backend = object.__new__(Backend)
        copy.__dict__.update(self.__dict__)
        copy._states, copy._suspects = dict(self._states), set(self._suspects)
        # the lock is that of the tokenizer of HF, which both share
        copy.chosen, copy._lock = Chosen(self.chosen.options), self._lock
        self._owns = copy._owns = False
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        # equal tokenizers have equal bytes in all processes, so sets are sorted; like `tokenizers`, the pickle holds no
        # `encode_special_tokens`, which calls of `transformers` set
        hf_texts, options = self.ready(is_plain=False), self.chosen.options
        odd = tuple(tuple(sorted(ids)) for ids in self._odd)  # after a change has been followed
        with self._lock.turn():
            json = self.synchronized().to_str()
        kept = Options(options.truncation, options.padding)
        return _restored, (json, hf_texts, odd, kept, self._accepts_offsets)

    def __repr__(self) -> str:
        return f"<accelerated by bbpe: {self._inner!r:.120}>"


COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "model")


def _restored(
    json: str, hf_texts: HfTexts | None, odd: tuple[Iterable[int], ...], options: Options, accepts_offsets: bool
) -> Backend:
    safe_import("tokenizers")
    import tokenizers

    made: Backend = object.__new__(Backend)
    without, skipped = map(frozenset, odd)
    made._prepare(tokenizers.Tokenizer.from_str(json), hf_texts, (without, skipped))
    made.chosen, made._accepts_offsets = Chosen(options), accepts_offsets
    return made


def _hf_texts_of(inner: Any) -> HfTexts:
    """Return our engine for a tokenizer of HF; `AccelerationError` with the reason if bbpe does not support it."""
    try:
        data = inner.to_str().encode("utf-8", "surrogatepass")
    except Exception as error:  # `tokenizers` raises it for a component in Python
        raise AccelerationError(f"tokenizers cannot write this tokenizer as JSON: {error}") from error
    try:
        tokenizer = _Tokenizer(replace(tokenizer_of_json(data, float).spec, padding=None, truncation=None))
        hf_texts = hf_texts_of_json(data, tokenizer)
    except BBPEError as error:
        raise AccelerationError(str(error)) from error
    if dropout := tokenizer.spec.dropout:
        raise AccelerationError(f"model.dropout is {dropout}, so tokenizers draws other ids at each call")
    if not tokenizer.vocab_size:
        raise AccelerationError("the tokenizer has no tokens")
    return hf_texts


def _state_of(inner: Any, name: str) -> Any:
    """Return what changes when a component of a tokenizer of HF changes."""
    component = getattr(inner, name)
    if name == "model":
        return type(component).__name__, *(getattr(component, option, None) for option in _OPTIONS)
    try:
        return None if component is None else component.__getstate__()
    except Exception:  # `tokenizers` raises it for a component in Python
        return object()


def _warn(message: str) -> None:
    warnings.warn(message, AccelerationWarning, stacklevel=6)
