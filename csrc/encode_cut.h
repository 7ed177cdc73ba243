/* A pretoken with characters of three bytes and more, cut into units where it may be (cut_points.h).
 *
 * A stretch of nothing but characters of three bytes is cut over many pretokens at once, where no length need be asked
 * for.  Other pretokens are cut alone. */
#ifndef BBPE_ENCODE_CUT_H
#define BBPE_ENCODE_CUT_H

#include "encode_stage.h"

/* Whether the character at `bytes`, four of which may be read, has three bytes. */
BBPE_INLINE bool bbpe_is_three(const uint8_t *bytes) {
    uint32_t c;
    memcpy(&c, bytes, 4);
    return (c & 0xC0C0F0) == 0x8080E0;
}

/* The character at bytes[0..n); length 0 when it is not well-formed as far as cutting cares. */
BBPE_INLINE bbpe_character bbpe_character_at(const uint8_t *bytes, size_t n) {
    bbpe_character c = {0, 0};
    if (BBPE_LIKELY(n >= 4)) {
        memcpy(&c.bytes, bytes, 4);
        if (BBPE_LIKELY(bbpe_is_three(bytes))) return (bbpe_character){c.bytes & 0xFFFFFF, 3};
    } else {
        memcpy(&c.bytes, bytes, n);
    }
    const unsigned length = bbpe_character_length(bytes[0]);
    if (length > n) return (bbpe_character){0, 0};
    for (unsigned i = 1; i < length; i++)
        if (!bbpe_utf8_is_tail(bytes[i])) return (bbpe_character){0, 0};
    if (length < 4) c.bytes &= ((uint32_t)1 << (8 * length)) - 1;
    return (bbpe_character){c.bytes, length};
}

/* Whether one of the first two bytes of a pretoken, which may be read, begins a character of three bytes or more.  Where
 * one comes later, behind letters of another kind, the pretoken is not cut: it is one unit, with the same ids. */
BBPE_INLINE bool bbpe_starts_wide(const uint8_t *bytes, size_t n) {
    return (bytes[0] >= 0xE0) | ((bytes[1] >= 0xE0) & (n > 1));
}

/* Whether a pretoken is a token as a whole that merging does not make; its id is written then. */
static bool bbpe_is_unmade(const bbpe_encoder *self, const uint8_t *bytes, size_t n, uint32_t *id) {
    const bbpe_bpe *model = self->model.bpe;
    if (n == 0 || n > model->longest_unmade) return false; /* the end of a text is no token, though one may be empty */
    const bbpe_pretoken_entry *token = bbpe_pretoken_table_find(&model->tokens, bytes, n);
    if (token == NULL || (token->value & BBPE_BPE_MADE)) return false;
    *id = (uint32_t)token->value;
    if (model->output_starts != NULL) *id = model->outputs[model->output_starts[*id]]; /* a token is written as one id */
    return true;
}

/* What is being cut: the pretokens from `end` to `last`, the first of which begins at `start`; its units are done up to
 * `unit`. */
typedef struct {
    const bbpe_encoder *encoder;
    bbpe_encode_state *state;
    const uint8_t *text;
    size_t n, start, unit;
    const size_t *end, *last;
} bbpe_cut;

/* How far characters of three bytes go from `at`, up to `end`: five at a time. */
BBPE_INLINE size_t bbpe_wide_run(const uint8_t *text, size_t at, size_t end) {
    for (; at + 16 <= end; at += 15) {
        uint64_t lo, hi;
        memcpy(&lo, text + at, 8);
        memcpy(&hi, text + at + 7, 8);
        if (((lo & 0xC0F0C0C0F0C0C0F0u) ^ 0x80E08080E08080E0u) | ((hi & 0xC0C0F0C0C0F0C0C0u) ^ 0x8080E08080E08080u)) break;
    }
    while (at + 4 <= end && bbpe_is_three(text + at)) at += 3;
    return at;
}

/* Cut text[start..run), all of it characters of three bytes, but for a unit that goes on behind it.  A unit of `whole`
 * bytes is its pretoken, others bear the flag.  Whether one ends is a bit that nothing foretells, so it is put on the
 * stage at every border, and stays there if it does. */
BBPE_INLINE uint32_t *bbpe_cut_run(bbpe_cut *cut, bbpe_stage *stage, size_t run, size_t whole, uint64_t flag,
                                   uint32_t *ids) {
    const bbpe_hot_cache *const hot = &cut->state->hot;
    const size_t *end = cut->end;
    size_t unit = cut->start, at = unit;
    while (at < run) {
        uint64_t pair;
        memcpy(&pair, cut->text + at, sizeof pair);
        at += 3;
        const bool is_end = at == *end;
        if (at > *end) break; /* a pretoken of the caller's ends within the character */
        if (at == run && !is_end) break; /* what follows has another length */
        const bool is_cut = is_end | bbpe_cut_points_between_wide(&cut->encoder->cuts, pair);
        const size_t length = at - unit;
        if (BBPE_LIKELY(length <= BBPE_CACHE_SHORT)) {
            if (!bbpe_stage_room(stage)) ids = bbpe_stage_emit(stage, cut->encoder, cut->state, cut->text, ids);
            bbpe_stage_put(stage, hot, cut->text + unit, length, length == whole ? 0 : flag, is_cut);
        } else if (is_cut) {
            ids = bbpe_stage_emit(stage, cut->encoder, cut->state, cut->text, ids);
            ids = bbpe_encode_unit(cut->encoder, cut->state, cut->text + unit, length, length != whole, ids);
        }
        unit = is_cut ? at : unit;
        end += is_end;
    }
    if (end > cut->end) cut->start = end[-1];
    cut->unit = unit;
    cut->end = end;
    return ids;
}

/* A pretoken that is a token as a whole which merging does not make: its id, and true. */
BBPE_INLINE bool bbpe_cut_unmade(const bbpe_cut *cut, bbpe_stage *stage, uint32_t **ids) {
    uint32_t id;
    if (!bbpe_is_unmade(cut->encoder, cut->text + cut->start, *cut->end - cut->start, &id)) return false;
    *ids = bbpe_stage_emit(stage, cut->encoder, cut->state, cut->text, *ids);
    *(*ids)++ = id;
    return true;
}

/* The same where a pretoken may be a token as a whole: one at a time, while each begins a character, as one of the
 * caller's may end within one. */
BBPE_INLINE uint32_t *bbpe_cut_wholes(bbpe_cut *cut, bbpe_stage *stage, size_t run, uint32_t *ids) {
    const size_t *before;
    do {
        before = cut->end;
        const size_t length = *before - cut->start, stop = *before < run ? *before : run;
        if (bbpe_cut_unmade(cut, stage, &ids))
            cut->start = cut->unit = *cut->end++;
        else
            ids = bbpe_cut_run(cut, stage, stop, length, (uint64_t)BBPE_CACHE_PART << 56, ids);
    } while (cut->end > before && cut->start < run && bbpe_is_three(cut->text + cut->start));
    return ids;
}

/* Cut pretokens as far as all characters have three bytes: Japanese takes 28 instead of 34 ms. */
BBPE_INLINE uint32_t *bbpe_cut_stretch(bbpe_cut *cut, bbpe_stage *stage, uint32_t *ids) {
    const size_t most = cut->last[-1];
    const size_t run = bbpe_wide_run(cut->text, cut->start, most + 16 <= cut->n ? most : cut->n - 16);
    return cut->encoder->has_wholes ? bbpe_cut_wholes(cut, stage, run, ids) : bbpe_cut_run(cut, stage, run, 0, 0, ids);
}

/* Cut what is left of a pretoken of any length and content. */
BBPE_INLINE uint32_t *bbpe_cut_rest(bbpe_cut *cut, bbpe_stage *stage, uint32_t *ids) {
    const bbpe_encoder *const encoder = cut->encoder;
    const uint64_t flag = encoder->has_wholes ? (uint64_t)BBPE_CACHE_PART << 56 : 0;
    const uint8_t *const text = cut->text;
    const size_t n = cut->n, end = *cut->end;
    size_t unit = cut->unit, at = unit;
    if (encoder->has_wholes && unit == cut->start && bbpe_cut_unmade(cut, stage, &ids)) return ids;
    for (bbpe_character left = bbpe_character_at(text + at, n - at), right; left.length && at + left.length < end;
         left = right) {
        at += left.length;
        right = bbpe_character_at(text + at, n - at);
        if (!right.length) break;
        const bool is_cut = (left.length | right.length) > 1 && bbpe_cut_points_between(&encoder->cuts, left, right);
        if (BBPE_LIKELY(at - unit <= BBPE_CACHE_SHORT && unit + 16 <= n && bbpe_stage_room(stage))) {
            bbpe_stage_put(stage, &cut->state->hot, text + unit, at - unit, flag, is_cut);
        } else if (is_cut) {
            ids = bbpe_stage_emit(stage, encoder, cut->state, text, ids);
            ids = bbpe_encode_unit(encoder, cut->state, text + unit, at - unit, true, ids);
        }
        unit = is_cut ? at : unit;
    }
    const bool is_part = unit > cut->start;
    if (end - unit <= BBPE_CACHE_SHORT && unit + 16 <= n && bbpe_stage_room(stage)) {
        bbpe_stage_put(stage, &cut->state->hot, text + unit, end - unit, is_part ? flag : 0, true);
        return ids;
    }
    ids = bbpe_stage_emit(stage, encoder, cut->state, text, ids);
    return bbpe_encode_unit(encoder, cut->state, text + unit, end - unit, is_part, ids);
}

#endif
