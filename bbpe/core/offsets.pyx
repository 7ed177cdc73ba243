"""Spans of bytes of a text as spans of characters or UTF-16 units (csrc/text/offsets.h)."""
from libc.stdint cimport int64_t

from bbpe.core.c_text cimport BBPE_OFFSETS_CHAR, BBPE_OFFSETS_UTF16, bbpe_offsets_map, bbpe_offsets_unit
from bbpe.core.text_view cimport text_close, text_open, text_view


def map_spans(text: Text, int64_t[:, ::1] spans not None, str unit not None):
    """Replace spans of bytes of a str or bytes-like text's UTF-8, int64[n, 2], whose starts never fall; they may overlap.

    `unit`: "char", an index of a str, or a character of bytes; or "utf16".
    """
    cdef text_view view
    cdef size_t count = spans.shape[0]
    cdef bbpe_offsets_unit chosen = BBPE_OFFSETS_UTF16 if unit == "utf16" else BBPE_OFFSETS_CHAR
    if spans.shape[1] != 2:
        raise ValueError(f"spans have a start and an end, not {spans.shape[1]} columns")
    if count == 0 or (isinstance(text, str) and text.isascii()):
        return
    text_open(&view, text)
    with nogil:
        bbpe_offsets_map(view.text.units, view.text.unit_size, view.length, chosen, &spans[0, 0], count)
    text_close(&view)
