#include "text/json.h"

#include "base/utf8.h"

static bool is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static void skip_blanks(bbpe_json *self) {
    while (self->at < self->end && is_blank(*self->at)) self->at++;
}

bool bbpe_json_take(bbpe_json *self, uint8_t sign) {
    skip_blanks(self);
    if (self->at == self->end || *self->at != sign) return false;
    self->at++;
    return true;
}

bool bbpe_json_take_end(bbpe_json *self) {
    skip_blanks(self);
    return self->at == self->end;
}

/* The four digits of an escape; above 0xFFFF when they are none. */
static uint32_t code_unit(const uint8_t *at, const uint8_t *end) {
    uint32_t code = 0;
    if (end - at < 4) return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        const uint8_t digit = at[i], letter = digit | 0x20;
        if (digit >= '0' && digit <= '9') code = code << 4 | (uint32_t)(digit - '0');
        else if (letter >= 'a' && letter <= 'f') code = code << 4 | (uint32_t)(letter - 'a' + 10);
        else return UINT32_MAX;
    }
    return code;
}

/* The code point that \u begins, after which `at` is, and how many bytes it takes; above 0x10FFFF when it is none, as half
 * of a pair is. */
static uint32_t escaped_point(const uint8_t *at, const uint8_t *end, size_t *size) {
    const uint32_t high = code_unit(at, end);
    *size = 4;
    if (high > 0xFFFF || (high & 0xFC00) == 0xDC00) return UINT32_MAX;
    if ((high & 0xFC00) != 0xD800) return high;
    if (end - at < 10 || at[4] != '\\' || at[5] != 'u') return UINT32_MAX;
    const uint32_t low = code_unit(at + 6, end);
    if (low > 0xFFFF || (low & 0xFC00) != 0xDC00) return UINT32_MAX;
    *size = 10;
    return 0x10000 + ((high & 0x3FF) << 10 | (low & 0x3FF));
}

/* The character that a backslash and this one are; 0 when they are none, or \u. */
static uint8_t escaped_sign(uint8_t sign) {
    switch (sign) {
    case '"':
    case '\\':
    case '/': return sign;
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return 0;
    }
}

/* Move past an escape, at whose backslash `at` is; false when it is none. */
static bool skip_escape(const uint8_t **at, const uint8_t *end) {
    size_t size = 0;
    if (end - *at < 2) return false;
    if ((*at)[1] == 'u' ? escaped_point(*at + 2, end, &size) > 0x10FFFF : !escaped_sign((*at)[1])) return false;
    *at += 2 + size;
    return true;
}

bool bbpe_json_take_text(bbpe_json *self, bbpe_json_text *text) {
    if (!bbpe_json_take(self, '"')) return false;
    const uint8_t *at = self->at, *end = self->end;
    *text = (bbpe_json_text){.start = at};
    while (at < end && *at != '"') {
        if (*at == '\\') {
            text->has_escapes = true;
            if (!skip_escape(&at, end)) return false;
        } else if (*at < 0x80) {
            if (*at++ < ' ') return false;
        } else {
            size_t next;
            if (bbpe_utf8_decode(at, 0, (size_t)(end - at), &next) == BBPE_UTF8_INVALID) return false;
            at += next;
        }
    }
    if (at == end) return false;
    text->length = (size_t)(at - text->start);
    self->at = at + 1;
    return true;
}

size_t bbpe_json_unescape(const bbpe_json_text *text, uint8_t *out) {
    const uint8_t *at = text->start, *end = at + text->length;
    uint8_t *next = out;
    while (at < end) {
        size_t size;
        if (*at != '\\') {
            *next++ = *at++;
        } else if (at[1] == 'u') {
            next += bbpe_utf8_write(next, escaped_point(at + 2, end, &size));
            at += 2 + size;
        } else {
            *next++ = escaped_sign(at[1]);
            at += 2;
        }
    }
    return (size_t)(next - out);
}

bool bbpe_json_take_number(bbpe_json *self, uint32_t most, uint32_t *number) {
    skip_blanks(self);
    const uint8_t *first = self->at;
    uint64_t value = 0;
    for (; self->at < self->end && *self->at >= '0' && *self->at <= '9'; self->at++) {
        value = value * 10 + (uint64_t)(*self->at - '0');
        if (value > most) return false;
    }
    const size_t digits = (size_t)(self->at - first);
    if (digits == 0 || (*first == '0' && digits > 1)) return false;
    /* a fraction or an exponent makes it another number */
    if (self->at < self->end && (*self->at == '.' || (*self->at | 0x20) == 'e')) return false;
    *number = (uint32_t)value;
    return true;
}

/* Move past a string, after whose first quote `at` is. */
static const uint8_t *after_text(const uint8_t *at, const uint8_t *end) {
    while (at < end && *at != '"') at += *at == '\\' && end - at > 1 ? 2 : 1;
    return at < end ? at + 1 : end;
}

/* Move past a value, or to where one ends that is not finished. */
static void skip_value(bbpe_json *self) {
    size_t depth = 0;
    skip_blanks(self);
    while (self->at < self->end) {
        const uint8_t sign = *self->at;
        if (depth == 0 && (sign == ',' || sign == '}' || sign == ']' || is_blank(sign))) return;
        self->at++;
        if (sign == '"') self->at = after_text(self->at, self->end);
        else if (sign == '{' || sign == '[') depth++;
        else if (sign == '}' || sign == ']') depth--;
        if (depth == 0 && (sign == '"' || sign == '}' || sign == ']')) return;
    }
}

static bool is_name(const uint8_t *start, const uint8_t *end, const char *name) {
    const size_t n = strlen(name);
    return (size_t)(end - start) == n && memcmp(start, name, n) == 0;
}

/* Take the name of a member; [*start, *end) is without its quotes. */
static bool take_name(bbpe_json *self, const uint8_t **start, const uint8_t **end) {
    if (!bbpe_json_take(self, '"')) return false;
    *start = self->at;
    self->at = after_text(self->at, self->end);
    *end = self->at - 1;
    return *end >= *start && bbpe_json_take(self, ':');
}

/* Find the members inside of `outer`, or the outer ones where that is NULL, in an object after whose bracket the cursor is;
 * it ends after the other bracket. */
static bool find_in(bbpe_json *self, const uint8_t *text, const char *outer, bbpe_json_member *members, size_t count) {
    if (bbpe_json_take(self, '}')) return true;
    do {
        const uint8_t *start, *end;
        const char *within = NULL;
        if (!take_name(self, &start, &end)) return false;
        skip_blanks(self);
        const size_t value = (size_t)(self->at - text);
        for (size_t i = 0; i < count && outer == NULL; i++)
            if (members[i].inner != NULL && is_name(start, end, members[i].outer)) within = members[i].outer;
        if (within != NULL && bbpe_json_take(self, '{')) {
            if (!find_in(self, text, within, members, count)) return false;
        } else {
            skip_value(self);
        }
        for (size_t i = 0; i < count; i++) {
            const char *name = members[i].inner == NULL ? members[i].outer : members[i].inner;
            const bool is_here = members[i].inner == NULL ? outer == NULL : outer && strcmp(outer, members[i].outer) == 0;
            if (!is_here || !is_name(start, end, name)) continue;
            members[i].start = value;
            members[i].end = (size_t)(self->at - text);
        }
    } while (bbpe_json_take(self, ','));
    return bbpe_json_take(self, '}');
}

bool bbpe_json_find(const uint8_t *text, size_t n, bbpe_json_member *members, size_t count) {
    bbpe_json self = {text, text + n};
    for (size_t i = 0; i < count; i++) members[i].start = members[i].end = 0;
    return bbpe_json_take(&self, '{') && find_in(&self, text, NULL, members, count) && bbpe_json_take_end(&self);
}
