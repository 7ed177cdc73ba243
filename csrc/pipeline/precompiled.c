/* SentencePiece's table as HF's `tokenizers` applies it: a grapheme cluster of fewer than 6 bytes that begins with a key becomes
 * the value of its shortest key; in any other cluster each character that is a key becomes its value.
 *
 * Only clusters with a marked character are looked at (pipeline/charsmap.h): the others have no key, or begin with none. */
#include "pipeline/normalizer_pass.h"

enum { LONGEST_WHOLE = 5 };

static size_t count_characters(const uint8_t *text, size_t n) {
    size_t count = 0;
    for (size_t i = 0; i < n; count++) bbpe_utf8_decode(text, i, n, &i);
    return count;
}

/* Finds the head of the result as `tokenizers` does.  It aligns character with character, except that those which a value has more
 * than its key stay with the one before, and that the number of those which it has less is left out after the last character so
 * far, if there is one. */
typedef struct {
    size_t head, aligned; /* characters of the text: that are its head; that are dealt with */
    size_t found;         /* how many bytes of the result come from the head */
    size_t end;           /* where the last character of the result ends, which is to be aligned; 0: there is none */
    ptrdiff_t change;     /* 1: it stays with the one before; -n: n characters of the text are left out after it */
} head_walk;

static void align_last(head_walk *self) {
    const bool stays = self->change > 0;
    if (self->end == 0) return;
    if (self->aligned - (stays && self->aligned > 0) < self->head) self->found = self->end;
    if (!stays) self->aligned += 1 + (size_t)-self->change;
}

static void put_character(head_walk *self, size_t end, ptrdiff_t change) {
    align_last(self);
    self->end = end;
    self->change = change;
}

/* Whether the walk is past the head, to which nothing that follows can belong. */
static bool is_behind(const head_walk *self) {
    return self->head == 0 || self->aligned > self->head;
}

/* Follow what is left as it is, before text[end]. */
static void follow_kept(head_walk *self, const bbpe_pass *pass, size_t end) {
    for (size_t i = pass->done, next; i < end && !is_behind(self); i = next) {
        bbpe_utf8_decode(pass->text, i, pass->n, &next);
        put_character(self, pass->out->used + (next - pass->done), 0);
    }
}

/* Follow a value in place of text[start, end), at the end of what is written. */
static void follow_value(head_walk *self, const bbpe_pass *pass, size_t start, size_t end, const uint8_t *value, size_t length) {
    if (is_behind(self)) return;
    const size_t characters = count_characters(pass->text + start, end - start);
    size_t put = 0;
    for (size_t i = 0; i < length && !is_behind(self); put++) {
        bbpe_utf8_decode(value, i, length, &i);
        put_character(self, pass->out->used + i, put >= characters);
    }
    if (put < characters) self->change -= (ptrdiff_t)(characters - put);
}

/* Put the value of a key in place of text[start, end).  Its characters come from those in turn, the rest from the last one. */
static bbpe_status put_value(bbpe_pass *pass, size_t start, size_t end, const uint8_t *value, size_t length, head_walk *walk) {
    follow_kept(walk, pass, start);
    const bbpe_status status = bbpe_pass_cut(pass, start, end, length);
    if (status != BBPE_OK) return status;
    follow_value(walk, pass, start, end, value, length);
    size_t source = start, next;
    for (size_t i = 0, size = length; i < length; i = size) {
        size = length;
        if (pass->out->with_places) bbpe_utf8_decode(value, i, length, &size);
        bbpe_pass_put(pass, value + i, size - i, source);
        bbpe_utf8_decode(pass->text, source, pass->n, &next);
        if (next < end) source = next;
    }
    return BBPE_OK;
}

static bbpe_status replace_cluster(const bbpe_charsmap *map, bbpe_pass *pass, size_t start, size_t end, head_walk *walk) {
    const uint8_t *text = pass->text, *value;
    size_t length;
    if (end - start <= LONGEST_WHOLE && bbpe_charsmap_shortest(map, text + start, end - start, &value, &length))
        return put_value(pass, start, end, value, length, walk);
    for (size_t i = start, next; i < end; i = next) {
        bbpe_utf8_decode(text, i, end, &next);
        if (!bbpe_charsmap_shortest(map, text + i, next - i, &value, &length)) continue;
        const bbpe_status status = put_value(pass, i, next, value, length, walk);
        if (status != BBPE_OK) return status;
    }
    return BBPE_OK;
}

bbpe_status bbpe_pass_precompiled(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    const uint8_t *text = pass->text;
    head_walk walk = {.head = count_characters(text, pass->scratch->head)};
    size_t from = 0, size; /* a cluster begins at text[from] */
    for (size_t i = 0; i < pass->n; i += size) {
        if (!bbpe_charsmap_is_marked(step->charsmap, text + i, pass->n - i, &size)) continue;
        size_t start = bbpe_grapheme_boundary(text, pass->n, from, i), end;
        while ((end = bbpe_grapheme_end(text, pass->n, start)) <= i) start = end;
        const bbpe_status status = replace_cluster(step->charsmap, pass, start, end, &walk);
        if (status != BBPE_OK) return status;
        from = end;
        size = end - i;
    }
    follow_kept(&walk, pass, pass->n);
    align_last(&walk);
    if (pass->is_changed) pass->scratch->head = walk.found;
    return BBPE_OK;
}
