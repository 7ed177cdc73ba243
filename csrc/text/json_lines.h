/* One string of each line of JSON: the member `field` of the object that a line is, or the one at the first of some places.
 *
 * A line is read as Python's `json.loads` reads it, the last of several members of one name included.  A line that it might
 * refuse, or that is rare (bytes that are not UTF-8, objects within 64 others, a number of a thousand digits), is left to the
 * caller, who has the message.  2.5 GB/s of English on one core of a Zen 4, escapes included. */
#ifndef BBPE_TEXT_JSON_LINES_H
#define BBPE_TEXT_JSON_LINES_H

#include "base/common.h"

/* Room for the texts of so many bytes of lines: the shortest line that has one is {"":""}. */
#define BBPE_JSON_LINES_TEXTS(bytes) ((bytes) / 8 + 1)

/* The most places, and the most names of one. */
enum { BBPE_JSON_LINES_PLACES = 64, BBPE_JSON_LINES_NAMES = 16 };

typedef struct {
    const uint8_t *text; /* UTF-8 */
    size_t length;
} bbpe_json_name;

/* Where a string may be: the name of a member of the object that a line is, that of a member of this member, and so on. */
typedef struct {
    const bbpe_json_name *names;
    size_t count;
} bbpe_json_place;

typedef struct {
    const uint8_t *field; /* UTF-8 */
    size_t field_length;
    /* with places, there is no field: the first one counts whose value is not null, and lines in which a name on the way to
     * one comes twice are left to the caller */
    const bbpe_json_place *places;
    size_t place_count;
    /* where the texts go, one after another, with room for as many bytes as the lines have: where each ends, and the number
     * of its record, which is the number of lines before it that are not blank */
    uint8_t *texts;
    int64_t *ends, *records;
    size_t used, count;                    /* bytes of texts, texts */
    size_t line_count, record_count, null_count; /* lines, those that are not blank, and those of them whose text is null */
} bbpe_json_lines;

/* Read lines of text[at, n), which ends after a line, and add what they have to the fields above.  Returns n, or where a line
 * begins that is left to the caller; it is not counted. */
typedef size_t bbpe_json_lines_function(bbpe_json_lines *self, const uint8_t *text, size_t at, size_t n);
bbpe_json_lines_function bbpe_json_lines_read;
typedef bbpe_json_lines_function *bbpe_json_lines_reader;

/* The instruction sets of this machine and their names, slowest first, for tests: NULL after the last one. */
bbpe_json_lines_reader bbpe_json_lines_variant(size_t index, const char **name);

bbpe_json_lines_function bbpe_json_lines_scalar, bbpe_json_lines_avx2, bbpe_json_lines_neon;

#endif
