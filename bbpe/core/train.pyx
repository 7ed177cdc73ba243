"""Learning merges from counted pretokens (csrc/train/bpe.h)."""
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from bbpe.lazy import np

from bbpe.core.c_base cimport BBPE_INTERRUPTED, BBPE_OK, bbpe_status
from bbpe.core.c_count cimport (
    bbpe_count_sum_bytes, bbpe_count_sum_count, bbpe_count_sum_prefetch, bbpe_count_sum_prefetch_bytes,
)
from bbpe.core.c_split cimport c_bool
from bbpe.core.c_train cimport (
    BBPE_TRAIN_BYTES, BBPE_TRAIN_FIRST, BBPE_TRAIN_IDS, bbpe_train, bbpe_train_add, bbpe_train_add_tokens,
    bbpe_train_free, bbpe_train_init, bbpe_train_init_from, bbpe_train_options, bbpe_train_step,
)
from bbpe.core.count cimport PretokenTable
from bbpe.core.ends cimport check_ends
from bbpe.core.signals cimport is_interrupted
from bbpe.core.status cimport check

from bbpe.core.rows import take

cdef enum:
    HEARD = 1 << 14  # pretokens that are added between two looks at whether Ctrl-C was pressed


TIE_RULES: dict[str, int] = {"ids": BBPE_TRAIN_IDS, "bytes": BBPE_TRAIN_BYTES, "first": BBPE_TRAIN_FIRST}


cdef class Trainer:
    """Learns merges from counted pretokens; `step` until it returns True.

    `byte_order` gives the bytes of ids 0 to 255; merge k makes id 256 + k.  `threshold` is where the search for
    pairs begins, 0 for a good one; the merges do not depend on it, only time and memory do.  After `MemoryError`
    the trainer must not be used again.  Raises `OverflowError` when the unique pretokens have 2**32 bytes or more,
    with their ends, or the corpus 2**63 by its counts.

    With a `base` it goes on from other tokens: (uint8[total], int64[n + 1]), token i is data[offsets[i]:offsets[i + 1]],
    merge k makes id n + k.  `encode(data, ends)` returns the ids, uint32[m], of pretokens that end at `ends`, int64[k].
    """

    cdef bbpe_train learner

    def __cinit__(
        self, PretokenTable table not None, bytes byte_order not None, *, size_t merge_limit, str tie_break not None,
        int64_t min_frequency, uint32_t max_token_length, int64_t threshold=0,
        base: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None = None,
        encode: Callable[[bytes, npt.NDArray[np.int64]], npt.NDArray[np.uint32]] | None = None
    ):
        if len(byte_order) != 256:
            raise ValueError(f"byte_order has {len(byte_order)} bytes; expected 256")
        counts = table.counts()
        _check_sizes(table, counts)
        cdef bbpe_train_options options
        options.ties, options.merge_limit, options.min_frequency = TIE_RULES[tie_break], merge_limit, max(min_frequency, 1)
        options.max_length, options.threshold, options.interrupted = max_token_length, threshold, is_interrupted
        if base is not None:
            self._begin_from(table, counts, base, encode, options)
            return
        cdef const uint8_t *bytes_of = byte_order
        check(bbpe_train_init(&self.learner, len(table), table.pretoken_bytes, bytes_of, options))
        self._lay_out(table, counts)

    def __dealloc__(self):
        bbpe_train_free(&self.learner)

    @property
    def merge_count(self) -> int:
        """How many merges there are so far."""
        return self.learner.merge_count

    @property
    def merge_limit(self) -> int:
        """How many merges there can be: what was asked for, or fewer as a corpus so small has no more."""
        return self.learner.options.merge_limit

    def merges(self) -> npt.NDArray[np.uint32]:
        """The merges so far: uint32[n, 2], the ids of their left and right parts."""
        result = np.empty((self.learner.merge_count, 2), dtype=np.uint32)
        cdef uint32_t[:, ::1] out = result
        cdef size_t i
        for i in range(self.learner.merge_count):
            out[i, 0], out[i, 1] = <uint32_t>(self.learner.merges[i] >> 32), <uint32_t>self.learner.merges[i]
        return result

    def tokens(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
        """The bytes of ids 0 to 255 + merge_count: token i is data[offsets[i]:offsets[i + 1]].

        Returns `(data, offsets)`: uint8[total] and int64[n + 1].
        """
        cdef size_t count = 256 + self.learner.merge_count, used = self.learner.tokens.used, i
        data, offsets = np.empty(used, dtype=np.uint8), np.empty(count + 1, dtype=np.int64)
        cdef uint8_t[::1] data_out = data
        cdef int64_t[::1] offsets_out = offsets
        memcpy(&data_out[0], self.learner.tokens.arena, used)
        for i in range(count):
            offsets_out[i] = <int64_t>self.learner.tokens.starts[i]
        offsets_out[count] = <int64_t>used
        return data, offsets

    def step(self, size_t visits) -> bool:
        """Merge until about `visits` positions were looked at; True when there is nothing left to merge."""
        cdef c_bool done
        cdef bbpe_status status
        with nogil:
            status = bbpe_train_step(&self.learner, visits, &done)
        check(status)
        return done

    cdef object _order(self, counts):
        """The order in which to add pretokens."""
        # "first" needs the text's own order; the others take one that makes few segments: by count, but for huge ones
        if self.learner.options.ties == BBPE_TRAIN_FIRST:
            return np.arange(len(counts), dtype=np.int64)
        return np.argsort(65535 - np.minimum(counts, 65535).astype(np.uint16), kind="stable").astype(np.int64)

    cdef int _begin_from(self, PretokenTable table, counts, base, encode, bbpe_train_options options) except -1:
        """Add all pretokens as tokens of a base."""
        cdef const uint8_t[::1] tokens = base[0]
        cdef const int64_t[::1] starts = np.array(base[1], dtype=np.int64)
        cdef size_t i, used = 0, at = 0, count = len(counts)
        cdef bbpe_status status = BBPE_OK
        check_ends(starts, <size_t>tokens.shape[0])
        check(bbpe_train_init_from(
            &self.learner, count, table.pretoken_bytes, &tokens[0], &starts[0], <size_t>starts.shape[0] - 1, options))
        data, offsets, counts = table.arrays()
        order = self._order(counts)
        data, offsets = take(data, offsets, order)
        cdef const int64_t[::1] ends = offsets
        cdef const uint64_t[::1] weights = counts[order]
        ids = encode(data.tobytes(), offsets[1:])
        if len(ids) and int(np.diff(base[1])[ids].sum()) != int(offsets[count]):
            raise ValueError("the ids of the pretokens do not spell them")
        cdef const uint32_t[::1] symbols = ids
        with nogil:
            for i in range(count):
                if i % HEARD == 0 and is_interrupted():
                    status = BBPE_INTERRUPTED
                    break
                status = bbpe_train_add_tokens(
                    &self.learner, &symbols[0] + at, <size_t>(ends[i + 1] - ends[i]), <int64_t>weights[i], &used)
                if status != BBPE_OK:
                    break
                at += used
        return check(status)

    cdef int _lay_out(self, PretokenTable table, counts) except -1:
        """Add all pretokens."""
        order = self._order(counts)
        cdef const size_t[::1] codes = table.order()[order]
        cdef const uint8_t *pretoken
        cdef bbpe_status status = BBPE_OK
        cdef size_t i, n, count = len(table)
        with nogil:
            for i in range(count):
                if i % HEARD == 0 and is_interrupted():
                    status = BBPE_INTERRUPTED
                    break
                if i + 32 < count:
                    bbpe_count_sum_prefetch(&table.sum, codes[i + 32])
                    bbpe_count_sum_prefetch_bytes(&table.sum, codes[i + 16])
                pretoken = bbpe_count_sum_bytes(&table.sum, codes[i], &n)
                status = bbpe_train_add(
                    &self.learner, pretoken, n, <int64_t>bbpe_count_sum_count(&table.sum, codes[i]))
                if status != BBPE_OK:
                    break
        check(status)
        return 0


def merge_memory(size_t table_bytes, size_t pretokens, size_t merge_limit) -> int:
    """An upper estimate of the bytes that a `Trainer` takes besides its table.

    `table_bytes` is the sum of the lengths of the `pretokens` different pretokens.  A symbol takes 4 bytes and is in
    one or two lists of positions; the rest is for tables of pairs, which grow with the merges.  On five corpora of 20
    to 32 MB the truth was between a half and nine tenths of it.
    """
    merge_limit = min(merge_limit, table_bytes)
    return 24 * (table_bytes + pretokens) + 250 * merge_limit + (24 << 20)


cdef int _check_sizes(PretokenTable table, counts) except -1:
    """Refuse what 32-bit positions and 64-bit weights cannot hold."""
    cdef size_t symbols = table.pretoken_bytes + len(table) + 2
    if symbols >= 2**32:
        raise OverflowError(
            f"the unique pretokens have {symbols} bytes with their ends; expected less than {2**32}: "
            "train on a sample of the text, or cut long pretokens")
    if len(counts) and int(counts.max()) * max(table.pretoken_bytes, 1) >= 2**63:
        weighted = sum(count * len(pretoken) for pretoken, count in table.items())
        if weighted >= 2**63:
            raise OverflowError(f"the corpus has {weighted} bytes by its counts; expected less than 2**63")
    return 0
