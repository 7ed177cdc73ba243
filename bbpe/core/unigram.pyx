"""The Unigram model in C (csrc/unigram.h), made of tokens and scores."""
from libc.stdint cimport uint32_t

from bbpe.core.c_unigram cimport bbpe_unigram_free, bbpe_unigram_init, bbpe_unigram_view
from bbpe.core.model cimport Model
from bbpe.core.status cimport check
from bbpe.core.token_table cimport TokenTable


cdef class UnigramModel(Model):
    """Tokens and scores; immutable, shared by any number of threads.

    `vocab` maps ids to the bytes of what is found in texts, `scores` are theirs in the same order, float64[n].
    `unknown`: the id of characters without a token, unless there are 256 `byte_ids`.
    """

    def __cinit__(
        self, vocab, const double[::1] scores not None, *, double unknown_score, unknown, byte_ids=(), bint is_float
    ):
        cdef TokenTable tokens = TokenTable(vocab)
        cdef int byte
        if <size_t>scores.shape[0] != tokens.c.tokens.count:
            raise ValueError(f"there are {scores.shape[0]} scores for {tokens.c.tokens.count} tokens")
        check(bbpe_unigram_init(&self.c, &tokens.c.tokens, &scores[0] if scores.shape[0] else NULL))
        self.c.unknown_score = unknown_score
        self.c.unknown = <uint32_t>-1 if unknown is None else unknown
        self.c.is_float = is_float
        self.c.has_byte_ids = len(byte_ids) == 256
        for byte in range(256):
            self.c.byte_ids[byte] = byte_ids[byte] if self.c.has_byte_ids else 0
        self.view = bbpe_unigram_view(&self.c)
        self.written_count = max(max(vocab, default=0), max(byte_ids, default=0), unknown or 0) + 1

    def __dealloc__(self):
        bbpe_unigram_free(&self.c)
