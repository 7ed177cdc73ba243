"""Learning merges from counted pretokens (csrc/train/bpe.h)."""
from cpython cimport array
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from bbpe.lazy import np

from bbpe.core.c_base cimport BBPE_INTERRUPTED, BBPE_OK, bbpe_status
from bbpe.core.c_count cimport (
    bbpe_count_sum_bytes, bbpe_count_sum_count, bbpe_count_sum_prefetch, bbpe_count_sum_prefetch_bytes,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_zeroed
from bbpe.core.c_split cimport c_bool
from bbpe.core.c_train cimport (
    BBPE_TRAIN_ALLOWED, BBPE_TRAIN_BYTES, BBPE_TRAIN_FIRST, BBPE_TRAIN_FORBIDDEN, BBPE_TRAIN_IDS, BBPE_TRAIN_STOP,
    bbpe_train, bbpe_train_add, bbpe_train_add_tokens, bbpe_train_answer, bbpe_train_free, bbpe_train_init,
    bbpe_train_init_from, bbpe_train_options, bbpe_train_step,
)
from bbpe.core.count cimport PretokenTable
from bbpe.core.ends cimport check_ends
from bbpe.core.signals cimport is_interrupted
from bbpe.core.status cimport check, had

from bbpe.core.rows import take

cdef enum:
    LARGE = 65535    # counts that are larger are one to the order of pretokens
    HEARD = 1 << 14  # pretokens that are added between two looks at whether Ctrl-C was pressed


cdef array.array _OFFSETS = array.array("q")

TIE_RULES: dict[str, int] = {"ids": BBPE_TRAIN_IDS, "bytes": BBPE_TRAIN_BYTES, "first": BBPE_TRAIN_FIRST}


cdef class Trainer:
    """Learns merges from counted pretokens; `step` until it returns True.

    `byte_order` gives the bytes of ids 0 to 255; merge k makes id 256 + k.  `threshold` is where the search for
    pairs begins, 0 for a good one; the merges do not depend on it, only time and memory do.  After `MemoryError`
    the trainer must not be used again.  Raises `OverflowError` when the unique pretokens have 2**32 bytes or more,
    with their ends, or the corpus 2**63 by its counts.

    `forbids(text)` says of the text of a token whether it must not be made; it is asked once for each pair that is the best
    one, and then the next best is looked for.  Bytes that are no UTF-8 are half surrogates there.  An error of it ends `step`.

    With a `base` it goes on from other tokens: (uint8[total], int64[n + 1]), token i is data[offsets[i]:offsets[i + 1]],
    merge k makes id n + k.  `encode(data, ends)` returns the ids, uint32[m], of pretokens that end at `ends`, int64[k].
    """

    cdef bbpe_train learner
    cdef object forbids, failure

    def __cinit__(
        self, PretokenTable table not None, bytes byte_order not None, *, size_t merge_limit, str tie_break not None,
        int64_t min_frequency, uint32_t max_token_length, int64_t threshold=0,
        forbids: Callable[[str], object] | None = None,
        base: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None = None,
        encode: Callable[[bytes, npt.NDArray[np.int64]], npt.NDArray[np.uint32]] | None = None
    ):
        if len(byte_order) != 256:
            raise ValueError(f"byte_order has {len(byte_order)} bytes; expected 256")
        cdef array.array counts = table.held_counts()
        _check_sizes(table, counts)
        cdef bbpe_train_options options
        options.ties, options.merge_limit, options.min_frequency = TIE_RULES[tie_break], merge_limit, max(min_frequency, 1)
        options.max_length, options.threshold, options.interrupted = max_token_length, threshold, is_interrupted
        options.allows, options.context, self.forbids = NULL, <void *>self, forbids
        if forbids is not None:
            options.allows = _answer
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

    def merges(self) -> list[tuple[int, int]]:
        """The merges so far: the ids of their left and right parts."""
        cdef size_t i
        return [
            (<uint32_t>(self.learner.merges[i] >> 32), <uint32_t>self.learner.merges[i])
            for i in range(self.learner.merge_count)
        ]

    def merge_counts(self) -> list[int]:
        """How often the pair of each merge occurred when it was merged, in order."""
        cdef size_t i
        return [self.learner.merge_counts[i] for i in range(self.learner.merge_count)]

    def tokens(self) -> tuple[bytes, array[int]]:
        """The bytes of ids 0 to 255 + merge_count: token i is data[offsets[i]:offsets[i + 1]].

        Returns `(data, offsets)`: the bytes of all, and int64[n + 1].
        """
        cdef size_t count = 256 + self.learner.merge_count, used = self.learner.tokens.used, i
        cdef array.array offsets = array.clone(_OFFSETS, <Py_ssize_t>count + 1, zero=False)
        cdef int64_t[::1] offsets_out = offsets
        for i in range(count):
            offsets_out[i] = <int64_t>self.learner.tokens.starts[i]
        offsets_out[count] = <int64_t>used
        return (<const char *>self.learner.tokens.arena)[:used], offsets

    def step(self, size_t visits) -> bool:
        """Merge until about `visits` positions were looked at; True when there is nothing left to merge."""
        cdef c_bool done
        cdef bbpe_status status
        with nogil:
            status = bbpe_train_step(&self.learner, visits, &done)
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        check(status)
        return done

    cdef array.array _order(self, const uint64_t[::1] counts):
        """The order in which to add pretokens, int64[n]."""
        cdef array.array order = array.clone(_OFFSETS, counts.shape[0], zero=False)
        cdef int64_t[::1] out = order
        cdef Py_ssize_t i, n = counts.shape[0]
        cdef size_t start = 0, key, kept
        cdef size_t *next_of
        # "first" needs the text's own order; the others take one that makes few segments: by count, but for huge ones
        if self.learner.options.ties == BBPE_TRAIN_FIRST:
            for i in range(n):
                out[i] = i
            return order
        next_of = <size_t *>had(bbpe_memory_zeroed(LARGE + 1, sizeof(size_t)))
        for i in range(n):
            next_of[LARGE - min(counts[i], <uint64_t>LARGE)] += 1
        for key in range(<size_t>LARGE + 1):
            kept, next_of[key] = next_of[key], start
            start += kept
        for i in range(n):
            key = LARGE - min(counts[i], <uint64_t>LARGE)
            out[next_of[key]] = i
            next_of[key] += 1
        bbpe_memory_free(next_of)
        return order

    cdef int _begin_from(self, PretokenTable table, array.array counts, base, encode, bbpe_train_options options) except -1:
        """Add all pretokens as tokens of a base."""
        cdef const uint8_t[::1] tokens = base[0]
        cdef const int64_t[::1] starts = np.array(base[1], dtype=np.int64)
        cdef size_t i, used = 0, at = 0, count = len(counts)
        cdef bbpe_status status = BBPE_OK
        check_ends(starts, <size_t>tokens.shape[0])
        check(bbpe_train_init_from(
            &self.learner, count, table.pretoken_bytes, &tokens[0], &starts[0], <size_t>starts.shape[0] - 1, options))
        data, offsets, weights_of = table.arrays()
        order = np.asarray(self._order(counts))
        data, offsets = take(data, offsets, order)
        cdef const int64_t[::1] ends = offsets
        cdef const uint64_t[::1] weights = weights_of[order]
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

    cdef int _lay_out(self, PretokenTable table, array.array counts) except -1:
        """Add all pretokens."""
        cdef const int64_t[::1] order = self._order(counts)
        cdef const size_t[::1] codes = table.order()
        cdef const uint8_t *pretoken
        cdef bbpe_status status = BBPE_OK
        cdef size_t i, n, code, count = len(table)
        with nogil:
            for i in range(count):
                if i % HEARD == 0 and is_interrupted():
                    status = BBPE_INTERRUPTED
                    break
                if i + 32 < count:
                    bbpe_count_sum_prefetch(&table.sum, codes[order[i + 32]])
                    bbpe_count_sum_prefetch_bytes(&table.sum, codes[order[i + 16]])
                code = codes[order[i]]
                pretoken = bbpe_count_sum_bytes(&table.sum, code, &n)
                status = bbpe_train_add(&self.learner, pretoken, n, <int64_t>bbpe_count_sum_count(&table.sum, code))
                if status != BBPE_OK:
                    break
        check(status)
        return 0


cdef bbpe_train_answer _answer(void *context, const uint8_t *token, size_t n) noexcept with gil:
    cdef Trainer trainer = <Trainer>context
    try:
        text = PyUnicode_DecodeUTF8(<const char *>token, <Py_ssize_t>n, "surrogateescape")
        return BBPE_TRAIN_FORBIDDEN if trainer.forbids(text) else BBPE_TRAIN_ALLOWED
    except BaseException as error:
        trainer.failure = error
        return BBPE_TRAIN_STOP


def merge_memory(size_t table_bytes, size_t pretokens, size_t merge_limit) -> int:
    """An upper estimate of the bytes that a `Trainer` takes besides its table.

    `table_bytes` is the sum of the lengths of the `pretokens` different pretokens.  A symbol takes 4 bytes and is in
    one or two lists of positions; the rest is for tables of pairs, which grow with the merges.  On five corpora of 20
    to 32 MB the truth was between a half and nine tenths of it.
    """
    merge_limit = min(merge_limit, table_bytes)
    return 24 * (table_bytes + pretokens) + 250 * merge_limit + (24 << 20)


cdef int _check_sizes(PretokenTable table, const uint64_t[::1] counts) except -1:
    """Refuse what 32-bit positions and 64-bit weights cannot hold."""
    cdef size_t symbols = table.pretoken_bytes + len(table) + 2
    if symbols >= 2**32:
        raise OverflowError(
            f"the unique pretokens have {symbols} bytes with their ends; expected less than {2**32}: "
            "train on a sample of the text, or cut long pretokens")
    cdef uint64_t highest = 0
    cdef Py_ssize_t i
    for i in range(counts.shape[0]):
        highest = max(highest, counts[i])
    if <object>highest * max(table.pretoken_bytes, 1) >= 2**63:
        weighted = sum(count * len(pretoken) for pretoken, count in table.items())
        if weighted >= 2**63:
            raise OverflowError(f"the corpus has {weighted} bytes by its counts; expected less than 2**63")
    return 0
