#include "threads/turns.h"

#include "base/atomic.h"

enum {
    CALLS = 64,
    LEAST = 1500,    /* units that take longer than to give the lock away and to take it back, with all that comes with it */
    MOST = 1 << 16,  /* of a thread that is alone: others may wait for the lock that never call */
    LOOKS = 4000,    /* each with a pause of 10 to 50 ns: 40 to 200 us, about as long as to be woken takes */
};

bool bbpe_turns_gives(bbpe_turns *self, uintptr_t thread, size_t units) {
    uint32_t calls = BBPE_ATOMIC_LOAD(&self->calls);
    if (BBPE_ATOMIC_LOAD(&self->last) != thread) {
        BBPE_ATOMIC_STORE(&self->last, thread);
        calls = CALLS;
        BBPE_ATOMIC_STORE(&self->calls, calls);
    } else if (calls > 0) {
        BBPE_ATOMIC_STORE(&self->calls, --calls);
    }
    const bool is_shared = calls > 0 && self->most_looking > 0;
    return units > MOST || (is_shared && units >= LEAST);
}

void bbpe_turns_given(bbpe_turns *self, uintptr_t thread) {
    /* another thread may have taken it in between */
    (void)BBPE_ATOMIC_SWAP(&self->holder, &thread, 0);
}

void bbpe_turns_look(bbpe_turns *self) {
    if (BBPE_ATOMIC_LOAD(&self->holder) == 0) return;
    if (BBPE_ATOMIC_ADD(&self->looking, 1) < self->most_looking)
        for (int i = 0; i < LOOKS && BBPE_ATOMIC_LOAD(&self->holder); i++) BBPE_PAUSE();
    BBPE_ATOMIC_ADD(&self->looking, (uint32_t)-1);
}

void bbpe_turns_taken(bbpe_turns *self, uintptr_t thread) {
    BBPE_ATOMIC_STORE(&self->holder, thread);
}
