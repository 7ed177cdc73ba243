/* A model as the encoder sees it: what gives the ids of a pretoken that no cache has.
 *
 * BPE is known to the encoder itself, which cuts its pretokens into pieces and chooses between ways of merging.  Any
 * other model is one function over data of its own.  Either way a pretoken of n bytes, n >= 1, has at most n ids,
 * and they depend on its bytes alone; otherwise caches, parts and threads would change them.
 *
 * With `tokens` a pretoken may be cut into parts wherever no token crosses (cut_points.h): the model vouches that
 * the ids of the parts are those of the whole.  So the pieces of Chinese and Japanese become short and are found again.
 *
 * A view: it owns nothing, and what it points to outlives it and is read by any number of threads.  Memory
 * that a call writes to is in a bbpe_model_scratch. */
#ifndef BBPE_MODELS_MODEL_H
#define BBPE_MODELS_MODEL_H

#include "models/bpe/bpe.h"
#include "memory/memory.h"

/* Memory that one call at a time writes to; zeroed before use. */
typedef struct {
    void *memory;
    size_t capacity; /* bytes */
    bbpe_bpe_work work; /* of a model that merges too, */
    size_t unmatched;   /* and the bytes that it has merged by the heap */
} bbpe_model_scratch;

/* Write the ids of a pretoken, n >= 1; `ids` has room for n. */
typedef bbpe_status (*bbpe_model_encode)(const void *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n,
                                         uint32_t *ids, size_t *count);

/* The words of a pretoken, n >= 1, as the model's `merges` are given them: `out` has room for 5 n bytes, `ends` for n. */
typedef bbpe_status (*bbpe_model_mark)(const void *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n,
                                       uint8_t *out, size_t *ends, size_t *count);

typedef struct {
    const bbpe_bpe *bpe;              /* this one, or NULL: then it is the next two */
    const void *self;
    bbpe_model_encode encode;
    const bbpe_bpe *merges; /* that some merges can be left out of, or NULL: the model has none */
    bbpe_model_mark mark;   /* NULL: it merges a pretoken as it is */
    const bbpe_pretoken_table *tokens; /* NULL: a pretoken must not be cut */
    uint64_t joining;                  /* of `tokens` those count whose value has one of these bits */
} bbpe_model;

BBPE_INLINE bbpe_model bbpe_model_of_bpe(const bbpe_bpe *bpe) {
    return (bbpe_model){.bpe = bpe, .merges = bpe, .tokens = &bpe->tokens, .joining = BBPE_BPE_MADE};
}

/* Room for `count` items, undefined at first; NULL without memory. */
BBPE_INLINE void *bbpe_model_scratch_reserve(bbpe_model_scratch *self, size_t count, size_t size) {
    if (count > SIZE_MAX / size) return NULL;
    void *memory = bbpe_memory_reserve(self->memory, &self->capacity, count * size, 1);
    if (memory != NULL) self->memory = memory;
    return memory;
}

BBPE_INLINE void bbpe_model_scratch_free(bbpe_model_scratch *self) {
    bbpe_bpe_work_free(&self->work);
    bbpe_memory_free(self->memory);
    self->memory = NULL;
    self->capacity = 0;
}

#endif
