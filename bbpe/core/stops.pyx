"""Streams of text that end at a stop string (csrc/decode/stop_strings.h)."""
cimport cython
from libc.stdint cimport uint32_t

from bbpe.core.c_decode cimport (
    bbpe_stop_strings, bbpe_stop_strings_find, bbpe_stop_strings_free, bbpe_stop_strings_init,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.status cimport check, had
from bbpe.core.stream cimport FormStream
from bbpe.core.text_view cimport PyUnicode_DATA, PyUnicode_GET_LENGTH, PyUnicode_KIND

cdef extern from "Python.h":
    Py_UCS4 PyUnicode_READ_CHAR(object text, Py_ssize_t at)

# stub: class _Stream(Protocol):
# stub:     def copy(self) -> Any: ...
# stub:     def push(self, token_id: int, /) -> str: ...
# stub:     def finish(self) -> str: ...


cdef class StopStrings:
    """Strings at which a text ends, none of them empty; immutable, shared by any number of threads."""

    cdef bbpe_stop_strings c
    cdef list strings  # sorted, each once

    def __cinit__(self, strings: Iterable[str]):
        cdef uint32_t *characters = NULL
        cdef size_t *ends = NULL
        cdef size_t size = 0, number
        cdef Py_ssize_t i
        cdef str string
        self.strings = sorted(set(strings))
        if "" in self.strings:
            raise ValueError("a stop string is empty; expected characters")
        try:
            characters = <uint32_t *>had(bbpe_memory_new(sum(map(len, self.strings)), sizeof(uint32_t)))
            ends = <size_t *>had(bbpe_memory_new(len(self.strings), sizeof(size_t)))
            for number, string in enumerate(self.strings):
                for i in range(len(string)):
                    characters[size] = PyUnicode_READ_CHAR(string, i)
                    size += 1
                ends[number] = size
            check(bbpe_stop_strings_init(&self.c, characters, ends, len(self.strings)))
        finally:
            bbpe_memory_free(characters)
            bbpe_memory_free(ends)

    def __dealloc__(self):
        bbpe_stop_strings_free(&self.c)


cdef class StopStream:
    """The text of another stream up to the first end of a stop string; its methods are those of `FormStream`.

    An end of the text that may begin a stop string is held back, unless stop strings are `included`.  Not for several
    threads at a time.
    """

    cdef object stream     # any stream ...
    cdef FormStream form   # ... and the same one if it is of this class, whose methods C calls
    cdef StopStrings strings
    cdef bint included
    cdef uint32_t state
    cdef readonly list ids  # stub: list[int]
    cdef readonly str stopped  # stub: str | None
    # the characters of the stream so far, up to the end of the stop string
    cdef readonly Py_ssize_t read

    def __cinit__(self, stream: _Stream, StopStrings strings not None, *, bint included=False):
        self.stream, self.strings, self.included, self.ids = stream, strings, included, []
        self.form = stream if isinstance(stream, FormStream) else None

    @cython.critical_section
    def copy(self) -> StopStream:
        """A stream in the same state."""
        cdef StopStream other = StopStream(self.stream.copy(), self.strings, included=self.included)
        other.state, other.stopped, other.read = self.state, self.stopped, self.read
        other.ids = self.ids.copy()
        return other

    @property
    def inner(self) -> _Stream:
        """The stream whose text this is."""
        return self.stream

    @cython.critical_section
    def push(self, token_id: int, /) -> str:
        """The text that an id completes and that no stop string can hold; `ValueError` after a stop string."""
        return self._pushed(token_id)

    @cython.critical_section
    def step(self, tokenizer: object, token_id: object, /) -> str | None:
        """What `push` returns for an id, or for several up to a stop string; `None` for ""; `tokenizer` is not used."""
        cdef str text
        cdef list parts = []
        if type(token_id) is int or hasattr(token_id, "__index__"):
            text = self._pushed(token_id)
        else:
            for each in token_id:
                parts.append(self._pushed(each))
                if self.stopped is not None:
                    break
            text = "".join(parts)
        return text if text else None

    @cython.critical_section
    def finish(self) -> str:
        """The rest of the text; the stream is at its end."""
        cdef str rest
        if self.stopped is not None:
            return ""
        rest = self._shown(self.stream.finish())
        if self.stopped is None and self.state and not self.included:
            rest += self._begun(self.state, self._depth(self.state))
        return rest

    cdef str _pushed(self, object token_id):
        cdef str text
        if self.stopped is not None:
            raise ValueError(
                f"this text has ended, as the stop string {self.stopped!r} came; push no id while `stopped` is a "
                "string, and call finish() to begin another text")
        text = self.form._completed(token_id) if self.form is not None else self.stream.push(token_id)
        self.ids.append(token_id)
        return self._shown(text)

    cdef Py_ssize_t _depth(self, uint32_t state) noexcept:
        """The number of characters at the end of the text that begin a stop string, in a state."""
        return <Py_ssize_t>self.strings.c.states[state].depth

    cdef str _begun(self, uint32_t state, Py_ssize_t size):
        """The first of these characters."""
        return (<str>self.strings.strings[self.strings.c.states[state].string])[:size]

    cdef str _shown(self, str text):
        """What is returned after a text has come."""
        cdef uint32_t before = self.state
        cdef size_t end = PyUnicode_GET_LENGTH(text)
        cdef Py_ssize_t shown
        cdef bint found = bbpe_stop_strings_find(
            &self.strings.c, PyUnicode_DATA(text), PyUnicode_KIND(text), end, &self.state, &end)
        self.read += <Py_ssize_t>end
        if found:
            self.stopped = self.strings.strings[self.strings.c.states[self.state].found]
            text = text[:end]
        if self.included or not (before or self.state):
            return text
        # no more is copied than is returned: what is held may be long
        shown = self._depth(before) + len(text) - (len(self.stopped) if found else self._depth(self.state))
        if shown <= self._depth(before):
            return self._begun(before, shown)
        return self._begun(before, self._depth(before)) + text[:shown - self._depth(before)]
