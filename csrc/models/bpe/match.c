/* How compatible tokens are found. */
#include "models/bpe/match.h"

#include "base/atomic.h"

enum { SEAMS = 1 << 16, WORD_BITS = 6, MOST_LG = 40 };

BBPE_INLINE size_t pair_bit(const bbpe_bpe_match *self, uint64_t key) {
    return (size_t)(bbpe_hash_fibonacci(key) >> self->pairs_shift);
}

/* Note which pairs merge; needs eight bits a pair, so that about one of ten is set. */
static bbpe_status note_pairs(bbpe_bpe_match *self, const bbpe_pair_table *merges) {
    size_t words = 1;
    for (self->pairs_shift = 64 - WORD_BITS; words < merges->count / 8; words *= 2) self->pairs_shift--;
    self->pairs = bbpe_memory_table(words, sizeof *self->pairs);
    if (self->pairs == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i <= merges->mask; i++) {
        if (merges->slots[i].key == BBPE_PAIR_NONE) continue;
        const size_t bit = pair_bit(self, merges->slots[i].key);
        self->pairs[bit / 64] |= (uint64_t)1 << (bit % 64);
    }
    return BBPE_OK;
}

/* The rank of two neighbours, or its level, + 1. */
static uint32_t rank_of(const bbpe_bpe *model, uint64_t value) {
    return value == BBPE_BPE_NONE ? UINT32_MAX : bbpe_bpe_level(model, value) + 1;
}

static uint32_t max(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}

/* The ranks of pairs of bytes. */
static bbpe_status note_seams(bbpe_bpe_match *self, const bbpe_bpe *model) {
    self->seams = bbpe_memory_table(SEAMS, sizeof *self->seams);
    if (self->seams == NULL) return BBPE_NO_MEMORY;
    for (size_t i = 0; i < SEAMS; i++)
        self->seams[i] = bbpe_bpe_made_of(model->byte_pairs[i]) == BBPE_BPE_NO_NUMBER
                             ? UINT32_MAX
                             : rank_of(model, bbpe_bpe_value(model, model->byte_ids[i >> 8], model->byte_ids[i & 255]));
    return BBPE_OK;
}

/* Whether the ends of a part of a token are known. */
static bool is_known(const bbpe_bpe_match *self, const bbpe_bpe *model, uint32_t id) {
    return self->ends[id].time != 0 || model->lengths[id] == 1;
}

/* The ends of a made token of two bytes and more, if those of its parts are known. */
static bool find_ends(bbpe_bpe_match *self, const bbpe_bpe *model, uint32_t id) {
    const bbpe_bpe_parts parts = model->parts[id];
    if (!is_known(self, model, parts.left) || !is_known(self, model, parts.right)) return false;
    const uint64_t value = model->by_rank ? (uint64_t)id << 32 : bbpe_bpe_value(model, parts.left, parts.right);
    const uint32_t rank = rank_of(model, value);
    const bbpe_bpe_ends *left = self->ends + parts.left, *right = self->ends + parts.right;
    const uint32_t until_left = right->time >= left->time ? max(rank, right->time) : rank;
    const uint32_t until_right = left->time > right->time ? max(rank, left->time) : rank;
    self->ends[id] = (bbpe_bpe_ends){
        parts, max(rank, max(left->time, right->time)), until_left, until_right,
        left->time ? left->until_left_byte : until_left, right->time ? right->until_right_byte : until_right};
    return true;
}

/* Find the ends of all made tokens in an order, or as they come (NULL); false when a part of one comes after it. */
static bool find_in_order(bbpe_bpe_match *self, const bbpe_bpe *model, const uint32_t *order) {
    bool are_found = true;
    for (size_t i = 0; i < model->tokens.count; i++) {
        const bbpe_pretoken_entry *token = model->tokens.entries + (order == NULL ? i : order[i]);
        if (token->length > 1 && (token->value & BBPE_BPE_MADE)) are_found &= find_ends(self, model, (uint32_t)token->value);
    }
    return are_found;
}

static bbpe_status find_all_ends(bbpe_bpe_match *self, const bbpe_bpe *model) {
    self->ends = bbpe_memory_table(model->id_count, sizeof *self->ends);
    if (self->ends == NULL) return BBPE_NO_MEMORY;
    for (int byte = 0; byte < 256; byte++) {
        bbpe_bpe_ends *ends = self->ends + model->byte_ids[byte];
        ends->until_left_byte = ends->until_right_byte = UINT32_MAX;
    }
    if (find_in_order(self, model, NULL)) return BBPE_OK; /* nearly always */
    uint32_t *order = bbpe_bpe_by_length(model);
    const bool are_found = order != NULL && find_in_order(self, model, order);
    BBPE_ASSERT(order == NULL || are_found);
    bbpe_memory_free(order);
    return are_found ? BBPE_OK : BBPE_NO_MEMORY;
}

bbpe_status bbpe_bpe_match_init(bbpe_bpe_match *self, const bbpe_bpe *model) {
    memset(self, 0, sizeof *self);
    bbpe_status status = bbpe_trie_init(&self->trie, &model->tokens, BBPE_BPE_MADE, model->id_count);
    if (status == BBPE_OK) status = find_all_ends(self, model);
    if (status == BBPE_OK) status = note_pairs(self, &model->merges);
    if (status == BBPE_OK) status = note_seams(self, model);
    if (status != BBPE_OK) bbpe_bpe_match_free(self);
    self->is_exact = status == BBPE_OK;
    return status;
}

void bbpe_bpe_match_free(bbpe_bpe_match *self) {
    if (!self->is_opened) {
        bbpe_trie_free(&self->trie);
        bbpe_memory_table_free(self->ends);
        bbpe_memory_table_free(self->pairs);
        bbpe_memory_table_free(self->seams);
    }
    memset(self, 0, sizeof *self);
}

void bbpe_bpe_match_free_shared(void *shared) {
    if (shared != NULL) bbpe_bpe_match_free(shared);
    bbpe_memory_free(shared);
}

const bbpe_bpe_match *bbpe_bpe_match_shared(void **shared, const bbpe_bpe *model) {
    void *found = bbpe_shared_pointer_get(shared);
    bbpe_bpe_match *made = found == NULL ? bbpe_memory_new(1, sizeof *made) : NULL;
    if (made == NULL) return found;
    /* one that is too large stays, so that it is not tried again */
    const bool is_made = bbpe_bpe_match_init(made, model) != BBPE_NO_MEMORY;
    if (is_made && bbpe_shared_pointer_set(shared, made, &found)) return made;
    bbpe_bpe_match_free_shared(made);
    return found; /* another thread's, or none */
}

void bbpe_bpe_match_visit(bbpe_bpe_match *self, const bbpe_bpe *model, bbpe_image *image) {
    size_t id_count = model->id_count, lg = 64 - WORD_BITS - self->pairs_shift;
    bbpe_image_number(image, &id_count);
    bbpe_image_number(image, &lg);
    bbpe_image_expect(image, id_count == model->id_count && lg <= MOST_LG);
    if (image->is_broken) lg = 0;
    self->pairs_shift = (unsigned)(64 - WORD_BITS - lg);
    bbpe_trie_visit(&self->trie, model->id_count, image);
    bbpe_image_array(image, &self->ends, model->id_count, sizeof *self->ends);
    bbpe_image_array(image, &self->pairs, (size_t)1 << lg, sizeof *self->pairs);
    bbpe_image_array(image, &self->seams, SEAMS, sizeof *self->seams);
    self->is_exact = !image->is_broken;
    self->is_opened = image->purpose == BBPE_IMAGE_OPEN;
}

/* Whether two made tokens are compatible.  `seam`: the rank of the bytes that meet.  `is_longest`: no longer made token
 * begins where the left one does, so that the whole of it merges with nothing that follows. */
BBPE_INLINE bool is_compatible(const bbpe_bpe_match *self, const bbpe_bpe *model, uint32_t left, uint32_t right,
                               uint32_t seam, bool is_longest) {
    const bbpe_bpe_ends *a = self->ends + left, *b = self->ends + right;
    uint32_t until_left = UINT32_MAX, until_right = UINT32_MAX;
    /* the last to look at, but it decides most often */
    if (seam < a->until_right_byte && seam <= b->until_left_byte) return false;
    for (bool is_whole = true; (a->time | b->time) != 0;) {
        const uint64_t key = bbpe_pair_key(left, right);
        const size_t bit = pair_bit(self, key);
        if (!(is_whole && is_longest) && self->pairs[bit / 64] >> (bit % 64) & 1) {
            const uint64_t *value = bbpe_pair_table_find(&model->merges, key);
            const uint32_t rank = value == NULL ? UINT32_MAX : rank_of(model, *value);
            if (rank < until_left && rank <= until_right) return false;
        }
        if (a->time > b->time) {
            until_left = a->until_right;
            left = a->parts.right;
            a = self->ends + left;
            is_whole = false;
        } else {
            until_right = b->until_left;
            right = b->parts.left;
            b = self->ends + right;
        }
    }
    return true;
}

/* Whether the last two tokens are one, and it is here once more: it fits then, and leads on unless its end is dead.  In
 * a run of one sign longer ones fit too, and each leads to a dead end: 100,000 "-" with o200k_base took 60 ms, not 0.4. */
BBPE_INLINE bool is_repeated(const uint32_t *ids, size_t found, uint32_t id) {
    return found > 1 && id == ids[found - 1] && id == ids[found - 2];
}

BBPE_INLINE bool is_dead(const uint64_t *dead, size_t position) {
    return dead[position / 64] >> (position % 64) & 1;
}

bbpe_status bbpe_bpe_match_encode(const bbpe_bpe_match *self, const bbpe_bpe *model, bbpe_bpe_work *work,
                                  const uint8_t *text, size_t n, uint32_t *ids, size_t *count) {
    const size_t words = n / 64 + 1; /* a bit for each position and the end */
    if (!bbpe_memory_grow(&work->dead, &work->dead_capacity, words, sizeof *work->dead)) return BBPE_NO_MEMORY;
    uint64_t *const dead = work->dead;
    memset(dead, 0, words * sizeof *dead);
    size_t position = 0, found = 0, length = 0;
    uint32_t id = bbpe_trie_longest(&self->trie, text, n, &length);
    bool is_longest = true, is_last_longest = false; /* the token at hand; the one before it, as far as is known */
    while (position < n) {
        const size_t end = position + length;
        bool fits = !is_dead(dead, end);
        if (fits && found > 0 && !is_repeated(ids, found, id)) {
            const uint32_t seam = self->seams[text[position - 1] << 8 | text[position]];
            fits = is_compatible(self, model, ids[found - 1], id, seam, is_last_longest);
        }
        if (fits) {
            ids[found++] = id;
            position = end;
            is_last_longest = is_longest;
            is_longest = false;
            if (is_repeated(ids, found, id) && n - end >= length && !is_dead(dead, end + length)
                && memcmp(text + end, text + end - length, length) == 0)
                continue; /* before longer ones, which are tried when it has led to a dead end */
            is_longest = true;
            id = bbpe_trie_longest(&self->trie, text + position, n - position, &length);
            continue;
        }
        is_longest = false;
        for (id = self->trie.shorter[id]; id == BBPE_TRIE_NONE;) {
            dead[position / 64] |= (uint64_t)1 << (position % 64);
            id = ids[--found];
            position -= model->lengths[id];
            is_last_longest = false;
            id = is_repeated(ids, found, id) ? bbpe_trie_longest(&self->trie, text + position, n - position, &length)
                                             : self->trie.shorter[id];
        }
        length = model->lengths[id];
    }
    *count = found;
    return BBPE_OK;
}
