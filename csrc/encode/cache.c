#include "encode/cache.h"

#include "memory/memory.h"

/* The constants that unpack up to `most` ids of `bits` bits each; for the words after these, 0x80 gives a shuffle zero. */
#define PLACE(bits, most, i, byte) ((i) < (most) ? (i) * (bits) / 8 + (byte) : 0x80)
#define PLACES(bits, most, i) PLACE(bits, most, i, 0), PLACE(bits, most, i, 1), PLACE(bits, most, i, 2), PLACE(bits, most, i, 3)
#define PACKED_MASK(bits) (((uint32_t)1 << (bits)) - 1)
#define UNPACKING(bits, most, mask)                                                                                     \
    {{PLACES(bits, most, 0), PLACES(bits, most, 1), PLACES(bits, most, 2), PLACES(bits, most, 3), PLACES(bits, most, 4), \
      PLACES(bits, most, 5), PLACES(bits, most, 6), PLACES(bits, most, 7)},                                             \
     {0, bits % 8, 2 * bits % 8, 3 * bits % 8, 4 * bits % 8, 5 * bits % 8, 6 * bits % 8, 7 * bits % 8},                 \
     {mask, mask, mask, mask, mask, mask, mask, mask}}
#define LAYOUT(bits)                                                                                                    \
    {{UNPACKING(32, BBPE_CACHE_PLAIN, UINT32_MAX), UNPACKING(bits, 124 / (bits), PACKED_MASK(bits))}, bits, PACKED_MASK(bits), \
     124 / (bits)}

static const bbpe_cache_layout layouts[] = {LAYOUT(17), LAYOUT(20), LAYOUT(BBPE_CACHE_ID_BITS)};

const bbpe_cache_layout *bbpe_cache_layout_for(size_t id_count) {
    const bbpe_cache_layout *layout = layouts;
    while (layout < layouts + 2 && id_count > (size_t)layout->mask + 1) layout++;
    return layout;
}

size_t bbpe_hot_cache_bytes(size_t entries, size_t slots) {
    return entries * sizeof(bbpe_cache_entry) + slots * sizeof(bbpe_cache_slot);
}

void bbpe_hot_cache_use(bbpe_hot_cache *self, bbpe_cache_entry *entries, size_t entry_count, bbpe_cache_slot *slots,
                        size_t slot_count) {
    BBPE_ASSERT((entry_count & (entry_count - 1)) == 0 && (slot_count & (slot_count - 1)) == 0);
    self->entries = entries;
    self->entry_count = entry_count;
    self->entry_mask = (entry_count - 1) * sizeof *entries;
    self->slots = slots;
    self->slot_mask = slot_count - 1;
    self->slots_taken = 0;
}

bbpe_status bbpe_hot_cache_init(bbpe_hot_cache *self, const bbpe_cache_layout *layout, size_t entries, size_t slots) {
    bbpe_cache_entry *new_entries = bbpe_memory_table(entries, sizeof *new_entries);
    bbpe_cache_slot *new_slots = bbpe_memory_table(slots, sizeof *new_slots);
    if (new_entries == NULL || new_slots == NULL) {
        bbpe_memory_table_free(new_entries);
        bbpe_memory_table_free(new_slots);
        return BBPE_NO_MEMORY;
    }
    self->layout = layout;
    bbpe_hot_cache_use(self, new_entries, entries, new_slots, slots);
    return BBPE_OK;
}

void bbpe_hot_cache_free(bbpe_hot_cache *self) {
    bbpe_memory_table_free(self->entries);
    bbpe_memory_table_free(self->slots);
    memset(self, 0, sizeof *self);
}

/* Put ids into 16 bytes, each in `bits` bits, the first one lowest. */
static void pack(const uint32_t *ids, size_t count, uint32_t bits, uint64_t *words) {
    uint64_t low = 0, high = 0;
    for (size_t i = count; i-- > 0;) {
        high = high << bits | low >> (64 - bits);
        low = low << bits | ids[i];
    }
    words[0] = low;
    words[1] = high;
}

/* Whether ids are small enough for a layout. */
static bool fit(const bbpe_cache_layout *layout, const uint32_t *ids, size_t count) {
    uint32_t all = 0;
    for (size_t i = 0; i < count; i++) all |= ids[i];
    return all <= layout->mask;
}

/* The number of ids that an entry is to have, or BBPE_CACHE_MANY. */
static size_t count_in_entry(const bbpe_cache_layout *layout, const uint32_t *ids, size_t count) {
    return count <= BBPE_CACHE_PLAIN || (count <= layout->few && fit(layout, ids, count)) ? count : BBPE_CACHE_MANY;
}

void bbpe_cache_entry_write(bbpe_cache_entry *to, const bbpe_cache_layout *layout, bbpe_cache_key key, const uint32_t *ids,
                            size_t count) {
    uint64_t words[2] = {0, 0};
    if (count <= BBPE_CACHE_PLAIN) pack(ids, count, 32, words);
    else if (count != BBPE_CACHE_MANY) pack(ids, count, layout->bits, words);
    words[1] |= (uint64_t)count << 60;
    to->key = key;
    memcpy(to->ids, words, sizeof words);
}

/* An entry and its rest are written together, and neither is ever moved: a rest that is there belongs to the entry. */
size_t bbpe_hot_cache_copy_ids_of_two(const bbpe_hot_cache *self, const bbpe_cache_entry *entry, uint32_t *ids) {
    const bbpe_cache_entry *rest = bbpe_hot_cache_neighbour(self, entry);
    const size_t count = rest->key.hi & 0xFF, few = self->layout->few;
    if (!bbpe_cache_is_rest(rest)) return 0;
    bbpe_cache_unpack(self->layout, entry->ids, few, ids);
    bbpe_cache_unpack(self->layout, rest->ids, count < 2 * few ? count - few : few, ids + few);
    if (count > 2 * few) bbpe_cache_unpack(self->layout, &rest->key, count - 2 * few, ids + 2 * few);
    return count;
}

/* Put ids that an entry alone cannot have into one and its neighbour, if they and that one allow it: multilingual text
 * takes 25.5 instead of 27.7 ms, as the slots that have them otherwise are two more cache lines. */
static bool add_both(bbpe_hot_cache *self, bbpe_cache_key key, const uint32_t *ids, size_t count) {
    const bbpe_cache_layout *layout = self->layout;
    const size_t few = layout->few, more = count - few < few ? count - few : few;
    bbpe_cache_entry *found = bbpe_hot_cache_find_or_free(self, key, bbpe_cache_hash(key));
    if (found == NULL || count > 2 * few + 64 / layout->bits || !fit(layout, ids, count)) return false;
    BBPE_ASSERT(count > few);
    bbpe_cache_entry *rest = bbpe_hot_cache_neighbour(self, found);
    if (rest->key.hi != 0 && !bbpe_cache_is_rest(rest)) return false;
    uint64_t first[2], middle[2], last[2];
    pack(ids, few, layout->bits, first);
    pack(ids + few, more, layout->bits, middle);
    pack(ids + few + more, count - few - more, layout->bits, last);
    first[1] |= (uint64_t)BBPE_CACHE_TWO << 60;
    found->key = key;
    memcpy(found->ids, first, sizeof first);
    rest->key = (bbpe_cache_key){last[0], BBPE_CACHE_REST_KEY | count};
    memcpy(rest->ids, middle, sizeof middle);
    return true;
}

/* The entry that makes room for a piece when its groups are full. */
static bbpe_cache_entry *evicted_for(const bbpe_hot_cache *self, uint64_t hash) {
    const size_t home = (size_t)(bbpe_hot_cache_primary(self, hash) - self->entries);
    return self->entries + (home ^ hash >> 61);
}

/* The entry that a piece gets. */
static bbpe_cache_entry *entry_for(const bbpe_hot_cache *self, bbpe_cache_key key) {
    const uint64_t hash = bbpe_cache_hash(key);
    bbpe_cache_entry *found = bbpe_hot_cache_find_or_free(self, key, hash);
    return found != NULL ? found : evicted_for(self, hash);
}

static void add_entry(bbpe_hot_cache *self, const bbpe_cache_entry *entry) {
    *entry_for(self, entry->key) = *entry;
}

bbpe_cache_entry *bbpe_hot_cache_reserve(bbpe_hot_cache *self, bbpe_cache_entry *entry, bbpe_cache_key key,
                                      uint32_t number) {
    if (entry == NULL) entry = evicted_for(self, bbpe_cache_hash(key));
    *entry = (bbpe_cache_entry){key, {number, 0, 0, (uint32_t)BBPE_CACHE_RESERVED << BBPE_CACHE_ID_BITS}};
    return entry;
}

void bbpe_hot_cache_fill(bbpe_hot_cache *self, bbpe_cache_entry *marked, bbpe_cache_key key, const uint32_t *ids,
                           size_t count) {
    const size_t held = count_in_entry(self->layout, ids, count);
    if (held != BBPE_CACHE_MANY && bbpe_cache_entry_has(marked, key))
        bbpe_cache_entry_write(marked, self->layout, key, ids, held);
    else bbpe_hot_cache_add(self, key, ids, count);
}

void bbpe_hot_cache_add(bbpe_hot_cache *self, bbpe_cache_key key, const uint32_t *ids, size_t count) {
    const size_t held = count_in_entry(self->layout, ids, count);
    if (held == BBPE_CACHE_MANY) {
        if (add_both(self, key, ids, count)) return;
        const bbpe_cache_long_key widened = bbpe_cache_long_key_of_short(key);
        bbpe_hot_cache_add_long(self, &widened, bbpe_cache_long_hash(&widened), ids, count);
    }
    bbpe_cache_entry_write(entry_for(self, key), self->layout, key, ids, held);
}

/* Whether an entry may be elsewhere: not one of two that belong together. */
static bool is_movable(const bbpe_cache_entry *entry) {
    return !bbpe_cache_is_rest(entry) && bbpe_cache_count(entry) != BBPE_CACHE_TWO;
}

void bbpe_hot_cache_promote(bbpe_hot_cache *self, const bbpe_cache_entry *entry) {
    if (!is_movable(entry)) return;
    const bbpe_cache_entry moved = *entry;
    bbpe_cache_entry *home = bbpe_hot_cache_primary(self, bbpe_cache_hash(moved.key));
    const bbpe_cache_entry displaced = *home;
    *home = moved;
    if (!is_movable(&displaced)) return; /* it will be found anew */
    if (((size_t)(entry - self->entries) ^ (size_t)(home - self->entries)) < BBPE_CACHE_WAYS)
        self->entries[entry - self->entries] = displaced;
    else
        add_entry(self, &displaced); /* which may not be in the group that the other one comes from */
}

/* Whether a slot or its neighbour is free. */
static bool has_free(const bbpe_cache_slot *slots, size_t at) {
    return slots[at].counts == 0 || slots[at ^ 1].counts == 0;
}

void bbpe_hot_cache_add_long(bbpe_hot_cache *self, const bbpe_cache_long_key *key, uint64_t hash,
                             const uint32_t *ids, size_t count) {
    const size_t home = hash & self->slot_mask, other = hash >> 32 & self->slot_mask;
    BBPE_ASSERT(count <= BBPE_CACHE_LONG_IDS);
    const size_t at = has_free(self->slots, home) || !has_free(self->slots, other) ? home : other;
    bbpe_cache_slot *slot = self->slots + at, *next = self->slots + (at ^ 1);
    if (slot->counts != 0 && (next->counts == 0 || hash >> 61)) slot = next;
    self->slots_taken++;
    memcpy(slot->words, key->words, sizeof slot->words);
    memcpy(slot->ids, ids, count * sizeof *ids);
    slot->counts = key->length << 8 | (uint32_t)count;
}

static void take_entries(bbpe_hot_cache *self, const bbpe_hot_cache *from) {
    uint32_t ids[BBPE_CACHE_SHORT];
    for (const bbpe_cache_entry *entry = from->entries; entry < from->entries + from->entry_count; entry++) {
        if (entry->key.hi == 0 || bbpe_cache_is_rest(entry)) continue;
        const bool is_both = bbpe_cache_count(entry) == BBPE_CACHE_TWO;
        const size_t count = is_both ? bbpe_hot_cache_copy_ids_of_two(from, entry, ids) : 0;
        if (count > 0) bbpe_hot_cache_add(self, entry->key, ids, count);
        else if (!is_both) add_entry(self, entry);
    }
}

static void take_slots(bbpe_hot_cache *self, const bbpe_hot_cache *from) {
    for (const bbpe_cache_slot *slot = from->slots; slot <= from->slots + from->slot_mask; slot++) {
        if (slot->counts == 0) continue;
        bbpe_cache_long_key key;
        memcpy(key.words, slot->words, sizeof key.words);
        key.length = slot->counts >> 8;
        bbpe_hot_cache_add_long(self, &key, bbpe_cache_long_hash(&key), slot->ids, slot->counts & 0xFF);
    }
}

void bbpe_hot_cache_copy(bbpe_hot_cache *self, const bbpe_hot_cache *from) {
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
