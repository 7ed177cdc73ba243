/* New units of BPE of up to 24 bytes, whose ids are written later: all that wait are merged together.  Ends of texts wait
 * with them, as the ids before them may still move. */
#include "models/bpe/merge_batch.h"
#include "encode/encode.h"

/* Units that are worth a group: one of sixteen short ones takes 1.3 to 2.3 us, a unit alone 0.18 to 0.28. */
enum { LEAST_LANES = 8 };

static size_t length_of(const bbpe_pending *self, size_t number) {
    const bbpe_pending_unit *unit = self->units + number;
    return BBPE_LIKELY(unit->entry != NULL) ? bbpe_cache_key_length(unit->key) : self->longs[number].n;
}

/* Read a unit; whether it is a part of a pretoken. */
BBPE_INLINE bool read_unit(const bbpe_pending *self, size_t number, bbpe_lanes_unit *to) {
    const bbpe_pending_unit *unit = self->units + number;
    if (BBPE_UNLIKELY(unit->entry == NULL)) {
        *to = self->longs[number];
        return false;
    }
    const bbpe_cache_unit kept = bbpe_cache_unit_of(unit->key);
    memcpy(to->bytes, kept.bytes, sizeof kept.bytes);
    to->n = (uint8_t)kept.n;
    return kept.is_part;
}

/* One unit alone. */
static void encode_one(const bbpe_encoder *self, bbpe_encode_state *state, size_t number, bbpe_unit_ids *to) {
    bbpe_lanes_unit unit;
    const bool is_part = read_unit(&state->pending, number, &unit);
    to->counts[number] = bbpe_encode_fresh(self, state, unit.bytes, unit.n, is_part, to->ids[number]);
}

/* Units by their numbers, of nearly one length. */
static void encode_group(const bbpe_encoder *self, const bbpe_pending *pending, const uint8_t *numbers, size_t count,
                         bbpe_unit_ids *to) {
    const bbpe_bpe *model = self->model.bpe;
    bbpe_lanes_unit units[BBPE_LANES];
    uint32_t *ids[BBPE_LANES];
    size_t counts[BBPE_LANES];
    BBPE_DEFINE(units);
    for (size_t i = 0; i < count; i++) {
        (void)read_unit(pending, numbers[i], units + i);
        ids[i] = to->ids[numbers[i]];
    }
    self->merge_lanes(model, units, count, ids, counts);
    for (size_t i = 0; i < count; i++) to->counts[numbers[i]] = bbpe_bpe_put_outputs(model, ids[i], counts[i]);
}

/* Units that are a token as a whole; the numbers of the others stay. */
static size_t encode_wholes(const bbpe_encoder *self, const bbpe_pending *pending, uint8_t *numbers, size_t count,
                            bbpe_unit_ids *to) {
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t number = numbers[i];
        bbpe_lanes_unit unit;
        const bool is_part = read_unit(pending, number, &unit);
        if (is_part || !bbpe_bpe_find(self->model.bpe, unit.bytes, unit.n, false, to->ids[number]))
            numbers[others++] = (uint8_t)number;
        else
            to->counts[number] = bbpe_bpe_put_outputs(self->model.bpe, to->ids[number], 1);
    }
    return others;
}

/* The numbers of the units, the shorter ones first. */
static void sort_by_length(const bbpe_pending *pending, uint8_t *numbers) {
    size_t starts[BBPE_LANES_BYTES + 2] = {0};
    for (size_t i = 0; i < pending->unit_count; i++) starts[length_of(pending, i) + 1]++;
    for (size_t n = 1; n <= BBPE_LANES_BYTES; n++) starts[n] += starts[n - 1];
    for (size_t i = 0; i < pending->unit_count; i++) numbers[starts[length_of(pending, i)]++] = (uint8_t)i;
}

static void encode_units(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_unit_ids *to) {
    uint8_t numbers[BBPE_PENDING_UNITS];
    size_t count = state->pending.unit_count;
    sort_by_length(&state->pending, numbers);
    if (self->has_wholes) count = encode_wholes(self, &state->pending, numbers, count, to);
    for (size_t i = 0; i < count; i += BBPE_LANES) {
        const size_t group = count - i < BBPE_LANES ? count - i : BBPE_LANES;
        if (group >= LEAST_LANES) {
            encode_group(self, &state->pending, numbers + i, group, to);
        } else {
            for (size_t k = i; k < count; k++) encode_one(self, state, numbers[k], to);
        }
    }
}

/* Remember what a unit encodes to. */
static void settle(const bbpe_encoder *self, bbpe_encode_state *state, size_t number, const uint32_t *ids, size_t count) {
    const bbpe_pending_unit *unit = state->pending.units + number;
    if (BBPE_LIKELY(unit->entry != NULL)) {
        bbpe_hot_cache_settle(&state->hot, unit->entry, unit->key, ids, count);
        bbpe_encode_note_new(self, state, count);
        return;
    }
    const bbpe_lanes_unit *bytes = state->pending.longs + number;
    const bbpe_cache_long_key key = bbpe_cache_long_key_of(bytes->bytes, bytes->n, 0);
    const uint64_t hash = bbpe_cache_long_hash(&key);
    if (bbpe_hot_cache_find_long(&state->hot, &key, hash) != NULL) return; /* it has come twice */
    bbpe_hot_cache_add_long(&state->hot, &key, hash, ids, count);
    if (state->shared != NULL && count <= BBPE_CACHE_LONG_IDS) bbpe_shared_cache_add(state->shared, &key, hash, ids, count);
}

/* Write `count` ids, eight or four at once where `room` has as many. */
BBPE_INLINE uint32_t *put_ids(uint32_t *to, const uint32_t *ids, size_t count, size_t room) {
    size_t i = 0;
    if (BBPE_LIKELY(room >= 8)) {
        memcpy(to, ids, 8 * sizeof *ids);
        i = 8;
    }
    for (; i < count && i + 4 <= room; i += 4) memcpy(to + i, ids + i, 4 * sizeof *ids);
    for (; i < count; i++) to[i] = ids[i];
    return to + count;
}

enum { MOVED = 16 }; /* ids at once, as how many there are is what nothing foretells */

/* Move ids down, to where they may overlap.  Behind them are others up to `end`. */
BBPE_INLINE uint32_t *move_down(uint32_t *to, const uint32_t *ids, size_t count, const uint32_t *end) {
    uint32_t four[4], last[4];
    if (BBPE_LIKELY(ids - to >= MOVED && (size_t)(end - ids) >= count + MOVED)) {
        for (size_t i = 0; i < count; i += MOVED) memcpy(to + i, ids + i, MOVED * sizeof *ids);
    } else if (count >= 4) {
        memcpy(last, ids + count - 4, sizeof last);
        for (size_t i = 0; i + 4 <= count; i += 4) {
            memcpy(four, ids + i, sizeof four);
            memcpy(to + i, four, sizeof four);
        }
        memcpy(to + count - 4, last, sizeof last);
    } else {
        for (size_t i = 0; i < count; i++) to[i] = ids[i];
    }
    return to + count;
}

/* Fill the places with ids and close the gaps they leave; returns the end. */
static uint32_t *fill_places(bbpe_encode_state *state, const bbpe_unit_ids *from, uint32_t *end) {
    const bbpe_pending *pending = &state->pending;
    uint32_t *to = pending->places[0].ids;
    for (size_t i = 0; i < pending->place_count; i++) {
        const bbpe_pending_place *place = pending->places + i;
        const uint32_t *next = i + 1 < pending->place_count ? place[1].ids : end, *behind = place->ids;
        const size_t number = place->unit;
        if (BBPE_LIKELY(number != BBPE_PENDING_TEXT_END)) {
            behind += length_of(pending, number);
            to = put_ids(to, from->ids[number], from->counts[number], (size_t)(behind - to));
        } else {
            *state->text_ends++ = to;
        }
        to = move_down(to, behind, (size_t)(next - behind), end);
    }
    return to;
}

uint32_t *bbpe_encode_pending(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *end) {
    bbpe_pending *pending = &state->pending;
    bbpe_unit_ids *const ids = &state->desk.unit_ids;
    if (BBPE_LIKELY(pending->place_count == 0)) return end;
    bbpe_encode_late(self, state);
    encode_units(self, state, ids);
    if (state->status == BBPE_OK) {
        for (size_t i = 0; i < pending->unit_count; i++) settle(self, state, i, ids->ids[i], ids->counts[i]);
        end = fill_places(state, ids, end);
    }
    pending->unit_count = pending->place_count = 0;
    return end;
}

static uint32_t *add_place(const bbpe_encoder *self, bbpe_encode_state *state, size_t number, uint32_t *ids) {
    bbpe_pending *pending = &state->pending;
    pending->places[pending->place_count++] = (bbpe_pending_place){ids, number};
    pending->waited++;
    if (number != BBPE_PENDING_TEXT_END) ids += length_of(pending, number);
    if (pending->unit_count < BBPE_PENDING_UNITS && pending->place_count < BBPE_PENDING_PLACES) return ids;
    return bbpe_encode_pending(self, state, ids);
}

uint32_t *bbpe_pending_add(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_entry *place,
                           bbpe_cache_key key, uint32_t *ids) {
    bbpe_pending *pending = &state->pending;
    const size_t number = pending->unit_count++;
    pending->units[number].key = key;
    pending->units[number].entry = bbpe_hot_cache_mark(&state->hot, place, key, (uint32_t)number);
    return add_place(self, state, number, ids);
}

uint32_t *bbpe_pending_add_long(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                                uint32_t *ids) {
    bbpe_pending *pending = &state->pending;
    const size_t number = pending->unit_count++;
    pending->units[number] = (bbpe_pending_unit){{0, 0}, NULL}; /* no entry has this key */
    memcpy(pending->longs[number].bytes, bytes, n);
    pending->longs[number].n = (uint8_t)n;
    return add_place(self, state, number, ids);
}

uint32_t *bbpe_pending_repeat(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_cache_entry *entry,
                              uint32_t *ids) {
    return add_place(self, state, entry->ids[0], ids);
}

uint32_t *bbpe_pending_end_text(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *ids) {
    if (state->pending.place_count > 0) return add_place(self, state, BBPE_PENDING_TEXT_END, ids);
    *state->text_ends++ = ids;
    return ids;
}
