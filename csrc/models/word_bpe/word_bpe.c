#include "models/word_bpe/word_bpe.h"

#include "base/atomic.h"
#include "models/normalise/bert.h"
#include "memory/memory.h"
#include "split/split.h"

enum { POINTS = 0x110000 };

bbpe_status bbpe_word_bpe_init(bbpe_word_bpe *self, const bbpe_bpe *bpe, bool has_symbols) {
    memset(self, 0, sizeof *self);
    self->bpe = bpe;
    self->unknown = BBPE_WORD_BPE_UNKNOWN;
    self->match = bbpe_memory_zeroed(1, sizeof *self->match);
    bbpe_status status = self->match == NULL ? BBPE_NO_MEMORY : BBPE_OK;
    if (status == BBPE_OK) status = bbpe_cut_points_init(&self->cuts, &bpe->tokens, BBPE_BPE_MADE);
    if (status == BBPE_OK && has_symbols) {
        self->symbols = bbpe_memory_zeroed(POINTS, 1);
        if (self->symbols == NULL) status = BBPE_NO_MEMORY;
    }
    if (status != BBPE_OK) bbpe_word_bpe_free(self);
    return status;
}

void bbpe_word_bpe_free(bbpe_word_bpe *self) {
    if (self->match != NULL) bbpe_bpe_match_free_shared(*self->match);
    bbpe_memory_free(self->match);
    bbpe_cut_points_free(&self->cuts);
    bbpe_memory_free(self->symbols);
    memset(self, 0, sizeof *self);
}

/* -- a word as the symbols that it begins as ---------------------------------------------------------------- */

/* A word, as far as it is written; the last symbol written is from `last` to `last_end`. */
typedef struct {
    const uint8_t *bytes;
    size_t n, at, last, last_end;
    bool after_unknown, owes_unknown; /* what is unknown is still to be written */
} reader;

/* The character at `at`, and where it ends. */
typedef struct {
    size_t next;
    bool is_first, is_last, is_known, is_spelled;
} symbol;

static symbol look(const bbpe_word_bpe *self, const reader *word, size_t at) {
    symbol s;
    uint32_t c = word->bytes[at];
    s.next = at + 1;
    if (!self->of_bytes) c = bbpe_utf8_decode(word->bytes, at, word->n, &s.next);
    s.is_first = self->begins && at == 0;
    s.is_last = self->ends && s.next == word->n;
    const unsigned position = (s.is_first ? BBPE_WORD_BPE_FIRST : 0) | (s.is_last ? BBPE_WORD_BPE_LAST : 0);
    s.is_known = self->symbols == NULL || (c != BBPE_UTF8_INVALID && (self->symbols[c] >> position & 1));
    s.is_spelled = self->spells && !s.is_known;
    for (size_t i = at; i < s.next && s.is_spelled; i++) s.is_spelled = self->spelled[word->bytes[i]];
    return s;
}

/* Whether a word may be parted before a symbol: nothing merges across. */
static bool is_border(const bbpe_word_bpe *self, const reader *word, symbol right) {
    const unsigned lengths[2] = {(unsigned)(word->last_end - word->last), (unsigned)(right.next - word->at)};
    bbpe_character characters[2] = {{0, lengths[0]}, {0, lengths[1]}};
    if (word->after_unknown) return true;
    if (!right.is_known && !right.is_spelled) return !self->spells; /* it may be written later */
    if (lengths[0] + lengths[1] == 2) return false;
    /* what is no UTF-8 may be parts of one character to the model */
    if (bbpe_character_length(word->bytes[word->last]) != lengths[0]
        || bbpe_character_length(word->bytes[word->at]) != lengths[1])
        return false;
    memcpy(&characters[0].bytes, word->bytes + word->last, lengths[0]);
    memcpy(&characters[1].bytes, word->bytes + word->at, lengths[1]);
    return bbpe_cut_points_between(&self->cuts, characters[0], characters[1]);
}

/* As above, for a model that writes some characters as their bytes; such models do not mark words. */
static size_t put_spelled(const bbpe_word_bpe *self, reader *word, symbol s, uint8_t *out) {
    size_t n = 0;
    const bool is_unknown = !s.is_known && !s.is_spelled;
    if (word->owes_unknown && (s.is_known || (is_unknown && !self->fuses))) out[n++] = self->unknown;
    word->owes_unknown = is_unknown || (word->owes_unknown && !s.is_known);
    word->after_unknown = is_unknown && (n > 0 || word->after_unknown);
    if (!is_unknown) {
        memcpy(out + n, word->bytes + word->at, s.next - word->at);
        n += s.next - word->at;
        word->last = word->at;
        word->last_end = s.next;
    }
    if (word->owes_unknown && s.next == word->n) out[n++] = self->unknown;
    return n;
}

/* Write a symbol, with the marks of its position, and return the bytes. */
static size_t put_symbol(const bbpe_word_bpe *self, reader *word, symbol s, uint8_t *out) {
    size_t n = 0;
    if (self->spells) return put_spelled(self, word, s, out);
    if (s.is_known) {
        if (s.is_first) out[n++] = BBPE_WORD_BPE_BEGIN;
        memcpy(out + n, word->bytes + word->at, s.next - word->at);
        n += s.next - word->at;
        if (s.is_last) out[n++] = BBPE_WORD_BPE_END;
    } else if (!(self->fuses && word->after_unknown)) {
        out[n++] = self->unknown;
    }
    word->after_unknown = !s.is_known;
    word->last = word->at;
    word->last_end = s.next;
    return n;
}

/* Write the next part of a word, or with `is_whole` all of it, and return its bytes: 0 if nothing is left of it. */
static size_t put_part(const bbpe_word_bpe *self, reader *word, bool is_whole, uint8_t *out) {
    size_t n = 0;
    while (word->at < word->n) {
        const symbol s = look(self, word, word->at);
        if (s.is_known || s.is_spelled || !self->drops) {
            if (!is_whole && n > 0 && is_border(self, word, s)) break;
            n += put_symbol(self, word, s, out + n);
        }
        word->at = s.next;
    }
    return n;
}

/* -- the words of a pretoken -------------------------------------------------------------------------------- */

/* Whether text[i..n) begins with a text in lower case, in any case: folding takes U+017F for an s. */
static bool begins_folded(const uint8_t *text, size_t i, size_t n, const char *lower, size_t *end) {
    for (; *lower; lower++, i++) {
        if (*lower == 's' && n - i >= 2 && text[i] == 0xC5 && text[i + 1] == 0xBF) i++;
        else if (i == n || (text[i] != (uint8_t)*lower && (text[i] < 'A' || text[i] > 'Z' || (text[i] | 0x20) != (uint8_t)*lower)))
            return false;
    }
    *end = i;
    return true;
}

/* U+0345, which no class of a regex that ignores case has: it folds to a letter, and is none. */
static bool is_gap(const uint8_t *text, size_t i, size_t n) {
    return n - i >= 2 && text[i] == 0xCD && text[i + 1] == 0x85;
}

/* The end of what CLIP's pattern takes at text[i], in which there is no white space. */
static size_t clip_end(const uint8_t *text, size_t i, size_t n) {
    const bbpe_view view = {text, n, i, BBPE_SET_ALL, false};
    const uint32_t others = BBPE_SET_ALL & ~(BBPE_SET_S | BBPE_SET_L | BBPE_SET_N);
    size_t end;
    if (text[i] == '<'
        && (begins_folded(text, i, n, "<|startoftext|>", &end) || begins_folded(text, i, n, "<|endoftext|>", &end)))
        return end;
    end = bbpe_split_contraction(text, i, n, true);
    if (end > i) return end;
    const uint32_t set = bbpe_uclass_at(text, i, n, &end);
    if (set & BBPE_SET_L) return bbpe_split_run(view, i, BBPE_SET_L, 0);
    if (!(set & others)) return end;
    for (size_t next; end < n && !is_gap(text, end, n) && (bbpe_uclass_at(text, end, n, &next) & others); end = next) continue;
    return end;
}

/* The words of a pretoken on their way: `number` of its parts were begun, the last one is read up to `start`. */
typedef struct {
    bbpe_bert_words words;
    size_t number, start, stop;
} pretoken;

static bbpe_status open_pretoken(const bbpe_word_bpe *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n,
                                 size_t more, pretoken *text, void **memory) {
    const size_t rows = self->has_rules ? n : 1, size = self->has_rules ? BBPE_BERT_GROWTH * n : 0;
    memset(text, 0, sizeof *text);
    if (n > SIZE_MAX / 64) return BBPE_TOO_LARGE;
    text->words.ends = bbpe_model_scratch_reserve(scratch, rows * sizeof *text->words.ends + more + size, 1);
    if (text->words.ends == NULL) return BBPE_NO_MEMORY;
    *memory = text->words.ends + rows;
    text->words.bytes = (uint8_t *)*memory + more;
    if (self->has_rules) {
        bbpe_bert_split(self->rules, bytes, n, &text->words);
    } else {
        text->words.ends[0] = n;
        text->words.count = 1;
    }
    return BBPE_OK;
}

/* The next word, whose bytes begin at `bytes` where there are no rules. */
static bool next_word(const bbpe_word_bpe *self, pretoken *text, const uint8_t *bytes, reader *word) {
    const uint8_t *all = self->has_rules ? text->words.bytes : bytes;
    for (;;) {
        while (self->is_clip && text->start < text->stop && is_gap(all, text->start, text->stop)) text->start += 2;
        if (text->start < text->stop) break;
        if (text->number == text->words.count) return false;
        text->stop = text->words.ends[text->number++];
    }
    const size_t end = self->is_clip ? clip_end(all, text->start, text->stop) : text->stop;
    *word = (reader){all + text->start, end - text->start, 0, 0, 0, false, false};
    text->start = end;
    return true;
}

/* Whether a pretoken is one token without merging; its id is written then. */
static bool find_whole(const bbpe_word_bpe *self, const uint8_t *bytes, size_t n, uint32_t *id) {
    uint32_t found;
    if (!self->bpe->whole_pretokens || self->has_rules || !bbpe_bpe_find(self->bpe, bytes, n, false, &found)) return false;
    const uint32_t start = self->bpe->output_starts[found];
    if (self->bpe->output_starts[found + 1] - start != 1) return false; /* a byte, or a part of a character */
    *id = self->bpe->outputs[start];
    return true;
}

/* Add the ids that a token is written as; false where these are more than `most`. */
BBPE_INLINE bool put_output(const bbpe_bpe *bpe, uint32_t id, uint32_t *ids, size_t most, size_t *count) {
    const uint32_t *output = bpe->outputs + bpe->output_starts[id], *end = bpe->outputs + bpe->output_starts[id + 1];
    if ((size_t)(end - output) > most - *count) return false;
    while (output < end) ids[(*count)++] = *output++;
    return true;
}

/* The exact matching of long parts, as soon as to go on without it has cost as much as it takes to make it; or NULL.  The heap
 * merges two bytes in the time that it takes for a token. */
static const bbpe_bpe_match *match_for(const bbpe_word_bpe *self, bbpe_model_scratch *scratch, size_t n) {
    const bbpe_bpe_match *match = bbpe_shared_pointer_get(self->match);
    scratch->unmatched += match == NULL ? n : 0;
    if (match == NULL && 2 * scratch->unmatched >= self->bpe->tokens.count) {
        scratch->unmatched = 0;
        match = bbpe_bpe_match_shared(self->match, self->bpe);
    }
    return match != NULL && match->is_exact ? match : NULL;
}

/* Merge a part of a word. */
static bbpe_status merge_part(const bbpe_word_bpe *self, bbpe_model_scratch *scratch, const uint8_t *part, size_t n,
                              uint32_t *found, size_t *made) {
    if (bbpe_bpe_is_short(self->bpe, n)) {
        *made = bbpe_bpe_merge_short(self->bpe, part, n, 1, found);
        return BBPE_OK;
    }
    const bbpe_bpe_match *match = match_for(self, scratch, n);
    if (match != NULL) return bbpe_bpe_match_encode(match, self->bpe, &scratch->work, part, n, found, made);
    return bbpe_bpe_merge_long(self->bpe, &scratch->work, part, n, 1, found, made);
}

bbpe_status bbpe_word_bpe_encode(const void *model, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n,
                                 uint32_t *ids, size_t *count) {
    const bbpe_word_bpe *self = model;
    const size_t bound = bbpe_word_bpe_bound(n);
    pretoken text;
    reader word;
    void *memory;
    *count = 1;
    if (find_whole(self, bytes, n, ids)) return BBPE_OK;
    *count = 0;
    bbpe_status status = open_pretoken(self, scratch, bytes, n, bound * (sizeof *ids + 1), &text, &memory);
    uint32_t *found = memory;
    uint8_t *part = (uint8_t *)(found + bound);
    while (status == BBPE_OK && next_word(self, &text, bytes, &word)) {
        while (status == BBPE_OK && word.at < word.n) {
            const size_t length = put_part(self, &word, false, part);
            size_t made = 0;
            if (length == 0) continue;
            status = merge_part(self, scratch, part, length, found, &made);
            for (size_t i = 0; i < made; i++)
                if (!put_output(self->bpe, found[i], ids, n, count)) return BBPE_TOO_LARGE;
        }
    }
    return status;
}

bbpe_status bbpe_word_bpe_mark(const void *model, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n,
                               uint8_t *out, size_t *ends, size_t *count) {
    const bbpe_word_bpe *self = model;
    pretoken text;
    reader word;
    void *memory;
    size_t used = 0;
    *count = 0;
    const bbpe_status status = open_pretoken(self, scratch, bytes, n, 0, &text, &memory);
    if (status != BBPE_OK) return status;
    while (next_word(self, &text, bytes, &word)) {
        used += put_part(self, &word, true, out + used);
        ends[(*count)++] = used;
    }
    return BBPE_OK;
}
