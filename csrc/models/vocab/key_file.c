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
    size_t commas = 1;
    for (size_t i = 0; i < n; i++) commas += text[i] == ',';
    *is_usual = false;
    bbpe_status status = bbpe_vocab_reserve(keys, commas, n);
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
    const uint8_t *left, *right;
    size_t left_length, right_length;
} key_pair;

static bool is_made_of(const bbpe_vocab *keys, size_t number, const key_pair *pair, size_t skipped) {
    if (number >= keys->tokens.count) return false;
    const bbpe_pretoken_entry *entry = keys->tokens.entries + number;
    const uint8_t *bytes = keys->tokens.arena + entry->start;
    const size_t rest = pair->right_length - skipped;
    return entry->length == pair->left_length + rest && memcmp(bytes, pair->left, pair->left_length) == 0
           && memcmp(bytes + pair->left_length, pair->right + skipped, rest) == 0;
}

/* A reader of merges.  Most results are the one before or the next one, which saves looking up every third key. */
typedef struct {
    bbpe_merge_keys names;
    bbpe_merge_list *list;
    size_t guess; /* the number of the last result */
    scratch memory, joined;
    bbpe_status status;
} merge_reader;

static const bbpe_pretoken_entry *find_made(merge_reader *self, const key_pair *pair, size_t skipped) {
    const bbpe_pretoken_table *tokens = &self->names.keys->tokens;
    const size_t rest = pair->right_length - skipped, length = pair->left_length + rest;
    for (size_t i = 0; i < 2; i++)
        if (is_made_of(self->names.keys, self->guess + i, pair, skipped)) {
            self->guess += i;
            return tokens->entries + self->guess;
        }
    if (!bbpe_memory_grow(&self->joined.bytes, &self->joined.capacity, length, 1)) {
        self->status = BBPE_NO_MEMORY;
        return NULL;
    }
    memcpy(self->joined.bytes, pair->left, pair->left_length);
    memcpy(self->joined.bytes + pair->left_length, pair->right + skipped, rest);
    const bbpe_pretoken_entry *made = bbpe_pretoken_table_find(tokens, self->joined.bytes, length);
    if (made != NULL) self->guess = (size_t)(made - tokens->entries);
    return made;
}

/* Add a merge; false when it is unusual. */
static bool add_merge(merge_reader *self, const key_pair *pair) {
    const bbpe_merge_keys *names = &self->names;
    const bbpe_pretoken_table *tokens = &names->keys->tokens;
    const size_t skipped = names->prefix_length;
    if (pair->left_length == 0 || pair->right_length == 0) return false;
    if (skipped && (pair->right_length <= skipped || memcmp(pair->right, names->prefix, skipped) != 0)) return false;
    const bbpe_pretoken_entry *made = find_made(self, pair, skipped);
    if (made == NULL) return false;
    const bbpe_pretoken_entry *left = bbpe_pretoken_table_find(tokens, pair->left, pair->left_length);
    const bbpe_pretoken_entry *right = bbpe_pretoken_table_find(tokens, pair->right, pair->right_length);
    if (left == NULL || right == NULL) return false;
    self->status = bbpe_merge_list_reserve(self->list, 1);
    if (self->status != BBPE_OK) return false;
    bbpe_merge_list_add(self->list, (bbpe_merge){(uint32_t)left->value, (uint32_t)right->value, (uint32_t)made->value});
    return true;
}

/* The two keys of a text, which has one blank between them. */
static bool split_keys(const uint8_t *text, size_t n, key_pair *pair) {
    const uint8_t *blank = n ? memchr(text, ' ', n) : NULL;
    if (blank == NULL) return false;
    const size_t length = (size_t)(blank - text);
    *pair = (key_pair){text, blank + 1, length, n - length - 1};
    return memchr(blank + 1, ' ', pair->right_length) == NULL;
}

/* Take the merge at which the cursor is. */
static bool take_merge(bbpe_json *json, merge_reader *self, key_pair *pair) {
    bbpe_json_text left, right;
    if (!bbpe_json_take(json, '[')) {
        size_t length;
        if (!bbpe_json_take_text(json, &left)) return false;
        const uint8_t *text = characters_of(&left, &self->memory, 0, &length);
        if (text == NULL) self->status = BBPE_NO_MEMORY;
        return text != NULL && split_keys(text, length, pair);
    }
    if (!bbpe_json_take_text(json, &left) || !bbpe_json_take(json, ',') || !bbpe_json_take_text(json, &right)
        || !bbpe_json_take(json, ']'))
        return false;
    /* room for both first, because the memory of the first one must not move */
    if (!bbpe_memory_grow(&self->memory.bytes, &self->memory.capacity, left.length + right.length, 1)) {
        self->status = BBPE_NO_MEMORY;
        return false;
    }
    pair->left = characters_of(&left, &self->memory, 0, &pair->left_length);
    pair->right = characters_of(&right, &self->memory, left.length, &pair->right_length);
    return true;
}

/* Close a list whose text was followed to its end. */
static bbpe_status finish_merges(merge_reader *self, bool follows, bool *is_usual) {
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
        do {
            key_pair pair;
            follows = take_merge(&json, &self, &pair) && add_merge(&self, &pair);
        } while (follows && bbpe_json_take(&json, ','));
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
        follows = split_keys(line, length, &pair) && add_merge(&self, &pair);
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
