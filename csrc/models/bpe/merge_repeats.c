/* Merging a text that mostly repeats the same few bytes: a shorter text with fewer repeats is merged, and its ids are extended.
 *
 * Tokens are the merging of a text if every two neighbours are compatible (match.h).  So where a token is at two positions
 * of such a stretch, a number of units apart, what is between them may be there any number of times: no neighbours come
 * together that were not neighbours before. */
#include "base/repeated.h"
#include "models/bpe/model.h"

enum {
    MOST_UNIT = 64, /* bytes */
    SAMPLE = 64,
    MERGED = 1 << 11, /* of a stretch; ids have to repeat in its middle half */
};

typedef struct {
    size_t start, end; /* bytes in the text */
    size_t unit;
} repeating_stretch;

/* Ids between two positions of a stretch. */
typedef struct {
    size_t first, last; /* of them, the last one excluded */
    size_t bytes;       /* a number of units */
} repeated_ids;

/* Where the bytes up to `start` begin that are each the one `unit` bytes after them. */
static size_t start_of(const uint8_t *text, size_t start, size_t unit) {
    for (; start >= sizeof(uint64_t); start -= sizeof(uint64_t)) {
        const uint8_t *word = text + start - sizeof(uint64_t);
        if (bbpe_repeated_word(word) != bbpe_repeated_word(word + unit)) break;
    }
    while (start > 0 && text[start - 1] == text[start - 1 + unit]) start--;
    return start;
}

/* Find a stretch of half of a text or more. */
static bool find_stretch(const uint8_t *text, size_t n, repeating_stretch *found) {
    const uint8_t *middle = text + n / 2;
    size_t unit = 1;
    while (unit <= MOST_UNIT && memcmp(middle, middle + unit, SAMPLE) != 0) unit++;
    if (unit > MOST_UNIT) return false;
    *found = (repeating_stretch){start_of(text, n / 2, unit), bbpe_repeated_end(text, n / 2, n, unit), unit};
    return found->end - found->start >= n / 2;
}

/* Find what repeats among the ids of a text without `spared` bytes of the stretch. */
static bool find_ids(const bbpe_bpe *self, const repeating_stretch *stretch, size_t spared, const uint32_t *ids, size_t count,
                     repeated_ids *found) {
    const size_t left = stretch->end - stretch->start - spared, stop = stretch->start + left - left / 4;
    size_t at = 0, i = 0;
    while (i < count && at < stretch->start + left / 4) at += self->lengths[ids[i++]];
    const size_t begin = at, first = i;
    for (; i < count && at < stop; at += self->lengths[ids[i++]]) {
        if (i == first || ids[i] != ids[first] || (at - begin) % stretch->unit != 0) continue;
        *found = (repeated_ids){first, i, at - begin};
        return true;
    }
    return false;
}

/* Put repeated ids in `times` more; returns how many ids there are. */
static size_t put_ids(const repeated_ids *self, size_t times, uint32_t *ids, size_t count) {
    const size_t added = times * (self->last - self->first);
    memmove(ids + self->last + added, ids + self->last, (count - self->last) * sizeof *ids);
    for (size_t done = 0, known = self->last - self->first; done < added; known *= 2) {
        const size_t more = known < added - done ? known : added - done;
        memcpy(ids + self->last + done, ids + self->first, more * sizeof *ids);
        done += more;
    }
    return count + added;
}

bool bbpe_bpe_merge_repeats(const bbpe_bpe *self, const uint8_t *text, size_t n, bbpe_bpe_merge merge, void *owner,
                            uint32_t *ids, size_t *count) {
    repeating_stretch stretch;
    BBPE_ASSERT(n >= BBPE_BPE_REPEATS);
    if (!find_stretch(text, n, &stretch)) return false;
    uint8_t *rest = bbpe_memory_new(n, 1);
    if (rest == NULL) return false;
    size_t spared = (stretch.end - stretch.start - MERGED) / stretch.unit * stretch.unit;
    bool is_merged = false;
    memcpy(rest, text, stretch.start);
    /* the second time what is spared is what the ids of the first time repeat a number of times */
    for (int times = 0; times < 2 && !is_merged; times++) {
        repeated_ids repeated;
        memcpy(rest + stretch.start, text + stretch.start + spared, n - spared - stretch.start);
        if (merge(owner, rest, n - spared, ids, count) != BBPE_OK) break;
        if (!find_ids(self, &stretch, spared, ids, *count, &repeated)) break;
        const size_t more = spared % repeated.bytes;
        is_merged = more == 0;
        if (is_merged) *count = put_ids(&repeated, spared / repeated.bytes, ids, *count);
        spared -= more;
    }
    bbpe_memory_free(rest);
    return is_merged;
}
