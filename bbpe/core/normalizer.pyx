"""A sequence of normalizers in C (csrc/pipeline/normalizer.h): UTF-8 to UTF-8, with the source of each byte."""
from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from bbpe.lazy import np

from bbpe.core.c_base cimport bbpe_status
from bbpe.core.c_pipeline cimport (
    BBPE_CHARACTERS_CLEANED, BBPE_CHARACTERS_IDEOGRAPHS, BBPE_CHARACTERS_LOWERED, BBPE_CHARACTERS_MARKS,
    BBPE_CHARACTERS_NFC, BBPE_CHARACTERS_NFD, BBPE_CHARACTERS_NFKC, BBPE_CHARACTERS_NFKD, BBPE_CHARACTERS_NMT,
    BBPE_CHARACTERS_NONSPACING, BBPE_NORMALIZER_BYTES, BBPE_NORMALIZER_CHARSMAP, BBPE_NORMALIZER_FORM,
    BBPE_NORMALIZER_MAP, BBPE_NORMALIZER_PRECOMPILED, BBPE_NORMALIZER_PREPEND, BBPE_NORMALIZER_REPLACE,
    BBPE_NORMALIZER_SQUEEZE, BBPE_NORMALIZER_STRIP, bbpe_characters, bbpe_normalizer_add, bbpe_normalizer_apply,
    bbpe_normalizer_find_sources, bbpe_normalizer_free, bbpe_normalizer_init, bbpe_normalizer_scratch,
    bbpe_normalizer_scratch_free, bbpe_normalizer_step, bbpe_normalizer_kind,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.automaton cimport Automaton, host_call, host_call_of, host_free
from bbpe.core.charsmap cimport SentencePieceNormalizer
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.status cimport check, had

cdef array.array _SOURCES = array.array("q")

_FORMS = {
    "NFC": BBPE_CHARACTERS_NFC, "NFD": BBPE_CHARACTERS_NFD, "NFKC": BBPE_CHARACTERS_NFKC, "NFKD": BBPE_CHARACTERS_NFKD,
}
_MAPS = {
    "lowercase": BBPE_CHARACTERS_LOWERED, "marks": BBPE_CHARACTERS_MARKS, "nonspacing": BBPE_CHARACTERS_NONSPACING,
    "clean": BBPE_CHARACTERS_CLEANED, "ideographs": BBPE_CHARACTERS_IDEOGRAPHS, "nmt": BBPE_CHARACTERS_NMT,
}


cdef bbpe_normalizer_step step_of(bbpe_normalizer_kind kind) noexcept:
    cdef bbpe_normalizer_step step
    memset(&step, 0, sizeof(step))
    step.kind = kind
    return step


cdef class Normalizer:
    """Steps that a text goes through in order; once they are added, any number of threads may apply them."""

    def __cinit__(self):
        bbpe_normalizer_init(&self.c)
        self._kept = []

    def __dealloc__(self):
        bbpe_normalizer_free(&self.c)

    def add_form(self, str form not None) -> None:
        """Add a Unicode normal form: "NFC", "NFD", "NFKC" or "NFKD"."""
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_FORM)
        step.set = <bbpe_characters><int>_FORMS[form]
        self._add(step)

    def add_map(self, str name not None) -> None:
        """Add a change of single characters.

        "lowercase"; "marks" and "nonspacing" drop those of `StripAccents` and of `BertNormalizer`; "clean" and
        "ideographs" are the other steps of `BertNormalizer`; "nmt".
        """
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_MAP)
        step.set = <bbpe_characters><int>_MAPS[name]
        self._add(step)

    def add_strip(self, *, bint left, bint right) -> None:
        """Drop white space at the ends."""
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_STRIP)
        step.left, step.right = left, right
        self._add(step)

    def add_prepend(self, bytes content not None) -> None:
        """Put `content` in front of a text that is not empty."""
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_PREPEND)
        step.content, step.content_length = <const uint8_t *>PyBytes_AS_STRING(content), <size_t>len(content)
        self._add(step)

    def add_replace(self, bytes pattern not None, bytes content not None) -> None:
        """Let each occurrence of `pattern`, which is not empty, become `content`."""
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_REPLACE)
        if not pattern:
            raise ValueError("the pattern is empty; expected at least one byte")
        step.pattern, step.pattern_length = <const uint8_t *>PyBytes_AS_STRING(pattern), <size_t>len(pattern)
        step.content, step.content_length = <const uint8_t *>PyBytes_AS_STRING(content), <size_t>len(content)
        self._add(step)

    def add_replace_matches(self, Automaton automaton not None, bytes content not None) -> None:
        """Let each match become `content`; an empty match does not count where another one ends."""
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_REPLACE)
        step.content, step.content_length = <const uint8_t *>PyBytes_AS_STRING(content), <size_t>len(content)
        step.automaton = &automaton.c
        self._kept.append(automaton)
        self._add(step)

    def add_squeeze(self, bytes suffix not None, *, bint drops_marks) -> None:
        """Let runs of blanks become one, and drop those at the ends, which may be before a `suffix` that stays.

        `drops_marks`: at the right end also U+2581.
        """
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_SQUEEZE)
        step.content, step.content_length = <const uint8_t *>PyBytes_AS_STRING(suffix), <size_t>len(suffix)
        step.right = drops_marks
        self._add(step)

    def add_charsmap(
        self, SentencePieceNormalizer charsmap not None, bytes prefix not None, bytes suffix not None, *, bint drops_blanks
    ) -> None:
        """Apply SentencePiece's normalizer, then put a prefix and a suffix around what was not empty before.

        `drops_blanks`: leave nothing of what becomes blanks only.
        """
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_CHARSMAP)
        step.content, step.content_length = <const uint8_t *>PyBytes_AS_STRING(prefix), <size_t>len(prefix)
        step.pattern, step.pattern_length = <const uint8_t *>PyBytes_AS_STRING(suffix), <size_t>len(suffix)
        step.left = drops_blanks
        step.charsmap = &charsmap.c
        self._kept.append(charsmap)
        self._add(step)

    def add_precompiled(self, SentencePieceNormalizer charsmap not None) -> None:
        """Apply a table as HF's `tokenizers` does."""
        cdef bbpe_normalizer_step step = step_of(BBPE_NORMALIZER_PRECOMPILED)
        step.charsmap = &charsmap.c
        self._kept.append(charsmap)
        self._add(step)

    def add_bytes(self) -> None:
        """Write each byte in GPT-2's alphabet."""
        self._add(step_of(BBPE_NORMALIZER_BYTES))

    cdef int _add(self, bbpe_normalizer_step step) except -1:
        return check(bbpe_normalizer_add(&self.c, step))

    def apply(self, const uint8_t[::1] data not None) -> bytes:
        """Return the normal form of UTF-8; bytes that are not UTF-8 stay."""
        return self._run(&data[0] if data.shape[0] else NULL, <size_t>data.shape[0], False)[0]

    def with_places(self, const uint8_t[::1] data not None) -> tuple[bytes, npt.NDArray[np.int64]]:
        """Return the normal form, and the byte of `data` where the character begins that each of its bytes comes from."""
        normal, sources = self._run(&data[0] if data.shape[0] else NULL, <size_t>data.shape[0], True)
        return normal, np.asarray(sources)

    def with_characters(self, text not None: str) -> tuple[str, list[int]]:
        """Return the normal form, and the index of the character of a text that each of its characters comes from."""
        cdef bytes data = text.encode()
        cdef const uint8_t *source = data
        cdef const uint8_t *out
        cdef bytes made
        cdef array.array sources
        cdef size_t *numbers = <size_t *>had(bbpe_memory_new(<size_t>len(data) + 1, sizeof(size_t)))
        cdef size_t i, number = 0
        try:
            for i in range(<size_t>len(data)):
                number += (source[i] & 0xC0) != 0x80
                numbers[i] = number - 1
            made, sources = self._run(source, <size_t>len(data), True)
            out = made
            return made.decode(), [
                numbers[sources.data.as_longlongs[i]] for i in range(<size_t>len(made)) if (out[i] & 0xC0) != 0x80
            ]
        finally:
            bbpe_memory_free(numbers)

    cdef tuple _run(self, const uint8_t *text, size_t n, bint with_places):
        cdef bbpe_normalizer_scratch scratch
        cdef const uint8_t *out = NULL
        cdef size_t out_n = 0
        cdef bbpe_status status
        cdef array.array found = None
        cdef host_call host = host_call_of(n)
        memset(&scratch, 0, sizeof(scratch))
        scratch.automaton.host = &host
        try:
            host.held = let_go(n)
            status = bbpe_normalizer_apply(&self.c, &scratch, text, n, with_places, &out, &out_n)
            take_back(host.held)
            check(status)
            if with_places:
                found = array.clone(_SOURCES, out_n, zero=False)
                bbpe_normalizer_find_sources(&scratch, text, n, out_n, <size_t *>found.data.as_longlongs)
            return PyBytes_FromStringAndSize(<const char *>out, out_n), found
        finally:
            host_free(&host)
            bbpe_normalizer_scratch_free(&scratch)
