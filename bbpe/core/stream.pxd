from libc.stdint cimport int64_t, uint8_t, uint32_t

from bbpe.core.c_decode cimport BBPE_ID_NONE
from bbpe.core.id_source cimport IdSource
from bbpe.core.ids cimport TokenBytes

cdef enum:
    TORN = 3  # the most bytes of a character that is not complete

cdef class Forms:
    cdef readonly TokenBytes within
    cdef object at_edge
    cdef tuple found  # what it returned, by whether the token is the first and the last one, and by id
    cdef size_t id_count
    cdef void **texts  # by id: the str of a token of whole characters, None for another one, NULL before it is asked for
    cdef readonly bint has_first
    cdef readonly bint has_last
    cdef Py_ssize_t strip
    cdef uint8_t content
    cdef int64_t bare
    cdef dict heads  # by the first id of a text: its bytes there, if no other id changes them

    cdef tuple head(self, IdSource ids, size_t start, size_t stop)
    cdef str text_of(self, uint32_t number)
    cdef bytes edge(self, token_id, bint is_first, bint is_last)

cdef class FormStream:
    cdef Forms forms
    cdef bytes errors
    cdef bytes skipped
    cdef str unknown_ids
    cdef const uint8_t *skips
    # the state: of the text ...
    cdef bint begun
    cdef Py_ssize_t stripping      # the number of bytes that may still be removed from the beginning
    cdef bytes held                # what the last token adds if another one follows
    cdef bytes held_last           # ... and if none does
    # ... and of its characters
    cdef uint8_t torn[TORN]
    cdef Py_ssize_t torn_count

    cdef str _completed(self, object token_id)
    cdef bint is_steady(self) noexcept
    cdef uint32_t _other(self, token_id) except? BBPE_ID_NONE
    cdef bytes _added(self, object token_id, uint32_t number, const uint8_t *found, size_t length)
    cdef bytes _stripped(self, bytes part)
    cdef str _decoded(self, const char *data, Py_ssize_t size)
