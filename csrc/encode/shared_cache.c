/* The cache that threads share: slots under seqlocks. */
#include "encode/shared_cache.h"

#include "base/atomic.h"
#include "encode/cache.h"
#include "memory/memory.h"

bool bbpe_cache_budget_take(bbpe_cache_budget *self, uint64_t bytes) {
    uint64_t used = BBPE_ATOMIC_LOAD(&self->used);
    do {
        const uint64_t limit = BBPE_ATOMIC_LOAD(&self->limit);
        if (used > limit || bytes > limit - used) return false;
    } while (!BBPE_ATOMIC_SWAP(&self->used, &used, used + bytes));
    return true;
}

void bbpe_cache_budget_give(bbpe_cache_budget *self, uint64_t bytes) {
    BBPE_ATOMIC_ADD(&self->used, (uint64_t)0 - bytes);
}

size_t bbpe_shared_cache_bytes(size_t slots) {
    return slots * sizeof(bbpe_cache_slot) + sizeof(bbpe_shared_cache);
}

bbpe_shared_cache *bbpe_shared_cache_new(size_t slots) {
    bbpe_shared_cache *self = bbpe_memory_zeroed(1, sizeof *self);
    if (self == NULL) return NULL;
    self->slots = bbpe_memory_table(slots, sizeof *self->slots);
    self->mask = slots - 1;
    self->holders = 1;
    if (self->slots != NULL) return self;
    bbpe_shared_cache_drop(self);
    return NULL;
}

void bbpe_shared_cache_hold(bbpe_shared_cache *self) {
    BBPE_ATOMIC_ADD(&self->holders, 1);
}

bool bbpe_shared_cache_drop(bbpe_shared_cache *self) {
    if (BBPE_ATOMIC_ADD(&self->holders, (uint32_t)-1) != 1) return false;
    bbpe_memory_table_free(self->slots);
    bbpe_memory_free(self);
    return true;
}

/* A slot as it was at one moment; false when a thread was writing.  A reader that sees any new word, each written
 * with release, sees the odd sequence that came before it too. */
static bool read_slot(const bbpe_cache_slot *slot, bbpe_cache_slot *copy) {
    const uint32_t sequence = BBPE_ATOMIC_ACQUIRE(&slot->seqlock);
    copy->counts = BBPE_ATOMIC_ACQUIRE(&slot->counts);
    for (int i = 0; i < 6; i++) copy->words[i] = BBPE_ATOMIC_ACQUIRE(&slot->words[i]);
    for (size_t i = 0; i < (copy->counts & 0xFF) && i < BBPE_CACHE_LONG_IDS; i++)
        copy->ids[i] = BBPE_ATOMIC_ACQUIRE(&slot->ids[i]);
    return !(sequence & 1) && BBPE_ATOMIC_LOAD(&slot->seqlock) == sequence;
}

size_t bbpe_shared_cache_find(const bbpe_shared_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                              uint32_t *ids) {
    bbpe_cache_slot copy;
    for (size_t way = 0; way < 2; way++) {
        const bbpe_cache_slot *slot = self->slots + ((hash & self->mask) ^ way);
        if (BBPE_ATOMIC_LOAD(&slot->words[0]) != key->words[0]) continue;
        if (!read_slot(slot, &copy) || !bbpe_cache_slot_has(&copy, key)) continue;
        const size_t count = copy.counts & 0xFF;
        memcpy(ids, copy.ids, count * sizeof *ids);
        return count;
    }
    return 0;
}

void bbpe_shared_cache_add(bbpe_shared_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                           const uint32_t *ids, size_t count) {
    /* an empty place of the two, or else by a bit that the index does not use */
    size_t at = hash & self->mask;
    BBPE_ASSERT(count > 0 && count <= BBPE_CACHE_LONG_IDS);
    if (BBPE_ATOMIC_LOAD(&self->slots[at].counts) != 0
        && (BBPE_ATOMIC_LOAD(&self->slots[at ^ 1].counts) == 0 || hash >> 63))
        at ^= 1;
    bbpe_cache_slot *slot = self->slots + at;
    uint32_t sequence = BBPE_ATOMIC_LOAD(&slot->seqlock);
    if ((sequence & 1) || !BBPE_ATOMIC_SWAP(&slot->seqlock, &sequence, sequence + 1)) return;
    for (int i = 0; i < 6; i++) BBPE_ATOMIC_RELEASE(&slot->words[i], key->words[i]);
    for (size_t i = 0; i < count; i++) BBPE_ATOMIC_RELEASE(&slot->ids[i], ids[i]);
    BBPE_ATOMIC_RELEASE(&slot->counts, key->length << 8 | (uint32_t)count);
    BBPE_ATOMIC_RELEASE(&slot->seqlock, sequence + 2);
}
