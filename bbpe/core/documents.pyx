"""Documents -> ids as files of shards have them: each between its own ids, in two or four bytes, one after another."""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp

from bbpe.lazy import np

from bbpe.core.c_base cimport BBPE_CHANGED, BBPE_OK, bbpe_status
from bbpe.core.c_decode cimport bbpe_id_array, bbpe_id_array_load
from bbpe.core.c_encode cimport (
    bbpe_encode_state, bbpe_encode_state_loan, bbpe_encode_state_reserve, bbpe_encode_text, bbpe_encode_texts,
    bbpe_encoder,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.encoder cimport Encoder
from bbpe.core.ends cimport bbpe_ends_next, check_ends
from bbpe.core.id_source cimport IdSource
from bbpe.core.status cimport check, had

cdef enum:
    TEXTS = 1024        # that are encoded at once, if they are short
    TEXT_IDS = 1 << 18  # ids that they may have together, if they are more than one
    MOST_AROUND = 16
    AT_ONCE = 2048      # ids that are compared at once

ctypedef struct group:
    bbpe_encode_text texts[TEXTS]
    size_t lengths[TEXTS]
    size_t counts[TEXTS]

# stub: _Placed: TypeAlias = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]


def differing_rows(
    ids: _Ids, const int64_t[::1] starts not None, const int64_t[::1] ends not None, const uint32_t[::1] others not None,
    const int64_t[::1] lengths not None
) -> npt.NDArray[np.bool_]:
    """Which rows of ids are not the same as others, bool[rows].

    Row i is ids[starts[i]:ends[i]], and the other one the next lengths[i] of `others`."""
    cdef IdSource source = IdSource(ids)
    cdef Py_ssize_t i, n = starts.shape[0]
    cdef size_t start = 0, end = 0, length = 0, at = 0, size = others.shape[0], count = source.array.count
    cdef bint is_whole = ends.shape[0] == n and lengths.shape[0] == n
    differ = np.zeros(n, np.uint8)
    cdef uint8_t[::1] found = differ
    with nogil:
        for i in range(n if is_whole else 0):
            # what is negative is more than there is
            start, end, length = <size_t>starts[i], <size_t>ends[i], <size_t>lengths[i]
            is_whole = start <= end and end <= count and length <= size - at
            if not is_whole:
                break
            found[i] = length != end - start or not _are_same(&source.array, start, end, &others[at] if length else NULL)
            at += length
    if not is_whole:
        raise ValueError(f"expected {n} rows of {count} ids, and as many of {size} others")
    return differ.view(np.bool_)


cdef bint _are_same(const bbpe_id_array *ids, size_t start, size_t end, const uint32_t *others) noexcept nogil:
    cdef uint32_t block[AT_ONCE]
    cdef size_t count
    while start < end:
        count = min(end - start, <size_t>AT_ONCE)
        bbpe_id_array_load(ids, start, count, block)
        if memcmp(block, others, count * sizeof(uint32_t)) != 0:
            return False
        start += count
        others += count
    return True


cdef class Layout:
    """How documents are written: ids `before` and `after` each one that is not empty, in `id_size` bytes, 2 or 4; immutable,
    shared by any number of threads.  Ids must fit."""
    cdef uint32_t around[2 * MOST_AROUND]
    cdef size_t before, after
    cdef readonly size_t id_size

    def __cinit__(self, before: Sequence[int], after: Sequence[int], size_t id_size):
        if len(before) > MOST_AROUND or len(after) > MOST_AROUND or id_size not in (2, 4):
            raise ValueError(f"found {len(before)} and {len(after)} ids of {id_size} bytes; expected at most {MOST_AROUND}")
        self.before, self.after, self.id_size = len(before), len(after), id_size
        for i, token_id in enumerate((*before, *after)):
            self.around[i] = token_id
            if id_size == 2 and self.around[i] > 0xFFFF:
                raise ValueError(f"id {token_id} does not fit two bytes")

    cdef size_t _put(self, uint8_t *out, const uint32_t *ids, size_t count) noexcept nogil:
        """Write the ids of a document, which another thread must not change; returns how many."""
        cdef uint16_t *narrow = <uint16_t *>out
        cdef uint32_t *wide = <uint32_t *>out
        cdef size_t i, before = self.before, after = self.after
        if count == 0:
            return 0
        if self.id_size == 2:
            for i in range(before):
                narrow[i] = <uint16_t>self.around[i]
            narrow += before
            for i in range(count):
                narrow[i] = <uint16_t>ids[i]
            for i in range(after):
                narrow[count + i] = <uint16_t>self.around[before + i]
        else:
            for i in range(before):
                wide[i] = self.around[i]
            wide += before
            for i in range(count):
                wide[i] = ids[i]
            for i in range(after):
                wide[count + i] = self.around[before + i]
        return before + count + after

    def encode(
        self, Encoder encoder not None, const uint8_t[::1] data not None: Buffer, const int64_t[::1] ends not None
    ) -> _Placed:
        """Encode documents of UTF-8 that end at `ends`, int64[n], without special tokens.

        Returns (uint8[m], the bytes of ids; int64[n], the ids of each document, those around it too)."""
        cdef size_t n = ends.shape[0], size = data.shape[0], room, done = 0, taken = 0, used = 0
        cdef bbpe_encode_state *state
        cdef const bbpe_encoder *model
        cdef group *some
        cdef bbpe_status status = BBPE_OK
        if encoder.splitter is None:
            raise ValueError("this encoder has no splitter; the ends of the pretokens are needed")
        check_ends(ends, size)
        room = (size + n * (self.before + self.after)) * self.id_size
        out, lengths = np.empty(room + self.id_size, np.uint8), np.empty(n, np.int64)
        cdef uint8_t[::1] to = out
        cdef int64_t[::1] counts = lengths
        some = <group *>had(bbpe_memory_new(1, sizeof(group)))
        state = encoder.states.borrow(size)
        model = encoder.states.encoder()
        try:
            with nogil:
                while done < n and status == BBPE_OK:
                    status = self._encode_some(model, state, some, &data[0] if size else NULL, size, &ends[0], done, n, &taken)
                    if status == BBPE_OK:
                        used += self._place_some(state, some, &to[used], taken, &counts[done])
                        done += taken
            check(status)
        finally:
            encoder.states.give_back(state)
            bbpe_memory_free(some)
        return out[:used], lengths

    cdef bbpe_status _encode_some(
        self, const bbpe_encoder *encoder, bbpe_encode_state *state, group *some, const uint8_t *data, size_t size,
        const int64_t *ends, size_t start, size_t n, size_t *taken
    ) noexcept nogil:
        """Encode the next texts, as many as there is room for; their ids are in the state's memory."""
        cdef size_t count = 0, bound = 0, at = 0, end = 0
        cdef bbpe_status status
        if start and not bbpe_ends_next(&ends[start - 1], size, &at):
            return BBPE_CHANGED
        end = at
        while start + count < n and count < TEXTS:
            if not bbpe_ends_next(&ends[start + count], size, &end):
                return BBPE_CHANGED
            if count and bound + (end - at) > TEXT_IDS:
                break
            some.texts[count].units, some.texts[count].unit_size = data + at, 0
            some.lengths[count] = end - at
            bound += end - at
            count += 1
            at = end
        taken[0] = count
        status = bbpe_encode_state_reserve(state, bound)
        if status == BBPE_OK:
            status = bbpe_encode_texts(
                encoder, state, some.texts, some.lengths, count, bbpe_encode_state_loan(state).ids, some.counts)
        return status

    cdef size_t _place_some(
        self, bbpe_encode_state *state, const group *some, uint8_t *out, size_t count, int64_t *counts
    ) noexcept nogil:
        cdef const uint32_t *ids = bbpe_encode_state_loan(state).ids
        cdef size_t i, placed, used = 0
        for i in range(count):
            placed = self._put(out + used, ids, some.counts[i])
            counts[i] = <int64_t>placed
            ids += some.counts[i]
            used += placed * self.id_size
        return used

    def place(self, const uint32_t[::1] ids not None, const int64_t[::1] offsets not None) -> _Placed:
        """Write documents that are encoded: document i is ids[offsets[i]:offsets[i + 1]].  Returns what `encode` does."""
        cdef Py_ssize_t i, n = offsets.shape[0] - 1
        cdef size_t size = ids.shape[0], used = 0, start = 0, end = 0, placed
        cdef bint is_whole = True
        if n < 0:
            raise ValueError("there are no offsets; expected one more than documents")
        check_ends(offsets, size)
        room = (size + n * (self.before + self.after)) * self.id_size
        out, lengths = np.empty(room + self.id_size, np.uint8), np.empty(n, np.int64)
        cdef uint8_t[::1] to = out
        cdef int64_t[::1] counts = lengths
        with nogil:
            is_whole = bbpe_ends_next(&offsets[0], size, &end)
            for i in range(n):
                start = end
                is_whole = is_whole and bbpe_ends_next(&offsets[i + 1], size, &end)
                if not is_whole:
                    break
                placed = self._put(&to[used], &ids[start] if end > start else NULL, end - start)
                counts[i] = <int64_t>placed
                used += placed * self.id_size
        if not is_whole:
            check(BBPE_CHANGED)
        return out[:used], lengths
