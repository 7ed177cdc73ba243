#include "encode/cache.h"

#include "memory/memory.h"

/* Bits of the first bytes of a word, and of a length's two words. */
#define BELOW(bytes) ((bytes) >= 8 ? UINT64_MAX : ((uint64_t)1 << 8 * ((bytes) & 7)) - 1)
#define ROW(n) \
    {{BELOW(n), (n) < 8 ? 0 : BELOW((n) - 8)}, {BBPE_HASH_SALT_LO, BBPE_HASH_SALT_HI ^ (uint64_t)(n) << 56}}
const bbpe_cache_row bbpe_cache_rows[] = {ROW(0), ROW(1), ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),
                                          ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15)};

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

size_t bbpe_hot_cache_bytes(size_t entries, size_t slots) {
    return entries * sizeof(bbpe_cache_entry) + slots * sizeof(bbpe_cache_slot);
}

void bbpe_hot_cache_use(bbpe_hot_cache *self, bbpe_cache_entry *entries, size_t entry_count, bbpe_cache_slot *slots,
                        size_t slot_count) {
    self->entries = entries;
    self->entry_count = entry_count;
    self->entry_mask = (entry_count - 1) * sizeof *entries;
    self->slots = slots;
    self->slot_mask = slot_count - 1;
    self->slots_taken = 0;
}

bbpe_status bbpe_hot_cache_init(bbpe_hot_cache *self, size_t entries, size_t slots) {
    bbpe_cache_entry *new_entries = bbpe_memory_table(entries, sizeof *new_entries);
    bbpe_cache_slot *new_slots = bbpe_memory_table(slots, sizeof *new_slots);
    if (new_entries == NULL || new_slots == NULL) {
        bbpe_memory_table_free(new_entries);
        bbpe_memory_table_free(new_slots);
        return BBPE_NO_MEMORY;
    }
    bbpe_hot_cache_use(self, new_entries, entries, new_slots, slots);
    return BBPE_OK;
}

void bbpe_hot_cache_free(bbpe_hot_cache *self) {
    bbpe_memory_table_free(self->entries);
    bbpe_memory_table_free(self->slots);
    memset(self, 0, sizeof *self);
}

bbpe_cache_entry bbpe_cache_entry_of(bbpe_cache_key key, const uint32_t *ids, size_t count) {
    bbpe_cache_entry entry = {key, {0, 0, 0, 0}};
    uint64_t words[2] = {0, 0};
    uint32_t all = 0;
    for (size_t i = 0; i < count; i++) all |= ids[i];
    if (count <= BBPE_CACHE_FEW_IDS) {
        for (size_t i = 0; i < count; i++) words[i / 2] |= (uint64_t)ids[i] << (32 * (i % 2));
    } else if (count <= BBPE_CACHE_SHORT_IDS && all >> BBPE_CACHE_PACKED_BITS == 0) {
        for (size_t i = 0; i < count; i++) words[i / 3] |= (uint64_t)ids[i] << (BBPE_CACHE_PACKED_BITS * (i % 3));
        count |= BBPE_CACHE_PACKED;
    } else {
        words[0] = count;
        count = BBPE_CACHE_MANY;
    }
    words[1] |= (uint64_t)count << 60;
    memcpy(entry.ids, words, sizeof words);
    return entry;
}

BBPE_INLINE void unpack(uint64_t word, uint32_t *ids) {
    const uint32_t mask = ((uint32_t)1 << BBPE_CACHE_PACKED_BITS) - 1;
    for (size_t i = 0; i < 3; i++) ids[i] = (uint32_t)(word >> (BBPE_CACHE_PACKED_BITS * i)) & mask;
}

size_t bbpe_cache_put_packed(const bbpe_cache_entry *entry, uint32_t *ids) {
    uint64_t words[2];
    memcpy(words, entry->ids, sizeof words);
    unpack(words[0], ids);
    unpack(words[1], ids + 3);
    return bbpe_cache_count(entry) & ~(unsigned)BBPE_CACHE_PACKED;
}

/* The top byte of the key of an entry that has the last ids of its neighbour, which no length gives it; below it stands
 * their number. */
#define REST_KEY ((BBPE_HASH_SALT_HI >> 56 ^ 0x40) << 56)

static bool is_rest(const bbpe_cache_entry *entry) {
    return entry->key.hi >> 56 == REST_KEY >> 56;
}

static bbpe_cache_entry *neighbour_of(const bbpe_hot_cache *self, const bbpe_cache_entry *entry) {
    return self->entries + ((size_t)(entry - self->entries) ^ 1);
}

/* An entry and its rest are written together, and neither is ever moved: a rest that is there belongs to the entry. */
size_t bbpe_hot_cache_put_both(const bbpe_hot_cache *self, const bbpe_cache_entry *entry, uint32_t *ids) {
    const bbpe_cache_entry *rest = neighbour_of(self, entry);
    const size_t count = rest->key.hi & 0xFF;
    uint64_t words[2];
    if (!is_rest(rest)) return 0;
    bbpe_cache_put_packed(entry, ids);
    memcpy(words, rest->ids, sizeof words);
    unpack(rest->key.lo, ids + 6);
    if (count > 9) unpack(words[0], ids + 9); /* no further than two ids behind the last */
    if (count > 12) unpack(words[1], ids + 12);
    return count;
}

/* Three ids that are there, or 0 in their place. */
static uint64_t packed(const uint32_t *ids, size_t start, size_t count) {
    uint64_t word = 0;
    for (size_t i = start; i < count && i < start + 3; i++)
        word |= (uint64_t)ids[i] << (BBPE_CACHE_PACKED_BITS * (i - start));
    return word;
}

/* Put ids that an entry alone cannot have into one and its neighbour, if they and that one allow it: multilingual text
 * takes 25.5 instead of 27.7 ms, as the slots that have them otherwise are two more cache lines. */
static bool add_both(bbpe_hot_cache *self, bbpe_cache_key key, const uint32_t *ids, size_t count) {
    bbpe_cache_entry *place = bbpe_hot_cache_place(self, key, bbpe_cache_hash(key));
    uint32_t all = 0;
    for (size_t i = 0; i < count; i++) all |= ids[i];
    if (place == NULL || all >> BBPE_CACHE_PACKED_BITS || count > BBPE_CACHE_SHORT) return false;
    bbpe_cache_entry *rest = neighbour_of(self, place);
    if (rest->key.hi != 0 && !is_rest(rest)) return false;
    const uint64_t first[] = {packed(ids, 0, count), packed(ids, 3, count) | (uint64_t)BBPE_CACHE_BOTH << 60};
    const uint64_t last[] = {packed(ids, 9, count), packed(ids, 12, count)};
    place->key = key;
    memcpy(place->ids, first, sizeof first);
    rest->key = (bbpe_cache_key){packed(ids, 6, count), REST_KEY | count};
    memcpy(rest->ids, last, sizeof last);
    return true;
}

/* The entry that makes room for a unit when its groups are full. */
static bbpe_cache_entry *evicted_for(const bbpe_hot_cache *self, uint64_t hash) {
    const size_t home = (size_t)(bbpe_hot_cache_home(self, hash) - self->entries);
    return self->entries + (home ^ hash >> 61);
}

static void add_entry(bbpe_hot_cache *self, const bbpe_cache_entry *entry) {
    const uint64_t hash = bbpe_cache_hash(entry->key);
    bbpe_cache_entry *place = bbpe_hot_cache_place(self, entry->key, hash);
    *(place != NULL ? place : evicted_for(self, hash)) = *entry;
}

bbpe_cache_entry *bbpe_hot_cache_mark(bbpe_hot_cache *self, bbpe_cache_entry *place, bbpe_cache_key key,
                                      uint32_t number) {
    if (place == NULL) place = evicted_for(self, bbpe_cache_hash(key));
    *place = (bbpe_cache_entry){key, {number, 0, 0, (uint32_t)BBPE_CACHE_PENDING << BBPE_CACHE_ID_BITS}};
    return place;
}

void bbpe_hot_cache_settle(bbpe_hot_cache *self, bbpe_cache_entry *marked, bbpe_cache_key key, const uint32_t *ids,
                           size_t count) {
    const bbpe_cache_entry entry = bbpe_cache_entry_of(key, ids, count);
    if (bbpe_cache_count(&entry) != BBPE_CACHE_MANY && bbpe_cache_entry_has(marked, key)) *marked = entry;
    else bbpe_hot_cache_add(self, key, ids, count);
}

void bbpe_hot_cache_add(bbpe_hot_cache *self, bbpe_cache_key key, const uint32_t *ids, size_t count) {
    const bbpe_cache_entry entry = bbpe_cache_entry_of(key, ids, count);
    if (bbpe_cache_count(&entry) == BBPE_CACHE_MANY) {
        if (add_both(self, key, ids, count)) return;
        const bbpe_cache_long_key widened = bbpe_cache_widened(key);
        bbpe_hot_cache_add_long(self, &widened, bbpe_cache_long_hash(&widened), ids, count);
    }
    add_entry(self, &entry);
}

/* Whether an entry may stand elsewhere: not one of two that belong together. */
static bool is_movable(const bbpe_cache_entry *entry) {
    return !is_rest(entry) && bbpe_cache_count(entry) != BBPE_CACHE_BOTH;
}

void bbpe_hot_cache_lead_home(bbpe_hot_cache *self, const bbpe_cache_entry *entry) {
    if (!is_movable(entry)) return;
    const bbpe_cache_entry moved = *entry;
    bbpe_cache_entry *home = bbpe_hot_cache_home(self, bbpe_cache_hash(moved.key));
    const bbpe_cache_entry displaced = *home;
    *home = moved;
    if (!is_movable(&displaced)) return; /* it will be found anew */
    if (((size_t)(entry - self->entries) ^ (size_t)(home - self->entries)) < BBPE_CACHE_WAYS)
        self->entries[entry - self->entries] = displaced;
    else
        add_entry(self, &displaced); /* which may not be in the group that the other one comes from */
}

/* Whether a slot is one of two that belong together. */
static bool is_pair(const bbpe_cache_slot *slot) {
    return (slot->counts & 0xFF) > BBPE_CACHE_LONG_IDS || slot->counts == BBPE_CACHE_REST;
}

/* Whether a slot or its neighbour is free. */
static bool has_room(const bbpe_cache_slot *slots, size_t at) {
    return slots[at].counts == 0 || slots[at ^ 1].counts == 0;
}

void bbpe_hot_cache_add_long(bbpe_hot_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                             const uint32_t *ids, size_t count) {
    const size_t home = hash & self->slot_mask, other = hash >> 32 & self->slot_mask;
    const size_t at = has_room(self->slots, home) || !has_room(self->slots, other) ? home : other;
    bbpe_cache_slot *slot = self->slots + at, *next = self->slots + (at ^ 1);
    const size_t first = count <= BBPE_CACHE_LONG_IDS ? count : BBPE_CACHE_LONG_IDS, more = count - first;
    if (slot->counts != 0 && (next->counts == 0 || hash >> 61)) {
        bbpe_cache_slot *swapped = slot;
        slot = next;
        next = swapped;
    }
    /* either may have had its last ids in the other one */
    if (more > 0 || is_pair(slot) || is_pair(next)) next->counts = 0;
    self->slots_taken += more > 0 ? 2 : 1;
    memcpy(slot->words, key->words, sizeof slot->words);
    memcpy(slot->ids, ids, first * sizeof *ids);
    slot->counts = key->length << 8 | (uint32_t)count;
    if (more == 0) return;
    const size_t words = sizeof next->words / (sizeof *ids);
    memcpy(next->words, ids + first, (more < words ? more : words) * sizeof *ids);
    if (more > words) memcpy(next->ids, ids + first + words, (more - words) * sizeof *ids);
    next->counts = BBPE_CACHE_REST;
}

static void take_entries(bbpe_hot_cache *self, const bbpe_hot_cache *from) {
    uint32_t ids[BBPE_CACHE_PAIR_IDS];
    for (const bbpe_cache_entry *entry = from->entries; entry < from->entries + from->entry_count; entry++) {
        if (entry->key.hi == 0 || is_rest(entry)) continue;
        const bool is_both = bbpe_cache_count(entry) == BBPE_CACHE_BOTH;
        const size_t count = is_both ? bbpe_hot_cache_put_both(from, entry, ids) : 0;
        if (count > 0) bbpe_hot_cache_add(self, entry->key, ids, count);
        else if (!is_both) add_entry(self, entry);
    }
}

static void take_slots(bbpe_hot_cache *self, const bbpe_hot_cache *from) {
    uint32_t ids[BBPE_CACHE_PAIR_IDS];
    for (const bbpe_cache_slot *slot = from->slots; slot <= from->slots + from->slot_mask; slot++) {
        if (slot->counts <= BBPE_CACHE_REST) continue;
        bbpe_cache_long_key key;
        memcpy(key.words, slot->words, sizeof key.words);
        key.length = slot->counts >> 8;
        const size_t count = bbpe_hot_cache_put_long(from, slot, ids);
        bbpe_hot_cache_add_long(self, &key, bbpe_cache_long_hash(&key), ids, count);
    }
}

void bbpe_hot_cache_take(bbpe_hot_cache *self, const bbpe_hot_cache *from) {
    take_entries(self, from);
    take_slots(self, from);
}

bool bbpe_hot_cache_grow_slots(bbpe_hot_cache *self, size_t slots) {
    const bbpe_hot_cache before = *self;
    bbpe_cache_slot *new_slots = bbpe_memory_table(slots, sizeof *new_slots);
    if (new_slots == NULL) return false;
    bbpe_hot_cache_use(self, before.entries, before.entry_count, new_slots, slots);
    take_slots(self, &before);
    bbpe_memory_table_free(before.slots);
    return true;
}

size_t bbpe_shared_cache_bytes(size_t slots) {
    return slots * sizeof(bbpe_cache_slot) + sizeof(bbpe_shared_cache);
}

bbpe_shared_cache *bbpe_shared_cache_new(size_t slots) {
    bbpe_shared_cache *self = bbpe_memory_zeroed(1, sizeof *self);
    if (self == NULL) return NULL;
    self->slots = bbpe_memory_table(slots, sizeof *self->slots);
    self->mask = slots - 1;
    self->owners = 1;
    if (self->slots != NULL) return self;
    bbpe_shared_cache_drop(self);
    return NULL;
}

void bbpe_shared_cache_hold(bbpe_shared_cache *self) {
    BBPE_ATOMIC_ADD(&self->owners, 1);
}

bool bbpe_shared_cache_drop(bbpe_shared_cache *self) {
    if (BBPE_ATOMIC_ADD(&self->owners, (uint32_t)-1) != 1) return false;
    bbpe_memory_table_free(self->slots);
    bbpe_memory_free(self);
    return true;
}

/* A slot as it was at one moment; false when a thread was writing.  A reader that sees any new word, each written
 * with release, sees the odd sequence that came before it too. */
static bool read_slot(const bbpe_cache_slot *slot, bbpe_cache_slot *copy) {
    const uint32_t sequence = BBPE_ATOMIC_ACQUIRE(&slot->sequence);
    copy->counts = BBPE_ATOMIC_ACQUIRE(&slot->counts);
    for (int i = 0; i < 6; i++) copy->words[i] = BBPE_ATOMIC_ACQUIRE(&slot->words[i]);
    for (size_t i = 0; i < (copy->counts & 0xFF) && i < BBPE_CACHE_LONG_IDS; i++)
        copy->ids[i] = BBPE_ATOMIC_ACQUIRE(&slot->ids[i]);
    return !(sequence & 1) && BBPE_ATOMIC_LOAD(&slot->sequence) == sequence;
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
    if (BBPE_ATOMIC_LOAD(&self->slots[at].counts) != 0
        && (BBPE_ATOMIC_LOAD(&self->slots[at ^ 1].counts) == 0 || hash >> 63))
        at ^= 1;
    bbpe_cache_slot *slot = self->slots + at;
    uint32_t sequence = BBPE_ATOMIC_LOAD(&slot->sequence);
    if ((sequence & 1) || !BBPE_ATOMIC_SWAP(&slot->sequence, &sequence, sequence + 1)) return;
    for (int i = 0; i < 6; i++) BBPE_ATOMIC_RELEASE(&slot->words[i], key->words[i]);
    for (size_t i = 0; i < count; i++) BBPE_ATOMIC_RELEASE(&slot->ids[i], ids[i]);
    BBPE_ATOMIC_RELEASE(&slot->counts, key->length << 8 | (uint32_t)count);
    BBPE_ATOMIC_RELEASE(&slot->sequence, sequence + 2);
}
