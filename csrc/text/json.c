#include "text/json.h"

#include <float.h>

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

/* A number in decimals: `digits` times ten to the power of `exponent`. */
typedef struct {
    uint64_t digits;
    int64_t exponent;
} decimal;

static bool is_digit(const bbpe_json *self) { return self->at < self->end && *self->at >= '0' && *self->at <= '9'; }

/* Take digits, those before the point or those after it.  Where 64 bits hold no more, those before it count for their
 * number, and those after it not at all.  Returns how many there are. */
static size_t take_digits(bbpe_json *self, decimal *number, bool is_fraction) {
    const uint8_t *first = self->at;
    bool is_full = false;
    for (; is_digit(self); self->at++) {
        const uint64_t digit = (uint64_t)(*self->at - '0');
        is_full = is_full || number->digits > (UINT64_MAX - digit) / 10;
        if (!is_full) number->digits = number->digits * 10 + digit;
        number->exponent += is_full ? !is_fraction : -(int64_t)is_fraction;
    }
    return (size_t)(self->at - first);
}

/* Take what may follow "e"; false when it is no number. */
static bool take_exponent(bbpe_json *self, int64_t *exponent) {
    static const int64_t most = (int64_t)1 << 48; /* more than the digits of any text, so that these cannot make up for it */
    int64_t power = 0;
    const bool is_negative = self->at < self->end && *self->at == '-';
    if (self->at < self->end && (*self->at == '-' || *self->at == '+')) self->at++;
    const uint8_t *first = self->at;
    for (; is_digit(self); self->at++)
        if (power < most) power = power * 10 + (*self->at - '0');
    *exponent += is_negative ? -power : power;
    return self->at > first;
}

/* The value of a decimal; false when it is beyond all doubles. */
static bool scaled(const decimal *number, double *value) {
    enum { MOST = 308 };
    static const double powers[MOST + 1] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10,
        1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
        1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31, 1e32,
        1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41, 1e42, 1e43,
        1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53, 1e54,
        1e55, 1e56, 1e57, 1e58, 1e59, 1e60, 1e61, 1e62, 1e63, 1e64, 1e65,
        1e66, 1e67, 1e68, 1e69, 1e70, 1e71, 1e72, 1e73, 1e74, 1e75, 1e76,
        1e77, 1e78, 1e79, 1e80, 1e81, 1e82, 1e83, 1e84, 1e85, 1e86, 1e87,
        1e88, 1e89, 1e90, 1e91, 1e92, 1e93, 1e94, 1e95, 1e96, 1e97, 1e98,
        1e99, 1e100, 1e101, 1e102, 1e103, 1e104, 1e105, 1e106, 1e107, 1e108, 1e109,
        1e110, 1e111, 1e112, 1e113, 1e114, 1e115, 1e116, 1e117, 1e118, 1e119, 1e120,
        1e121, 1e122, 1e123, 1e124, 1e125, 1e126, 1e127, 1e128, 1e129, 1e130, 1e131,
        1e132, 1e133, 1e134, 1e135, 1e136, 1e137, 1e138, 1e139, 1e140, 1e141, 1e142,
        1e143, 1e144, 1e145, 1e146, 1e147, 1e148, 1e149, 1e150, 1e151, 1e152, 1e153,
        1e154, 1e155, 1e156, 1e157, 1e158, 1e159, 1e160, 1e161, 1e162, 1e163, 1e164,
        1e165, 1e166, 1e167, 1e168, 1e169, 1e170, 1e171, 1e172, 1e173, 1e174, 1e175,
        1e176, 1e177, 1e178, 1e179, 1e180, 1e181, 1e182, 1e183, 1e184, 1e185, 1e186,
        1e187, 1e188, 1e189, 1e190, 1e191, 1e192, 1e193, 1e194, 1e195, 1e196, 1e197,
        1e198, 1e199, 1e200, 1e201, 1e202, 1e203, 1e204, 1e205, 1e206, 1e207, 1e208,
        1e209, 1e210, 1e211, 1e212, 1e213, 1e214, 1e215, 1e216, 1e217, 1e218, 1e219,
        1e220, 1e221, 1e222, 1e223, 1e224, 1e225, 1e226, 1e227, 1e228, 1e229, 1e230,
        1e231, 1e232, 1e233, 1e234, 1e235, 1e236, 1e237, 1e238, 1e239, 1e240, 1e241,
        1e242, 1e243, 1e244, 1e245, 1e246, 1e247, 1e248, 1e249, 1e250, 1e251, 1e252,
        1e253, 1e254, 1e255, 1e256, 1e257, 1e258, 1e259, 1e260, 1e261, 1e262, 1e263,
        1e264, 1e265, 1e266, 1e267, 1e268, 1e269, 1e270, 1e271, 1e272, 1e273, 1e274,
        1e275, 1e276, 1e277, 1e278, 1e279, 1e280, 1e281, 1e282, 1e283, 1e284, 1e285,
        1e286, 1e287, 1e288, 1e289, 1e290, 1e291, 1e292, 1e293, 1e294, 1e295, 1e296,
        1e297, 1e298, 1e299, 1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307,
        1e308,
    };
    int64_t exponent = number->exponent;
    *value = (double)number->digits;
    if (*value == 0) return true;
    if (exponent > MOST) return false;
    for (; exponent < -MOST && *value > 0; exponent += MOST) *value /= powers[MOST];
    if (exponent >= 0) *value *= powers[exponent];
    else if (*value > 0) *value /= powers[-exponent];
    return *value <= DBL_MAX;
}

bool bbpe_json_take_double(bbpe_json *self, double *number) {
    decimal found = {0, 0};
    skip_blanks(self);
    const bool is_negative = self->at < self->end && *self->at == '-';
    if (is_negative) self->at++;
    const uint8_t *first = self->at;
    const size_t whole = take_digits(self, &found, false);
    if (whole == 0 || (*first == '0' && whole > 1)) return false;
    if (self->at < self->end && *self->at == '.') {
        self->at++;
        if (take_digits(self, &found, true) == 0) return false;
    }
    if (self->at < self->end && (*self->at | 0x20) == 'e') {
        self->at++;
        if (!take_exponent(self, &found.exponent)) return false;
    }
    if (!scaled(&found, number)) return false;
    if (is_negative && *number > 0) *number = -*number;
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
