"""The Unigram model in C (csrc/models/unigram/unigram.h), made of tokens and scores."""
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_models cimport (
    bbpe_unigram_add_runs, bbpe_unigram_free, bbpe_unigram_init, bbpe_unigram_nbest, bbpe_unigram_nbest_best, bbpe_unigram_nbest_draw,
    bbpe_unigram_nbest_free, bbpe_unigram_prepare, bbpe_unigram_view, bbpe_unigram_visit,
)
from bbpe.core.c_tables cimport bbpe_image
from bbpe.core.image cimport image_begin, image_end, image_measured, image_of
from bbpe.core.model cimport Model
from bbpe.core.status cimport check
from bbpe.core.token_table cimport TokenTable


cdef class CompiledUnigram(Model):
    """Tokens and scores; immutable, shared by any number of threads.

    `vocab` maps ids to the bytes of what is found in texts, `scores` are theirs in the same order, float64[n].
    `unknown`: the id of characters without a token, unless there are 256 `byte_ids`, or `some_byte_ids` by
    byte for all of a run of such characters.  `runs` has ids and the bytes of other tokens that only a whole run of such
    characters becomes.  Tokens with ids from `named` on are written as `unknown`, unless there are `byte_ids`.
    `image`: what `image()` of a model has returned, which is used in place of all that, is kept, and must not change;
    `ValueError` on other sizes.
    """

    def __cinit__(
        self, vocab: Mapping[int, bytes] | TokenTable, const double[::1] scores: array[float] | None, *, double unknown_score=0.0,
        unknown: int | None = None, byte_ids: Sequence[int] = (), some_byte_ids: Mapping[int, int] | None = None,
        runs: Mapping[int, bytes] | None = None, named: int | None = None, bint is_float=False,
        const uint8_t[::1] image: Buffer | None = None
    ):
        if image is not None:
            self._open(image)
            return
        cdef TokenTable tokens = vocab if isinstance(vocab, TokenTable) else TokenTable(vocab), others
        cdef int byte
        cdef uint32_t token_id
        if scores is None:
            raise TypeError("scores is None; expected those of the tokens")
        if <size_t>scores.shape[0] != tokens.c.tokens.count:
            raise ValueError(f"there are {scores.shape[0]} scores for {tokens.c.tokens.count} tokens")
        check(bbpe_unigram_init(&self.c, &tokens.c.tokens, &scores[0] if scores.shape[0] else NULL))
        check(bbpe_unigram_prepare(&self.c))
        self.c.unknown_score = unknown_score
        self.c.unknown = <uint32_t>-1 if unknown is None else unknown
        self.c.is_float = is_float
        self.c.has_byte_ids = len(byte_ids) == 256
        for byte in range(256):
            self.c.byte_ids[byte] = byte_ids[byte] if self.c.has_byte_ids else <uint32_t>-1
        self.c.has_some_byte_ids = not self.c.has_byte_ids and (bool(some_byte_ids) or named is not None)
        self.c.named = <uint32_t>-1 if named is None else named
        if self.c.has_some_byte_ids and runs:
            others = TokenTable(runs)
            check(bbpe_unigram_add_runs(&self.c, &others.c.tokens))
        for byte, token_id in (some_byte_ids or {}).items():
            self.c.byte_ids[byte] = token_id
        self._close()

    def __dealloc__(self):
        if not self.is_opened:
            bbpe_unigram_free(&self.c)

    cdef void _close(self) noexcept:
        """Note which ids may be written."""
        cdef size_t i
        cdef uint32_t token_id
        cdef bint is_written = self.c.has_byte_ids or self.c.named == <uint32_t>-1
        self.view = bbpe_unigram_view(&self.c)
        self.written_count = max(<size_t>1, self.c.run_ids)
        for i in range(self.c.piece_count):
            token_id = self.c.pieces[i].id
            if is_written or token_id < self.c.named:
                self.written_count = max(self.written_count, <size_t>token_id + 1)
        for i in range(256):
            if self.c.byte_ids[i] != <uint32_t>-1:
                self.written_count = max(self.written_count, <size_t>self.c.byte_ids[i] + 1)
        if self.c.unknown != <uint32_t>-1:
            self.written_count = max(self.written_count, <size_t>self.c.unknown + 1)

    cdef int _open(self, const uint8_t[::1] data) except -1:
        cdef bbpe_image image = image_of(data)
        self.is_opened, self.data_of_image = True, data
        bbpe_unigram_visit(&self.c, &image)
        image_end(&image)
        self._close()
        return 0

    def image(self) -> bytes:
        """The model as it is in memory."""
        cdef bbpe_unigram copy = self.c
        cdef bbpe_image image = image_measured()
        bbpe_unigram_visit(&copy, &image)
        made = image_begin(&image)
        bbpe_unigram_visit(&copy, &image)
        return made

    def best_ways(self, const uint8_t[::1] text not None: bytes, size_t most) -> list[tuple[float, list[int]]]:
        """The `most` best ways to make up some bytes, the best first: (sum of scores, ids) each."""
        cdef bbpe_unigram_nbest ways
        cdef bbpe_status status
        cdef size_t n = <size_t>text.shape[0]
        if n == 0:
            return [(0.0, [])]
        memset(&ways, 0, sizeof(ways))
        with nogil:
            status = bbpe_unigram_nbest_best(&ways, &self.c, &text[0], n, most)
        return taken(&ways, status)

    def drawn_way(self, const uint8_t[::1] text not None: bytes, double alpha, uint64_t state) -> tuple[list[int], int]:
        """One way at random, with probability as e^(alpha * sum of scores), as ids, and the next `state`."""
        cdef bbpe_unigram_nbest ways
        cdef bbpe_status status
        cdef size_t n = <size_t>text.shape[0]
        if n == 0:
            return [], state
        memset(&ways, 0, sizeof(ways))
        with nogil:
            status = bbpe_unigram_nbest_draw(&ways, &self.c, &text[0], n, alpha, &state)
        return taken(&ways, status)[0][1], state


cdef class UnknownBytes(Model):
    """A model with the tables of another one, which gives each byte of an unknown character an id of 256 `byte_ids`.

    `is_whole`: in every text, else of runs that are no token.  All ids are less than `id_count`.
    """

    def __cinit__(self, CompiledUnigram model not None, byte_ids: Sequence[int], bint is_whole, uint32_t id_count):
        cdef int byte
        self.owner, self.c = model, model.c
        self.c.has_byte_ids, self.c.has_some_byte_ids = is_whole, not is_whole
        for byte in range(256):
            self.c.byte_ids[byte] = byte_ids[byte]
        self.view, self.written_count = bbpe_unigram_view(&self.c), id_count


cdef taken(bbpe_unigram_nbest *ways, bbpe_status status):
    """Return the ways that C has found, and free them."""
    cdef size_t i, k, start = 0
    try:
        check(status)
        found = []
        for i in range(ways.count):
            found.append((ways.sums[i], [ways.ids[k] for k in range(start, ways.ends[i])]))
            start = ways.ends[i]
        return found
    finally:
        bbpe_unigram_nbest_free(ways)
