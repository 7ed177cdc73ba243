"""The WordPiece model in C (csrc/models/wordpiece/wordpiece.h), made of a vocabulary."""
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from bbpe.core.budget cimport SALT
from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_models cimport (
    BBPE_BERT_BLANK, BBPE_BERT_GROWTH, BBPE_BERT_JOIN, BBPE_WORDPIECE_BEGIN, BBPE_WORDPIECE_CONTINUE,
    BBPE_WORDPIECE_NONE, bbpe_bert_split, bbpe_bert_words, bbpe_model_of_wordpiece, bbpe_model_scratch,
    bbpe_model_scratch_free, bbpe_model_scratch_reserve, bbpe_wordpiece_add, bbpe_wordpiece_encode,
    bbpe_wordpiece_finalize, bbpe_wordpiece_free, bbpe_wordpiece_init, bbpe_wordpiece_visit,
)
from bbpe.core.c_tables cimport bbpe_image, bbpe_pretoken_entry
from bbpe.core.image cimport image_begin, image_end, image_measured, image_of
from bbpe.core.model cimport Model
from bbpe.core.status cimport check, had
from bbpe.core.token_table cimport TokenTable


# stub: class _BertRules(Protocol):
# stub:     @property
# stub:     def clean_text(self) -> bool: ...
# stub:     @property
# stub:     def cjk_apart(self) -> bool: ...
# stub:     @property
# stub:     def strip_accents(self) -> bool: ...
# stub:     @property
# stub:     def lowercase(self) -> bool: ...


def bert_words(bert: _BertRules, bytes text not None, bint joins=False, bint blanks=False) -> list[bytes]:
    """The words of a text by a `BertNormalizer` and the `BertPreTokenizer`, as a list of bytes.

    With `joins` words end at white space alone; with `blanks` that is blanks and line ends.
    """
    cdef bbpe_bert_words words
    cdef const uint8_t *data = text
    cdef size_t n = len(text), start = 0, i
    found = []
    words.ends = <size_t *>bbpe_memory_new(n, sizeof(size_t))
    words.bytes = <uint8_t *>bbpe_memory_new(n, BBPE_BERT_GROWTH)
    try:
        if words.ends == NULL or words.bytes == NULL:
            raise MemoryError("bbpe could not allocate memory")
        bbpe_bert_split(
            rules_of(bert) | (BBPE_BERT_JOIN if joins else 0) | (BBPE_BERT_BLANK if blanks else 0), data, n, &words)
        for i in range(words.count):
            found.append(words.bytes[start:words.ends[i]])
            start = words.ends[i]
        return found
    finally:
        bbpe_memory_free(words.ends)
        bbpe_memory_free(words.bytes)


def counted_words(
    counts: Iterable[tuple[bytes, int]], bert: _BertRules, bint joins, bint blanks=False
) -> dict[str, int]:
    """The words of counted texts, pairs of bytes and a number, and how often each occurs: a dict of str to int, in order
    of first appearance.  `bert`, `joins` and `blanks` as in `bert_words`."""
    cdef bbpe_bert_words words
    cdef bbpe_model_scratch scratch
    cdef const uint8_t *data
    cdef size_t n, start, i
    cdef unsigned rules = rules_of(bert) | (BBPE_BERT_JOIN if joins else 0) | (BBPE_BERT_BLANK if blanks else 0)
    cdef dict found = {}
    memset(&scratch, 0, sizeof(scratch))
    try:
        for text, count in counts:
            data, n, start = <bytes>text, len(<bytes>text), 0
            words.ends = <size_t *>had(bbpe_model_scratch_reserve(&scratch, n, sizeof(size_t) + BBPE_BERT_GROWTH))
            words.bytes = <uint8_t *>(words.ends + n)
            bbpe_bert_split(rules, data, n, &words)
            for i in range(words.count):
                word = PyUnicode_DecodeUTF8(
                    <const char *>words.bytes + start, <Py_ssize_t>(words.ends[i] - start), NULL)
                found[word] = found.get(word, 0) + count
                start = words.ends[i]
    finally:
        bbpe_model_scratch_free(&scratch)
    return found


cdef class WordPiece(Model):
    """Tokens of words; immutable, shared by any number of threads.

    `vocab` maps ids to UTF-8, that of tokens that continue a word with `prefix` in front.  Any token may begin a word
    as it is written, as HF's `tokenizers` looks them up; with no `prefix` none continues one.  A word that does not match
    is `unknown`, or left out with None.  `bert`: pretokens are text that this `BertNormalizer` and
    the `BertPreTokenizer` are still to be applied to; none: they are words.
    `image`: what `image()` of a model has returned, which is used in place of all that, is kept, and must not change;
    `ValueError` on other sizes.
    """

    def __cinit__(
        self, vocab: Mapping[int, bytes], *, unknown: int | None = None, prefix: bytes | None = None,
        size_t max_characters=0, bert: _BertRules | None = None, const uint8_t[::1] image: Buffer | None = None
    ):
        if image is not None:
            self._open(image)
            return
        cdef TokenTable tokens = vocab if isinstance(vocab, TokenTable) else TokenTable(vocab)
        cdef const bbpe_pretoken_entry *entry
        cdef const uint8_t *token
        cdef bytes mark = prefix
        cdef size_t skipped = 0 if mark is None else len(mark), i
        cdef uint32_t lost = BBPE_WORDPIECE_NONE if unknown is None else unknown
        cdef bbpe_status status
        check(bbpe_wordpiece_init(&self.c, lost, max_characters, SALT))
        self.c.is_bert = bert is not None
        self.c.rules = 0 if bert is None else rules_of(bert)
        self.written_count = max(tokens.c.id_count, <size_t>1 if unknown is None else <size_t>lost + 1)
        for i in range(tokens.c.tokens.count):
            entry = tokens.c.tokens.entries + i
            token = tokens.c.tokens.arena + entry.start
            if entry.length == 0:
                continue
            check(bbpe_wordpiece_add(&self.c, BBPE_WORDPIECE_BEGIN, token, entry.length, <uint32_t>entry.value))
            if mark is not None and entry.length > skipped and token[:skipped] == mark:
                check(bbpe_wordpiece_add(
                    &self.c, BBPE_WORDPIECE_CONTINUE, token + skipped, entry.length - skipped, <uint32_t>entry.value))
        with nogil:
            status = bbpe_wordpiece_finalize(&self.c)
        check(status)
        self.view = bbpe_model_of_wordpiece(&self.c)

    def __dealloc__(self):
        if not self.is_opened:
            bbpe_wordpiece_free(&self.c)

    cdef int _open(self, const uint8_t[::1] data) except -1:
        cdef bbpe_image image = image_of(data)
        self.is_opened, self.data_of_image = True, data
        bbpe_wordpiece_visit(&self.c, &image)
        image_end(&image)
        self.written_count = max(self.c.id_count, <size_t>1, <size_t>(self.c.unknown + <uint32_t>1))
        self.view = bbpe_model_of_wordpiece(&self.c)
        return 0

    def image(self) -> bytes:
        """The model as it is in memory."""
        cdef bbpe_wordpiece copy = self.c
        cdef bbpe_image image = image_measured()
        bbpe_wordpiece_visit(&copy, &image)
        made = image_begin(&image)
        bbpe_wordpiece_visit(&copy, &image)
        return made

    @property
    def is_bert(self) -> bool:
        """Whether BERT's rules are applied to pretokens."""
        return self.c.is_bert

    def encode_pretoken(self, bytes pretoken not None, bint linear=False) -> list[int]:
        """The ids of one pretoken of at least one byte; `linear`: as long words are matched."""
        cdef bbpe_wordpiece view = self.c
        cdef size_t n = len(pretoken), count = 0, i
        cdef bbpe_model_scratch scratch
        cdef uint32_t *ids
        if n == 0:
            raise ValueError("a pretoken has at least one byte")
        ids = <uint32_t *>had(bbpe_memory_new(n, sizeof(uint32_t)))
        memset(&scratch, 0, sizeof(scratch))
        try:
            view.has_tries = view.has_tries and not linear
            check(bbpe_wordpiece_encode(&view, &scratch, <const uint8_t *>pretoken, n, ids, &count))
            return [ids[i] for i in range(count)]
        finally:
            bbpe_model_scratch_free(&scratch)
            bbpe_memory_free(ids)
