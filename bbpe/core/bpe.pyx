"""The BPE model: which neighbours merge, in which order, and the merging of one pretoken.

Merging takes the lowest rank first, the leftmost of equals.  Rank mode and merge-list mode are the same
table here: in rank mode every split of a token into two tokens is a merge with the token's id as rank
(Sennrich et al., 2016, "Neural Machine Translation of Rare Words with Subword Units"; the two modes are
tiktoken's and HF tokenizers').
"""
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from bbpe.core.c_common cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new, bbpe_memory_reserve, bbpe_memory_zeroed
from bbpe.core.c_pair_table cimport (
    bbpe_pair_key, bbpe_pair_table_find, bbpe_pair_table_free, bbpe_pair_table_init, bbpe_pair_table_reserve,
    bbpe_pair_table_set,
)
from bbpe.core.c_pretoken_table cimport (
    bbpe_pretoken_entry, bbpe_pretoken_table, bbpe_pretoken_table_add, bbpe_pretoken_table_find,
    bbpe_pretoken_table_free, bbpe_pretoken_table_init,
)
from bbpe.core.heap cimport heap_free, heap_item, heap_pop, heap_push, heap_reserve, less_plain
from bbpe.core.status cimport check
from bbpe.core.symbols cimport BORDER, splice

cdef enum:
    SHORT = 32  # up to here scanning for the minimum beats a heap

cdef uint64_t NO_MERGE = 0xFFFFFFFFFFFFFFFFULL


cdef void scratch_free(scratch *self) noexcept nogil:
    bbpe_memory_free(self.slots)
    heap_free(&self.queue)


cdef class Model:
    """Tokens and merges; immutable, shared by any number of threads.

    `vocab` maps ids to bytes, all 256 single bytes among them; `merges` holds (left id, right id, id) in
    order of priority, or is None for rank mode.  A merge that is listed twice has its last place.
    """

    def __cinit__(self, vocab, merges, *, bint whole_pretokens=False):
        check(bbpe_pair_table_init(&self.merges, 0 if merges is None else len(merges)))
        check(bbpe_pretoken_table_init(&self.tokens))
        self.whole_pretokens = whole_pretokens
        self.lengths = <uint32_t *>bbpe_memory_zeroed(1 + <size_t>max(vocab, default=0), sizeof(uint32_t))
        if self.lengths == NULL:
            raise MemoryError("bbpe could not allocate memory")
        cdef uint32_t rank = 0
        for token_id, token in vocab.items():
            self._add_token(token_id, token)
        if merges is None:
            self._add_all_splits()
            return
        check(bbpe_pair_table_reserve(&self.merges, len(merges)))
        for left, right, token_id in merges:
            bbpe_pair_table_set(&self.merges, bbpe_pair_key(left, right), <uint64_t>rank << 32 | <uint32_t>token_id)
            rank += 1

    def __dealloc__(self):
        bbpe_pair_table_free(&self.merges)
        bbpe_pretoken_table_free(&self.tokens)
        bbpe_memory_free(self.lengths)

    cdef int _add_token(self, uint32_t token_id, bytes token) except -1:
        cdef bbpe_pretoken_entry *entry
        cdef const uint8_t *data = token
        cdef size_t n = len(token)
        check(bbpe_pretoken_table_add(&self.tokens, data, n, &entry))
        entry.value = token_id
        self.lengths[token_id] = n
        self.longest = max(self.longest, n)
        if n == 1:
            self.byte_ids[data[0]] = token_id
        return 0

    cdef int _add_all_splits(self) except -1:
        cdef bbpe_status status = BBPE_OK
        cdef const bbpe_pretoken_entry *token
        cdef const bbpe_pretoken_entry *left
        cdef const bbpe_pretoken_entry *right
        cdef const uint8_t *data
        cdef size_t i, cut
        with nogil:
            for i in range(self.tokens.count):
                token = self.tokens.entries + i
                data = self.tokens.arena + token.start
                for cut in range(1, token.length):
                    left = bbpe_pretoken_table_find(&self.tokens, data, cut)
                    if left == NULL:
                        continue
                    right = bbpe_pretoken_table_find(&self.tokens, data + cut, token.length - cut)
                    if right == NULL:
                        continue
                    status = bbpe_pair_table_reserve(&self.merges, 1)
                    if status != BBPE_OK:
                        break
                    bbpe_pair_table_set(
                        &self.merges,
                        bbpe_pair_key(<uint32_t>left.value, <uint32_t>right.value),
                        token.value << 32 | token.value,
                    )
                if status != BBPE_OK:
                    break
        return check(status)

    def encode_pretoken(self, bytes pretoken not None, uint32_t below=0xFFFFFFFF):
        """The ids of one pretoken by merging alone, with merges of rank < `below`."""
        cdef scratch work = scratch(NULL, 0, [NULL, 0, 0])
        cdef size_t n = len(pretoken), count = 0, i
        cdef uint32_t *ids = <uint32_t *>bbpe_memory_new(n, sizeof(uint32_t))
        if ids == NULL:
            raise MemoryError("bbpe could not allocate memory")
        cdef const uint8_t *data = pretoken
        try:
            if n <= SHORT:
                count = self._merge_short(data, n, <uint64_t>below << 32, ids)
            else:
                check(self._merge_long(&work, data, n, <uint64_t>below << 32, ids, &count))
            return [ids[i] for i in range(count)]
        finally:
            bbpe_memory_free(ids)
            scratch_free(&work)

    cdef bbpe_status encode(
        self, scratch *work, const uint8_t *pretoken, size_t n, uint64_t limit, uint32_t *ids, size_t *count
    ) noexcept nogil:
        """Encode one pretoken; `ids` has room for n, `*count` is how many there are."""
        cdef const bbpe_pretoken_entry *token
        if n == 1:
            ids[0] = self.byte_ids[pretoken[0]]
            count[0] = 1
            return BBPE_OK
        if self.whole_pretokens and n <= self.longest:
            token = bbpe_pretoken_table_find(&self.tokens, pretoken, n)
            if token != NULL:
                ids[0] = <uint32_t>token.value
                count[0] = 1
                return BBPE_OK
        if n <= SHORT:
            count[0] = self._merge_short(pretoken, n, limit, ids)
            return BBPE_OK
        return self._merge_long(work, pretoken, n, limit, ids, count)

    cdef size_t _merge_short(self, const uint8_t *pretoken, size_t n, uint64_t limit, uint32_t *ids) noexcept nogil:
        """Scan for the lowest rank, merge, and look up the two pairs that this made."""
        cdef uint64_t values[SHORT + 1]  # of the pair that begins at each symbol
        cdef uint64_t best
        cdef size_t i, at
        for i in range(n):
            ids[i] = self.byte_ids[pretoken[i]]
        for i in range(1, n):
            values[i - 1] = self._value(ids[i - 1], ids[i], limit)
        while n > 1:
            at, best = 0, values[0]
            for i in range(1, n - 1):
                if values[i] < best:
                    at, best = i, values[i]
            if best == NO_MERGE:
                break
            n -= 1
            ids[at] = <uint32_t>best
            for i in range(at + 1, n):
                ids[i] = ids[i + 1]
                values[i - 1] = values[i]
            if at > 0:
                values[at - 1] = self._value(ids[at - 1], ids[at], limit)
            if at + 1 < n:
                values[at] = self._value(ids[at], ids[at + 1], limit)
        return n

    cdef uint64_t _value(self, uint32_t left, uint32_t right, uint64_t limit) noexcept nogil:
        cdef const uint64_t *value = bbpe_pair_table_find(&self.merges, bbpe_pair_key(left, right))
        return NO_MERGE if value == NULL or value[0] >= limit else value[0]

    cdef bbpe_status _merge_long(
        self, scratch *work, const uint8_t *pretoken, size_t n, uint64_t limit, uint32_t *ids, size_t *count
    ) noexcept nogil:
        """A heap of mergeable pairs over the symbol list: O(n log n) on any input."""
        cdef heap_item item
        cdef size_t p, left, right, end, found = 0
        cdef void *slots = bbpe_memory_reserve(work.slots, &work.capacity, n + 2, sizeof(uint32_t))
        if slots == NULL:
            return BBPE_NO_MEMORY
        work.slots = <uint32_t *>slots
        # each merge takes a pair away and makes at most two
        if heap_reserve(&work.queue, 3 * n) != BBPE_OK:
            return BBPE_NO_MEMORY
        work.queue.count = 0
        work.slots[0] = work.slots[n + 1] = BORDER
        for p in range(n):
            work.slots[p + 1] = self.byte_ids[pretoken[p]]
        for p in range(1, n):
            self._push(work, p, limit)
        while work.queue.count:
            item = heap_pop(&work.queue, less_plain, NULL)
            left = item.tie
            if work.slots[left] != <uint32_t>(item.payload >> 32):
                continue
            right = left + self.lengths[work.slots[left]]
            if work.slots[right] != <uint32_t>item.payload:
                continue
            end = right + self.lengths[work.slots[right]]
            splice(work.slots, left, right, end, <uint32_t>item.primary)
            self._push(work, left, limit)
            if work.slots[left - 1] != BORDER:
                self._push(work, left - self.lengths[work.slots[left - 1]], limit)
        p = 1
        while p <= n:
            ids[found] = work.slots[p]
            p += self.lengths[ids[found]]
            found += 1
        count[0] = found
        return BBPE_OK

    cdef bint _push(self, scratch *work, size_t left, uint64_t limit) noexcept nogil:
        """Queue the symbol at `left` and its right neighbour, if they merge."""
        cdef uint32_t left_id = work.slots[left]
        cdef uint32_t right_id = work.slots[left + self.lengths[left_id]]
        cdef uint64_t value
        if right_id == BORDER:
            return False
        value = self._value(left_id, right_id, limit)
        if value == NO_MERGE:
            return False
        heap_push(&work.queue, heap_item(value, left, bbpe_pair_key(left_id, right_id)), less_plain, NULL)
        return True
