#include "encode/parts.h"

#include "threads/ends.h"

size_t bbpe_encode_cuts(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t n, size_t chunk,
                        int64_t *cuts) {
    const uint8_t *const bytes = text.units;
    const size_t size = text.unit_size > 0 ? text.unit_size : 1;
    size_t count = 0;
    cuts[0] = 0;
    /* each is far from the others, and nobody has read there yet */
    for (size_t at = chunk; at < n; at += chunk) BBPE_PREFETCH(bytes + at * size);
    for (size_t at = chunk; n > chunk && at < n - chunk / 2; at += chunk) {
        const size_t cut = bbpe_encode_cut(self, state, text, at, n, chunk);
        if (cut == BBPE_SPLIT_NO_CUT) continue;
        cuts[++count] = (int64_t)cut;
        at = cut;
    }
    cuts[++count] = (int64_t)n;
    return count;
}

static bbpe_status encode_job(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
                              const bbpe_part_job *job, uint32_t *ids, size_t *count) {
    const bool has_head = text->has_head && job->parts.start == 0;
    size_t start, end, of_head = 0, most = 0;
    bbpe_status status = BBPE_OK;
    *count = 0;
    if (!bbpe_ends_part(text->cuts + job->parts.start + has_head, text->cuts + job->parts.stop, text->length, &start, &end))
        return BBPE_CHANGED;
    if (has_head) most = bbpe_encode_bound(text->head.unit_size, text->head_length);
    if (most + bbpe_encode_bound(text->text.unit_size, end - start) > job->most) return BBPE_CHANGED;
    if (has_head) status = bbpe_encode_range(self, state, text->head, 0, text->head_length, ids, &of_head);
    if (!status && start < end) status = bbpe_encode_range(self, state, text->text, start, end, ids + of_head, count);
    *count += of_head;
    return status;
}

bool bbpe_encode_next_parts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_cut_text *text,
                            bbpe_parts *parts, size_t thread, bbpe_status *status) {
    bbpe_part_job job;
    uint32_t *ids;
    size_t count;
    if (!bbpe_parts_take(parts, thread, &job)) return false;
    *status = bbpe_parts_begin(parts, thread, &job, &ids);
    if (*status || ids == NULL) return false;
    *status = encode_job(self, state, text, &job, ids, &count);
    if (!*status) *status = bbpe_parts_add(parts, thread, &job, count);
    return !*status;
}
