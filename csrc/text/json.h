/* JSON (RFC 8259), as far as readers of vocabularies need it: a cursor over UTF-8 that takes what it expects and refuses
 * anything else.
 *
 * What it takes, Python's `json` takes too, and to the same value.  It takes less: no half of a surrogate pair, and whole
 * numbers only as they are usually written.  A reader that is refused leaves the text to a slower one, which explains. */
#ifndef BBPE_TEXT_JSON_H
#define BBPE_TEXT_JSON_H

#include "base/common.h"

typedef struct {
    const uint8_t *at, *end;
} bbpe_json;

/* A string in its source, between the quotes. */
typedef struct {
    const uint8_t *start;
    size_t length;
    bool has_escapes;
} bbpe_json_text;

/* Take a sign, such as a bracket, after blanks; false when the next one is another. */
bool bbpe_json_take(bbpe_json *self, uint8_t sign);
/* Take a string after blanks. */
bool bbpe_json_take_text(bbpe_json *self, bbpe_json_text *text);
/* Take a whole number of up to `most`, without a sign, after blanks. */
bool bbpe_json_take_number(bbpe_json *self, uint32_t most, uint32_t *number);
/* Take a number after blanks as serde_json reads one, which does not round correctly: the digits, as far as 64 bits hold them,
 * become a double, which is multiplied or divided by a power of ten.  False beyond all doubles; never -0. */
bool bbpe_json_take_double(bbpe_json *self, double *number);
/* Take nothing but blanks up to the end. */
bool bbpe_json_take_end(bbpe_json *self);
/* Write the characters of a string; `out` has room for `text->length` bytes.  Returns how many bytes it is. */
size_t bbpe_json_unescape(const bbpe_json_text *text, uint8_t *out);

/* A member of the object that a text is, or of an object that is such a member: `outer`, or `inner` of `outer`. */
typedef struct {
    const char *outer, *inner; /* names as they are written, without escapes; `inner` may be NULL */
    size_t start, end;         /* where its value begins and ends; 0 and 0 where there is none */
} bbpe_json_member;

/* Find members, the last of several of one name.  Values are only followed to their ends, so what is found in a text that is
 * not JSON means nothing.  False when the text is no object to its end. */
bool bbpe_json_find(const uint8_t *text, size_t n, bbpe_json_member *members, size_t count);

#endif
