"""Where the members of a JSON object are in its text (csrc/text/json.h)."""
from libc.stdint cimport uint8_t
from libc.string cimport memset

from bbpe.core.c_text cimport bbpe_json_find, bbpe_json_member

cdef enum:
    MOST = 8


def find_members(bytes text not None, *names: bytes | tuple[bytes, bytes]) -> list[tuple[int, int]] | None:
    """Where the values of members begin and end, (0, 0) where there is none; None when the text is no JSON object.

    Two names mean a member of an object that is a member.  A text that is found wrong later has no members."""
    cdef bbpe_json_member members[MOST]
    cdef const uint8_t *data = text
    cdef size_t count = len(names), n = len(text), i
    cdef bint is_object
    cdef bytes outer, inner
    if count > MOST:
        raise ValueError(f"found {count} names; expected at most {MOST}")
    memset(members, 0, sizeof(members))
    for i in range(count):
        outer, inner = names[i] if isinstance(names[i], tuple) else (names[i], None)
        members[i].outer = outer
        if inner is not None:
            members[i].inner = inner
    with nogil:
        is_object = bbpe_json_find(data, n, members, count)
    return [(members[i].start, members[i].end) for i in range(count)] if is_object else None
