/* An instruction set against the scalar loop, for every scheme: exits with 1 when they differ.
 *
 *     split_driver avx2|avx512|neon ROUNDS [EVERY]
 *
 * Exits with 3 where that instruction set is missing.
 *
 * Cases: every two pieces at every place of a block behind three of nine fillers, or one of EVERY such texts; then ROUNDS
 * seeded soups and as many repetitions, each with the rows of the scheme table and with schemes that are no row.  A text lies
 * in memory of exactly its size, which AddressSanitizer guards, or right before a page that cannot be read, which guards it
 * wherever this runs. */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "memory/memory.h"
#include "split/split.h"

enum { LONGEST = 4096, BLOCK = 64, AHEAD = 72, MOST_WAYS = 64 };

/* one of each class of text/uclass_table.h, and whatever clauses name */
static const char *const PIECES[] = {
    "x",    "X",    "\xd7\x90", "\xcc\x81", "1",         " ",    "\n",   "\r", "\t",  "!",  "'",  "/",  "\x01",
    "中",   "㐀",   "〇",       "⺀",        "\U00016ff0", "あ",  "\u3099", "・", "\u3040", "가", "\xc3\xa9", "Я", "½",
    "\u3000", "😀", "𝟘",      "'s",       "'Ll",       "'ſ",   "1234", "  ",   "。",  "\xff", "\xe4\xb8", "\xc2", "龦", "ー",
    "❤\ufe0f", "\U0001e944", "\xf0\x9f\x98",
};
static const char *const FILLERS[] = {"x", "X", " ", "!", "\n", "1", "'", "é", "中"};
/* what soups are made of: words, white space, line ends, numbers, punctuation, scripts, broken bytes */
static const char *const SOUPS[][12] = {
    {"the", " of", "and", "x", " I", "Zz", "camelCase", "HTTPServer", "eta", "it's", "I'LL", "we've"},
    {"'s", "'T", "'re", "'VE", "'m", "'", "''d", "'ſ", "x'", "'re're", "\"'", "'l"},
    {" ", "  ", "   ", "\t", "\xc2\xa0", "\u3000", "\n", "\r\n", "\n\n", " \n", "\n ", "  \r\n\t"},
    {"0", "7", "12", "123", "1234", "1234567", "½", "٣٤٥٦", "３", "Ⅷ", "〇", "𝟘𝟙𝟚"},
    {"!", ".", ",", "...", "/", "//", "*/\n", "();", "_", "…", "。", "«"},
    {"中", "文字", "漢字中文", "龥", "龦", "㐀", "𠀀𠀁", "々", "〆", "䷀", "\U00016ff0", "⺀"},
    {"あ", "ひらがな", "カタカナ", "ー", "・", "ゞ", "゛", "\u3099", "か\u3099", "゠", "\u3040", "한국어"},
    {"ACGTACGTACGTACGT", "A", "ÀÉ", "b", "ª", "\u0301", "中", "'s", "ǅ", "Ω", " ", "\n"},
    {"я", "слово", "СЛОВО", "Ё", "ѐ", "Ѡ", "ñandú", "ÀÉ", "ß", "×", "ǅ", "ʰ"},
    {"ĸ", "ň", "Ň", "ŉ", "Ÿ", "ź", "Ž", "ſ", "ơ", "Ư", "ư", "đ"},
    {"ạ", "Ạ", "ỹ", "ỿ", "ẗ", "ẛ", "ẞ", "Ḁ", "ḁ", "ẖ", "Ƣ", "ẜ"},
    {"\u0301", "e\u0301", "नमस्ते", "\ufe0f", "😀", "👩\u200d👩", "€", "\u200b", "\x01", "\x7f", "\ue000", "ª"},
    {"\xff", "\x80", "\xc3", "\xe4\xb8", "\xf0\x9f\x98", "\xed\xa0\x80", "\xc0\xaf", "\xf4\x90\x80\x80", "\xd0", "\xe3\x81", "a", " "},
    {"❤\ufe0f", "😀", " 👍🏿", "\ufe0f", "!", " !", "/", "\n", "a", "\U0001e944", "«", " "},
    {"🏳\ufe0f\u200d🌈", "𝒳", "𝟙", "\U0001e944", "𐐀", "𐐨", "\U0010ffff", "\xf0\x8f\xbf\xbf", "\xf5\x80\x80\x80", "👩🏽\u200d🚀", " ", "e"},
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct {
    bbpe_scheme scheme;
    char name[24];
    bbpe_split_fill truth, fill;
    bool failed;
} way;

typedef struct {
    uint64_t random, texts, every;
    size_t way_count;
    way ways[MOST_WAYS];
    uint8_t *guard; /* the page that cannot be read */
} driver;

static uint64_t next_random(driver *self, uint64_t below) {
    self->random ^= self->random << 13;
    self->random ^= self->random >> 7;
    self->random ^= self->random << 17;
    return (self->random >> 11) % below;
}

/* Show how a way differs; it is left out from then on. */
static void fail(way *w, const uint8_t *text, size_t n, size_t start, size_t got, size_t expected) {
    fprintf(stderr, "%s: text of %zu bytes, block from %zu: got %zu, expected %zu\n  \"", w->name, n, start, got, expected);
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, text[i] >= ' ' && text[i] < 0x7F && text[i] != '\\' ? "%c" : "\\x%02x", text[i]);
    fputs("\"\n", stderr);
    w->failed = true;
}

/* Cut all of a text with calls of `limit` places each, and hold every end against the truth. */
static void compare(way *w, const uint8_t *text, size_t n, const size_t *truth, size_t limit) {
    size_t *ends = bbpe_memory_new(limit, sizeof *ends), start = 0, done = 0;
    bool wide;
    if (ends == NULL) exit(2);
    while (start < n && !w->failed) {
        wide = false;
        const size_t from = start, count = w->fill(&w->scheme, text, start, n, ends, limit, &wide);
        const bool good = count > 0 && count <= limit;
        if (!good || (!wide && bbpe_utf8_has_3byte(text + start, ends[count - 1] - start)))
            fail(w, text, n, from, count, limit);
        for (size_t k = 0; k < count && !w->failed; k++, done++) {
            if (ends[k] != truth[done]) fail(w, text, n, from, ends[k], truth[done]);
            start = ends[k];
        }
    }
    bbpe_memory_free(ends);
}

static void check(driver *self, const uint8_t *bytes, size_t n) {
    static size_t truth[LONGEST];
    uint8_t *exact = bbpe_memory_new(n, 1), *guarded = self->guard - n;
    bool wide = false;
    if (exact == NULL) exit(2);
    memcpy(exact, bytes, n);
    memcpy(guarded, bytes, n);
    for (size_t k = 0; k < self->way_count; k++) {
        way *w = self->ways + k;
        const uint8_t *text = (k + self->texts) % 2 ? exact : guarded;
        if (w->failed) continue;
        for (size_t start = 0, count = 0; start < n; start = truth[count - 1])
            count += w->truth(&w->scheme, text, start, n, truth + count, LONGEST - count, &wide);
        compare(w, text, n, truth, BLOCK + next_random(self, next_random(self, 2) ? 90 : 500));
    }
    bbpe_memory_free(exact);
    self->texts++;
}

static size_t append(uint8_t *text, size_t n, const char *piece) {
    const size_t length = strlen(piece);
    if (n + length > LONGEST) return n;
    memcpy(text + n, piece, length);
    return n + length;
}

static void check_pairs(driver *self) {
    uint8_t text[LONGEST];
    uint64_t made = 0;
    for (size_t pair = 0; pair < COUNT(PIECES) * COUNT(PIECES); pair++)
        for (size_t f = pair % 3; f < COUNT(FILLERS); f += 3)
            for (size_t fill = 0; fill <= BLOCK / strlen(FILLERS[f]); fill++) {
                if (made++ % self->every) continue;
                const char *behind = (pair + fill) % 2 ? FILLERS[f] : "x and y";
                size_t n = 0;
                for (size_t k = 0; k < fill; k++) n = append(text, n, FILLERS[f]);
                n = append(text, append(text, n, PIECES[pair / COUNT(PIECES)]), PIECES[pair % COUNT(PIECES)]);
                for (const size_t end = n + AHEAD; n < end;) n = append(text, n, behind);
                check(self, text, n);
            }
}

static void check_soup(driver *self) {
    uint8_t text[LONGEST];
    const char *const *kinds[5];
    const size_t kind_count = 1 + next_random(self, COUNT(kinds));
    const size_t length = 1 + next_random(self, next_random(self, 4) ? 400 : LONGEST);
    size_t n = 0;
    for (size_t k = 0; k < kind_count; k++) kinds[k] = SOUPS[next_random(self, COUNT(SOUPS))];
    for (size_t fill = next_random(self, 2) * next_random(self, BLOCK); fill--;) n = append(text, n, "x");
    while (n < length) {
        const char *const *kind = kinds[next_random(self, kind_count)];
        const char *piece = next_random(self, 60) ? kind[next_random(self, COUNT(*SOUPS))]
                                                  : PIECES[next_random(self, COUNT(PIECES))];
        for (size_t times = next_random(self, 40) ? 1 : 1 + next_random(self, 80); times--;) n = append(text, n, piece);
    }
    for (size_t flips = next_random(self, 8) ? 0 : next_random(self, 4); flips--;)
        text[next_random(self, n)] = (uint8_t)next_random(self, 256);
    check(self, text, next_random(self, 2) ? length : n);
}

/* One to three pieces many times over, with others before them and after them: a step of the truth may begin late there. */
static void check_repeated(driver *self) {
    uint8_t text[LONGEST];
    const char *unit[3], *const *kind = SOUPS[next_random(self, COUNT(SOUPS))];
    const size_t pieces = 1 + next_random(self, COUNT(unit)), length = next_random(self, next_random(self, 4) ? 300 : 2000);
    size_t n = 0;
    for (size_t k = 0; k < pieces; k++)
        unit[k] = next_random(self, 2) ? PIECES[next_random(self, COUNT(PIECES))] : kind[next_random(self, COUNT(*SOUPS))];
    for (size_t before = next_random(self, 3); before--;)
        n = append(text, n, next_random(self, 3) ? PIECES[next_random(self, COUNT(PIECES))] : " ");
    for (size_t k = 0; n < length; k++) n = append(text, n, unit[k % pieces]);
    for (size_t after = next_random(self, 6); after--;)
        n = append(text, n, next_random(self, 3) ? PIECES[next_random(self, COUNT(PIECES))] : unit[0]);
    if (n > 0) check(self, text, n);
}

/* Words of one length, then of another, up to where two stretches are split in turn: one may be dense, or at its end. */
static void check_stretches(driver *self) {
    uint8_t text[LONGEST];
    const size_t turn = next_random(self, 1200), length = 1 + turn + next_random(self, 1200);
    const size_t most = next_random(self, 2) ? 3 : 62, longest[2] = {next_random(self, most), next_random(self, most)};
    const char *between = next_random(self, 2) ? " " : next_random(self, 2) ? "." : "      \n";
    size_t n = 0;
    while (n < length) {
        for (size_t letters = next_random(self, 4) ? longest[n > turn] : 1; letters--;) n = append(text, n, "a");
        const char *other = next_random(self, 6) ? " b" : PIECES[next_random(self, COUNT(PIECES))];
        n = append(text, n, next_random(self, 6) ? between : other);
    }
    check(self, text, length);
}

static bool add_way(driver *self, const bbpe_scheme *scheme, const char *name, bbpe_isa isa) {
    way *w = self->ways + self->way_count++;
    w->scheme = *scheme;
    snprintf(w->name, sizeof w->name, "%s", name);
    w->truth = bbpe_split_select(scheme, BBPE_ISA_SCALAR);
    w->fill = bbpe_split_select(scheme, isa);
    return w->fill != NULL;
}

/* The rows of the table, and for each row one that is in no table, so that it is read at run time, and one by lines. */
static bool add_ways(driver *self, bbpe_isa isa) {
    const bbpe_scheme *row;
    const char *name;
    for (size_t k = 0; (row = bbpe_split_row(k, &name)) != NULL && self->way_count + 3 <= MOST_WAYS; k++) {
        char changed[24];
        bbpe_scheme other = *row, lines = *row;
        lines.by_line = 1;
        other.number_max += 4;
        snprintf(changed, sizeof changed, "%s, numbers to %u", name, (unsigned)other.number_max);
        if (!add_way(self, row, name, isa) || !add_way(self, &other, changed, isa)) return false;
        snprintf(changed, sizeof changed, "%s by lines", name);
        if (!add_way(self, &lines, changed, isa)) return false;
    }
    return true;
}

/* Memory for the longest text, and behind it a page that cannot be read. */
static uint8_t *guard_page(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = LONGEST < page ? page : (size_t)LONGEST / page * page + page;
    uint8_t *pages = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED || mprotect(pages + size, page, PROT_NONE)) exit(2);
    return pages + size;
}

int main(int argc, char **argv) {
    static const char *const names[] = {"auto", "scalar", "avx2", "avx512", "neon"};
    static driver self = {.random = 0x9E3779B97F4A7C15u};
    const long every = argc == 4 ? atol(argv[3]) : 1;
    size_t isa = 1;
    while (argc >= 3 && isa < COUNT(names) && strcmp(argv[1], names[isa])) isa++;
    if (argc < 3 || argc > 4 || isa == COUNT(names) || every < 1) {
        fputs("usage: split_driver scalar|avx2|avx512|neon ROUNDS [EVERY]\n", stderr);
        return 2;
    }
    if (!add_ways(&self, (bbpe_isa)isa)) {
        fprintf(stderr, "this machine, or this build, lacks %s\n", argv[1]);
        return 3;
    }
    self.guard = guard_page();
    self.every = (uint64_t)every;
    check_pairs(&self);
    for (long rounds = atol(argv[2]); rounds > 0; rounds--) {
        check_soup(&self);
        check_repeated(&self);
        if (rounds % 4 == 0) check_stretches(&self);
    }
    size_t failed = 0;
    for (size_t k = 0; k < self.way_count; k++) failed += self.ways[k].failed;
    printf("%s: %llu texts, %zu schemes, %zu of them differ\n", argv[1], (unsigned long long)self.texts,
           self.way_count, failed);
    return failed != 0;
}
