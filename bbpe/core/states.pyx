"""The scratch memory and the caches that the calls of one encoder borrow, and how all encoders share the budget of caches."""
from time import monotonic_ns

from libc.stdint cimport uint64_t

from bbpe.core.budget cimport BUDGET
from bbpe.core.c_base cimport (
    BBPE_ATOMIC_ACQUIRE, BBPE_ATOMIC_ADD, BBPE_ATOMIC_EXCHANGE, BBPE_ATOMIC_LOAD, BBPE_ATOMIC_STORE, BBPE_ATOMIC_SWAP,
    BBPE_OK, bbpe_status,
)
from bbpe.core.c_encode cimport (
    bbpe_encode_entries_are_full, bbpe_encode_loan, bbpe_encode_slots_are_full, bbpe_encode_state,
    bbpe_encode_state_delete, bbpe_encode_state_grow, bbpe_encode_state_loan, bbpe_encode_state_long_bytes,
    bbpe_encode_state_new, bbpe_encode_state_tables, bbpe_encode_tables, bbpe_encoder,
    bbpe_encoder_delete, bbpe_encoder_new, bbpe_encoder_open, bbpe_encoder_open_match, bbpe_encoder_set_ask,
    bbpe_encoder_write_cuts, bbpe_encoder_write_match, bbpe_hot_cache_bytes,
)
from bbpe.core.c_memory cimport bbpe_memory_zeroed
from bbpe.core.c_split cimport bbpe_scheme, bbpe_split_fill
from bbpe.core.c_tables cimport bbpe_image, bbpe_image_is_whole
from bbpe.core.c_threads cimport bbpe_memory_budget_give, bbpe_memory_budget_take
from bbpe.core.id_buffer cimport drop_idle_buffer
from bbpe.core.image cimport image_begin, image_measured, image_of
from bbpe.core.status cimport check, had

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
    GROWTH = 4              # times as large: entries that are half full
    SLOT_GROWTH = 2         # times as large: slots of which half are taken
    GROWN_AT = 1 << 14      # bytes of text after which a state has tables of its own, and the encoder all of its
    UNUSED = 1000000000     # nanoseconds after which unused tables are freed to make room for tables of any size
    RICH = 2                # times as large: tables that are freed for others although they are used
    SIZED_AGAIN = 1 << 10   # bytes of text after which the size of a state's tables is considered again
    ASKS_AGAIN = 1 << 16    # the same if they stayed too small

# The `idle_states` of all encoders, which are never freed: somebody may look at those of an encoder that goes.  They serve
# the next encoder.
cdef void *ALL_IDLE = NULL
# Until then tables do not grow: those that were freed for others need the room when their encoders come again.  If the rest
# grew into it, more would have to be freed, and so on in turns.
cdef uint64_t SHORT_UNTIL = 0


cdef size_t slots_for(const bbpe_encode_tables *tables, size_t entries) noexcept:
    """The number of slots for tables of so many entries: no fewer than there are, and more if these have filled up."""
    cdef size_t slots = tables.slots
    if bbpe_encode_slots_are_full(tables.slots_taken, slots):
        slots = max(slots, min(<size_t>MOST_SLOTS, SLOT_GROWTH * slots))
    return max(slots, min(<size_t>FEW_SLOTS, entries // FEW_ENTRIES_A_SLOT), entries // ENTRIES_A_SLOT)


cdef size_t entries_for(const bbpe_encode_tables *tables, uint64_t coming) noexcept:
    """How large the tables of a state are to be for a text of `coming` bytes.

    Clearing large tables would cost more than encoding a short text.  Tables that have filled up grow.  Others keep their
    size when a text comes again, because with new tables the text would take twice as long."""
    cdef size_t entries = tables.entries if tables.is_grown else LEAST_ENTRIES
    if tables.is_grown and bbpe_encode_entries_are_full(tables.kept, tables.entries):
        entries = min(<size_t>MOST_ENTRIES, GROWTH * tables.entries)
    while entries < MOST_ENTRIES and entries < coming // (ROOMY_ENTRY_WORTH if entries < ROOMY_ENTRIES else ENTRY_WORTH):
        entries *= 2
    return entries


cdef void free_state(bbpe_encode_state *state) noexcept:
    bbpe_memory_budget_give(&BUDGET, bbpe_encode_state_loan(state).table_bytes)
    bbpe_encode_state_delete(state)


cdef void free_idle(idle_state *slot) noexcept:
    cdef bbpe_encode_state *state = <bbpe_encode_state *>BBPE_ATOMIC_EXCHANGE(&slot.state, NULL)
    if state != NULL:
        free_state(state)


cdef idle_states *idle_states_of(void *owner) noexcept:
    """The idle states that a deleted encoder left, or new ones; NULL without memory."""
    cdef idle_states *found = <idle_states *>BBPE_ATOMIC_ACQUIRE(&ALL_IDLE)
    cdef void *nothing
    while found != NULL:
        nothing = NULL
        if BBPE_ATOMIC_ACQUIRE(&found.owner) == NULL and BBPE_ATOMIC_SWAP(&found.owner, &nothing, owner):
            return found
        found = <idle_states *>found.next
    found = <idle_states *>bbpe_memory_zeroed(1, sizeof(idle_states))
    if found != NULL:
        found.owner, found.next = owner, BBPE_ATOMIC_ACQUIRE(&ALL_IDLE)
        while not BBPE_ATOMIC_SWAP(&ALL_IDLE, &found.next, found):
            pass
    return found


cdef uint64_t nanoseconds() noexcept:
    """The time of a clock that never goes back; 0 when Python has no memory for it, and then no table is old."""
    try:
        return monotonic_ns()
    except MemoryError:
        return 0


cdef uint64_t look(uint64_t size, uint64_t now, idle_state **to) noexcept:
    """The bytes of idle tables that may be freed for tables of `size`, and those of them that were not used for longest."""
    cdef idle_states *idle = <idle_states *>BBPE_ATOMIC_ACQUIRE(&ALL_IDLE)
    cdef idle_state *slot
    cdef uint64_t seen, bytes, since, oldest = <uint64_t>-1, total = 0
    cdef int i
    to[0] = NULL
    while idle != NULL:
        for i in range(IDLE):
            slot = &idle.slots[i]
            bytes, seen = BBPE_ATOMIC_LOAD(&slot.bytes), BBPE_ATOMIC_LOAD(&slot.seen)
            if BBPE_ATOMIC_ACQUIRE(&slot.state) == NULL or bytes == 0:
                continue
            if seen != BBPE_ATOMIC_LOAD(&slot.seen_before):
                BBPE_ATOMIC_STORE(&slot.seen_before, seen)
                BBPE_ATOMIC_STORE(&slot.unused_since, now)
            since = BBPE_ATOMIC_LOAD(&slot.unused_since)
            if since + UNUSED <= now or bytes >= RICH * size:
                total += bytes
                if since < oldest:
                    oldest, to[0] = since, slot
        idle = <idle_states *>idle.next
    return total


cdef bint make_room(uint64_t needed, uint64_t size) noexcept:
    """Take so many bytes of the budget for tables of `size`, and free idle ones for that, the least recently used first.

    Tables that were unused for a second are freed, so that encoders in turns do not free each other's all the time, and larger
    tables, so that a late encoder gets as much as others.  False, and nothing is freed, if they are too few."""
    cdef idle_state *oldest
    cdef uint64_t now, total
    while not bbpe_memory_budget_take(&BUDGET, needed):
        now = nanoseconds()
        total = look(size, now, &oldest)
        if total == 0 or BBPE_ATOMIC_LOAD(&BUDGET.used) + needed > BBPE_ATOMIC_LOAD(&BUDGET.limit) + total:
            return False
        free_idle(oldest)
        BBPE_ATOMIC_STORE(&SHORT_UNTIL, now + UNUSED)
    return True


def free_beyond_limit():
    """Free idle tables until all fit a new limit of the budget, the least recently used first."""
    cdef idle_state *oldest
    cdef uint64_t now = nanoseconds()
    BBPE_ATOMIC_STORE(&SHORT_UNTIL, 0)
    while BBPE_ATOMIC_LOAD(&BUDGET.used) > BBPE_ATOMIC_LOAD(&BUDGET.limit) and look(0, now, &oldest):
        free_idle(oldest)


cdef void open_match(void *owner) noexcept with gil:
    try:
        (<States>owner).open_match()
    except BaseException as error:  # the call goes on in C; it reports this when it is done
        (<States>owner).failure = error


cdef void ask_room(void *owner, bbpe_encode_state *state) noexcept with gil:
    """Give the state of a call larger tables if there is room; called from C."""
    (<States>owner)._size(state, 0)


cdef class States:
    """A small stack of states; a call takes one and gives it back, and no two calls have the same.

    It has the encoder too: a light one at first, and the full one from the first call on that it is worth for.
    """

    def __cinit__(self, Model model not None, Splitter splitter=None):
        self.model, self.splitter, self.matches = model, splitter, []
        self.idle = <idle_states *>had(idle_states_of(<void *>self))
        check(bbpe_encoder_new(&self.light, &self.model.view, self.scheme(), self.fill(), True))

    def __dealloc__(self):
        if self.idle != NULL:
            for i in range(IDLE):
                free_idle(&self.idle.slots[i])
            BBPE_ATOMIC_EXCHANGE(&self.idle.owner, NULL)
        bbpe_encoder_delete(self.light)
        bbpe_encoder_delete(<bbpe_encoder *>self.full)

    cdef const bbpe_scheme *scheme(self) noexcept:
        return NULL if self.splitter is None else &self.splitter.row

    cdef bbpe_split_fill fill(self) noexcept:
        return NULL if self.splitter is None else self.splitter.fill

    cdef int prepare(self, uint64_t coming) except -1:
        """Make the full encoder if so many bytes of text are worth it; without memory for it the light one serves.

        Its cut points come from where the model says.  If they are not there they are made, and left there."""
        cdef bbpe_encoder *made = NULL
        cdef bbpe_image image
        cdef void *nothing = NULL
        if coming < GROWN_AT or BBPE_ATOMIC_ACQUIRE(&self.full) != NULL:
            return 0
        tables = self.model.long_tables
        cuts = None if tables is None else tables.read("cuts")
        if cuts is not None:
            image = image_of(cuts)
            if bbpe_encoder_open(&made, &self.model.view, self.scheme(), self.fill(), &image) != BBPE_OK:
                return 0
            if not bbpe_image_is_whole(&image):
                bbpe_encoder_delete(made)
                made, cuts = NULL, None
        if cuts is None and bbpe_encoder_new(&made, &self.model.view, self.scheme(), self.fill(), False) != BBPE_OK:
            return 0
        if tables is not None:
            bbpe_encoder_set_ask(made, open_match, <void *>self)
        if not BBPE_ATOMIC_SWAP(&self.full, &nothing, made):
            bbpe_encoder_delete(made)
            return 0
        self.cuts = cuts
        if tables is not None and cuts is None:
            image = image_measured()
            bbpe_encoder_write_cuts(made, &image)
            written = image_begin(&image)
            bbpe_encoder_write_cuts(made, &image)
            tables.write("cuts", written)
        return 0

    cdef int open_match(self) except -1:
        """Have the matching of long pieces from where the model says; if it is not there it is made, and left there."""
        cdef bbpe_encoder *full = <bbpe_encoder *>self.full
        cdef bbpe_status status
        cdef bbpe_image image
        match = self.model.long_tables.read("match")
        if match is not None:
            image = image_of(match)
            self.matches.append(match)
            status = bbpe_encoder_open_match(full, &image)
            if status != BBPE_OK or bbpe_image_is_whole(&image):
                return 0
        image = image_measured()
        with nogil:
            status = bbpe_encoder_write_match(full, &image)
        if status == BBPE_OK:
            written = image_begin(&image)
            bbpe_encoder_write_match(full, &image)
            self.model.long_tables.write("match", written)
        return 0

    cdef bbpe_encoder *encoder(self) noexcept nogil:
        """The best encoder that is there; a call that has a state may ask for it once more and get another one."""
        cdef void *full = BBPE_ATOMIC_ACQUIRE(&self.full)
        return self.light if full == NULL else <bbpe_encoder *>full

    cdef bbpe_encode_state *borrow(self, size_t coming, size_t worker=0) except NULL:
        """A state for a call that will encode so many bytes; the one that was given back to this worker, if it is there."""
        cdef bbpe_encode_state *state = NULL
        cdef bbpe_encode_loan *loan
        cdef void **idle
        cdef size_t i
        for i in range(worker, worker + IDLE):
            idle = &self.idle.slots[i % IDLE].state
            if BBPE_ATOMIC_ACQUIRE(idle) != NULL:
                state = <bbpe_encode_state *>BBPE_ATOMIC_EXCHANGE(idle, NULL)
                if state != NULL:
                    break
        if state == NULL:
            state = <bbpe_encode_state *>had(bbpe_encode_state_new(self.model.written_count))
            bbpe_encode_state_loan(state).generation = BBPE_ATOMIC_LOAD(&self.generation)
            bbpe_encode_state_loan(state).sized_at = GROWN_AT
            bbpe_encode_state_loan(state).budget = &BUDGET
            bbpe_encode_state_loan(state).ask_room = ask_room
            bbpe_encode_state_loan(state).owner = <void *>self
        loan = bbpe_encode_state_loan(state)
        loan.seen += coming
        if loan.seen >= loan.sized_at:
            self._size(state, coming)
        try:
            self.prepare(loan.seen)
        except BaseException:
            self.give_back(state, worker)
            raise
        return state

    cdef int give_back(self, bbpe_encode_state *state, size_t worker=0) except -1:
        cdef bbpe_encode_loan *loan = bbpe_encode_state_loan(state)
        cdef uint64_t bytes = loan.table_bytes + bbpe_encode_state_long_bytes(state), seen = loan.seen
        cdef idle_state *slot
        cdef void *nothing
        cdef size_t i
        if self.failure is not None:
            free_state(state)
            failure, self.failure = self.failure, None
            raise failure
        if loan.generation == BBPE_ATOMIC_LOAD(&self.generation):
            for i in range(worker, worker + IDLE):
                slot, nothing = &self.idle.slots[i % IDLE], NULL
                if BBPE_ATOMIC_ACQUIRE(&slot.state) == NULL and BBPE_ATOMIC_SWAP(&slot.state, &nothing, state):
                    # from here on it may be another call's
                    BBPE_ATOMIC_STORE(&slot.bytes, bytes)
                    BBPE_ATOMIC_STORE(&slot.seen, seen)
                    return 0
        free_state(state)
        return 0

    cdef void _size(self, bbpe_encode_state *state, size_t coming) noexcept:
        """Give a state larger tables if it needs them, as far as the budget has room; more than half of it if no other
        tables are there."""
        cdef bbpe_encode_loan *loan = bbpe_encode_state_loan(state)
        cdef bbpe_encode_tables tables = bbpe_encode_state_tables(state)
        cdef size_t slots, entries = entries_for(&tables, coming)
        cdef uint64_t size, before = loan.table_bytes, own = before + bbpe_encode_state_long_bytes(state)
        loan.sized_at = loan.seen + SIZED_AGAIN
        if entries <= tables.entries and slots_for(&tables, entries) <= tables.slots:
            return
        if before > 0 and BBPE_ATOMIC_LOAD(&SHORT_UNTIL) > nanoseconds():
            loan.sized_at = loan.seen + ASKS_AGAIN
            return
        while entries >= LEAST_ENTRIES and entries >= tables.entries:
            slots = slots_for(&tables, entries)
            size = bbpe_hot_cache_bytes(entries, slots)
            if size == before:
                break
            # what it had goes as soon as it is moved
            if 2 * size <= BBPE_ATOMIC_LOAD(&BUDGET.limit) or BBPE_ATOMIC_LOAD(&BUDGET.used) == own:
                if make_room(size - before, size):
                    if bbpe_encode_state_grow(state, entries, slots):
                        loan.table_bytes = size
                        break
                    bbpe_memory_budget_give(&BUDGET, size - before)
                loan.sized_at = loan.seen + ASKS_AGAIN
            entries //= 2

    def clear(self):
        """Free all caches; calls that run keep theirs until they end."""
        drop_idle_buffer()
        BBPE_ATOMIC_ADD(&self.generation, 1)
        for i in range(IDLE):
            free_idle(&self.idle.slots[i])

    def info(self) -> tuple[int, int, int]:
        """Bytes of idle states' tables, of all caches of the process, and their limit."""
        cdef uint64_t used, idle = 0
        for i in range(IDLE):
            if BBPE_ATOMIC_ACQUIRE(&self.idle.slots[i].state) != NULL:
                idle += BBPE_ATOMIC_LOAD(&self.idle.slots[i].bytes)
        used = BBPE_ATOMIC_LOAD(&BUDGET.used)
        # other threads may have freed some of them
        return min(idle, used), used, BBPE_ATOMIC_LOAD(&BUDGET.limit)
