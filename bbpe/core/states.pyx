"""The scratch memory and the caches that the calls of one encoder borrow."""
from libc.stdint cimport uint64_t

from bbpe.core.budget cimport BUDGET
from bbpe.core.c_base cimport (
    BBPE_ATOMIC_ACQUIRE, BBPE_ATOMIC_ADD, BBPE_ATOMIC_EXCHANGE, BBPE_ATOMIC_LOAD, BBPE_ATOMIC_SWAP, BBPE_OK, bbpe_status,
)
from bbpe.core.c_encode cimport (
    bbpe_encode_loan, bbpe_encode_state, bbpe_encode_state_delete, bbpe_encode_state_grow, bbpe_encode_state_loan,
    bbpe_encode_state_new, bbpe_encode_state_tables, bbpe_encode_tables, bbpe_encoder, bbpe_encoder_delete,
    bbpe_encoder_new, bbpe_hot_cache_bytes,
)
from bbpe.core.c_threads cimport bbpe_memory_budget_give, bbpe_memory_budget_take
from bbpe.core.id_buffer cimport drop_idle_buffer
from bbpe.core.status cimport check

cdef enum:
    MOST_ENTRIES = 1 << 20  # of 32 bytes: 32 MiB for a call at a time
    LEAST_ENTRIES = 1 << 12
    ROOMY_ENTRIES = 1 << 19 # up to these, one for fewer bytes of text: what fills up less finds units at once
    MOST_SLOTS = 1 << 17    # of 128 bytes: 16 MiB, which slots come to that fill up
    ENTRIES_A_SLOT = 16     # at first
    FEW_SLOTS = 1 << 15     # up to these, one for fewer entries: words of 16 bytes and more are many in Armenian,
    FEW_ENTRIES_A_SLOT = 4  # few in English, which would take 3 % longer cold with as many beyond
    ENTRY_WORTH = 16        # bytes of text for which there is one
    ROOMY_ENTRY_WORTH = 8
    GROWTH = 4              # times as large: entries that are half full, slots of which a quarter was taken
    GROWN_AT = 1 << 14      # bytes of text after which a state has tables of its own, and the encoder all of its


cdef size_t slots_for(const bbpe_encode_tables *tables, size_t entries) except 0:
    """How many slots there are to be beside so many entries.  Those of which a quarter was taken grow: at a half, some are
    taken anew when a text comes again, and they would grow as late as in its third pass.  Multilingual text of 8 MB, which
    has many long words, then takes 15.8 instead of 16.4 ms when it comes again."""
    cdef size_t slots = tables.slots
    if tables.slots_taken > slots // 4:
        slots = max(slots, min(<size_t>MOST_SLOTS, GROWTH * slots))
    return max(slots, min(<size_t>FEW_SLOTS, entries // FEW_ENTRIES_A_SLOT), entries // ENTRIES_A_SLOT)


cdef uint64_t hot_bytes(const bbpe_encode_state *state) noexcept:
    cdef bbpe_encode_tables tables = bbpe_encode_state_tables(state)
    return bbpe_hot_cache_bytes(tables.entries, tables.slots) if tables.is_grown else 0


cdef size_t entries_for(const bbpe_encode_tables *tables, uint64_t seen, uint64_t coming):
    """How large the tables of a state are to be for a text of so many bytes: to clear more than it fills costs more than
    to encode it.  Those that have filled up grow.  Others do not when a text comes again: it would take twice as long."""
    cdef size_t entries = tables.entries if tables.is_grown else LEAST_ENTRIES
    if seen + coming < GROWN_AT:
        return 0
    if tables.is_grown and tables.kept > tables.entries // 2:
        entries = min(<size_t>MOST_ENTRIES, GROWTH * tables.entries)
    while entries < MOST_ENTRIES and entries < coming // (ROOMY_ENTRY_WORTH if entries < ROOMY_ENTRIES else ENTRY_WORTH):
        entries *= 2
    return entries


cdef class States:
    """A small stack of states; a call takes one and gives it back, and no two calls have the same.

    It has the encoder too: a light one at first, and the full one from the first call on that it is worth for.
    """

    def __cinit__(self, Model model not None, Splitter splitter=None):
        self.model, self.splitter = model, splitter
        check(self._make(&self.light, True))

    def __dealloc__(self):
        for i in range(IDLE):
            if self.idle[i] != NULL:
                self._free(<bbpe_encode_state *>self.idle[i])
        bbpe_encoder_delete(self.light)
        bbpe_encoder_delete(<bbpe_encoder *>self.full)

    cdef bbpe_status _make(self, bbpe_encoder **to, bint is_light) noexcept:
        if self.splitter is None:
            return bbpe_encoder_new(to, &self.model.view, NULL, NULL, is_light)
        return bbpe_encoder_new(to, &self.model.view, &self.splitter.row, self.splitter.fill, is_light)

    cdef void prepare(self, uint64_t coming) noexcept:
        """Make the full encoder if so many bytes of text are worth it; without memory for it the light one serves."""
        cdef bbpe_encoder *made = NULL
        cdef void *nothing = NULL
        if coming < GROWN_AT or BBPE_ATOMIC_ACQUIRE(&self.full) != NULL or self._make(&made, False) != BBPE_OK:
            return
        if not BBPE_ATOMIC_SWAP(&self.full, &nothing, made):
            bbpe_encoder_delete(made)

    cdef bbpe_encoder *encoder(self) noexcept nogil:
        """The best encoder that is there; a call that has a state may ask for it once more and get another one."""
        cdef void *full = BBPE_ATOMIC_ACQUIRE(&self.full)
        return self.light if full == NULL else <bbpe_encoder *>full

    cdef bbpe_encode_state *borrow(self, size_t coming, size_t worker=0) except NULL:
        """A state for a call that will encode so many bytes; the one that was given back to this worker, if it is there."""
        cdef bbpe_encode_state *state = NULL
        cdef bbpe_encode_loan *loan
        cdef bbpe_encode_tables tables
        cdef size_t entries
        cdef size_t i
        for i in range(worker, worker + IDLE):
            if BBPE_ATOMIC_ACQUIRE(&self.idle[i % IDLE]) != NULL:
                state = <bbpe_encode_state *>BBPE_ATOMIC_EXCHANGE(&self.idle[i % IDLE], NULL)
                if state != NULL:
                    break
        if state == NULL:
            state = bbpe_encode_state_new()
            if state == NULL:
                raise MemoryError("bbpe could not allocate memory")
            bbpe_encode_state_loan(state).generation = BBPE_ATOMIC_LOAD(&self.generation)
        loan = bbpe_encode_state_loan(state)
        tables = bbpe_encode_state_tables(state)
        entries = entries_for(&tables, loan.seen, coming)
        if entries > tables.entries or (entries > 0 and slots_for(&tables, entries) > tables.slots):
            self._grow(state, entries)
        loan.seen += coming
        self.prepare(loan.seen)
        return state

    cdef int give_back(self, bbpe_encode_state *state, size_t worker=0) except -1:
        cdef void *nothing
        cdef size_t i
        if bbpe_encode_state_loan(state).generation == BBPE_ATOMIC_LOAD(&self.generation):
            for i in range(worker, worker + IDLE):
                nothing = NULL
                if BBPE_ATOMIC_ACQUIRE(&self.idle[i % IDLE]) == NULL and BBPE_ATOMIC_SWAP(&self.idle[i % IDLE], &nothing, state):
                    return 0
        self._free(state)
        return 0

    cdef int _grow(self, bbpe_encode_state *state, size_t entries) except -1:
        """Give a state larger tables, as far as the budget has room; more than half of it if no other tables are there."""
        cdef bbpe_encode_tables tables = bbpe_encode_state_tables(state)
        cdef uint64_t size, before = hot_bytes(state)
        cdef size_t slots
        cdef bint is_modest
        while entries >= LEAST_ENTRIES and entries >= tables.entries:
            slots = slots_for(&tables, entries)
            size = bbpe_hot_cache_bytes(entries, slots)
            if size == before:
                break
            is_modest = 2 * size <= BBPE_ATOMIC_LOAD(&BUDGET.limit) or BBPE_ATOMIC_LOAD(&BUDGET.used) == before
            # what it had goes as soon as it is moved
            if is_modest and bbpe_memory_budget_take(&BUDGET, size - before):
                if bbpe_encode_state_grow(state, entries, slots):
                    break
                bbpe_memory_budget_give(&BUDGET, size - before)
            entries //= 2
        return 0

    cdef void _free(self, bbpe_encode_state *state) noexcept:
        bbpe_memory_budget_give(&BUDGET, hot_bytes(state))
        bbpe_encode_state_delete(state)

    def clear(self):
        """Free all caches; calls that run keep theirs until they end."""
        drop_idle_buffer()
        BBPE_ATOMIC_ADD(&self.generation, 1)
        for i in range(IDLE):
            state = <bbpe_encode_state *>BBPE_ATOMIC_EXCHANGE(&self.idle[i], NULL)
            if state != NULL:
                self._free(state)

    def info(self) -> tuple[int, int, int]:
        """Bytes of idle states' tables, of all caches of the process, and their limit."""
        cdef uint64_t idle = 0
        for i in range(IDLE):
            # a state is only looked at while it is ours
            state = <bbpe_encode_state *>BBPE_ATOMIC_EXCHANGE(&self.idle[i], NULL)
            if state != NULL:
                idle += hot_bytes(state)
                self.give_back(state, i)
        return idle, BBPE_ATOMIC_LOAD(&BUDGET.used), BBPE_ATOMIC_LOAD(&BUDGET.limit)
