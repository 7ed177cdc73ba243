#include "pipeline/bert_places.h"

#include "models/normalise/bert.h"
#include "text/text.h"

/* What a character becomes: a part of a word, a word of its own, the end of one, or nothing. */
enum { LETTER, WORD, BLANK, NOTHING };
enum { REPLACEMENT = 0xFFFD, MOST_ITEMS = 16, BLOCK = 64, STRIDE = 8 };

/* The text from the present place to `end`: which bytes of it are blanks or dropped, and which are parts of words; others may
 * be anything.  One bit each, the lowest first. */
typedef struct {
    size_t end;
    uint64_t blanks, letters;
} ascii_block;

typedef struct {
    const bbpe_token_lengths *lengths;
    const uint8_t *text;
    size_t n;
    size_t at, start; /* where the present character ends and begins, */
    size_t end_number, start_number; /* and as places count */
    uint8_t sizes[MOST_ITEMS], kinds[MOST_ITEMS]; /* of what it becomes, each of at most four bytes */
    unsigned item, items;
    bool in_chars, is_sorted;
    ascii_block block;
} walk;

/* -- what a character becomes: as models/normalise/bert.c writes it ------------------------------------------------- */

static void add_item(walk *self, size_t size, unsigned kind) {
    BBPE_ASSERT(self->items < MOST_ITEMS);
    self->sizes[self->items] = (uint8_t)size;
    self->kinds[self->items++] = (uint8_t)kind;
}

static bool is_space(unsigned rules, uint32_t c, unsigned flags) {
    return rules & BBPE_BERT_BLANK ? c == ' ' || c == '\n' || c == '\r' : (flags & BBPE_CHARACTER_SPACE) != 0;
}

/* Add what becomes of a character that is decomposed, if it is to be. */
static void add_part(walk *self, uint32_t c, unsigned kind) {
    const unsigned rules = self->lengths->bert_rules;
    const bbpe_character_row *row = bbpe_character_get(c);
    const bool is_decomposed = rules & BBPE_BERT_STRIP;
    if (is_decomposed && (row->flags & BBPE_CHARACTER_NONSPACING)) return;
    if (is_space(rules, c, row->flags)) {
        add_item(self, 0, BLANK);
        return;
    }
    if ((row->flags & BBPE_CHARACTER_PUNCTUATION) && !(rules & BBPE_BERT_JOIN)) kind = WORD;
    else if (is_decomposed && (row->flags & BBPE_CHARACTER_ORDERED)) self->is_sorted = true;
    const uint32_t *text = bbpe_character_texts + row->lowered;
    if (!(rules & BBPE_BERT_LOWER) || *text == 0) add_item(self, bbpe_utf8_size(c), kind);
    else for (uint32_t i = 1; i <= *text; i++) add_item(self, bbpe_utf8_size(text[i]), kind);
}

static void add_parts(walk *self, uint32_t c, const bbpe_character_row *row, unsigned kind) {
    const uint32_t *text = bbpe_character_texts + row->decomposed;
    uint32_t jamo[3];
    if (!(self->lengths->bert_rules & BBPE_BERT_STRIP)) {
        add_part(self, c, kind);
    } else if (c - BBPE_HANGUL < BBPE_HANGUL_COUNT) {
        const unsigned count = bbpe_hangul_decompose(c - BBPE_HANGUL, jamo);
        for (unsigned i = 0; i < count; i++) add_part(self, jamo[i], kind);
    } else if (*text == 0) {
        add_part(self, c, kind);
    } else {
        for (uint32_t i = 1; i <= *text; i++) add_part(self, text[i], kind);
    }
}

static void next_character(walk *self) {
    const unsigned rules = self->lengths->bert_rules;
    self->start = self->at;
    self->start_number = self->end_number;
    self->item = self->items = 0;
    uint32_t c = bbpe_utf8_decode(self->text, self->at, self->n, &self->at);
    self->end_number += self->in_chars ? 1 : self->at - self->start;
    if (c == BBPE_UTF8_INVALID) c = REPLACEMENT;
    const bbpe_character_row *row = bbpe_character_get(c);
    if ((rules & BBPE_BERT_CLEAN) && (row->flags & BBPE_CHARACTER_DROPPED)) return;
    const bool is_apart = (rules & BBPE_BERT_APART) && (row->flags & BBPE_CHARACTER_IDEOGRAPH);
    add_parts(self, c, row, is_apart ? WORD : LETTER);
}

/* The size of what a character becomes, in a few bytes: alone for a part of a word, with IS_WORD for a word of its own; BREAKS for
 * white space, SEVERAL for all else. */
enum { IS_WORD = 8, BREAKS = 16, SEVERAL = 32 };

static uint8_t size_of(const bbpe_token_lengths *lengths, uint32_t c) {
    uint8_t text[4];
    walk walker = {.lengths = lengths, .text = text, .n = bbpe_utf8_write(text, c)};
    next_character(&walker);
    if (walker.items == 0) return 0;
    if (walker.items > 1 || walker.is_sorted || walker.at < walker.n) return SEVERAL;
    if (walker.kinds[0] == BLANK) return BREAKS;
    return (uint8_t)(walker.sizes[0] | (walker.kinds[0] == WORD ? IS_WORD : 0));
}

void bbpe_token_lengths_set_bert(bbpe_token_lengths *self, unsigned rules) {
    self->is_bert = self->bert_has_usual_ascii = true;
    self->bert_rules = rules;
    for (uint32_t c = 0; c < BBPE_BERT_SIZES; c++) self->bert_sizes[c] = size_of(self, c);
    for (uint32_t i = 0; i < BBPE_BERT_BLOCK; i++) self->bert_sizes[BBPE_BERT_SIZES + i] = size_of(self, BBPE_BERT_WIDE + i);
    for (uint32_t first = 0; first <= 0xFFFF; first += BBPE_BERT_BLOCK) {
        uint8_t *const block = self->bert_block_sizes + first / BBPE_BERT_BLOCK;
        const bbpe_character_row *row = bbpe_character_get(first);
        *block = first < BBPE_BERT_SIZES ? SEVERAL : size_of(self, first);
        for (uint32_t c = first + 1; c < first + BBPE_BERT_BLOCK && *block != SEVERAL; c++)
            if (bbpe_character_get(c) != row) *block = SEVERAL; /* of the same row, they become the same */
    }
    for (uint32_t c = 0; c < 0x7F; c++) {
        const unsigned size = self->bert_sizes[c];
        if (c <= ' ' ? size != 0 && size != BREAKS : (size & ~(unsigned)IS_WORD) != 1) self->bert_has_usual_ascii = false;
    }
}

/* -- tokens ------------------------------------------------------------------------------------------------------ */

/* Go to the next part of a word; false at the end of the text. */
static bool find_item(walk *self) {
    for (;; next_character(self)) {
        for (; self->item < self->items; self->item++)
            if (self->kinds[self->item] != BLANK) return true;
        if (self->at == self->n) return false;
    }
}

/* The number after the word that the walk is in. */
static size_t end_word(walk *self) {
    const unsigned kind = self->kinds[self->item];
    size_t end = self->end_number;
    for (;; next_character(self)) {
        for (; self->item < self->items; self->item++) {
            if (self->kinds[self->item] != kind) return end;
            end = self->end_number;
        }
        if (kind == WORD || self->at == self->n) return end;
    }
}

/* Take the next id; false when it stands for something else. */
static bool take(walk *self, uint32_t id, bbpe_place *place) {
    if (!find_item(self)) return false;
    place->start = (int64_t)self->start_number;
    size_t left = self->lengths->inside[id];
    if (left == BBPE_LENGTH_VARIES) {
        place->end = (int64_t)end_word(self);
        return true;
    }
    for (;;) {
        const size_t size = self->sizes[self->item];
        if (size > left) return false;
        self->item++;
        left -= size;
        place->end = (int64_t)self->end_number;
        if (left == 0) return true;
        if (!find_item(self)) return false;
    }
}

/* -- most tokens: what they stand for is ASCII, or characters that become one or none each --------------------------- */

/* The top bits of the bytes of a word. */
BBPE_INLINE uint64_t tops_of(uint64_t word) {
    return (word >> 7) * 0x0102040810204080u >> 56;
}

static ascii_block read_block(const uint8_t *text, size_t n, size_t at) {
    const uint64_t ones = UINT64_MAX / 255, tops = ones << 7;
    ascii_block block = {at + BLOCK - 1, 0, 0}; /* the last bits are 0: so there is always a bit that is not set */
    uint64_t others = 0;
    uint8_t copy[BLOCK];
    text += at;
    if (n - at < BLOCK) {
        memset(copy, 0x80, sizeof copy);
        text = memcpy(copy, text, n - at);
    }
    for (unsigned i = 0; i < BLOCK; i += STRIDE) {
        uint64_t word;
        memcpy(&word, text + i, STRIDE);
        const uint64_t low = word & ~tops, is_after_blank = low + ones * (0x7F - ' '), is_delete = low + ones;
        block.letters |= tops_of(is_after_blank & ~is_delete & ~word & tops) << i;
        others |= tops_of(word & tops) << i;
    }
    block.letters &= UINT64_MAX >> 1;
    block.blanks = ~(block.letters | others) & UINT64_MAX >> 1;
    return block;
}

BBPE_INLINE void skip_bytes(ascii_block *self, size_t count) {
    self->blanks = count < BLOCK ? self->blanks >> count : 0;
    self->letters = count < BLOCK ? self->letters >> count : 0;
}

/* Skip blanks, and tell whether a token of `length` bytes of ASCII, 0 if that varies, is after them. */
BBPE_INLINE bool find_ascii(const walk *self, ascii_block *block, size_t *at, size_t length) {
    for (bool is_read = false;; is_read = true) {
        const unsigned skipped = bbpe_bits_lowest(~block->blanks);
        block->blanks >>= skipped;
        block->letters >>= skipped;
        *at += skipped;
        const size_t found = bbpe_bits_lowest(~block->letters);
        if (BBPE_LIKELY(length - 1 < found)) return true;
        if (is_read || *at + found < block->end) return false;
        *block = read_block(self->text, self->n, *at);
    }
}

/* What becomes of the character at text[at], at < n; SEVERAL for those that are rare. */
BBPE_INLINE unsigned size_at(const bbpe_token_lengths *lengths, const uint8_t *text, size_t at, size_t n, size_t *next) {
    uint32_t bytes, c;
    if (text[at] < 0x80) {
        *next = at + 1;
        return lengths->bert_sizes[text[at]];
    }
    if (n - at < sizeof bytes) return SEVERAL;
    memcpy(&bytes, text + at, sizeof bytes);
    if (bbpe_utf8_begins_3byte(bytes)) {
        *next = at + 3;
        c = (bytes & 0x0F) << 12 | (bytes & 0x3F00) >> 2 | (bytes >> 16 & 0x3F);
        if (c >= BBPE_BERT_WIDE) return lengths->bert_sizes[BBPE_BERT_SIZES + c - BBPE_BERT_WIDE];
        if (c >= BBPE_BERT_SIZES) return lengths->bert_block_sizes[c / BBPE_BERT_BLOCK];
        return c < 0x800 ? SEVERAL : lengths->bert_sizes[c];
    }
    if ((bytes & 0xC0E0) != 0x80C0) return SEVERAL;
    *next = at + 2;
    c = (bytes & 0x1F) << 6 | (bytes >> 8 & 0x3F);
    return c < 0x80 ? SEVERAL : lengths->bert_sizes[c];
}

/* Where a token is: its characters have the numbers [start, number), and end before text[at]. */
typedef struct {
    size_t at, start, number;
} cursor;

/* Find the characters that a token of `length` bytes stands for, from `*here` on; the first one becomes `size` and ends before
 * text[next]. */
BBPE_INLINE bool find_characters(const walk *self, size_t length, unsigned size, size_t next, bool in_chars, cursor *here) {
    size_t at = here->at, number = here->number, left = length;
    while (size == 0 || size == BREAKS) {
        number += in_chars ? 1 : next - at;
        at = next;
        if (at == self->n) return false;
        size = size_at(self->lengths, self->text, at, self->n, &next);
    }
    const size_t start = number;
    if (size < BREAKS && size == length + IS_WORD) size = (unsigned)length; /* a word of one character */
    for (;;) {
        if (size > left || size >= IS_WORD) return false;
        number += in_chars ? 1 : next - at;
        at = next;
        left -= size;
        if (left == 0) break;
        if (at == self->n) return false;
        size = size_at(self->lengths, self->text, at, self->n, &next);
    }
    *here = (cursor){at, start, number};
    return true;
}

/* Find the word that an unknown token stands for. */
static bool find_word(const walk *self, cursor *here) {
    cursor found = {here->at, SIZE_MAX, here->number};
    size_t number = here->number, next = here->at;
    for (size_t at = here->at; at < self->n; at = next) {
        const unsigned size = size_at(self->lengths, self->text, at, self->n, &next);
        const size_t before = number;
        if (size == SEVERAL) return false;
        if (size >= IS_WORD && found.start != SIZE_MAX) break;
        number += self->in_chars ? 1 : next - at;
        if (size == 0 || size == BREAKS) continue;
        found = (cursor){next, found.start == SIZE_MAX ? before : found.start, number};
        if (size & IS_WORD) break;
    }
    if (found.start == SIZE_MAX) return false;
    *here = found;
    return true;
}

/* Take the next ids as long as this can; returns how many. */
BBPE_INLINE size_t take_most(walk *self, const uint32_t *ids, size_t count, bool in_chars, bbpe_place *places) {
    const bbpe_token_lengths *const lengths = self->lengths;
    const uint8_t *const text = self->text;
    const size_t n = self->n;
    ascii_block block = self->block;
    size_t at = self->at, number = self->end_number, i = 0;
    for (; i < count && ids[i] < lengths->id_count && at < n; i++) {
        const size_t length = lengths->extents[ids[i]].bytes;
        if (text[at] < 0x80) {
            const size_t before = at;
            const bool is_found = find_ascii(self, &block, &at, length);
            number += at - before;
            if (BBPE_LIKELY(is_found)) {
                places[i] = (bbpe_place){(int64_t)number, (int64_t)(number + length)};
                block.blanks >>= length;
                block.letters >>= length;
                at += length;
                number += length;
                continue;
            }
        }
        size_t next = at;
        const unsigned size = size_at(lengths, text, at, n, &next);
        if ((size & IS_WORD) && (length == 0 || length == (size & ~(unsigned)IS_WORD))) { /* most ideographs, unknown or not */
            const size_t after = number + (in_chars ? 1 : next - at);
            places[i] = (bbpe_place){(int64_t)number, (int64_t)after};
            skip_bytes(&block, next - at);
            at = next;
            number = after;
            continue;
        }
        cursor here = {at, 0, number};
        if (!(length > 0 ? find_characters(self, length, size, next, in_chars, &here)
                         : lengths->inside[ids[i]] == BBPE_LENGTH_VARIES && find_word(self, &here))) break;
        places[i] = (bbpe_place){(int64_t)here.start, (int64_t)here.number};
        skip_bytes(&block, here.at - at);
        at = here.at;
        number = here.number;
    }
    self->block = block;
    self->at = at;
    self->end_number = number;
    return i;
}

static size_t take_most_bytes(walk *self, const uint32_t *ids, size_t count, bbpe_place *places) {
    return take_most(self, ids, count, false, places);
}

static size_t take_most_characters(walk *self, const uint32_t *ids, size_t count, bbpe_place *places) {
    return take_most(self, ids, count, true, places);
}

bool bbpe_bert_places(const bbpe_token_lengths *lengths, const uint8_t *text, size_t n, const uint32_t *ids, size_t count,
                     bool in_chars, size_t *first, bbpe_place *places) {
    walk self = {.lengths = lengths, .text = text, .n = n, .end_number = *first, .in_chars = in_chars, };
    for (size_t i = 0; i < count; i++) {
        if (self.item == self.items && lengths->bert_has_usual_ascii) {
            i += (in_chars ? take_most_characters : take_most_bytes)(&self, ids + i, count - i, places + i);
            if (i == count) break;
        }
        const size_t before = self.at;
        if (ids[i] >= lengths->id_count || !take(&self, ids[i], places + i)) return false;
        skip_bytes(&self.block, self.at - before);
    }
    if (find_item(&self) || self.is_sorted) return false;
    *first = self.end_number;
    return true;
}
