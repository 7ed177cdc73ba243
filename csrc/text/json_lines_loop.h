/* The reader of json_lines.h.
 *
 * Includer: defines the name of the function, BBPE_JSON_LINES_SELECT, and
 *
 *     size_t BBPE_JSON_LINES_BLOCK(const uint8_t *text, size_t left, size_t *plain)
 *
 * which looks at the first bytes of text and returns how many, 0 when it leaves them to the code here; of these the first
 * `*plain` ones are ASCII without controls, quotes and backslashes; and
 *
 *     size_t BBPE_JSON_LINES_CHARACTERS(const uint8_t *text, size_t left, bool *are_wide)
 *
 * which looks at the first 64 bytes, of which there are no fewer, and returns how many at their beginning are whole characters
 * without such signs, 0 when it leaves them to the code here; `*are_wide` says whether any is no ASCII. */
#include "base/utf8.h"
#include "text/json_lines.h"

enum { JSON_LINES_DEPTH = 64, JSON_LINES_DIGITS = 1000, JSON_LINES_REPLACEMENT = 0xFFFD };

static const struct {
    const char *word;
    size_t length;
} json_words[] = {{"true", 4}, {"false", 5}, {"null", 4}, {"NaN", 3}, {"Infinity", 8}, {"-Infinity", 9}};

/* The value of a hexadecimal digit, plus one; 0 for other bytes. */
#define JSON_DIGITS(first, value) \
    [first] = value, [first + 1] = value + 1, [first + 2] = value + 2, [first + 3] = value + 3, [first + 4] = value + 4, \
    [first + 5] = value + 5
static const uint8_t json_digits[256] = {
    JSON_DIGITS('0', 1), ['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10, JSON_DIGITS('a', 11), JSON_DIGITS('A', 11)};
static const uint8_t json_signs[256] = {['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n',
                                        ['r'] = '\r', ['t'] = '\t'};

BBPE_INLINE const uint8_t *json_after_blanks(const uint8_t *at, const uint8_t *end) {
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\r')) at++;
    return at;
}

BBPE_INLINE bool json_is_at(const uint8_t *at, const uint8_t *end, uint8_t sign) {
    return at < end && *at == sign;
}

/* The number of the four digits of \u that are at `at`; above 0xFFFF when they are none. */
BBPE_INLINE uint32_t json_code_unit(const uint8_t *at, const uint8_t *end) {
    if (end - at < 4) return UINT32_MAX;
    const uint32_t a = json_digits[at[0]], b = json_digits[at[1]], c = json_digits[at[2]], d = json_digits[at[3]];
    if (!a || !b || !c || !d) return UINT32_MAX;
    return (a - 1) << 12 | (b - 1) << 8 | (c - 1) << 4 | (d - 1);
}

/* A string that is being read: `at` is where reading is, `out` where writing is.  What is only moved past has no `out`, and
 * `writes` is false, which is known when this is compiled. */
typedef struct {
    const uint8_t *at;
    uint8_t *out;
    bool has_half; /* an unpaired surrogate, which was written as U+FFFD */
} json_string;

/* Move past the ASCII that needs no look at each byte. */
BBPE_INLINE void json_move_plain(json_string *self, const uint8_t *end, bool writes) {
    size_t plain, looked;
    while ((looked = BBPE_JSON_LINES_BLOCK(self->at, (size_t)(end - self->at), &plain))) {
        if (writes) {
            memcpy(self->out, self->at, looked);
            self->out += plain;
        }
        self->at += plain;
        if (plain < looked) return;
    }
    while (self->at < end && *self->at >= ' ' && *self->at < 0x80 && *self->at != '"' && *self->at != '\\') {
        if (writes) *self->out++ = *self->at;
        self->at++;
    }
}

/* Move past characters, the first of them of several bytes; false when bytes are not UTF-8. */
BBPE_INLINE bool json_move_wide(json_string *self, const uint8_t *end, bool writes) {
    bool are_wide = true;
    size_t whole;
    while (are_wide && (whole = BBPE_JSON_LINES_CHARACTERS(self->at, (size_t)(end - self->at), &are_wide))) {
        if (writes) {
            memcpy(self->out, self->at, 64);
            self->out += whole;
        }
        self->at += whole;
    }
    while (self->at < end && *self->at >= 0x80) {
        uint32_t bytes;
        size_t size;
        if (BBPE_LIKELY(end - self->at >= 4)) {
            memcpy(&bytes, self->at, 4);
            if (writes) memcpy(self->out, &bytes, 4);
            /* three bytes that are neither overlong nor a surrogate */
            const uint32_t head = bytes & 0x200F;
            if (bbpe_utf8_begins_3byte(bytes) && head != 0 && head != 0x200D) {
                self->at += 3;
                if (writes) self->out += 3;
                continue;
            }
        }
        if (bbpe_utf8_decode(self->at, 0, (size_t)(end - self->at), &size) == BBPE_UTF8_INVALID) return false;
        if (writes) {
            for (size_t i = 0; i < size; i++) self->out[i] = self->at[i];
            self->out += size;
        }
        self->at += size;
    }
    return true;
}

/* Move past escapes in a row; false when one is none. */
BBPE_INLINE bool json_move_escapes(json_string *self, const uint8_t *end, bool writes) {
    while (json_is_at(self->at, end, '\\')) {
        uint32_t code;
        if (end - self->at < 2) return false;
        if (self->at[1] != 'u') {
            const uint8_t sign = json_signs[self->at[1]];
            if (!sign) return false;
            if (writes) *self->out++ = sign;
            self->at += 2;
            continue;
        }
        code = json_code_unit(self->at + 2, end);
        if (code > 0xFFFF) return false;
        self->at += 6;
        if (BBPE_UNLIKELY((code & 0xF800) == 0xD800)) {
            uint32_t low = UINT32_MAX;
            if (code < 0xDC00 && end - self->at >= 2 && self->at[0] == '\\' && self->at[1] == 'u')
                low = json_code_unit(self->at + 2, end);
            if ((low & 0xFFFFFC00) == 0xDC00) {
                code = 0x10000 + ((code & 0x3FF) << 10 | (low & 0x3FF));
                self->at += 6;
            } else {
                code = JSON_LINES_REPLACEMENT;
                self->has_half = true;
            }
        }
        if (writes && code - 0x800 < 0xF800) {
            /* three bytes, as nearly all that is escaped: one more is overwritten, where the escape had six */
            const uint32_t bytes = 0x8080E0 | code >> 12 | (code >> 6 & 0x3F) << 8 | (code & 0x3F) << 16;
            memcpy(self->out, &bytes, 4);
            self->out += 3;
        } else if (writes) {
            self->out += bbpe_utf8_write(self->out, code);
        }
    }
    return true;
}

/* Read a string, at whose first character `at` is, to the one after its second quote, and write it; false when it is none. */
BBPE_INLINE bool json_take_string(json_string *self, const uint8_t *end, bool writes) {
    for (;;) {
        json_move_plain(self, end, writes);
        if (self->at == end) return false;
        if (*self->at == '"') {
            self->at++;
            return true;
        }
        if (*self->at == '\\') {
            if (!json_move_escapes(self, end, writes)) return false;
        } else if (*self->at < 0x80 || !json_move_wide(self, end, writes)) {
            return false;
        }
    }
}

static BBPE_NOINLINE const uint8_t *json_after_string(const uint8_t *at, const uint8_t *end) {
    json_string string = {at, NULL, false};
    return json_take_string(&string, end, false) ? string.at : NULL;
}

BBPE_INLINE const uint8_t *json_after_digits(const uint8_t *at, const uint8_t *end) {
    const uint8_t *first = at;
    while (at < end && *at >= '0' && *at <= '9') at++;
    return at > first && at - first < JSON_LINES_DIGITS ? at : NULL;
}

/* After a number or a word; NULL when there is none. */
static const uint8_t *json_after_plain_value(const uint8_t *at, const uint8_t *end) {
    const bool is_word = *at > '9' || (end - at > 1 && at[1] == 'I');
    for (size_t i = 0; is_word && i < sizeof json_words / sizeof *json_words; i++)
        if ((size_t)(end - at) >= json_words[i].length && memcmp(at, json_words[i].word, json_words[i].length) == 0)
            return at + json_words[i].length;
    if (json_is_at(at, end, '-')) at++;
    const bool is_zero = json_is_at(at, end, '0');
    at = is_zero ? at + 1 : json_after_digits(at, end);
    if (at != NULL && json_is_at(at, end, '.')) at = json_after_digits(at + 1, end);
    if (at != NULL && at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-')) at++;
        at = json_after_digits(at, end);
    }
    return at;
}

/* After the name of a member and its colon. */
static const uint8_t *json_after_name(const uint8_t *at, const uint8_t *end) {
    at = json_after_blanks(at, end);
    if (!json_is_at(at, end, '"')) return NULL;
    at = json_after_string(at + 1, end);
    if (at == NULL) return NULL;
    at = json_after_blanks(at, end);
    return json_is_at(at, end, ':') ? at + 1 : NULL;
}

/* After any value, at which or at blanks before which `at` is; NULL when there is none. */
static const uint8_t *json_after_value(const uint8_t *at, const uint8_t *end) {
    uint64_t objects = 0; /* the lowest bit: what is open is an object */
    size_t depth = 0;
    for (;;) {
        at = json_after_blanks(at, end);
        if (at == end) return NULL;
        const uint8_t sign = *at;
        bool is_empty = false;
        if (sign == '{' || sign == '[') {
            if (depth++ == JSON_LINES_DEPTH) return NULL;
            objects = objects << 1 | (sign == '{');
            at = json_after_blanks(at + 1, end);
            is_empty = json_is_at(at, end, sign == '{' ? '}' : ']');
            if (!is_empty && sign == '{') at = json_after_name(at, end);
            if (at == NULL) return NULL;
            if (!is_empty) continue;
        } else {
            at = sign == '"' ? json_after_string(at + 1, end) : json_after_plain_value(at, end);
            if (at == NULL) return NULL;
        }
        /* after a value: what is open goes on, or ends */
        while (depth > 0) {
            at = json_after_blanks(at, end);
            if (!json_is_at(at, end, objects & 1 ? '}' : ']')) break;
            at++;
            depth--;
            objects >>= 1;
        }
        if (depth == 0) return at;
        if (!json_is_at(at, end, ',')) return NULL;
        at++;
        if (objects & 1) at = json_after_name(at, end);
        if (at == NULL) return NULL;
    }
}

typedef enum { JSON_ABSENT, JSON_NULL, JSON_TEXT, JSON_OTHER } json_found;

/* Take the name of a member and its colon; whether it is the field. */
BBPE_INLINE bool json_take_name(const bbpe_json_lines *self, const uint8_t **at, const uint8_t *end, uint8_t *room,
                                bool *is_field) {
    const uint8_t *start = json_after_blanks(*at, end);
    json_string name = {start + 1, room, false};
    if (!json_is_at(start, end, '"') || !json_take_string(&name, end, true) || name.has_half) return false;
    *is_field = (size_t)(name.out - room) == self->field_length && memcmp(room, self->field, self->field_length) == 0;
    *at = json_after_blanks(name.at, end);
    return json_is_at((*at)++, end, ':');
}

/* After the object of a line, from its bracket on; NULL when it is left to the caller.  Its text is written to the end of the
 * others, `*length` bytes. */
BBPE_INLINE const uint8_t *json_take_record(const bbpe_json_lines *self, const uint8_t *at, const uint8_t *end,
                                            json_found *found, size_t *length) {
    uint8_t *out = self->texts + self->used;
    *found = JSON_ABSENT;
    *length = 0;
    at = json_after_blanks(at + 1, end);
    if (json_is_at(at, end, '}')) return at + 1;
    for (;;) {
        bool is_field = false;
        /* names are written after the text that there may be */
        if (!json_take_name(self, &at, end, out + *length, &is_field)) return NULL;
        at = json_after_blanks(at, end);
        if (!is_field) {
            at = json_after_value(at, end);
        } else if (json_is_at(at, end, '"')) {
            json_string text = {at + 1, out, false};
            if (!json_take_string(&text, end, true)) return NULL;
            at = text.at;
            *length = (size_t)(text.out - out);
            *found = JSON_TEXT;
        } else {
            *found = json_is_at(at, end, 'n') ? JSON_NULL : JSON_OTHER;
            *length = 0;
            at = json_after_value(at, end);
        }
        if (at == NULL) return NULL;
        at = json_after_blanks(at, end);
        if (json_is_at(at, end, '}')) return at + 1;
        if (!json_is_at(at++, end, ',')) return NULL;
    }
}

/* What is known of the places of a record: the first one with a value, if any, and whether another one is null. */
typedef struct {
    size_t first;
    bool is_text, has_null;
    size_t length;
} json_choice;

/* Take the value of a member that is the end of the place `leaf`, if that is one, or is on the way to others.  NULL as below. */
BBPE_INLINE const uint8_t *json_take_choice(const bbpe_json_lines *self, const uint8_t *at, const uint8_t *end, size_t leaf,
                                            json_choice *choice) {
    const bool is_better = leaf < choice->first;
    if (json_is_at(at, end, 'n')) {
        choice->has_null = true;
    } else if (is_better) {
        choice->first = leaf;
        choice->length = 0;
        choice->is_text = json_is_at(at, end, '"');
        if (choice->is_text) {
            json_string text = {at + 1, self->texts + self->used, false};
            if (!json_take_string(&text, end, true)) return NULL;
            choice->length = (size_t)(text.out - (self->texts + self->used));
            return text.at;
        }
    }
    return json_after_value(at, end);
}

/* After an object, from its bracket on, `level` names of each of the `active` places lead to; NULL when the line is left to the
 * caller. */
static const uint8_t *json_take_places(const bbpe_json_lines *self, const uint8_t *at, const uint8_t *end, size_t level,
                                       uint64_t active, json_choice *choice) {
    uint64_t seen = 0;
    at = json_after_blanks(at + 1, end);
    if (json_is_at(at, end, '}')) return at + 1;
    for (;;) {
        uint8_t *room = self->texts + self->used + choice->length;
        uint64_t deeper = 0;
        size_t leaf = self->place_count;
        json_string name = {json_after_blanks(at, end) + 1, room, false};
        if (!json_is_at(name.at - 1, end, '"') || !json_take_string(&name, end, true) || name.has_half) return NULL;
        for (uint64_t left = active; left; left &= left - 1) {
            const size_t index = bbpe_bits_lowest(left);
            const bbpe_json_place *place = &self->places[index];
            const bbpe_json_name *wanted = &place->names[level];
            if ((size_t)(name.out - room) != wanted->length || memcmp(room, wanted->text, wanted->length) != 0) continue;
            if (seen >> index & 1) return NULL;
            seen |= (uint64_t)1 << index;
            if (level + 1 < place->count)
                deeper |= (uint64_t)1 << index;
            else if (leaf == self->place_count)
                leaf = index;
        }
        at = json_after_blanks(name.at, end);
        if (!json_is_at(at, end, ':')) return NULL;
        at = json_after_blanks(at + 1, end);
        if (deeper && json_is_at(at, end, '{')) {
            if (leaf < choice->first) {
                choice->first = leaf;
                choice->is_text = false;
                choice->length = 0;
            }
            at = json_take_places(self, at, end, level + 1, deeper, choice);
        } else if (deeper || leaf < self->place_count) {
            at = json_take_choice(self, at, end, leaf, choice);
        } else {
            at = json_after_value(at, end);
        }
        if (at == NULL) return NULL;
        at = json_after_blanks(at, end);
        if (json_is_at(at, end, '}')) return at + 1;
        if (!json_is_at(at++, end, ',')) return NULL;
    }
}

/* As json_take_record, by places. */
static const uint8_t *json_take_placed_record(const bbpe_json_lines *self, const uint8_t *at, const uint8_t *end,
                                              json_found *found, size_t *length) {
    json_choice choice = {self->place_count, false, false, 0};
    at = json_take_places(self, at, end, 0, ~(uint64_t)0 >> (64 - self->place_count), &choice);
    if (choice.first < self->place_count)
        *found = choice.is_text ? JSON_TEXT : JSON_OTHER;
    else
        *found = choice.has_null ? JSON_NULL : JSON_ABSENT;
    *length = choice.length;
    return at;
}

size_t BBPE_JSON_LINES_SELECT(bbpe_json_lines *self, const uint8_t *text, size_t start, size_t n) {
    const uint8_t *at = text + start, *end = text + n;
    while (at < end) {
        json_found found;
        size_t length;
        const uint8_t *line = at;
        at = json_after_blanks(at, end);
        while (at < end && (*at == '\v' || *at == '\f')) at = json_after_blanks(at + 1, end);
        const bool is_blank = at == end || *at == '\n';
        if (!is_blank) {
            /* a line that does not begin with its object is left to the caller: blanks of other kinds may come first */
            at = json_after_blanks(line, end);
            if (!json_is_at(at, end, '{')) return (size_t)(line - text);
            at = self->place_count ? json_take_placed_record(self, at, end, &found, &length)
                                   : json_take_record(self, at, end, &found, &length);
            if (at == NULL || found == JSON_ABSENT || found == JSON_OTHER) return (size_t)(line - text);
            at = json_after_blanks(at, end);
            if (at < end && *at != '\n') return (size_t)(line - text);
            if (found == JSON_TEXT) {
                self->used += length;
                self->ends[self->count] = (int64_t)self->used;
                self->records[self->count++] = (int64_t)self->record_count;
            } else {
                self->null_count++;
            }
            self->record_count++;
        }
        self->line_count++;
        if (at < end) at++;
    }
    return n;
}
