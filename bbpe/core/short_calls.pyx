"""Calls for short texts that run no code of Python: 20 characters take 310 instead of 1,000 ns."""
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH

cimport cython

from functools import wraps

from bbpe.core.places cimport PlacesCall
from bbpe.core.call cimport Call

from bbpe.core.encoder import SHORT_TEXT as _SHORT_TEXT

cdef Py_ssize_t SHORT = _SHORT_TEXT
cdef tuple NONE = ()  # no special token
cdef frozenset HASHED = frozenset([str, tuple, frozenset])  # the types of selections that are remembered

cdef enum:
    MOST_CALLS = 64  # that are remembered; a program has few
    MOST_TEXTS = 64  # of a short batch
    SHORT_BATCH = 2048  # characters; the texts of longer ones are encoded together faster than one by one

# stub: _Method = TypeVar("_Method", bound=Callable[..., list[int]])
# stub: _Batches = TypeVar("_Batches", bound=Callable[..., list[list[int]]])
# stub: _WithOffsets = TypeVar("_WithOffsets", bound=Callable[..., tuple[list[int], npt.NDArray[np.int64]]])
# stub: _Selection: TypeAlias = str | tuple[str, ...] | frozenset[str]
# stub: _Make: TypeAlias = Callable[[_Selection, _Selection, bool], "Call | PlacesCall | None"]


cdef class ShortCalls:
    """The calls of a tokenizer, by their options.  `make(allowed_special, disallowed_special, add_special_tokens)` returns what
    encodes their texts, or `None` if that takes code of Python."""
    cdef object make
    cdef object plain  # of the call without options
    cdef dict found
    cdef tuple last  # options, and what encodes by them: a program has most calls with the same objects

    def __cinit__(self, make: _Make):
        self.make, self.plain, self.found, self.last = make, make((), (), False), {}, (None, None, None, None)

    cdef object get(self, allowed, refused, adds):
        """What encodes by these options, or `None`."""
        if allowed is NONE and refused is NONE and adds is False:
            return self.plain
        cdef tuple last
        with cython.critical_section(self):
            last = self.last
        if allowed is last[0] and refused is last[1] and adds is last[2]:
            return last[3]
        found = self._remembered(allowed, refused, adds)
        # a set may have changed by the next call
        if type(allowed) in HASHED and type(refused) in HASHED:
            with cython.critical_section(self):
                self.last = (allowed, refused, adds, found)
        return found

    cdef object _remembered(self, allowed, refused, adds):
        if type(allowed) is set:
            allowed = frozenset(allowed)
        if type(refused) is set:
            refused = frozenset(refused)
        if type(allowed) not in HASHED or type(refused) not in HASHED or type(adds) is not bool:
            return None
        cdef tuple key = (allowed, refused, adds)
        cdef bint is_known
        try:
            is_known = key in self.found
        except TypeError:  # a tuple of what has no hash
            return None
        if not is_known:
            if len(self.found) >= MOST_CALLS:
                self.found.clear()
            self.found[key] = self.make(allowed, refused, adds)
        return self.found.get(key)


# The methods below name the options of those that they serve: a dict of options would be 7 % of the instructions of a call.


def short_first(method: _Method) -> _Method:
    """Have `Tokenizer.encode` leave calls for a short str to the `ShortCalls`, or `None`, in its object's `_short`."""
    def encode(
        self, text, pair=None, *, allowed_special=NONE, disallowed_special=NONE, add_special_tokens=False, dropout=0.0,
        seed=None
    ):
        cdef ShortCalls short
        cdef Call call
        if pair is None and not dropout and PyUnicode_Check(text) and PyUnicode_GET_LENGTH(text) < SHORT:
            short = self._short
            call = None if short is None else short.get(allowed_special, disallowed_special, add_special_tokens)
            if call is not None:
                return call.to_list(text)
        return method(
            self, text, pair, allowed_special=allowed_special, disallowed_special=disallowed_special,
            add_special_tokens=add_special_tokens, dropout=dropout, seed=seed,
        )
    return wraps(method)(encode)


def places_first(method: _WithOffsets) -> _WithOffsets:
    """Have `Tokenizer.encode_with_offsets` leave calls for a str to the `ShortCalls` in its object's `_place_calls`."""
    def encode_with_offsets(self, text, unit="char", *, allowed_special=NONE, disallowed_special=NONE):
        cdef PlacesCall call
        if PyUnicode_Check(text) and unit in ("char", "byte", "utf16"):
            call = (<ShortCalls>self._place_calls).get(allowed_special, disallowed_special, False)
            if call is not None:
                return call.encode(text, unit)
        return method(self, text, unit, allowed_special=allowed_special, disallowed_special=disallowed_special)
    return wraps(method)(encode_with_offsets)


def short_batches_first(method: _Batches) -> _Batches:
    """Have `Tokenizer.encode_batch` do the same for a list of texts: few, all of them str, and short together."""
    def encode_batch(
        self, texts, *, threads=None, allowed_special=NONE, disallowed_special=NONE, add_special_tokens=False
    ):
        cdef ShortCalls short
        cdef Call call
        if threads is None and type(texts) is list and is_short(<list>texts):
            short = self._short
            call = None if short is None else short.get(allowed_special, disallowed_special, add_special_tokens)
            if call is not None:
                found = lists_of(<list>texts, call)
                if found is not None:
                    return found
        return method(
            self, texts, threads=threads, allowed_special=allowed_special, disallowed_special=disallowed_special,
            add_special_tokens=add_special_tokens,
        )
    return wraps(method)(encode_batch)


cdef bint is_short(list texts):
    """Whether a batch has few texts, all of them str, that are short together."""
    cdef Py_ssize_t length = 0
    if len(texts) > MOST_TEXTS:
        return False
    for text in texts:
        if not PyUnicode_Check(text):
            return False
        length += PyUnicode_GET_LENGTH(text)
    return length < SHORT_BATCH


cdef list lists_of(list texts, Call call):
    """The ids of each text, or `None` if one is refused, so that the error names its place in the batch."""
    cdef list rows = []
    try:
        for text in texts:
            rows.append(call.to_list(text))
    except Exception:
        return None
    return rows
