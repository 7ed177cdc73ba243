/* Which texts were seen: a set of 16-byte digests, for counting equal texts once.
 *
 * Two sums of 64 bits are made side by side, each of 16 bytes of text with one multiplication, folded, and keys that the author
 * of a text cannot know:
 *
 *     first  = fold(word0 ^ key0, word1 ^ first)
 *     second = fold(word1 ^ key1, word0 ^ second)
 *
 * Both go over all bytes, so two different texts have equal digests by chance alone, 1 in 2^128 for each pair of texts: a corpus
 * of 10^9 texts has 2^59 pairs.  Digests mean nothing in another process, which has other keys.
 *
 * A digest of a text in pieces is the same wherever it is cut: init, update for each piece, finish.  The set probes linearly in
 * slots of 16 bytes, at most three quarters full.  The struct owns its slots; one thread at a time may use it. */
#ifndef BBPE_COUNT_SEEN_H
#define BBPE_COUNT_SEEN_H

#include "base/hash.h"

typedef struct {
    uint64_t first, second; /* both 0 where a slot is empty */
} bbpe_count_digest;

typedef struct {
    bbpe_count_digest sums;
    uint64_t salt, size;
    uint8_t rest[16]; /* of the last piece, size % 16 bytes */
} bbpe_count_digester;

typedef struct {
    bbpe_count_digest *slots;
    size_t mask, count;
} bbpe_count_seen;

void bbpe_count_digester_init(bbpe_count_digester *self, uint64_t salt);
void bbpe_count_digester_update(bbpe_count_digester *self, const uint8_t *bytes, size_t n);
bbpe_count_digest bbpe_count_digester_finish(const bbpe_count_digester *self);

bbpe_status bbpe_count_seen_init(bbpe_count_seen *self);
void bbpe_count_seen_free(bbpe_count_seen *self);
/* The bytes that the set takes at most while `more` digests are added, old and new slots together. */
size_t bbpe_count_seen_need(const bbpe_count_seen *self, size_t more);
/* Room for `more` digests: after it that many cannot fail. */
bbpe_status bbpe_count_seen_reserve(bbpe_count_seen *self, size_t more);
/* Add a digest, for which there is room; false where it is there already. */
bool bbpe_count_seen_add(bbpe_count_seen *self, bbpe_count_digest digest);

#endif
