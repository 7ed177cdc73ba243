/* The places of ids, a round of stretches at a time: the ids of all of them, then the places of each one's. */
#include "encode/internal.h"

enum { MORE_ENDS = 4096 };

/* Have memory for the places, and the numbers of pretokens, of more ids. */
static bbpe_status reserve(bbpe_places *self, size_t more) {
    bbpe_place_scratch *const memory = self->memory;
    const size_t count = self->count + more + 1;
    bbpe_place *places = bbpe_memory_reserve(memory->places, &memory->place_capacity, count, sizeof *places);
    if (places == NULL) return BBPE_NO_MEMORY;
    memory->places = places;
    if (!self->has_words) return BBPE_OK;
    int64_t *words = bbpe_memory_reserve(memory->words, &memory->word_capacity, count, sizeof *words);
    if (words == NULL) return BBPE_NO_MEMORY;
    memory->words = words;
    return BBPE_OK;
}

/* Let a stretch that the encoder splits have its pretokens. */
static bbpe_status split(const bbpe_places_rules *rules, bbpe_place_scratch *memory, bbpe_stretch *stretch) {
    size_t count = 0;
    bool has_3byte = false;
    for (size_t start = 0; start < stretch->n; start = memory->ends[count - 1]) {
        size_t *ends = bbpe_memory_reserve(memory->ends, &memory->end_capacity, count + MORE_ENDS, sizeof *ends);
        if (ends == NULL) return BBPE_NO_MEMORY;
        memory->ends = ends;
        count += rules->fill(rules->scheme, stretch->text, start, stretch->n, ends + count, memory->end_capacity - count,
                             &has_3byte);
    }
    stretch->pretokens = count ? memory->ends : NULL;
    stretch->pretoken_count = count;
    return BBPE_OK;
}

/* Count the numbers of pretokens of the next ids from the beginning of the text; `own` are those of the stretch. */
static void number(bbpe_places *self, const bbpe_stretch *stretch, size_t own, size_t count) {
    int64_t *const words = self->memory->words + self->count;
    for (size_t i = 0; i < own; i++) words[i] += (int64_t)self->word_count;
    self->word_count += bbpe_stretch_word_count(stretch);
    if (own < count) words[own] = (int64_t)self->word_count++;
}

static void trim(bbpe_places *self, const bbpe_pipeline_run *run, const bbpe_place_trims *trims,
                 const bbpe_stretch_source *source, size_t own, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const size_t at = self->count + i;
        const bbpe_token_blanks blanks = i < own ? trims->blanks[self->memory->ids[at]]
                                                 : bbpe_token_blanks_of(source->token, source->token_length);
        bbpe_place *const place = self->memory->places + at;
        *place = bbpe_place_trim(trims, run->tokens.text, run->tokens.n, blanks, at == 0, *place);
    }
}

/* Add the places of the next ids, of which the last is that of a token after the stretch, if one is. */
static void put_stretch(bbpe_places *self, const bbpe_pipeline_run *run, const bbpe_places_rules *rules,
                        const bbpe_stretch *stretch, const bbpe_stretch_source *source, size_t count) {
    const size_t own = count - (stretch->id != BBPE_STRETCH_NO_ID), n = run->tokens.n;
    const uint8_t *const text = run->tokens.text;
    const uint32_t *const ids = self->memory->ids + self->count;
    bbpe_place *const places = self->memory->places + self->count;
    int64_t *const words = self->has_words ? self->memory->words + self->count : NULL;
    size_t counted = 0;
    if (self->in_chars && rules->trims == NULL && words == NULL
        && bbpe_token_places_count(rules->lengths, stretch, source, text, n, ids, own, &self->cursor, places))
        counted = own;
    else if (!bbpe_token_places(rules->lengths, stretch, source, text, n, ids, own, places, words)) self->is_off = true;
    if (self->is_off) return;
    if (own < count) places[own] = (bbpe_place){(int64_t)source->token_start, (int64_t)source->token_end};
    if (words != NULL) number(self, stretch, own, count);
    if (rules->trims != NULL) trim(self, run, rules->trims, source, own, count);
    if (self->in_chars && counted < count)
        bbpe_offsets_count_overlapping(text, n, &self->cursor, &self->begun, &places[counted].start, count - counted);
    self->count += count;
}

static bbpe_status put_round(bbpe_places *self, const bbpe_pipeline_run *run, const bbpe_places_rules *rules) {
    const bbpe_token_lengths *lengths = rules->lengths;
    const bool needs_pretokens = self->has_words || lengths->whole || lengths->fuses || lengths->drops;
    for (size_t i = 0; i < run->count && !self->is_off; i++) {
        bbpe_stretch stretch = run->stretches[i];
        bbpe_status status = BBPE_OK;
        if (needs_pretokens && stretch.pretokens == NULL && rules->scheme != NULL)
            status = split(rules, self->memory, &stretch);
        if (status != BBPE_OK) return status;
        put_stretch(self, run, rules, &stretch, run->sources + i, self->memory->counts[i]);
    }
    return BBPE_OK;
}

bbpe_status bbpe_encode_places(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pipeline_call *call,
                               const bbpe_places_rules *rules, bbpe_places *places) {
    bbpe_pipeline_run *const run = &state->loan.run;
    bbpe_place_scratch *const memory = places->memory;
    size_t total = 0;
    bbpe_status status = bbpe_pipeline_next(run, call);
    if (status != BBPE_OK || run->problem != BBPE_PIPELINE_FINE || run->count == 0) return status;
    size_t *counts = bbpe_memory_reserve(memory->counts, &memory->count_capacity, run->count, sizeof *counts);
    if (counts == NULL) return BBPE_NO_MEMORY;
    memory->counts = counts;
    for (size_t i = 0; i < run->count; i++) run->stretches[i].ends_text = true; /* each is counted alone */
    const size_t bound = places->count + run->bytes + run->count + BBPE_ENCODE_SLACK;
    uint32_t *ids = bbpe_memory_reserve(memory->ids, &memory->capacity, bound, sizeof *ids);
    if (ids == NULL) return BBPE_NO_MEMORY;
    memory->ids = ids;
    status = bbpe_encode_stretches(self, state, run->stretches, run->count, ids + places->count, counts);
    for (size_t i = 0; i < run->count && status == BBPE_OK; i++) total += counts[i];
    if (status == BBPE_OK) status = reserve(places, total);
    if (status == BBPE_OK) status = put_round(places, run, rules);
    if (status == BBPE_OK) bbpe_pipeline_empty(run);
    return status;
}
