"""One string of each line of JSON (csrc/text/json_lines.h), and where the members of an object are (csrc/text/json.h)."""
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from bbpe.lazy import np

from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_text cimport (
    BBPE_JSON_LINES_NAMES, BBPE_JSON_LINES_PLACES, BBPE_JSON_LINES_TEXTS, bbpe_json_find, bbpe_json_lines,
    bbpe_json_lines_read, bbpe_json_lines_reader, bbpe_json_lines_variant, bbpe_json_member, bbpe_json_name,
    bbpe_json_place,
)
from bbpe.core.status cimport had

cdef enum:
    MOST_MEMBERS = 8



cdef tuple _available():
    cdef const char *name
    cdef list names = []
    while bbpe_json_lines_variant(len(names), &name) != NULL:
        names.append(name.decode())
    return tuple(names)


#: The instruction sets that this machine can run, slowest first.
ISAS: tuple[str, ...] = _available()


cdef size_t _take_places(tuple field, bbpe_json_place *places, bbpe_json_name *names) except 0:
    """Take the names of places, which must outlive them, and return how many places there are."""
    cdef size_t count = 0
    cdef bytes name
    if not 0 < len(field) <= BBPE_JSON_LINES_PLACES or max(map(len, field)) > BBPE_JSON_LINES_NAMES or () in field:
        raise ValueError(f"found {len(field)} places; expected 1 to {BBPE_JSON_LINES_PLACES} of up to {BBPE_JSON_LINES_NAMES} names")
    for place in field:
        places[count].names, places[count].count = names, len(place)
        count += 1
        for name in place:
            names.text, names.length = <const uint8_t *><const char *>name, len(name)
            names += 1
    return count


def read_lines(
    const uint8_t[::1] data not None: Buffer, size_t at, object field not None: bytes | tuple[tuple[bytes, ...], ...],
    uint8_t[::1] out not None: bytearray | memoryview, *, str isa not None="auto"
):  # -> tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.int64], int, int, int]
    """Read the string `field` of each line of data[at:], and write the strings to `out`, one after another.

    The field is a name in UTF-8, or a tuple of places; a place is the names on the way from the line.  The first place
    with a value other than null counts.

    Returns (where reading ended, bytes of strings, int64[n] ends of strings, int64[n] records, lines, records, records of
    which the string is null).  A record is a line that is not blank; numbers count from `at`.  Where reading ended before
    the data, a line begins that is wrong or rare, which the caller reads.  `isa` is "auto" or one of `ISAS`.
    """
    cdef bbpe_json_lines lines
    cdef bbpe_json_name names[BBPE_JSON_LINES_PLACES * BBPE_JSON_LINES_NAMES]
    cdef bbpe_json_place places[BBPE_JSON_LINES_PLACES]
    cdef bbpe_json_lines_reader read = bbpe_json_lines_read
    cdef const char *name
    cdef size_t n = data.shape[0], most, end
    cdef int64_t *numbers
    cdef int64_t[::1] ends, records
    if at > n or <size_t>out.shape[0] < n - at:
        raise ValueError(f"found room for {out.shape[0]} bytes, and {n} bytes of which {at} are done; expected room for the rest")
    if isa != "auto":
        read = bbpe_json_lines_variant(ISAS.index(isa), &name)
    most = BBPE_JSON_LINES_TEXTS(n - at)
    numbers = <int64_t *>had(bbpe_memory_new(2 * most, sizeof(int64_t)))
    try:
        memset(&lines, 0, sizeof(lines))
        if isinstance(field, bytes):
            lines.field, lines.field_length = <const uint8_t *><const char *>(<bytes>field), len(<bytes>field)
        else:
            lines.places, lines.place_count = places, _take_places(<tuple?>field, places, names)
        lines.texts, lines.ends, lines.records = &out[0] if n > at else NULL, numbers, numbers + most
        end = at
        if n > at:
            with nogil:
                end = read(&lines, &data[0], at, n)
        found, numbered = np.empty(lines.count, np.int64), np.empty(lines.count, np.int64)
        if lines.count:
            ends, records = found, numbered
            memcpy(&ends[0], lines.ends, lines.count * sizeof(int64_t))
            memcpy(&records[0], lines.records, lines.count * sizeof(int64_t))
        return end, lines.used, found, numbered, lines.line_count, lines.record_count, lines.null_count
    finally:
        bbpe_memory_free(numbers)


def find_members(bytes text not None, *names: bytes | tuple[bytes, bytes]) -> list[tuple[int, int]] | None:
    """Where the values of members begin and end, (0, 0) where there is none; None when the text is no JSON object.

    Two names mean a member of an object that is a member.  A text that is found wrong later has no members."""
    cdef bbpe_json_member members[MOST_MEMBERS]
    cdef const uint8_t *data = text
    cdef size_t count = len(names), n = len(text), i
    cdef bint is_object
    cdef bytes outer, inner
    if count > MOST_MEMBERS:
        raise ValueError(f"found {count} names; expected at most {MOST_MEMBERS}")
    memset(members, 0, sizeof(members))
    for i in range(count):
        outer, inner = names[i] if isinstance(names[i], tuple) else (names[i], None)
        members[i].outer = outer
        if inner is not None:
            members[i].inner = inner
    with nogil:
        is_object = bbpe_json_find(data, n, members, count)
    return [(members[i].start, members[i].end) for i in range(count)] if is_object else None
