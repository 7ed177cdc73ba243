#include "pipeline/place_trims.h"

#include "text/text.h"

enum { LONGEST = 4, BYTE_MARK = 0x120 }; /* GPT-2's alphabet writes a blank so */

static bool is_blank(uint32_t c) {
    return c == BYTE_MARK || (c != BBPE_UTF8_INVALID && (bbpe_character_get(c)->flags & BBPE_CHARACTER_SPACE));
}

/* Where the character begins that ends at text[i], i > 0. */
static size_t character_before(const uint8_t *text, size_t i, size_t n) {
    size_t next;
    for (size_t length = 2; length <= LONGEST && length <= i; length++)
        if (bbpe_utf8_decode(text, i - length, n, &next) != BBPE_UTF8_INVALID && next == i) return i - length;
    return i - 1;
}

/* The end of the character that a place is within; the place itself if it is between two. */
static size_t round_up(const uint8_t *text, size_t i, size_t n) {
    size_t next;
    for (size_t length = 1; length < LONGEST && length <= i; length++)
        if (bbpe_utf8_decode(text, i - length, n, &next) != BBPE_UTF8_INVALID && next > i) return next;
    return i;
}

bbpe_token_blanks bbpe_token_blanks_of(const uint8_t *token, size_t n) {
    bbpe_token_blanks found = {0, 0};
    size_t next;
    for (size_t i = 0; i < n && is_blank(bbpe_utf8_decode(token, i, n, &next)); i = next) found.leading++;
    while (n > 0) {
        const size_t before = character_before(token, n, n);
        if (!is_blank(bbpe_utf8_decode(token, before, n, &next))) break;
        found.trailing++;
        n = before;
    }
    return found;
}

static bbpe_place trim_start(const uint8_t *text, size_t n, uint32_t count, bbpe_place place) {
    size_t start = (size_t)place.start;
    const size_t end = (size_t)place.end;
    for (; count > 0 && start < end; count--) (void)bbpe_utf8_decode(text, start, n, &start);
    if (start < end) return (bbpe_place){(int64_t)start, place.end};
    start = round_up(text, end, n); /* a place of a part of a character has the whole one */
    return (bbpe_place){(int64_t)start, (int64_t)start};
}

static bbpe_place trim_end(const uint8_t *text, size_t n, uint32_t count, bbpe_place place) {
    size_t end = round_up(text, (size_t)place.end, n);
    for (; count > 0; count--) {
        if (end == 0) return place; /* the text before it has not as many characters */
        end = character_before(text, end, n);
    }
    return (bbpe_place){place.start, (int64_t)end > place.start ? (int64_t)end : place.start};
}

bbpe_place bbpe_place_trim(const bbpe_place_trims *self, const uint8_t *text, size_t n, bbpe_token_blanks blanks,
                              bool is_first, bbpe_place place) {
    for (size_t pass = 0; pass < self->pass_count; pass++) {
        const bool keeps = self->keeps_first[pass] && blanks.leading == 1 && (is_first || place.start == 0);
        if (blanks.leading > 0 && !keeps) place = trim_start(text, n, blanks.leading, place);
        if (blanks.trailing > 0) place = trim_end(text, n, blanks.trailing, place);
    }
    return place;
}
