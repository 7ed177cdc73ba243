/* BPE of words whose symbols are characters, or bytes, of which not all are tokens; by a model of bytes
 * (models/bpe/bpe.h).
 *
 * Such a vocabulary may have another token for a character at the beginning or at the end of a word than within it: "a",
 * "##a", "a</w>".  The model of bytes is given each word with BBPE_WORD_BPE_BEGIN in front and BBPE_WORD_BPE_END after
 * it, as far as the vocabulary has such symbols, and its first merges join these bytes with the characters next to them,
 * all of them: a word never has more tokens than characters.  A character that is no symbol at its position becomes the
 * byte `unknown`, which merges with nothing, or is left out before anything merges.  UTF-8 has none of these bytes.  Where
 * some bytes are `spelled`, one that is made of these stays as it is, and what is unknown is written as late as HF's
 * `tokenizers` does: in front of the next symbol, unknown character or end of the word.
 *
 * A pretoken is a word; or with `rules` a stretch of text as it is, of any number of words or none
 * (models/normalise/bert.h), so that what repeats is found by its bytes, and normalised only once.  With `is_clip` its
 * words are those of CLIP's pattern.
 *
 * A word is merged in parts where no token crosses (models/cut_points.h), since those of Chinese and Japanese are long.  Where
 * a word is a whole text, as where no pre-tokenizer splits it, parts are long too: they are matched (models/bpe/match.h).
 *
 * The struct owns its tables and refers to the model; immutable once made, read by any number of threads. */
#ifndef BBPE_MODELS_WORD_BPE_H
#define BBPE_MODELS_WORD_BPE_H

#include "models/cut_points.h"
#include "models/model.h"

enum { BBPE_WORD_BPE_BEGIN = 0xFD, BBPE_WORD_BPE_UNKNOWN = 0xFE, BBPE_WORD_BPE_END = 0xFF };
/* Where a character is; without marks of that kind the bit is never set. */
enum { BBPE_WORD_BPE_FIRST = 1, BBPE_WORD_BPE_LAST = 2 };

typedef struct {
    const bbpe_bpe *bpe;
    void **match; /* a bbpe_bpe_match that threads share, or NULL until long words need it */
    bbpe_cut_points cuts;
    uint8_t *symbols;  /* by code point, or with `of_bytes` by byte: bit p is set if there is a symbol of it at p, a set of
                          the two above; or NULL: all bytes are symbols, nothing is unknown, and rules must make none more
                          than there were */
    bool of_bytes;     /* symbols are bytes */
    bool begins, ends; /* words are marked so */
    bool fuses;        /* a run of what is unknown is one */
    bool drops;        /* what is unknown is left out, and its neighbours may merge */
    uint8_t unknown;   /* the byte for what is unknown, no symbol itself */
    bool spells;       /* some bytes are `spelled`: 1 where they are; without marks and rules */
    uint8_t spelled[256];
    bool has_rules, is_clip;
    unsigned rules;    /* of models/normalise/bert.h */
} bbpe_word_bpe;

/* `has_symbols`: make `symbols`, empty; the caller fills it.  Flags are set by the caller too. */
bbpe_status bbpe_word_bpe_init(bbpe_word_bpe *self, const bbpe_bpe *bpe, bool has_symbols);
void bbpe_word_bpe_free(bbpe_word_bpe *self);
/* The ids of a pretoken: a bbpe_model_encode.  BBPE_TOO_LARGE if rules made more symbols of it than it has bytes. */
bbpe_status bbpe_word_bpe_encode(const void *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n,
                                 uint32_t *ids, size_t *count);
/* The words of a pretoken as the model of bytes is given them: a bbpe_model_mark. */
bbpe_status bbpe_word_bpe_mark(const void *self, bbpe_model_scratch *scratch, const uint8_t *bytes, size_t n,
                               uint8_t *out, size_t *ends, size_t *count);

BBPE_INLINE size_t bbpe_word_bpe_bound(size_t n) {
    return 5 * n; /* a word of one byte has two marks; rules make three bytes of one at most */
}

BBPE_INLINE bbpe_model bbpe_model_of_word_bpe(const bbpe_word_bpe *self) {
    return (bbpe_model){.self = self, .encode = bbpe_word_bpe_encode, .merges = self->bpe, .mark = bbpe_word_bpe_mark};
}

#endif
