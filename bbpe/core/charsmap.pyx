"""SentencePiece's normaliser in C (csrc/pipeline/charsmap.h), for one text and for many."""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from libc.string cimport memset

from bbpe.core.c_base cimport BBPE_NO_MEMORY, BBPE_OK, BBPE_TOO_LARGE
from bbpe.core.c_encode cimport bbpe_encode_text
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_reserve
from bbpe.core.c_pipeline cimport (
    BBPE_CHARSMAP_APPENDS, BBPE_CHARSMAP_BEGINS, BBPE_CHARSMAP_PREPENDS, BBPE_CHARSMAP_SQUEEZES, BBPE_CHARSMAP_UNMARKS,
    _Bool, bbpe_charsmap_apply, bbpe_charsmap_finalize, bbpe_charsmap_free, bbpe_charsmap_goes_on, bbpe_charsmap_init,
    bbpe_charsmap_keep, bbpe_charsmap_longest, bbpe_charsmap_mark, bbpe_charsmap_mark_as,
    bbpe_charsmap_mark_keys,
)
from bbpe.core.c_text cimport bbpe_transcode_utf8
from bbpe.core.status cimport check
from bbpe.core.text_view cimport text_close, text_open

from bbpe.errors import VocabularyError


cdef class SentencePieceNormalizer:
    """A table and what is done about blanks; immutable, shared by any number of threads.

    `table` is as in a model file, or empty.  Keys are looked for where one of `marked` stands, and one character before:
    these are the keys of one character and the second ones of longer keys, and the same of the strings `kept`.  None:
    they are looked for here, and a table that is broken is refused, a `VocabularyError`.  Another normalizer of the table:
    those of it.
    `unmarks`: U+2581 becomes a blank; with it, `squeezes`: blanks that are too many go; `prepends`: a blank in front of
    what is not empty at last; `begins`: one in front of what is not empty at first, which is not too many; `appends`: one
    at the end of what is not empty at first, nor blanks that all go.
    """

    def __cinit__(
        self, bytes table not None, marked: str | SentencePieceNormalizer | None, kept: Iterable[str], *, bint unmarks, bint squeezes=False,
        bint prepends=False, bint begins=False, bint appends=False
    ):
        cdef unsigned rules = 0
        cdef Py_UCS4 char
        cdef bbpe_status status
        cdef _Bool is_broken = False
        self._table = table
        if unmarks:
            rules |= BBPE_CHARSMAP_UNMARKS
        if squeezes:
            rules |= BBPE_CHARSMAP_SQUEEZES
        if prepends:
            rules |= BBPE_CHARSMAP_PREPENDS
        if begins:
            rules |= BBPE_CHARSMAP_BEGINS
        if appends:
            rules |= BBPE_CHARSMAP_APPENDS
        status = bbpe_charsmap_init(&self.c, <const uint8_t *>PyBytes_AS_STRING(table), <size_t>len(table), rules)
        if status == BBPE_TOO_LARGE:
            raise VocabularyError("the table of the normalizer is cut off; expected its size, a trie and texts")
        check(status)
        if marked is None:
            check(bbpe_charsmap_mark_keys(&self.c, &is_broken))
            if is_broken:
                raise VocabularyError(
                    "the table of the normalizer is broken; expected a double-array trie of UTF-8 and the texts it names")
        elif isinstance(marked, SentencePieceNormalizer):
            bbpe_charsmap_mark_as(&self.c, &(<SentencePieceNormalizer>marked).c)
        for char in marked if isinstance(marked, str) else "".join([text[1] if len(text) > 1 else text for text in kept]):
            bbpe_charsmap_mark(&self.c, char)
        for text in kept:
            data = <bytes>text.encode()
            if data:
                check(bbpe_charsmap_keep(&self.c, <const uint8_t *>PyBytes_AS_STRING(data), <size_t>len(data)))
        check(bbpe_charsmap_finalize(&self.c))

    def __dealloc__(self):
        bbpe_charsmap_free(&self.c)

    def apply(self, text: Text) -> bytes:
        """The normalized form of a text, a str or bytes-like, as bytes."""
        cdef normal_buffers buffer
        cdef text_view view
        cdef bbpe_status status
        memset(&buffer, 0, sizeof(buffer))
        text_open(&view, text)
        try:
            with nogil:
                status = self.normalize(&view, 1, &buffer)
            check(status)
            return PyBytes_FromStringAndSize(<const char *>view.text.units, view.length)
        finally:
            text_close(&view)
            normal_free(&buffer)

    def longest(self, bytes text not None, size_t at) -> tuple[int, bytes] | None:
        """The length of the longest key at a place of a text, and its value; None where there is none."""
        cdef const uint8_t *value = NULL
        cdef const uint8_t *start = text
        cdef size_t length = 0, found
        if at > <size_t>len(text):
            raise ValueError(f"place {at} is not within {len(text)} bytes")
        found = bbpe_charsmap_longest(&self.c, start + at, <size_t>len(text) - at, &value, &length)
        return None if found == 0 else (found, PyBytes_FromStringAndSize(<const char *>value, <Py_ssize_t>length))

    def goes_on(self, bytes text not None, size_t at) -> bool:
        """Whether all from a place of a text to its end is the beginning of a longer key."""
        cdef const uint8_t *start = text
        if at > <size_t>len(text):
            raise ValueError(f"place {at} is not within {len(text)} bytes")
        return bbpe_charsmap_goes_on(&self.c, start + at, <size_t>len(text) - at)

    def apply_all(self, texts: Sequence[Text]) -> list[bytes]:
        """Apply the table to each of some texts."""
        return [self.apply(text) for text in texts]

    cdef bbpe_status normalize(self, text_view *views, size_t count, normal_buffers *buffer) noexcept nogil:
        """Let views show what becomes of their texts, in memory of `buffer` until it is used again."""
        cdef bbpe_status status
        cdef size_t i, start
        buffer.output.used = 0
        for i in range(count):
            start = buffer.output.used
            status = self._append(&views[i], buffer)
            if status != BBPE_OK:
                return status
            views[i].length = buffer.output.used - start
        start = 0
        for i in range(count):  # by now the memory stays where it is
            views[i].text = bbpe_encode_text(buffer.output.bytes + start, 0)
            start += views[i].length
        return BBPE_OK

    cdef bbpe_status _append(self, const text_view *view, normal_buffers *buffer) noexcept nogil:
        cdef const uint8_t *data = <const uint8_t *>view.text.units
        cdef unsigned unit_size = view.text.unit_size  # 0: bytes
        cdef size_t n = view.length, taken
        cdef uint8_t *copied
        if unit_size:
            copied = <uint8_t *>bbpe_memory_reserve(
                buffer.copied.bytes, &buffer.copied.capacity, n * (unit_size if unit_size == 4 else unit_size + 1) + 16, 1)
            if copied == NULL:
                return BBPE_NO_MEMORY
            buffer.copied.bytes = copied
            n = bbpe_transcode_utf8(data, unit_size, 0, n, &taken, copied, buffer.copied.capacity)
            data = copied
        return bbpe_charsmap_apply(&self.c, data, n, &buffer.output)


cdef void normal_free(normal_buffers *buffer) noexcept:
    bbpe_memory_free(buffer.copied.bytes)
    bbpe_memory_free(buffer.output.bytes)
