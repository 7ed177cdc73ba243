#include "models/vocab/key_file.h"

#include "memory/memory.h"
#include "text/text.h"

/* Memory for a key that is not in the source as it is. */
typedef struct {
    uint8_t *bytes;
    size_t capacity;
} scratch;

/* The characters of a string: in its source, or in memory that has room for them at `offset`; NULL without memory. */
static const uint8_t *characters_of(const bbpe_json_text *text, scratch *memory, size_t offset, size_t *length) {
    *length = text->length;
    if (!text->has_escapes) return text->start;
    if (!bbpe_memory_grow(&memory->bytes, &memory->capacity, offset + text->length, 1)) return NULL;
    *length = bbpe_json_unescape(text, memory->bytes + offset);
    return memory->bytes + offset;
}

/* Add a key and its id, at which the cursor is; false when the two are unusual or not new. */
static bool add_key(bbpe_json *json, bbpe_vocab *keys, scratch *memory, bbpe_status *status) {
    bbpe_json_text text;
    uint32_t id, found;
    size_t length;
    if (!bbpe_json_take_text(json, &text) || !bbpe_json_take(json, ':')
        || !bbpe_json_take_number(json, BBPE_VOCAB_MAX_ID, &id))
        return false;
    const uint8_t *bytes = characters_of(&text, memory, 0, &length);
    const size_t count = keys->tokens.count;
    *status = bytes == NULL ? BBPE_NO_MEMORY : bbpe_vocab_add(keys, id, bytes, length, &found);
    return *status == BBPE_OK && keys->tokens.count > count;
}

bbpe_status bbpe_keys_read(const uint8_t *text, size_t n, bbpe_vocab *keys, bool *is_usual) {
    bbpe_json json = {text, text + n};
    scratch memory = {0};
    const size_t most = n / 5 + 1; /* a key takes five bytes or more: "":0, */
    size_t commas = 1;
    for (size_t i = 0; i < n; i++) commas += text[i] == ',';
    *is_usual = false;
    bbpe_status status = bbpe_vocab_reserve(keys, commas < most ? commas : most, n);
    if (status != BBPE_OK) return status;
    bool follows = bbpe_json_take(&json, '{');
    if (follows && !bbpe_json_take(&json, '}')) {
        do follows = add_key(&json, keys, &memory, &status);
        while (follows && bbpe_json_take(&json, ','));
        follows = follows && bbpe_json_take(&json, '}');
    }
    bbpe_memory_free(memory.bytes);
    if (status == BBPE_OK && follows && bbpe_json_take_end(&json)) {
        status = bbpe_vocab_index(keys);
        *is_usual = status == BBPE_OK && keys->is_unique;
    }
    return status;
}

/* A merge as its file has it. */
typedef struct {
    bbpe_pretoken_string left, right;
} key_pair;

static bool is_made_of(const bbpe_vocab *keys, size_t number, const key_pair *pair, size_t skipped) {
    if (number >= keys->tokens.count) return false;
    const bbpe_pretoken_entry *entry = keys->tokens.entries + number;
    const uint8_t *bytes = keys->tokens.arena + entry->start;
    const size_t rest = pair->right.n - skipped;
    return entry->length == pair->left.n + rest && memcmp(bytes, pair->left.bytes, pair->left.n) == 0
           && memcmp(bytes + pair->left.n, pair->right.bytes + skipped, rest) == 0;
}

enum { PAIRS = BBPE_PRETOKEN_FIND_MANY / 2 }; /* merges that are looked up together */

/* A reader of merges.  Most results are the one before or the next one, which saves looking up every third key. */
typedef struct {
    bbpe_merge_keys names;
    bbpe_merge_list *list;
    bbpe_pretoken_string waiting[2 * PAIRS]; /* keys in the source, two of each merge, that are looked up together */
    size_t count;                            /* of these merges */
    size_t guess; /* the number of the last result */
    scratch memory, joined;
    bbpe_status status;
} merge_reader;

static const bbpe_pretoken_entry *find_made(merge_reader *self, const key_pair *pair) {
    const bbpe_pretoken_table *tokens = &self->names.keys->tokens;
    const size_t skipped = self->names.prefix_length, rest = pair->right.n - skipped, length = pair->left.n + rest;
    for (size_t i = 0; i < 2; i++)
        if (is_made_of(self->names.keys, self->guess + i, pair, skipped)) {
            self->guess += i;
            return tokens->entries + self->guess;
        }
    if (!bbpe_memory_grow(&self->joined.bytes, &self->joined.capacity, length, 1)) {
        self->status = BBPE_NO_MEMORY;
        return NULL;
    }
    memcpy(self->joined.bytes, pair->left.bytes, pair->left.n);
    memcpy(self->joined.bytes + pair->left.n, pair->right.bytes + skipped, rest);
    const bbpe_pretoken_entry *made = bbpe_pretoken_table_find(tokens, self->joined.bytes, length);
    if (made != NULL) self->guess = (size_t)(made - tokens->entries);
    return made;
}

/* Whether both keys are there, and the second one begins with the prefix and goes on. */
static bool is_pair(const merge_reader *self, const key_pair *pair) {
    const size_t skipped = self->names.prefix_length;
    if (pair->left.n == 0 || pair->right.n == 0) return false;
    return skipped == 0 || (pair->right.n > skipped && memcmp(pair->right.bytes, self->names.prefix, skipped) == 0);
}

/* Add merges of two keys each; false when one is unusual. */
static bool add_merges(merge_reader *self, const bbpe_pretoken_string *keys, size_t count) {
    const bbpe_pretoken_entry *entries[2 * PAIRS];
    bbpe_pretoken_table_find_many(&self->names.keys->tokens, keys, 2 * count, entries);
    self->status = bbpe_merge_list_reserve(self->list, count);
    for (size_t i = 0; i < count && self->status == BBPE_OK; i++) {
        const key_pair pair = {keys[2 * i], keys[2 * i + 1]};
        const bbpe_pretoken_entry *left = entries[2 * i], *right = entries[2 * i + 1];
        const bbpe_pretoken_entry *made = is_pair(self, &pair) ? find_made(self, &pair) : NULL;
        if (left == NULL || right == NULL || made == NULL) return false;
        const bbpe_merge merge = {(uint32_t)left->value, (uint32_t)right->value, (uint32_t)made->value};
        bbpe_merge_list_add(self->list, merge);
    }
    return self->status == BBPE_OK;
}

/* Add the merges that wait. */
static bool add_waiting(merge_reader *self) {
    const size_t count = self->count;
    self->count = 0;
    return add_merges(self, self->waiting, count);
}

/* Add a merge that stays where it is, at once or later. */
static bool add_later(merge_reader *self, key_pair pair) {
    self->waiting[2 * self->count] = pair.left;
    self->waiting[2 * self->count + 1] = pair.right;
    return ++self->count < PAIRS || add_waiting(self);
}

/* The two keys of a text, which has one blank between them. */
static bool split_keys(const uint8_t *text, size_t n, key_pair *pair) {
    const uint8_t *blank = n ? memchr(text, ' ', n) : NULL;
    if (blank == NULL) return false;
    const size_t length = (size_t)(blank - text);
    *pair = (key_pair){{text, length}, {blank + 1, n - length - 1}};
    return memchr(blank + 1, ' ', pair->right.n) == NULL;
}

/* Take one text with both keys, or a list of two; `*moves` when they are in memory that the next one needs. */
static bool take_pair(bbpe_json *json, merge_reader *self, key_pair *pair, bool *moves) {
    bbpe_json_text left, right;
    if (!bbpe_json_take(json, '[')) {
        size_t length;
        if (!bbpe_json_take_text(json, &left)) return false;
        const uint8_t *text = characters_of(&left, &self->memory, 0, &length);
        if (text == NULL) self->status = BBPE_NO_MEMORY;
        *moves = left.has_escapes;
        return text != NULL && split_keys(text, length, pair);
    }
    if (!bbpe_json_take_text(json, &left) || !bbpe_json_take(json, ',') || !bbpe_json_take_text(json, &right)
        || !bbpe_json_take(json, ']'))
        return false;
    *moves = left.has_escapes || right.has_escapes;
    /* room for both first, because the memory of the first one must not move */
    if (*moves && !bbpe_memory_grow(&self->memory.bytes, &self->memory.capacity, left.length + right.length, 1)) {
        self->status = BBPE_NO_MEMORY;
        return false;
    }
    pair->left.bytes = characters_of(&left, &self->memory, 0, &pair->left.n);
    pair->right.bytes = characters_of(&right, &self->memory, left.length, &pair->right.n);
    return true;
}

/* Take the merge at which the cursor is. */
static bool take_merge(bbpe_json *json, merge_reader *self) {
    key_pair pair;
    bool moves;
    if (!take_pair(json, self, &pair, &moves)) return false;
    if (!moves) return add_later(self, pair);
    const bbpe_pretoken_string keys[] = {pair.left, pair.right};
    return add_waiting(self) && add_merges(self, keys, 1);
}

/* Close a list whose text was followed to its end. */
static bbpe_status finish_merges(merge_reader *self, bool follows, bool *is_usual) {
    follows = follows && add_waiting(self);
    bbpe_memory_free(self->memory.bytes);
    bbpe_memory_free(self->joined.bytes);
    if (self->status == BBPE_OK && follows)
        self->status = bbpe_merge_list_drop_repeated(self->list, self->names.keys->id_count);
    if (self->status == BBPE_OK) bbpe_merge_list_trim(self->list);
    *is_usual = self->status == BBPE_OK && follows;
    return self->status;
}

bbpe_status bbpe_merges_read_json(const uint8_t *text, size_t n, bbpe_merge_keys names, bbpe_merge_list *list,
                                  bool *is_usual) {
    bbpe_json json = {text, text + n};
    merge_reader self = {.names = names, .list = list};
    bool follows = bbpe_json_take(&json, '[');
    if (follows && !bbpe_json_take(&json, ']')) {
        do follows = take_merge(&json, &self);
        while (follows && bbpe_json_take(&json, ','));
        follows = follows && bbpe_json_take(&json, ']');
    }
    return finish_merges(&self, follows && bbpe_json_take_end(&json), is_usual);
}

bbpe_status bbpe_merges_read_lines(const uint8_t *text, size_t n, bbpe_merge_keys names, bbpe_merge_list *list,
                                   bool *is_usual) {
    merge_reader self = {.names = names, .list = list};
    bool follows = true;
    for (size_t start = 0, end; start < n && follows; start = end + 1) {
        const uint8_t *line = text + start, *stop = memchr(line, '\n', n - start);
        key_pair pair;
        end = stop == NULL ? n : (size_t)(stop - text);
        const size_t length = end - start - (end > start && text[end - 1] == '\r');
        follows = split_keys(line, length, &pair) && add_later(&self, pair);
    }
    return finish_merges(&self, follows, is_usual);
}

/* The byte of a character of GPT-2's alphabet: a printable one of Latin-1 is its own character, the others are from U+0100 on
 * in order; above 0xFF when it is none. */
static uint32_t byte_of(uint32_t c) {
    if ((c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xFF && c != 0xAD)) return c;
    if (c < 0x100) return UINT32_MAX;
    if (c <= 0x120) return c - 0x100; /* 0x00 to 0x20 */
    if (c <= 0x142) return c - 0x121 + 0x7F; /* 0x7F to 0xA0 */
    return c == 0x143 ? 0xAD : UINT32_MAX;
}

/* How a key becomes a token: write its bytes, at most as many as the key has; false when it cannot be one. */
typedef bool (*key_writer)(const uint8_t *key, size_t n, uint8_t *out, size_t *length);

static bool write_bytes(const uint8_t *key, size_t n, uint8_t *out, size_t *length) {
    *length = 0;
    for (size_t i = 0, next; i < n; i = next) {
        const uint32_t byte = byte_of(bbpe_utf8_decode(key, i, n, &next));
        if (byte > 0xFF) return false;
        out[(*length)++] = (uint8_t)byte;
    }
    return true;
}

static bool write_text(const uint8_t *key, size_t n, uint8_t *out, size_t *length) {
    for (size_t i = 0, next; i < n; i = next)
        if (bbpe_utf8_decode(key, i, n, &next) == BBPE_UTF8_INVALID) return false;
    memcpy(out, key, n);
    *length = n;
    return n > 0;
}

static bool write_unmarked(const uint8_t *key, size_t n, uint8_t *out, size_t *length) {
    *length = 0;
    for (size_t i = 0, next; i < n; i = next) {
        const uint32_t c = bbpe_utf8_decode(key, i, n, &next);
        if (c == BBPE_UTF8_INVALID) return false;
        *length += bbpe_utf8_write(out + *length, c == 0x2581 ? ' ' : c);
    }
    return n > 0;
}

static bbpe_status write_keys(const bbpe_vocab *keys, const uint8_t *left_out, key_writer write, bbpe_vocab *tokens,
                              bool *is_usual) {
    const bbpe_pretoken_table *table = &keys->tokens;
    size_t longest = 0;
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].length > longest) longest = table->entries[i].length;
    uint8_t *bytes = bbpe_memory_new(longest, 1);
    bbpe_status status = bytes == NULL ? BBPE_NO_MEMORY : bbpe_vocab_reserve(tokens, table->count, table->arena_used);
    *is_usual = true;
    for (size_t i = 0; i < table->count && *is_usual && status == BBPE_OK; i++) {
        const bbpe_pretoken_entry *entry = table->entries + i;
        const size_t count = tokens->tokens.count;
        size_t length;
        uint32_t found;
        if (left_out[entry->value]) continue;
        *is_usual = write(table->arena + entry->start, entry->length, bytes, &length);
        if (*is_usual) status = bbpe_vocab_add(tokens, (uint32_t)entry->value, bytes, length, &found);
        if (status == BBPE_OK && tokens->tokens.count == count) *is_usual = false;
    }
    bbpe_memory_free(bytes);
    return status == BBPE_OK && *is_usual ? bbpe_vocab_index(tokens) : status;
}

bbpe_status bbpe_keys_to_bytes(const bbpe_vocab *keys, const uint8_t *left_out, bbpe_vocab *tokens, bool *is_usual) {
    return write_keys(keys, left_out, write_bytes, tokens, is_usual);
}

bbpe_status bbpe_keys_to_texts(const bbpe_vocab *keys, const uint8_t *left_out, bool marks_blanks, bbpe_vocab *tokens,
                               bool *is_usual) {
    return write_keys(keys, left_out, marks_blanks ? write_unmarked : write_text, tokens, is_usual);
}
