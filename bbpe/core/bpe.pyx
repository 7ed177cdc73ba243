"""The BPE model in C (csrc/models/bpe/bpe.h), made of a vocabulary and merges."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from bbpe.core.c_base cimport BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_models cimport (
    BBPE_BPE_MADE, bbpe_bpe, bbpe_bpe_add_merges, bbpe_bpe_finalize, bbpe_bpe_free, bbpe_bpe_init, bbpe_bpe_is_short,
    bbpe_bpe_match, bbpe_bpe_match_encode, bbpe_bpe_match_free, bbpe_bpe_match_init, bbpe_bpe_merge_long,
    bbpe_bpe_merge_runs, bbpe_bpe_merge_short, bbpe_bpe_set_levels, bbpe_bpe_set_outputs, bbpe_bpe_value,
    bbpe_bpe_visit, bbpe_bpe_work, bbpe_bpe_work_free, bbpe_merge, bbpe_merge_list_add, bbpe_merge_list_reserve,
    bbpe_model_of_bpe,
)
from bbpe.core.c_tables cimport (
    bbpe_image, bbpe_pretoken_entry, bbpe_pretoken_table, bbpe_pretoken_table_copy, bbpe_pretoken_table_free,
)
from bbpe.core.image cimport image_begin, image_end, image_measured, image_of
from bbpe.core.merge_list cimport MergeList
from bbpe.core.model cimport Model
from bbpe.core.status cimport check, had
from bbpe.core.token_table cimport TokenTable

from bbpe.errors import VocabularyError
from bbpe.lazy import np


cdef int match(
    const bbpe_bpe *model, bbpe_bpe_work *work, const uint8_t *data, size_t n, uint32_t *ids, size_t *count
) except -1:
    cdef bbpe_bpe_match matcher
    check(bbpe_bpe_match_init(&matcher, model))
    try:
        return check(bbpe_bpe_match_encode(&matcher, model, work, data, n, ids, count))
    finally:
        bbpe_bpe_match_free(&matcher)


cdef int add_tokens(bbpe_bpe *model, const bbpe_pretoken_table *tokens) except -1:
    """Add tokens to a model that has none: the table as it is, without looking its strings up again."""
    cdef const bbpe_pretoken_entry *entry
    cdef bbpe_pretoken_table copy
    cdef size_t i
    check(bbpe_pretoken_table_copy(&copy, tokens))
    bbpe_pretoken_table_free(&model.tokens)
    model.tokens = copy
    for i in range(tokens.count):
        entry = tokens.entries + i
        model.lengths[entry.value] = entry.length
        model.longest = max(model.longest, <size_t>entry.length)
        if entry.length == 1:
            model.byte_ids[tokens.arena[entry.start]] = <uint32_t>entry.value
    return 0


cdef int in_order(const void *one, const void *other) noexcept nogil:
    cdef uint64_t first = (<const uint64_t *>one)[0], second = (<const uint64_t *>other)[0]
    return (first > second) - (first < second)


cdef class CompiledBPE(Model):
    """Tokens and merges; immutable, shared by any number of threads.

    `vocab` maps ids to bytes, all 256 single bytes among them; `merges` holds (left id, right id, id) in
    order of priority, or is None for rank mode.  A merge that is listed twice has its last place.  `outputs`: the ids that
    encoding writes for each id up to the highest, at most one a byte: where they begin, for one id more too, and all of
    them, and one that is not looked at, uint32 each; None: itself.
    The first `fixed_merges` happen whatever dropout says.  `levels`: for each merge, or in rank mode for each id, a
    number no lower than the one before; merges of one level apply from left to right.  None: all levels differ.
    `image`: what `image()` of a model has returned, which is used in place of all that, is kept, and must not change;
    `ValueError` on other sizes.
    """

    def __cinit__(
        self, vocab: Mapping[int, bytes] | TokenTable, merges: Sequence[tuple[int, int, int]] | None, *, bint whole_pretokens=False,
        outputs: tuple[array[int], array[int]] | None = None, uint32_t fixed_merges=0,
        levels: npt.ArrayLike | None = None, const uint8_t[::1] image: Buffer | None = None
    ):
        if image is not None:
            self._open(image)
            return
        cdef TokenTable tokens = vocab if isinstance(vocab, TokenTable) else TokenTable(vocab)
        cdef MergeList listed = merges if isinstance(merges, MergeList) else MergeList(merges or ())
        cdef bbpe_status status
        if listed.id_count > tokens.c.id_count:
            raise VocabularyError(
                f"a merge has id {listed.id_count - 1}; expected at most {tokens.c.id_count - 1}, the highest id of a token")
        check(bbpe_bpe_init(&self.c, tokens.c.id_count, merges is None, whole_pretokens))
        add_tokens(&self.c, &tokens.c.tokens)
        if levels is not None:
            self._set_levels(levels, tokens.c.id_count if merges is None else listed.c.count)
        with nogil:
            status = bbpe_bpe_add_merges(&self.c, <const uint32_t (*)[3]>listed.c.merges, listed.c.count)
            if status == BBPE_OK:
                status = bbpe_bpe_finalize(&self.c)
        check(status)
        self.view = bbpe_model_of_bpe(&self.c)
        self.written_count = self.c.id_count
        self.c.fixed_ranks = fixed_merges
        if outputs is not None:
            self._set_outputs(outputs[0], outputs[1])

    def __dealloc__(self):
        if not self.is_opened:
            bbpe_bpe_free(&self.c)

    cdef int _open(self, const uint8_t[::1] data) except -1:
        cdef bbpe_image image = image_of(data)
        cdef size_t i
        self.is_opened, self.data_of_image = True, data
        bbpe_bpe_visit(&self.c, &image)
        image_end(&image)
        self.view = bbpe_model_of_bpe(&self.c)
        self.written_count = self.c.id_count
        if self.c.output_starts != NULL:
            self.written_count = 1
            for i in range(self.c.output_starts[self.c.id_count]):
                self.written_count = max(self.written_count, self.c.outputs[i] + <size_t>1)
        return 0

    def image(self) -> bytes:
        """The model as it is in memory."""
        cdef bbpe_bpe copy = self.c
        cdef bbpe_image image = image_measured()
        bbpe_bpe_visit(&copy, &image)
        made = image_begin(&image)
        bbpe_bpe_visit(&copy, &image)
        return made

    cdef int _set_levels(self, object levels, size_t count) except -1:
        found = np.array(levels, dtype=np.int64)
        if found.shape != (count,) or (np.diff(found) < 0).any():
            raise ValueError(f"levels has the shape {found.shape}; expected {count} numbers in order")
        # one more, so that there is a first one
        cdef const uint32_t[::1] view = np.append(found, 0).astype(np.uint32)
        return check(bbpe_bpe_set_levels(&self.c, &view[0], count))

    cdef int _set_outputs(self, const uint32_t[::1] starts, const uint32_t[::1] written) except -1:
        cdef size_t i
        if <size_t>starts.shape[0] != self.c.id_count + 1:
            raise ValueError(f"{starts.shape[0]} places of outputs for {self.c.id_count} ids; expected one more")
        if starts[0] != 0 or <size_t>starts[self.c.id_count] >= <size_t>written.shape[0]:
            raise ValueError(f"outputs are from {starts[0]} to {starts[self.c.id_count]} of {written.shape[0]}")
        for i in range(self.c.id_count):
            if not starts[i] <= starts[i + 1] <= starts[i] + max(<uint32_t>1, self.c.lengths[i]):
                raise ValueError(
                    f"id {i} is written as outputs {starts[i]} to {starts[i + 1]}; expected at most {self.c.lengths[i]}")
        self.written_count = 1
        for i in range(starts[self.c.id_count]):
            self.written_count = max(self.written_count, written[i] + <size_t>1)
        return check(bbpe_bpe_set_outputs(&self.c, &starts[0], &written[0]))

    @property
    def longest(self) -> int:
        """The bytes of the longest token."""
        return self.c.longest

    def live_list(self) -> MergeList:
        """The merges of `live_merges` without objects for them."""
        cdef const bbpe_pretoken_entry *entry
        cdef MergeList made = MergeList()
        cdef bbpe_merge row
        cdef size_t i, count = 0
        # a rank and what it makes
        cdef uint64_t *ranks = <uint64_t *>had(bbpe_memory_new(self.c.tokens.count, sizeof(uint64_t)))
        try:
            for i in range(self.c.tokens.count):
                entry = self.c.tokens.entries + i
                if entry.length > 1 and entry.value & BBPE_BPE_MADE:
                    row.made = <uint32_t>entry.value
                    parts = self.c.parts[row.made]
                    ranks[count] = bbpe_bpe_value(&self.c, parts.left, parts.right) & ~<uint64_t>0xFFFFFFFF | row.made
                    count += 1
            qsort(ranks, count, sizeof(uint64_t), in_order)
            check(bbpe_merge_list_reserve(&made.c, count))
            for i in range(count):
                row.made = <uint32_t>(ranks[i] & 0xFFFFFFFF)
                row.left, row.right = self.c.parts[row.made].left, self.c.parts[row.made].right
                bbpe_merge_list_add(&made.c, row)
        finally:
            bbpe_memory_free(ranks)
        made._close()
        return made

    def live_merges(self) -> tuple[list[tuple[int, int, int]], list[int]]:
        """The merges that happen as (left id, right id, id) in order of priority, and the ids of two bytes and more
        that none makes, in order."""
        cdef const bbpe_pretoken_entry *entry
        cdef uint32_t token_id
        cdef size_t i
        found, unmade = [], []
        for i in range(self.c.tokens.count):
            entry = self.c.tokens.entries + i
            token_id = <uint32_t>entry.value
            if entry.length < 2:
                continue
            if not entry.value & BBPE_BPE_MADE:
                unmade.append(token_id)
                continue
            parts = self.c.parts[token_id]
            found.append((bbpe_bpe_value(&self.c, parts.left, parts.right) >> 32, (parts.left, parts.right, token_id)))
        return [merge for _, merge in sorted(found)], sorted(unmade)

    def encode_pretoken(self, bytes pretoken not None, str how not None="auto") -> list[int]:
        """The ids of one pretoken by merging alone.

        `how`: "short" (up to 128 bytes, without levels), "long", "match" or "runs" (few bytes, each many times in a row) names
        one of the ways, which give the same ids; `ValueError` when that one cannot.
        """
        cdef bbpe_bpe_work work
        cdef size_t n = len(pretoken), count = 0, i
        cdef const uint8_t *data = pretoken
        cdef bbpe_status status = BBPE_OK
        if how == "auto":
            how = "short" if bbpe_bpe_is_short(&self.c, n) else "long"
        if how not in ("short", "long", "match", "runs") or (how == "short" and not bbpe_bpe_is_short(&self.c, n)):
            raise ValueError(f"{how!r} does not merge {n} bytes")
        cdef uint32_t *ids = <uint32_t *>had(bbpe_memory_new(n, sizeof(uint32_t)))
        memset(&work, 0, sizeof(work))
        try:
            if how == "short":
                count = bbpe_bpe_merge_short(&self.c, data, n, 1, ids)
            elif how == "long":
                status = bbpe_bpe_merge_long(&self.c, &work, data, n, 1, ids, &count)
            elif how == "match":
                match(&self.c, &work, data, n, ids, &count)
            else:
                count = bbpe_bpe_merge_runs(&self.c, &work, data, n, ids)
                if count == 0:
                    raise ValueError(f"{how!r} does not merge these {n} bytes")
            check(status)
            return [ids[i] for i in range(count)]
        finally:
            bbpe_memory_free(ids)
            bbpe_bpe_work_free(&work)
