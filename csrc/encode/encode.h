/* Text -> ids: split into pretokens, look each up, merge what is new.
 *
 * Where characters of three bytes and more stand, pretokens are first cut where the vocabulary proves that nothing merges
 * (cut_units.h): so the units of Chinese and Japanese, whose pretokens hardly ever repeat, are mostly single characters.
 * A unit of up to 15 bytes is looked up at once.  What no table knows is merged, units of up to 24 bytes sixteen at a time
 * where the processor can (models/bpe/merge_batch.h), or left to the model if that is no BPE (models/model.h).
 *
 * A bbpe_encoder is shared by any number of threads and refers to its model and splitter; a bbpe_encode_state belongs
 * to one call at a time. */
#ifndef BBPE_ENCODE_H
#define BBPE_ENCODE_H

#include "models/bpe/merge_batch.h"
#include "models/bpe/match.h"
#include "encode/cache.h"
#include "encode/cut_units.h"
#include "models/model.h"
#include "memory/reusable_buffer.h"
#include "split/split.h"

struct bbpe_stage_loops; /* lookup_batch.h */

typedef struct {
    bbpe_model model;
    bbpe_bpe_match match; /* of BPE; not exact, and not used, when an id is too large for it */
    bbpe_cut_points cuts;
    bool has_cuts;        /* pretokens are cut into units, */
    bbpe_cut_units cut;   /* many at a time by this */
    bbpe_split_fill fill; /* NULL: the caller cuts the text */
    const struct bbpe_stage_loops *loops;
    bbpe_scheme scheme;
    bool has_wholes;      /* whole pretokens can be tokens that merging does not make */
    bbpe_lanes_merge merge_lanes; /* or NULL: new units do not wait for each other */
} bbpe_encoder;

enum { BBPE_PENDING_UNITS = 128, BBPE_PENDING_PLACES = 256, BBPE_PENDING_TEXT_END = BBPE_PENDING_UNITS };

/* A short unit that no table had, and the entry that will have its ids; or NULL, and it is a long one. */
typedef struct {
    bbpe_cache_key key;
    bbpe_cache_entry *entry;
} bbpe_pending_unit;

/* Where ids of such a unit will be: there is room for as many as it has bytes.  Or BBPE_PENDING_TEXT_END, and no room. */
typedef struct {
    uint32_t *ids;
    size_t unit;
} bbpe_pending_place;

/* Units whose ids are not yet known, and their places in the text, in order. */
typedef struct {
    size_t unit_count, place_count;
    uint64_t waited; /* places so far, in all */
    bbpe_pending_unit units[BBPE_PENDING_UNITS];
    bbpe_lanes_unit longs[BBPE_PENDING_UNITS]; /* the bytes of those that are long */
    bbpe_pending_place places[BBPE_PENDING_PLACES];
} bbpe_pending;

enum { BBPE_LATE_UNITS = 16 };

/* A short unit whose ids are in a slot that was asked for, how many they are, and where they go. */
typedef struct {
    bbpe_cache_key key;
    uint64_t hash; /* of the slot */
    uint32_t *ids;
    size_t count;
} bbpe_late_unit;

/* Those of one stage at most, and none when units that wait have theirs: the other ids may move then. */
typedef struct {
    size_t count;
    bbpe_late_unit units[BBPE_LATE_UNITS];
} bbpe_late;

enum { BBPE_ENCODE_FIRST_ENTRIES = 64, BBPE_ENCODE_FIRST_SLOTS = 16 };

enum { BBPE_STAGE = 768 }; /* units: with 256 of them English 4, multilingual text 6, Chinese 7 % more (Zen 3) */

/* Units, and where their entries may be.  The key of one of more than 15 bytes: its place in the text << 6 | its length, with
 * the flag of a part, and its hash as a pretoken; of one of more than 47 bytes 63, and its length. */
typedef struct {
    _Alignas(64) bbpe_cache_key keys[BBPE_STAGE];
    _Alignas(64) const bbpe_cache_entry *homes[BBPE_STAGE];
} bbpe_stage;

/* What the units that wait encode to (pending.c). */
typedef struct {
    uint32_t ids[BBPE_PENDING_UNITS][BBPE_LANES_BYTES];
    size_t counts[BBPE_PENDING_UNITS];
} bbpe_unit_ids;

enum { BBPE_JOINED_TEXTS = 256 };

/* Texts side by side in the window, which end there (batch.c). */
typedef struct {
    size_t used, count;
    size_t ends[BBPE_JOINED_TEXTS];
} bbpe_joined_texts;

/* What a call would have on the stack, which a thread may have 64 KiB of, or less than that left. */
typedef struct {
    bbpe_stage stage;
    size_t ends[BBPE_STAGE]; /* of pretokens, */
    size_t unit_ends[BBPE_STAGE + BBPE_CUT_ROOM]; /* and of their units */
    bbpe_unit_ids unit_ids;
    bbpe_joined_texts joined;
    uint32_t *text_ends[BBPE_JOINED_TEXTS]; /* where the ids of each of these end */
} bbpe_encode_desk;

typedef struct {
    bbpe_hot_cache hot;
    bbpe_shared_cache *shared; /* or NULL; the state is one of its owners */
    bbpe_bpe_work work;
    bbpe_model_scratch scratch;
    bbpe_status status;  /* the first failure of the call */
    uint8_t *window;     /* a stretch of the text as UTF-8 */
    size_t window_capacity;
    uint32_t *ids;       /* where a caller may have ids written; bbpe_encode_state_reserve */
    size_t ids_capacity;
    void *pin;           /* what stays behind the lists of ids that were made last */
    bbpe_room early;     /* ids whose place is not yet known, when threads encode parts of what a call has */
    uint64_t seen;       /* the owner's: how much text it was lent for so far */
    uint64_t strays;     /* units found away from home */
    uint64_t kept;       /* short units that entered `hot` since it is so large */
    uint64_t tokens;     /* of the last of these those that are one token */
    size_t seeded;       /* tokens of the vocabulary that were looked at for `hot` */
    uint64_t generation; /* the owner's mark */
    bbpe_pending pending;
    bbpe_late late;
    uint32_t **text_ends; /* of texts that are encoded as one: what is told where the ids of the next one end */
    bool is_grown;       /* `hot` is memory of its own, not the two tables below */
    /* a probe of two neighbours touches one cache line */
    _Alignas(64) bbpe_cache_entry first_entries[BBPE_ENCODE_FIRST_ENTRIES];
    bbpe_cache_slot first_slots[BBPE_ENCODE_FIRST_SLOTS];
    bbpe_encode_desk desk;
} bbpe_encode_state;

/* A text in memory: bytes of UTF-8 (unit_size 0), or a str's units of 1, 2 or 4 bytes. */
typedef struct {
    const void *units;
    unsigned unit_size;
} bbpe_encode_text;

enum { BBPE_ENCODE_SLACK = 4 }; /* ids behind the last one that may be overwritten */

/* `scheme` and `fill` may be NULL.  What the model points to must outlive the encoder. */
bbpe_status bbpe_encoder_init(bbpe_encoder *self, const bbpe_model *model, const bbpe_scheme *scheme,
                              bbpe_split_fill fill);
void bbpe_encoder_free(bbpe_encoder *self);

/* With the small tables that it holds itself, in memory of bbpe_memory_table. */
void bbpe_encode_state_init(bbpe_encode_state *self);
/* Go over to larger tables with what the present ones have; false without memory, and nothing changes. */
bool bbpe_encode_state_grow(bbpe_encode_state *self, size_t entries, size_t slots);
void bbpe_encode_state_free(bbpe_encode_state *self);
/* Have the memory of lists that were just made serve the next ones when they are dropped, or no longer.  An allocator may
 * give back what is free behind all that is used, and to have it again takes 16 of 46 ms for 8 MB of multilingual text: so
 * something is put there. */
void bbpe_encode_state_pin(bbpe_encode_state *self, bool serves);
/* Room for `count` ids and BBPE_ENCODE_SLACK more in self->ids. */
bbpe_status bbpe_encode_state_reserve(bbpe_encode_state *self, size_t count);

/* The ids of units [start, end) of a text as if it were all of it; there are at most bbpe_encode_bound, and `ids` has
 * room for BBPE_ENCODE_SLACK more. */
bbpe_status bbpe_encode_range(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count);
/* Its two cases: n bytes of UTF-8, and units of 1, 2 or 4 bytes, a window at a time. */
bbpe_status bbpe_encode_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                             uint32_t *ids, size_t *count);
bbpe_status bbpe_encode_units(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, uint32_t *ids, size_t *count);
/* The ids of many texts, one text's behind the other's, and how many each has; `ids` as above, with room for all.  Or
 * NULL, and how many they are is all that is asked, without memory for all of them. */
bbpe_status bbpe_encode_texts(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_encode_text *texts,
                              const size_t *lengths, size_t count, uint32_t *ids, size_t *counts);
/* The same where the caller has cut n bytes of UTF-8 into `pretokens`, by their ends, which another thread may write to:
 * BBPE_CHANGED when they fall or pass n. */
bbpe_status bbpe_encode_given(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                              const int64_t *ends, size_t pretokens, uint32_t *ids, size_t *count);
/* Count the ids of units [start, end) of a text as if it were all of it, without memory for all of them, and no further
 * than to more than `limit`: what stands at the beginning is settled long before the end.  With `keeps` the ids stay in
 * state->ids, as many as were counted. */
bbpe_status bbpe_encode_count(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                              size_t end, size_t limit, bool keeps, size_t *count);
/* The same of n bytes of UTF-8, added to `*count`. */
bbpe_status bbpe_encode_count_utf8(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                   size_t limit, bool keeps, size_t *count);
/* The ids of pretokens, given as above, when each merge is skipped at random (bbpe_bpe_merge_dropout), for which nothing
 * is remembered. */
bbpe_status bbpe_encode_dropout(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *text, size_t n,
                                const int64_t *ends, size_t pretokens, bbpe_bpe_dropout *dropout, uint32_t *ids,
                                size_t *count);
/* More ids than so many units can have: a token is at least one byte. */
BBPE_INLINE size_t bbpe_encode_bound(unsigned unit_size, size_t units) {
    return unit_size == 0 ? units : unit_size == 1 ? 2 * units : unit_size == 2 ? 3 * units : 4 * units;
}

/* Room for so many bytes in self->window; a failure is left in state->status. */
bool bbpe_encode_state_window(bbpe_encode_state *self, size_t bytes);

/* Pretokens of a text of n bytes, by their ends, the first of which begins at `start`; one of no bytes is the end of a text
 * (state->text_ends).  `wide` if they may have characters of three bytes or more: that decides how they are encoded, not
 * what to. */
typedef struct {
    const uint8_t *text;
    size_t n, start;
    const size_t *ends;
    size_t count;
    bool wide;
} bbpe_pretokens;

/* The ids of pretokens, at most as many as a stage has room for: returns the place behind the last id. */
uint32_t *bbpe_encode_pretokens(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_pretokens *block,
                                uint32_t *ids);

/* A place in [start, n) of units where the text may be cut so that the ids of both parts are those of the whole, or
 * BBPE_SPLIT_NO_CUT; looks about `window` units far. */
size_t bbpe_encode_cut(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_encode_text text, size_t start,
                       size_t n, size_t window);

/* -- one unit at a time: unit.c ------------------------------------------------------------------- */

/* Write the ids of a unit and return the place behind the last one.  A failure is left in state->status. */
uint32_t *bbpe_encode_unit(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                           bool is_part, uint32_t *ids);
/* The same of a short unit whose ids do not stand in its entry as they are. */
uint32_t *bbpe_encode_many(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_cache_entry *entry,
                           uint32_t *ids);
/* Write the ids of the late units. */
void bbpe_encode_late(const bbpe_encoder *self, bbpe_encode_state *state);
/* A pretoken of any length and content: cut into units where it may be. */
uint32_t *bbpe_encode_pretoken(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                               uint32_t *ids);
/* Ids by the model alone, as they are written; returns how many. */
size_t bbpe_encode_fresh(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                         bool is_part, uint32_t *ids);

/* A short unit with so many ids has entered the hot table. */
void bbpe_encode_note_new(const bbpe_encoder *self, bbpe_encode_state *state, size_t count);

/* -- units that wait for their ids: pending.c -------------------------------------------------- */

/* Leave room for the ids of a new unit, whose place in the hot table is marked. */
uint32_t *bbpe_pending_add(const bbpe_encoder *self, bbpe_encode_state *state, bbpe_cache_entry *place,
                           bbpe_cache_key key, uint32_t *ids);
/* The same of one of 16 to BBPE_LANES_BYTES bytes, which may be a token as a whole. */
uint32_t *bbpe_pending_add_long(const bbpe_encoder *self, bbpe_encode_state *state, const uint8_t *bytes, size_t n,
                                uint32_t *ids);
/* Whether a unit waits that an entry is marked for: a call that failed leaves its marks. */
BBPE_INLINE bool bbpe_pending_has(const bbpe_pending *self, const bbpe_cache_entry *entry) {
    return entry->ids[0] < self->unit_count && bbpe_cache_entry_has(entry, self->units[entry->ids[0]].key);
}
/* Leave room for the ids of such a unit once more. */
uint32_t *bbpe_pending_repeat(const bbpe_encoder *self, bbpe_encode_state *state, const bbpe_cache_entry *entry,
                              uint32_t *ids);
/* Note that a text ends here, at once or when the ids before are known. */
uint32_t *bbpe_pending_end_text(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *ids);
/* Write the ids of all that wait; the ids behind them move up to them.  Returns their new end. */
uint32_t *bbpe_encode_pending(const bbpe_encoder *self, bbpe_encode_state *state, uint32_t *end);

/* -- tokens before a text has them: prefill.c --------------------------------------------------------- */

enum {
    BBPE_ENCODE_SAMPLE = 1024,   /* new units after which it is decided, */
    BBPE_ENCODE_WORTH = 768,     /* when so many of them are one token: English has 0.9 of the first, Russian 0.1 */
    BBPE_ENCODE_SEEDED = 4,      /* entries for each token of the vocabulary, the first ones, that may be put there */
};

/* Put tokens of the vocabulary in the hot part where their homes are free, as an English text or code will have a third
 * of them: that takes 1.3 ms for 100,000, and 7 % less time for 8 MB of English than merging those that come. */
void bbpe_encode_seed(const bbpe_bpe *model, bbpe_encode_state *state);

#endif
