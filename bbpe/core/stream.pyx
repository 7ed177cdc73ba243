"""Ids -> text one at a time: the bytes of each token by its position, then the characters that they complete."""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from bbpe.core.c_base cimport BBPE_ATOMIC_ACQUIRE, BBPE_ATOMIC_SWAP
from bbpe.core.c_decode cimport BBPE_ID_NONE, bbpe_id_array_load, bbpe_token_bytes_get
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.id_source cimport IdSource, bbpe_plain_id
from bbpe.core.ids cimport TokenBytes
from bbpe.core.status cimport had

from bbpe.core.id_source import as_int
from bbpe.lazy import np

cdef extern from *:
    str PyUnicode_DecodeUTF8(const char *data, Py_ssize_t size, const char *errors)
    str PyUnicode_DecodeUTF8Stateful(const char *data, Py_ssize_t size, const char *errors, Py_ssize_t *used)

# stub: _UnknownIds: TypeAlias = Literal["raise", "skip", "mark"]
# stub: _AtEdge: TypeAlias = Callable[[int | None, bool, bool], bytes]


cdef class Forms:
    """The bytes of each id by its position in a text; immutable, shared by any number of threads.

    `within` has the bytes of tokens within a text.  `at_edge(token_id, is_first, is_last)` returns those of the token
    at the beginning or the end of a text, where they differ with `has_first` or `has_last`; `None` is the id of U+FFFD,
    which marks an unknown id.  Up to `strip` bytes `content`, an ASCII character, are removed from the beginning of a
    text, but not from the token `bare`, which is -1 if there is none.
    """

    def __cinit__(
        self, TokenBytes within not None, at_edge: _AtEdge, *, bint has_first=False, bint has_last=False,
        Py_ssize_t strip=0, uint8_t content=0x20, int64_t bare=-1,
    ):
        self.within, self.at_edge, self.has_first, self.has_last = within, at_edge, has_first, has_last
        self.strip, self.content, self.bare = strip, content, bare
        self.found = ({}, {}, {}, {})
        self.heads = {}
        self.texts = <void **>had(bbpe_memory_zeroed(within.table.id_count, sizeof(void *)))
        self.id_count = within.table.id_count

    def __dealloc__(self):
        cdef size_t i
        if self.texts != NULL:
            for i in range(self.id_count):
                if self.texts[i] != NULL:
                    Py_DECREF(<object>self.texts[i])
        bbpe_memory_free(self.texts)

    @property
    def is_plain(self) -> bool:
        """Whether a text is the concatenation of its tokens."""
        return not (self.has_first or self.has_last or self.strip)

    def begun(self, ids: _Ids, str errors not None) -> tuple[str, int]:
        """The text of the first ids, and how many they are; the bytes of all others are those within a text."""
        cdef FormStream stream = FormStream.__new__(FormStream, self, errors)
        cdef Py_ssize_t i, n = len(ids)
        cdef str text = ""
        for i in range(n):
            if stream.is_steady():
                return text, i
            text += stream.push(ids[i])
        return text + stream.finish(), n

    def rows(
        self, ids: _Ids, const int64_t[::1] starts not None, const int64_t[::1] ends not None
    ) -> tuple[bytes, npt.NDArray[np.int64]]:
        """The bytes of texts, one after another, and where each of them ends in these, int64[texts]; not with `has_last`.

        Text i is ids[starts[i]:ends[i]], as in `TokenBytes.rows`."""
        cdef IdSource source = IdSource(ids)
        cdef Py_ssize_t i, n = starts.shape[0]
        cdef int64_t count = source.array.count, start, stop
        if self.has_last or ends.shape[0] != n:
            raise ValueError(f"{n} starts of texts, {ends.shape[0]} ends; expected as many, where the last token is as others")
        within = np.array(starts)
        cdef int64_t[::1] firsts = within
        heads = []
        for i in range(n):
            start, stop = firsts[i], ends[i]  # each is read once, as others may write to them
            if not 0 <= start <= stop <= count:
                raise ValueError(f"text {i} is ids {start} to {stop}; expected a part of {count} ids")
            head, used = self.head(source, start, stop)
            firsts[i] = start + used
            heads.append(head)
        return self.within.rows(ids, within, ends, heads)

    cdef tuple head(self, IdSource ids, size_t start, size_t stop):
        """The bytes of the first ids of a text, and how many they are, after which all have their bytes within a text."""
        cdef FormStream stream
        cdef uint32_t first = 0
        cdef size_t at = start
        if start == stop:
            return b"", 0
        bbpe_id_array_load(&ids.array, start, 1, &first)
        found = self.heads.get(first)
        if found is not None:
            return found, 1
        stream, parts = FormStream.__new__(FormStream, self), []
        while at < stop and not stream.is_within:
            parts.append(stream.add(ids.at(at)))
            at += 1
        if at == start + 1 and stream.is_within:
            self.heads[first] = parts[0]
        return b"".join(parts), at - start

    cdef str text_of(self, uint32_t number):
        """The text of a token that has whole characters only, or `None`.  It is made once: a stream takes 74 instead of
        95 ns a token."""
        cdef const uint8_t *token
        cdef size_t length = 0
        cdef Py_ssize_t used = 0
        cdef void *nothing = NULL
        cdef void *found
        if number >= self.id_count:
            return None
        found = BBPE_ATOMIC_ACQUIRE(self.texts + number)
        if found != NULL:
            return <str>found
        token = bbpe_token_bytes_get(&self.within.table, number, &length)
        if token == NULL:
            return None
        try:
            text = PyUnicode_DecodeUTF8Stateful(<const char *>token, <Py_ssize_t>length, "strict", &used)
        except UnicodeDecodeError:
            used = -1
        if used != <Py_ssize_t>length:
            text = None
        # another thread may have been first
        if BBPE_ATOMIC_SWAP(self.texts + number, &nothing, <void *><PyObject *>text):
            Py_INCREF(text)
        return text

    cdef bytes edge(self, token_id, bint is_first, bint is_last):
        cdef dict found = <dict>self.found[2 * is_first + is_last]
        token = found.get(token_id)
        return found.setdefault(token_id, self.at_edge(token_id, is_first, is_last)) if token is None else token


cdef class FormStream:
    """The state of decoding one text by forms.

    `skipped` has a byte for each id, which is not 0 if the id adds nothing; `None` skips none.  `unknown_ids` is
    "raise", "skip" or "mark".  Not for several threads at a time.
    """

    def __cinit__(
        self, Forms forms not None, str errors not None="replace", bytes skipped=None, unknown_ids: _UnknownIds = "raise",
    ):
        self.forms, self.errors, self.skipped, self.unknown_ids = forms, errors.encode(), skipped, unknown_ids
        if skipped is not None:
            if <size_t>len(skipped) < forms.within.table.id_count:
                raise ValueError(f"skipped has {len(skipped)} bytes; expected one for each id")
            self.skips = <const uint8_t *>PyBytes_AS_STRING(skipped)
        self.stripping = forms.strip
        self.held = self.held_last = b""

    @cython.critical_section
    def copy(self) -> FormStream:
        """A stream in the same state."""
        cdef FormStream other = FormStream(self.forms, self.errors.decode(), self.skipped, self.unknown_ids)
        other.begun, other.stripping = self.begun, self.stripping
        other.held, other.held_last = self.held, self.held_last
        other.torn_count = self.torn_count
        memcpy(other.torn, self.torn, TORN)
        return other

    @cython.critical_section
    def push(self, token_id: int, /) -> str:
        """The text that an id completes; `TokenIdError` on an unknown one unless it is skipped or marked."""
        return self._completed(token_id)

    @cython.critical_section
    def step(self, tokenizer: object, token_id: object, /) -> str | None:
        """What `push` returns for an id, or for several in order, `None` for ""; `tokenizer` is not used."""
        cdef str text
        if type(token_id) is int or hasattr(token_id, "__index__"):
            text = self._completed(token_id)
        else:
            text = "".join([self._completed(each) for each in token_id])
        return text if text else None

    cdef str _completed(self, object token_id):
        cdef size_t length = 0
        cdef uint32_t number = bbpe_plain_id(<PyObject *>token_id)
        cdef const uint8_t *found
        cdef bytes added
        cdef str text
        if number == BBPE_ID_NONE:
            number = self._other(token_id)
        if self.is_steady() and not self.forms.has_last:
            text = self.forms.text_of(number)
            if text is not None:
                return "" if self.skips != NULL and self.skips[number] else text
        found = bbpe_token_bytes_get(&self.forms.within.table, number, &length)
        if found != NULL and self.skips != NULL and self.skips[number]:
            return ""
        if found == NULL or self.forms.has_last or self.stripping or not self.begun:
            added = self._added(token_id, number, found, length)
            return self._decoded(PyBytes_AS_STRING(added), PyBytes_GET_SIZE(added))
        return self._decoded(<const char *>found, <Py_ssize_t>length)

    @cython.critical_section
    def finish(self) -> str:
        """The rest of the text; the stream is at its end."""
        cdef bytes rest = bytes(self.torn[:self.torn_count]) + self.rest()
        cdef str text = PyUnicode_DecodeUTF8(
            PyBytes_AS_STRING(rest), PyBytes_GET_SIZE(rest), PyBytes_AS_STRING(self.errors))
        self.torn_count = 0
        return text

    # the same without characters

    @cython.critical_section
    def add(self, token_id: int) -> bytes:
        """The bytes that an id adds; otherwise as `push`."""
        cdef size_t length = 0
        cdef uint32_t number = self._other(token_id)
        cdef const uint8_t *found = bbpe_token_bytes_get(&self.forms.within.table, number, &length)
        return self._added(token_id, number, found, length)

    @cython.critical_section
    def flush(self) -> bytes:
        """The bytes that are held until another token follows."""
        cdef bytes held = self.held
        self.held = self.held_last = b""
        return self._stripped(held)

    @cython.critical_section
    def rest(self) -> bytes:
        """The bytes that the last token adds at the end of the text."""
        cdef bytes rest = self._stripped(self.held_last)
        self.held = self.held_last = b""
        return rest

    @property
    def held_count(self) -> int:
        """The number of bytes that are held until another token follows."""
        return len(self.held)

    @property
    def is_within(self) -> bool:
        """Whether each following token except the last adds its bytes within a text."""
        return self.begun and not self.stripping

    cdef bint is_steady(self) noexcept:
        """Whether a text that follows can be decoded alone."""
        return self.begun and not self.stripping and not self.torn_count

    cdef uint32_t _other(self, token_id) except? BBPE_ID_NONE:
        """An id of any integer type; BBPE_ID_NONE when no token can have it."""
        cdef object number = as_int(token_id)
        return <uint32_t>number if 0 <= number < self.forms.within.table.id_count else BBPE_ID_NONE

    cdef bytes _added(self, object token_id, uint32_t number, const uint8_t *found, size_t length):
        """The bytes that an id adds; `found` is NULL when no token has it."""
        cdef Forms forms = self.forms
        cdef bint is_first = forms.has_first and not self.begun, is_bare = found != NULL and number == forms.bare
        cdef object known = number
        cdef bytes token, as_last, flushed
        cdef Py_ssize_t shared = 0
        if found == NULL:
            if self.unknown_ids == "raise":
                forms.within.token(token_id)  # raises
            if self.unknown_ids == "skip":
                return b""
            known = None
        if found == NULL or is_first:
            token = forms.edge(known, is_first, False)
        else:
            token = PyBytes_FromStringAndSize(<const char *>found, length)
        as_last = forms.edge(known, is_first, True) if forms.has_last else b""
        flushed = self.flush()
        self.begun = True
        if is_bare:
            self.stripping = 0
        if forms.has_last:
            shared = _shared(token, as_last)
            self.held, self.held_last, token = token[shared:], as_last[shared:], token[:shared]
        return flushed + self._stripped(token)

    cdef bytes _stripped(self, bytes part):
        """Bytes without those that are removed from the beginning of a text."""
        cdef Py_ssize_t count = 0, most
        if not self.stripping:
            return part
        most = min(self.stripping, len(part))
        while count < most and <uint8_t>PyBytes_AS_STRING(part)[count] == self.forms.content:
            count += 1
        self.stripping = self.stripping - count if count == len(part) else 0
        return part[count:]

    cdef str _decoded(self, const char *data, Py_ssize_t size):
        """The characters that bytes complete; an incomplete one at their end is kept."""
        cdef Py_ssize_t used = 0
        cdef bytes joined
        cdef str text
        if self.torn_count:
            joined = bytes(self.torn[:self.torn_count]) + data[:size]
            data, size = PyBytes_AS_STRING(joined), PyBytes_GET_SIZE(joined)
        text = PyUnicode_DecodeUTF8Stateful(data, size, PyBytes_AS_STRING(self.errors), &used)
        self.torn_count = min(size - used, <Py_ssize_t>TORN)
        memcpy(self.torn, data + used, self.torn_count)
        return text


cdef Py_ssize_t _shared(bytes one, bytes other) noexcept:
    """The number of bytes that both begin with."""
    cdef Py_ssize_t count = 0, most = min(PyBytes_GET_SIZE(one), PyBytes_GET_SIZE(other))
    while count < most and PyBytes_AS_STRING(one)[count] == PyBytes_AS_STRING(other)[count]:
        count += 1
    return count
