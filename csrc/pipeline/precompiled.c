/* SentencePiece's table as HF's `tokenizers` applies it: a grapheme cluster of fewer than 6 bytes that begins with a key becomes
 * the value of its shortest key; in any other cluster each character that is a key becomes its value.
 *
 * Only clusters with a marked character are looked at (pipeline/charsmap.h): the others have no key, or begin with none. */
#include "pipeline/normalizer_pass.h"

enum { LONGEST_WHOLE = 5 };

/* Put the value of a key in place of text[start, end).  Its characters come from those in turn, the rest from the last one. */
static bbpe_status put_value(bbpe_pass *pass, size_t start, size_t end, const uint8_t *value, size_t length) {
    const bbpe_status status = bbpe_pass_cut(pass, start, end, length);
    if (status != BBPE_OK) return status;
    size_t source = start, next;
    for (size_t i = 0, size = length; i < length; i = size) {
        size = length;
        if (pass->out->is_aligned) bbpe_utf8_decode(value, i, length, &size);
        bbpe_pass_put(pass, value + i, size - i, source);
        bbpe_utf8_decode(pass->text, source, pass->n, &next);
        if (next < end) source = next;
    }
    return BBPE_OK;
}

static bbpe_status replace_cluster(const bbpe_charsmap *map, bbpe_pass *pass, size_t start, size_t end) {
    const uint8_t *text = pass->text, *value;
    size_t length;
    if (end - start <= LONGEST_WHOLE && bbpe_charsmap_shortest(map, text + start, end - start, &value, &length))
        return put_value(pass, start, end, value, length);
    for (size_t i = start, next; i < end; i = next) {
        bbpe_utf8_decode(text, i, end, &next);
        if (!bbpe_charsmap_shortest(map, text + i, next - i, &value, &length)) continue;
        const bbpe_status status = put_value(pass, i, next, value, length);
        if (status != BBPE_OK) return status;
    }
    return BBPE_OK;
}

bbpe_status bbpe_pass_precompiled(const bbpe_normalizer_step *step, bbpe_pass *pass) {
    const uint8_t *text = pass->text;
    size_t from = 0, size; /* a cluster begins at text[from] */
    for (size_t i = 0; i < pass->n; i += size) {
        if (!bbpe_charsmap_is_marked(step->charsmap, text + i, pass->n - i, &size)) continue;
        size_t start = bbpe_grapheme_boundary(text, pass->n, from, i), end;
        while ((end = bbpe_grapheme_end(text, pass->n, start)) <= i) start = end;
        const bbpe_status status = replace_cluster(step->charsmap, pass, start, end);
        if (status != BBPE_OK) return status;
        from = end;
        size = end - i;
    }
    return BBPE_OK;
}
