/* A piece whose ids are not in its primary slot.
 *
 *     bbpe_encode_miss
 *       short: up to 15 bytes     a secondary entry | two entries, or a slot | the miss queue, or merged alone
 *       long: up to 32 bytes      a slot | as longer
 *       longer                    the ring, up to 1 kB | the miss queue up to 24 bytes, or its pieces one by one, or the model
 *
 * The miss queue keeps new pieces of BPE of up to 24 bytes until sixteen can be merged at once.  Each leaves a gap among the
 * ids, as long as it has bytes; a full queue is merged, its ids fill the gaps, and the ids after a gap move up.  Ends of
 * stretches wait in the queue too, as the ids before them may still move. */
#include "encode/lookup_batch.h"

enum {
    LEAST_BATCH = 8,   /* pieces that are worth a batch: sixteen short ones take 1.3 to 2.3 us, one alone 0.18 to 0.28 */
    PROMOTE_EACH = 8,  /* hits elsewhere for one promotion: for each second one, English takes 9.9 instead of 9.5 ms */
};

const bbpe_cache_entry bbpe_lookup_batch_long = {{0, 0}, {0, 0, 0, 0}};

/* Count a short piece that has entered the hot table.  Among the last ones, many that are one token make it worth having
 * tokens before they come. */
static void note_new(const bbpe_encoder *self, bbpe_encode_state *state, size_t ids) {
    enum { SAMPLE = 1024, WORTH = 768 }; /* English has 0.9 of the first in the second, Russian 0.1 */
    const bbpe_bpe *model = self->model.bpe;
    state->new_tokens += ids == 1;
    if (++state->kept % SAMPLE != 0) return;
    if (model != NULL && model->output_starts == NULL && state->new_tokens >= WORTH) bbpe_encode_prefill(model, state);
    state->new_tokens = 0;
}

/* -- the miss queue: merging ------------------------------------------------------------------------------------- */

/* Read the bytes of a piece; returns whether it is a part of a pretoken. */
BBPE_INLINE bool read_piece(const bbpe_miss_queue *self, size_t number, bbpe_merge_batch_piece *to) {
    const bbpe_missing_piece *piece = self->pieces + number;
    if (BBPE_UNLIKELY(piece->entry == NULL)) {
        *to = self->longs[number];
        return false;
    }
    const bbpe_cache_piece text = bbpe_cache_piece_of(piece->key);
    memcpy(to->bytes, text.bytes, sizeof text.bytes);
    to->n = (uint8_t)text.n;
    return text.is_part;
}

static void merge_one(const bbpe_encoder *self, bbpe_encode_state *state, size_t number, bbpe_miss_ids *to) {
    bbpe_merge_batch_piece piece;
    const bool is_part = read_piece(&state->queue, number, &piece);
    to->counts[number] = bbpe_encode_by_model(self, state, piece.bytes, piece.n, is_part, to->ids[number]);
}

/* Pieces by their numbers, of nearly one length. */
static void merge_batch(const bbpe_encoder *self, const bbpe_miss_queue *queue, const uint8_t *numbers, size_t count,
                        bbpe_miss_ids *to) {
    const bbpe_bpe *model = self->model.bpe;
    bbpe_merge_batch_piece pieces[BBPE_MERGE_BATCH];
    uint32_t *ids[BBPE_MERGE_BATCH];
    size_t counts[BBPE_MERGE_BATCH];
    BBPE_DEFINE(pieces);
    for (size_t i = 0; i < count; i++) {
        (void)read_piece(queue, numbers[i], pieces + i);
        ids[i] = to->ids[numbers[i]];
    }
    self->merge_batch(model, pieces, count, ids, counts);
    for (size_t i = 0; i < count; i++) to->counts[numbers[i]] = bbpe_bpe_put_outputs(model, ids[i], counts[i]);
}

/* Write the ids of pieces that are a token as a whole; the numbers of the others stay. */
static size_t encode_wholes(const bbpe_encoder *self, const bbpe_miss_queue *queue, uint8_t *numbers, size_t count,
                            bbpe_miss_ids *to) {
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t number = numbers[i];
        bbpe_merge_batch_piece piece;
        const bool is_part = read_piece(queue, number, &piece);
        if (is_part || !bbpe_bpe_find(self->model.bpe, piece.bytes, piece.n, false, to->ids[number]))
            numbers[others++] = (uint8_t)number;
        else
            to->counts[number] = bbpe_bpe_put_outputs(self->model.bpe, to->ids[number], 1);
    }
    return others;
}

/* The numbers of the pieces, the shorter ones first. */
static void sort_by_length(const bbpe_miss_queue *queue, uint8_t *numbers) {
    size_t starts[BBPE_MERGE_BATCH_BYTES + 2] = {0};
    for (size_t i = 0; i < queue->piece_count; i++) starts[bbpe_miss_queue_length(queue, i) + 1]++;
    for (size_t n = 1; n <= BBPE_MERGE_BATCH_BYTES; n++) starts[n] += starts[n - 1];
    for (size_t i = 0; i < queue->piece_count; i++) numbers[starts[bbpe_miss_queue_length(queue, i)]++] = (uint8_t)i;
}

static void encode_misses(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_miss_ids *to) {
    uint8_t numbers[BBPE_MISS_QUEUE_PIECES];
    size_t count = state->queue.piece_count;
    sort_by_length(&state->queue, numbers);
    if (self->has_wholes) count = encode_wholes(self, &state->queue, numbers, count, to);
    for (size_t i = 0; i < count; i += BBPE_MERGE_BATCH) {
        const size_t batch = count - i < BBPE_MERGE_BATCH ? count - i : BBPE_MERGE_BATCH;
        if (batch >= LEAST_BATCH) {
            merge_batch(self, &state->queue, numbers + i, batch, to);
        } else {
            for (size_t k = i; k < count; k++) merge_one(self, state, numbers[k], to);
        }
    }
}

/* The key in the slots of a piece of 16 to BBPE_CACHE_LONG bytes. */
BBPE_INLINE bbpe_cache_long_key slot_key_of(const bbpe_long_piece_key *key) {
    return bbpe_cache_long_key_of(key->bytes, key->n, key->length != key->n ? BBPE_CACHE_PART : 0);
}

/* Write the ids of a piece of 16 to BBPE_LONG_PIECE bytes that is in a slot or in the ring; returns their end, or NULL. */
static uint32_t *find_long(const bbpe_encode_state *state, const bbpe_long_piece_key *key, uint32_t *ids) {
    if (key->n <= BBPE_CACHE_LONG) {
        const bbpe_cache_long_key in_slot = slot_key_of(key);
        const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &in_slot, bbpe_cache_long_hash(&in_slot));
        if (slot != NULL) return ids + bbpe_cache_copy_long_ids(slot, ids);
        if (key->n <= BBPE_CACHE_LONG_IDS) return NULL;
    }
    const bbpe_long_piece *record = bbpe_long_pieces_find(&state->longer, key);
    return record != NULL ? ids + bbpe_long_piece_copy_ids(record, ids) : NULL;
}

/* Remember the ids of a piece of 16 to BBPE_LONG_PIECE bytes, unless they are there: it may have come twice while it waited. */
static void remember_long(bbpe_encode_state *state, const bbpe_long_piece_key *key, const uint32_t *ids, size_t count) {
    if (key->n > BBPE_CACHE_LONG || count > BBPE_CACHE_LONG_IDS) {
        if (bbpe_long_pieces_find(&state->longer, key) == NULL)
            bbpe_long_pieces_add(&state->longer, state->loan.budget, key, ids, count);
        return;
    }
    const bbpe_cache_long_key in_slot = slot_key_of(key);
    const uint64_t hash = bbpe_cache_long_hash(&in_slot);
    if (bbpe_hot_cache_find_long(&state->hot, &in_slot, hash) == NULL)
        bbpe_hot_cache_add_long(&state->hot, &in_slot, hash, ids, count);
}

static void remember(const bbpe_encoder *self, bbpe_encode_state *state, size_t number, const uint32_t *ids, size_t count) {
    const bbpe_missing_piece *piece = state->queue.pieces + number;
    if (BBPE_LIKELY(piece->entry != NULL)) {
        bbpe_hot_cache_fill(&state->hot, piece->entry, piece->key, ids, count);
        note_new(self, state, count);
        return;
    }
    const bbpe_merge_batch_piece *piece_of = state->queue.longs + number;
    const bbpe_long_piece_key key = bbpe_long_piece_key_of(piece_of->bytes, piece_of->n, false);
    remember_long(state, &key, ids, count);
}

/* Remember a pretoken that was cut, once the gaps are where its ids are. */
static void remember_cut(bbpe_encode_state *state, const bbpe_cut_pretoken *pretoken, const size_t *counts) {
    const bbpe_miss_gap *first = state->queue.gaps + pretoken->first_gap, *last = state->queue.gaps + pretoken->last_gap;
    const uint32_t *ids = first->ids - pretoken->before, *end = last->ids + counts[last->piece] + pretoken->after;
    const bbpe_long_piece_key key = bbpe_long_piece_key_of(pretoken->bytes, pretoken->n, false);
    remember_long(state, &key, ids, (size_t)(end - ids));
}

uint32_t *bbpe_miss_queue_flush(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *end) {
    bbpe_miss_queue *queue = &state->queue;
    bbpe_miss_ids *const ids = &state->desk.miss_ids;
    if (BBPE_LIKELY(queue->gap_count == 0)) return end;
    encode_misses(self, state, ids);
    if (state->status == BBPE_OK) {
        for (size_t i = 0; i < queue->piece_count; i++) remember(self, state, i, ids->ids[i], ids->counts[i]);
        end = bbpe_miss_gaps_close(queue, ids, end, &state->next_known);
        for (size_t i = 0; i < queue->pretoken_count; i++) remember_cut(state, queue->pretokens + i, ids->counts);
    }
    queue->piece_count = queue->gap_count = queue->pretoken_count = 0;
    return end;
}

/* -- the miss queue: entering ------------------------------------------------------------------------------------ */

/* Leave a gap for a piece by its number, or note the end of a stretch. */
static uint32_t *leave_gap(const bbpe_encoder *self, bbpe_encode_state *state, size_t number, uint32_t *ids) {
    bbpe_miss_queue *queue = &state->queue;
    BBPE_ASSERT(queue->gap_count < BBPE_MISS_QUEUE_GAPS);
    queue->gaps[queue->gap_count++] = (bbpe_miss_gap){ids, number};
    queue->gaps_so_far++;
    if (number != BBPE_MISS_QUEUE_STRETCH_END) ids += bbpe_miss_queue_length(queue, number);
    if (queue->piece_count < BBPE_MISS_QUEUE_PIECES && queue->gap_count < BBPE_MISS_QUEUE_GAPS) return ids;
    return bbpe_miss_queue_flush(self, state, ids);
}

/* A new piece of 16 to BBPE_MERGE_BATCH_BYTES bytes, which may be a token as a whole. */
static uint32_t *enqueue_long(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                              uint32_t *ids) {
    bbpe_miss_queue *queue = &state->queue;
    const size_t number = queue->piece_count++;
    BBPE_ASSERT(number < BBPE_MISS_QUEUE_PIECES && n <= BBPE_MERGE_BATCH_BYTES);
    queue->pieces[number] = (bbpe_missing_piece){{0, 0}, NULL}; /* no entry has this key */
    memcpy(queue->longs[number].bytes, bytes, n);
    queue->longs[number].n = (uint8_t)n;
    return leave_gap(self, state, number, ids);
}

/* A short piece that the hot table does not have, and its entry there, or NULL when others have all that it may use. */
static uint32_t *encode_new(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_entry *entry,
                            bbpe_cache_key key, uint32_t *ids) {
    if (self->merge_batch != NULL) {
        bbpe_miss_queue *queue = &state->queue;
        const size_t number = queue->piece_count++;
        BBPE_ASSERT(number < BBPE_MISS_QUEUE_PIECES);
        queue->pieces[number].key = key;
        queue->pieces[number].entry = bbpe_hot_cache_reserve(&state->hot, entry, key, (uint32_t)number);
        return leave_gap(self, state, number, ids);
    }
    const bbpe_cache_piece piece = bbpe_cache_piece_of(key);
    const size_t count = bbpe_encode_by_model(self, state, piece.bytes, piece.n, piece.is_part, ids);
    if (BBPE_UNLIKELY(state->status != BBPE_OK)) return ids; /* without memory it has no ids */
    bbpe_hot_cache_add(&state->hot, key, ids, count);
    note_new(self, state, count);
    return ids + count;
}

/* -- short pieces ------------------------------------------------------------------------------------------------ */

/* Whether a piece waits that an entry is reserved for: a call that failed leaves its marks. */
BBPE_INLINE bool is_waiting(const bbpe_miss_queue *self, const bbpe_cache_entry *entry) {
    return entry->ids[0] < self->piece_count && bbpe_cache_entry_has(entry, self->pieces[entry->ids[0]].key);
}

/* A short piece whose ids are in a slot, or will be. */
static uint32_t *encode_by_slot(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_key short_key, uint32_t *ids) {
    const bbpe_cache_long_key key = bbpe_cache_long_key_of_short(short_key);
    const uint64_t hash = bbpe_cache_long_hash(&key);
    const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &key, hash);
    if (BBPE_LIKELY(slot != NULL)) return ids + bbpe_cache_copy_long_ids(slot, ids);
    const bbpe_cache_piece piece = bbpe_cache_piece_of(short_key);
    const size_t count = bbpe_encode_by_model(self, state, piece.bytes, piece.n, piece.is_part, ids);
    if (count > 0) bbpe_hot_cache_add_long(&state->hot, &key, hash, ids, count);
    return ids + count;
}

/* A piece whose ids are not all in its entry. */
static BBPE_NOINLINE uint32_t *encode_many(const bbpe_encoder *self, bbpe_encode_state *state,
                                           const bbpe_cache_entry *entry, uint32_t *ids) {
    const unsigned marked = bbpe_cache_count(entry);
    if (marked == BBPE_CACHE_RESERVED && is_waiting(&state->queue, entry))
        return leave_gap(self, state, entry->ids[0], ids);
    if (marked == BBPE_CACHE_TWO || marked == BBPE_CACHE_RESERVED) {
        const size_t count = marked == BBPE_CACHE_TWO ? bbpe_hot_cache_copy_ids_of_two(&state->hot, entry, ids) : 0;
        if (count > 0) return ids + count;
        return encode_new(self, state, state->hot.entries + (entry - state->hot.entries), entry->key, ids);
    }
    return encode_by_slot(self, state, entry->key, ids);
}

/* Note the end of a stretch, now or when the ids before it are known, and write the id that follows it. */
static BBPE_NOINLINE uint32_t *end_stretch(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *ids) {
    const uint32_t id = state->next_end++->id;
    if (state->queue.gap_count > 0) ids = leave_gap(self, state, BBPE_MISS_QUEUE_STRETCH_END, ids);
    else state->next_known++->end = ids;
    if (id != BBPE_STRETCH_NO_ID) *ids++ = id;
    return ids;
}

/* A piece by its key, or the end of a stretch. */
static uint32_t *encode_short(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_key key, uint32_t *ids) {
    if (BBPE_UNLIKELY(bbpe_cache_key_length(key) == 0)) return end_stretch(self, state, ids);
    bbpe_cache_entry *found = bbpe_hot_cache_find_or_free(&state->hot, key, bbpe_cache_hash(key));
    if (found == NULL || found->key.hi == 0) return encode_new(self, state, found, key, ids);
    if (bbpe_cache_is_few(found)) ids += bbpe_cache_copy_ids(state->hot.layout, found, ids);
    else ids = encode_many(self, state, found, ids);
    if (++state->secondary_hits % PROMOTE_EACH == 0 && bbpe_cache_entry_has(found, key))
        bbpe_hot_cache_promote(&state->hot, found);
    return ids;
}

/* -- long pieces and pretokens ----------------------------------------------------------------------------------- */

/* A piece of 16 bytes or more that does not wait. */
static uint32_t *encode_long_piece(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                                   bool is_part, uint32_t *ids) {
    if (n > BBPE_LONG_PIECE) return ids + bbpe_encode_by_model(self, state, bytes, n, is_part, ids);
    const bbpe_long_piece_key key = bbpe_long_piece_key_of(bytes, n, is_part && self->has_wholes);
    uint32_t *found = find_long(state, &key, ids);
    if (found != NULL) return found;
    const size_t count = bbpe_encode_by_model(self, state, bytes, n, is_part, ids);
    if (count > 0) remember_long(state, &key, ids, count);
    return ids + count;
}

static uint32_t *encode_piece(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                              bool is_part, uint32_t *ids) {
    if (n > BBPE_CACHE_SHORT) return encode_long_piece(self, state, bytes, n, is_part, ids);
    return encode_short(self, state, bbpe_cache_key_of(bytes, n, is_part && self->has_wholes ? BBPE_CACHE_PART : 0), ids);
}

/* A pretoken of any length and content: cut into pieces where it may be. */
static uint32_t *encode_pretoken(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                                 uint32_t *ids) {
    enum { AT_ONCE = 64 };
    size_t ends[AT_ONCE + BBPE_CUT_SLACK], count, start = 0;
    if (!self->has_cuts || !bbpe_utf8_has_3byte(bytes, n)) return encode_piece(self, state, bytes, n, false, ids);
    bbpe_cutting cutting = bbpe_cutting_of(bytes, n, 0, &n, 1);
    while ((count = self->cut(&self->cuts, &cutting, 0, ends, AT_ONCE)) > 0)
        for (size_t i = 0; i < count; start = ends[i++])
            ids = encode_piece(self, state, bytes + start, ends[i] - start, ends[i] - start < n, ids);
    return ids;
}

/* A pretoken of 16 to BBPE_LONG_PIECE bytes that is not there: cut, and remembered as soon as its ids are known. */
static uint32_t *encode_cut(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_long_piece_key *key,
                            uint32_t *ids) {
    bbpe_miss_queue *queue = &state->queue;
    const size_t first = queue->gap_count;
    const uint64_t gaps = queue->gaps_so_far;
    uint32_t *end = encode_pretoken(self, state, key->bytes, key->n, ids);
    const size_t added = (size_t)(queue->gaps_so_far - gaps);
    if (state->status != BBPE_OK || end == ids) return end;
    if (added == 0) {
        remember_long(state, key, ids, (size_t)(end - ids)); /* if it was not cut, it is there by now */
    } else if (queue->gap_count == first + added && queue->pretoken_count < BBPE_MISS_QUEUE_PRETOKENS) {
        const bbpe_miss_gap *last = queue->gaps + first + added - 1;
        const uint32_t *after = last->ids + bbpe_miss_queue_length(queue, last->piece);
        queue->pretokens[queue->pretoken_count++] =
            (bbpe_cut_pretoken){key->bytes, key->n, first, first + added - 1, (size_t)(queue->gaps[first].ids - ids),
                                (size_t)(end - after)};
    }
    return end;
}

/* A pretoken of 16 to BBPE_LONG_PIECE bytes that is in no slot: looked up whole first. */
static uint32_t *encode_long(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_long_piece_key *key,
                             uint32_t *ids) {
    const bbpe_long_piece *found =
        key->n > BBPE_CACHE_LONG_IDS ? bbpe_long_pieces_find(&state->longer, key) : NULL;
    if (found != NULL) return ids + bbpe_long_piece_copy_ids(found, ids);
    if (self->merge_batch != NULL && key->n <= BBPE_MERGE_BATCH_BYTES)
        return enqueue_long(self, state, key->bytes, key->n, ids);
    return encode_cut(self, state, key, ids);
}

void bbpe_encode_fetch_longer(const bbpe_encoder *self, const bbpe_encode_state *state, bbpe_lookup_batch *batch,
                              const uint8_t *text) {
    for (size_t k = 0; k < batch->longer_count; k++) {
        const size_t i = batch->longer[k];
        const bool is_part = batch->keys[i].lo >> 63 && self->has_wholes;
        const bbpe_long_piece_key key =
            bbpe_long_piece_key_of(text + (batch->keys[i].lo << 1 >> 7), batch->keys[i].hi, is_part);
        batch->longer_of[i].hash = bbpe_long_piece_hash(&key);
        bbpe_long_pieces_prefetch(&state->longer, batch->longer_of[i].hash);
    }
    for (size_t k = 0; k < batch->longer_count; k++) {
        const size_t i = batch->longer[k];
        batch->longer_of[i].record = bbpe_long_pieces_prefetch_record(&state->longer, batch->longer_of[i].hash);
    }
    batch->longer_added = state->longer.added;
}

BBPE_NOINLINE uint32_t *bbpe_encode_miss(const bbpe_encoder *self, bbpe_encode_state *state,
                                         const bbpe_lookup_batch *batch, size_t i, const uint8_t *text, uint32_t *ids) {
    const bbpe_cache_key key = batch->keys[i];
    const bbpe_cache_entry *primary = batch->primary[i];
    if (primary != &bbpe_lookup_batch_long)
        return bbpe_cache_entry_has(primary, key) ? encode_many(self, state, primary, ids)
                                                  : encode_short(self, state, key, ids);
    const uint8_t *bytes = text + (key.lo << 1 >> 7); /* without the flag */
    const bool is_part = key.lo >> 63, is_longer = (key.lo & 63) > BBPE_CACHE_LONG;
    const size_t n = is_longer ? key.hi : key.lo & 63;
    if (n > BBPE_LONG_PIECE)
        return is_part ? encode_piece(self, state, bytes, n, true, ids) : encode_pretoken(self, state, bytes, n, ids);
    const bbpe_long_piece_key longer = bbpe_long_piece_key_of(bytes, n, is_part && self->has_wholes);
    if (is_longer) {
        const bbpe_long_piece *record = batch->longer_added == state->longer.added ? batch->longer_of[i].record : NULL;
        if (record != NULL && bbpe_long_piece_has(record, &longer)) return ids + bbpe_long_piece_copy_ids(record, ids);
    } else if (!is_part) {
        const bbpe_cache_long_key in_slot = bbpe_cache_long_key_of(bytes, n, 0);
        const bbpe_cache_slot *slot = bbpe_hot_cache_find_long(&state->hot, &in_slot, key.hi);
        if (slot != NULL) return ids + bbpe_cache_copy_long_ids(slot, ids);
    }
    return is_part ? encode_long_piece(self, state, bytes, n, true, ids) : encode_long(self, state, &longer, ids);
}
