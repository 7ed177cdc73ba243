"""BPE of words whose symbols are some characters or bytes, in C (csrc/models/word_bpe/word_bpe.h)."""
from libc.stdint cimport uint32_t, uint8_t

from bbpe.core.bpe cimport CompiledBPE
from bbpe.core.c_models cimport (
    BBPE_BERT_BLANK, BBPE_BERT_JOIN, bbpe_model_of_word_bpe, bbpe_word_bpe_free, bbpe_word_bpe_init,
)
from bbpe.core.model cimport Model
from bbpe.core.status cimport check
from bbpe.core.wordpiece cimport rules_of


cdef class WordBPE(Model):
    """Words whose symbols are characters or bytes, by a model of bytes; immutable, shared by any number of threads.

    `bpe` finds the mark 0xFD before each word if it `begins`, 0xFF after it if it `ends`, and `unknown` for what is
    unknown, which is left out with None.  `symbols` maps a code point, or with `of_bytes` a byte, to a set of four bits:
    bit 0 where it is a symbol within a word, 1 at the beginning, 2 at the end, 3 at both; None: all bytes are symbols.
    `fuses`: a run of what is unknown is one.  `spelled`: an unknown character of these bytes only is left as it is.

    `bert`: pretokens are text that this `BertNormalizer` is still to be applied to; none: they are words.  Words end at
    white space, and unless `joins` punctuation characters are words of their own; with `clip` they are cut by CLIP's
    pattern then.  `blanks`: only blanks and line ends are white space.
    """

    def __cinit__(
        self, CompiledBPE bpe not None, symbols: Mapping[int, int] | None, *, bint begins, bint ends, bint fuses=False,
        unknown: int | None = 0xFE, bint of_bytes=False, bert: _BertRules | None = None, bint joins=False,
        bint blanks=False, bint clip=False, spelled: Sequence[int] = ()
    ):
        cdef uint32_t most = 0x100 if of_bytes else 0x110000
        self.bpe = bpe
        check(bbpe_word_bpe_init(&self.c, &bpe.c, symbols is not None))
        self.c.begins, self.c.ends, self.c.fuses, self.c.is_clip = begins, ends, fuses, clip
        self.c.of_bytes = of_bytes and symbols is not None
        self.c.drops = unknown is None
        self.c.unknown = 0 if unknown is None else unknown
        self.c.spells = len(spelled) > 0
        for byte in spelled:
            self.c.spelled[<uint8_t>byte] = 1
        self.c.has_rules = bert is not None
        if bert is not None:
            self.c.rules = rules_of(bert) | (BBPE_BERT_JOIN if joins else 0) | (BBPE_BERT_BLANK if blanks else 0)
        for point, places in (symbols or {}).items():
            if not 0 <= point < most:
                raise ValueError(f"{point} is no symbol; expected less than {most}")
            self.c.symbols[<size_t>point] = places
        self.written_count = bpe.written_count
        self.view = bbpe_model_of_word_bpe(&self.c)

    def __dealloc__(self):
        bbpe_word_bpe_free(&self.c)

    @property
    def is_of_bytes(self) -> bool:
        """Whether symbols are bytes without marks, so that tokens spell the text but for what is unknown."""
        return self.c.of_bytes and not (self.c.begins or self.c.ends)
