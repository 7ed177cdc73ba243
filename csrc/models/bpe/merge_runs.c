/* Merging a piece of long runs: equal symbols in a row are one run, by what they are and how many.
 *
 * The pairs of the least order merge from left to right.  Where what is made merges no later than they do, that comes first;
 * all such pairs are side by side, as none was there before.  So this is step by step what merging one pair at a time does.
 * A run of one sign takes as many steps as its length can be halved; a piece as many as it has runs, times the merges that
 * are different. */
#include "base/repeated.h"
#include "models/bpe/model.h"

enum {
    NO_RUN = UINT32_MAX,
    LEAST_RUN = 8,      /* bytes of a run in the mean, */
    MOST_STEPS = 4,     /* steps a byte, */
    MOST_RUNS = 256,    /* and runs, which are in the cache: what is beyond is left to others */
    MERGE_STEPS = 16,   /* steps that a merge costs, which looks up pairs */
};

/* What two neighbours merge into: order << 32 | id, or BBPE_BPE_NONE. */
static uint64_t pair_of(const bbpe_bpe *model, uint32_t left, uint32_t right) {
    const uint64_t value = bbpe_bpe_value(model, left, right);
    return value == BBPE_BPE_NONE ? value : (uint64_t)bbpe_bpe_level(model, value) << 32 | (uint32_t)value;
}

typedef struct {
    const bbpe_bpe *model;
    bbpe_bpe_runs *list;
    uint64_t least, order; /* of all pairs, and of the merge at hand */
    size_t steps, most_steps;
    bool is_over;          /* there were more runs or steps than are worth it */
    bool is_sooner;        /* something was made whose order is no higher than the least */
} merging;

BBPE_INLINE bbpe_bpe_run *run_at(const merging *self, uint32_t i) {
    return self->list->items + i;
}

/* Look up what a run merges into with itself and with the next one. */
static void look_up(merging *self, uint32_t i) {
    if (i == NO_RUN) return;
    bbpe_bpe_run *run = run_at(self, i);
    run->own = run->count > 1 ? pair_of(self->model, run->id, run->id) : BBPE_BPE_NONE;
    run->seam = run->next == NO_RUN ? BBPE_BPE_NONE : pair_of(self->model, run->id, run_at(self, run->next)->id);
}

/* Look up a run that was made, and note what merges at once: what was there before does not. */
static void look_up_made(merging *self, uint32_t i) {
    look_up(self, i);
    if (i == NO_RUN) return;
    const bbpe_bpe_run *run = run_at(self, i);
    self->is_sooner |= run->own >> 32 <= self->least || run->seam >> 32 <= self->least;
}

/* Put a run after another; NO_RUN if there is no room. */
static uint32_t insert_after(merging *self, uint32_t before, uint32_t id, size_t count) {
    bbpe_bpe_runs *list = self->list;
    uint32_t i = list->free;
    if (i != NO_RUN) {
        list->free = list->items[i].next;
    } else if (list->used < MOST_RUNS && bbpe_memory_grow(&list->items, &list->capacity, list->used + 1, sizeof *list->items)) {
        i = (uint32_t)list->used++;
    } else {
        self->is_over = true;
        return NO_RUN;
    }
    const uint32_t next = before == NO_RUN ? list->first : list->items[before].next;
    list->items[i] = (bbpe_bpe_run){BBPE_BPE_NONE, BBPE_BPE_NONE, count, id, before, next};
    if (before == NO_RUN) list->first = i;
    else list->items[before].next = i;
    if (next != NO_RUN) list->items[next].before = i;
    return i;
}

static void remove_run(merging *self, uint32_t i) {
    bbpe_bpe_run *run = run_at(self, i);
    if (run->before == NO_RUN) self->list->first = run->next;
    else run_at(self, run->before)->next = run->next;
    if (run->next != NO_RUN) run_at(self, run->next)->before = run->before;
    run->count = 0;
    run->next = self->list->free;
    self->list->free = i;
}

/* Make a run that was made one with its neighbours of the same symbol, and look up what is new. */
static uint32_t settle(merging *self, uint32_t made) {
    bbpe_bpe_run *run = run_at(self, made);
    if (run->before != NO_RUN && run_at(self, run->before)->id == run->id) {
        run->count += run_at(self, run->before)->count;
        remove_run(self, run->before);
    }
    if (run->next != NO_RUN && run_at(self, run->next)->id == run->id) {
        run->count += run_at(self, run->next)->count;
        remove_run(self, run->next);
    }
    look_up_made(self, run->before);
    look_up_made(self, made);
    self->steps += MERGE_STEPS;
    return made;
}

/* Whether a pair merges no later than the one at hand. */
static bool is_first(const merging *self, uint32_t left, uint32_t right) {
    return pair_of(self->model, left, right) >> 32 <= self->order;
}

/* Merge the symbols of a run with each other; returns what is made. */
static uint32_t merge_own(merging *self, uint32_t i) {
    const bbpe_bpe_run run = *run_at(self, i);
    const uint32_t made = (uint32_t)run.own;
    /* what is made on the way, between this run and what is left of it: where it merges no later there is one merge */
    const bool is_one = (run.before != NO_RUN && is_first(self, run_at(self, run.before)->id, made))
                        || (run.count > 2 && is_first(self, made, run.id)) || (run.count > 3 && is_first(self, made, made));
    const size_t merges = is_one ? 1 : run.count / 2, left = run.count - 2 * merges;
    if (left > 0) {
        const uint32_t rest = insert_after(self, i, run.id, left);
        if (rest == NO_RUN) return NO_RUN;
        look_up(self, rest);
    }
    run_at(self, i)->id = made;
    run_at(self, i)->count = merges;
    return settle(self, i);
}

/* Merge the last symbol of a run with the first one of the next; returns what is made. */
static uint32_t merge_seam(merging *self, uint32_t i) {
    const uint32_t after = run_at(self, i)->next, made = insert_after(self, i, (uint32_t)run_at(self, i)->seam, 1);
    if (made == NO_RUN) return NO_RUN;
    const uint32_t sides[2] = {i, after};
    for (int side = 0; side < 2; side++) {
        if (--run_at(self, sides[side])->count == 0) remove_run(self, sides[side]);
        else if (side == 1) look_up(self, after);
    }
    return settle(self, made);
}

/* The least order of the pairs from one run to another, and the first run that has it. */
static uint64_t least_order(merging *self, uint32_t first, uint32_t last, uint32_t *at) {
    uint64_t least = BBPE_BPE_NONE >> 32;
    for (uint32_t i = *at = first; i != NO_RUN; i = run_at(self, i)->next) {
        const bbpe_bpe_run *run = run_at(self, i);
        const uint64_t order = (run->own < run->seam ? run->own : run->seam) >> 32;
        if (order < least) {
            least = order;
            *at = i;
        }
        self->steps++;
        if (i == last) break;
    }
    return least;
}

/* Merge a pair of a run that has this order; returns what is made, NO_RUN if it is over. */
static uint32_t merge_at(merging *self, uint32_t i, uint64_t order) {
    self->order = order;
    self->is_over |= self->steps > self->most_steps;
    if (self->is_over) return NO_RUN;
    return run_at(self, i)->own >> 32 == order ? merge_own(self, i) : merge_seam(self, i);
}

/* Merge what merges no later than the pairs at hand, beside a run that was made; returns where to go on. */
static uint32_t merge_sooner(merging *self, uint32_t made) {
    uint32_t at, first = run_at(self, made)->before, last = run_at(self, made)->next;
    if (first == NO_RUN) first = made;
    for (uint64_t order; made != NO_RUN && (order = least_order(self, first, last, &at)) <= self->least;) {
        made = merge_at(self, at, order);
        if (made == NO_RUN) return NO_RUN;
        /* what it was made of may be the first run or the last one */
        const bbpe_bpe_run *run = run_at(self, made);
        if (run->before == NO_RUN) first = made;
        else if (first == made || run_at(self, first)->count == 0) first = run->before;
        if (last == at || (last != NO_RUN && run_at(self, last)->count == 0)) last = run->next;
    }
    return first;
}

/* Apply the merges of the least order; returns whether there was one. */
static bool merge_least(merging *self) {
    uint32_t i = self->list->first;
    self->least = least_order(self, i, NO_RUN, &i);
    if (self->least == BBPE_BPE_NONE >> 32) return false;
    while (i != NO_RUN) {
        const bbpe_bpe_run *run = run_at(self, i);
        self->steps++;
        if (run->own >> 32 != self->least && run->seam >> 32 != self->least) {
            i = run->next;
            continue;
        }
        self->is_sooner = false;
        i = merge_at(self, i, self->least);
        if (self->is_sooner && i != NO_RUN) i = merge_sooner(self, i);
    }
    return true;
}

/* The bytes of a piece as runs; false if these are too many. */
static bool put_runs(merging *self, const uint8_t *text, size_t n) {
    uint32_t last = NO_RUN;
    for (size_t at = 0, end; at < n; at = end) {
        end = bbpe_repeated_end(text, at, n, 1);
        last = insert_after(self, last, self->model->byte_ids[text[at]], end - at);
        if (last == NO_RUN) return false;
    }
    for (uint32_t i = self->list->first; i != NO_RUN; i = run_at(self, i)->next) look_up(self, i);
    return true;
}

/* Whether a piece has runs of so many bytes in the mean. */
static bool has_long_runs(const uint8_t *text, size_t n) {
    size_t ends = 0;
    for (size_t i = 1; i < n; i++) ends += text[i] != text[i - 1]; /* vectors, where the compiler makes them */
    return ends < n / LEAST_RUN;
}

size_t bbpe_bpe_merge_runs(const bbpe_bpe *self, bbpe_bpe_work *work, const uint8_t *text, size_t n, uint32_t *ids) {
    if (!has_long_runs(text, n)) return 0;
    merging state = {.model = self, .list = &work->runs, .most_steps = MOST_STEPS * n};
    state.list->first = state.list->free = NO_RUN;
    state.list->used = 0;
    if (!put_runs(&state, text, n)) return 0;
    while (merge_least(&state))
        if (state.is_over) return 0;
    size_t count = 0;
    for (uint32_t i = state.list->first; i != NO_RUN; i = run_at(&state, i)->next)
        for (size_t k = run_at(&state, i)->count; k-- > 0;) ids[count++] = run_at(&state, i)->id;
    return count;
}
