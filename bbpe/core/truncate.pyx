"""Text -> its first part that has so many ids at most, or all such parts, encoded once but for some characters before ends."""
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from bbpe.core.c_base cimport BBPE_NO_MEMORY, BBPE_OK, bbpe_status
from bbpe.core.c_decode cimport (
    BBPE_ID_U32, bbpe_id_array, bbpe_text_size, bbpe_token_bytes, bbpe_token_bytes_get, bbpe_token_bytes_measure,
    bbpe_token_bytes_measure_one,
)
from bbpe.core.c_encode cimport (
    bbpe_encode_count, bbpe_encode_cut, bbpe_encode_state, bbpe_encode_state_loan, bbpe_encode_text, bbpe_encoder,
)
from bbpe.core.c_memory cimport bbpe_memory_free, bbpe_memory_new
from bbpe.core.c_split cimport BBPE_SPLIT_NO_CUT
from bbpe.core.c_text cimport bbpe_grapheme_boundary, bbpe_grapheme_end, bbpe_offsets_is_simple, bbpe_utf8_decode
from bbpe.core.encoder cimport Encoder
from bbpe.core.ids cimport TokenBytes
from bbpe.core.interpreter_lock cimport let_go, take_back
from bbpe.core.status cimport check
from bbpe.core.text_view cimport text_close, text_open, text_view

cdef enum:
    FIRST = 1 << 13  # code units that are looked at anyway
    LOOK_BACK = 16   # code units before the end of the part in which to look for a cut first
    SPARE = 64       # bytes after a guessed end
    FAR = 256        # bytes after it that are looked at in a pretoken without a cut, which may be as long as the text,
    FAR_EACH = 16    # and for each id
    ALONE = 512      # bytes of the longest cluster that is tried alone: 128 characters of four bytes
    LAST = 4         # bytes of the character after a place, which decides whether a cluster ends there

cdef size_t NO_END = <size_t>-1

# A text whose first part is looked for.
ctypedef struct whole_text:
    const bbpe_encoder *encoder
    const bbpe_token_bytes *tokens
    bbpe_encode_state *state
    bbpe_encode_text text
    size_t length
    bint is_str
    size_t whole  # of all that follows too, which decides where clusters end
    bint keeps_clusters  # parts end where grapheme clusters do
    size_t limit  # of ids
    size_t start, before  # a place at which the ids of what precedes are those of the whole, and how many these are


def first_part(Encoder encoder not None, TokenBytes tokens not None, text: Text, size_t limit) -> int | None:
    """The end of the first part of a text that has at most `limit` ids, in characters of a str or bytes.

    It is `None` if the text has no more, -1 of a str with surrogates, two of which may be one character.  The part has the
    text of the first ids, less what tears a character or has more ids without what follows.  The tokens spell the text, and
    the encoder splits it.
    """
    cdef text_view view
    cdef whole_text whole
    cdef bbpe_status status
    cdef size_t end = 0, count = 0, kept = 0
    if encoder.splitter is None:
        raise ValueError("this encoder has no splitter; the ends of the pretokens are needed")
    whole.state, whole.keeps_clusters = NULL, False
    text_open(&view, text)
    try:
        whole.tokens, whole.text, whole.length = &tokens.table, view.text, view.length
        whole.is_str, whole.limit, whole.start, whole.before = isinstance(text, str), limit, 0, 0
        whole.state = encoder.states.borrow(min(view.length, FIRST + limit))
        whole.encoder = encoder.states.encoder()
        held = let_go(view.length)
        status = find_part(&whole, &count, &end, &kept)
        take_back(held)
        check(status)
        return None if count <= limit else -1 if end == NO_END else end
    finally:
        if whole.state != NULL:
            encoder.states.give_back(whole.state)
        text_close(&view)


def next_parts(
    Encoder encoder not None, TokenBytes tokens not None, data: Buffer, size_t start, size_t limit,
    int64_t[:, ::1] parts not None
) -> int:
    """Cut UTF-8 from byte `start` on into parts of at most `limit` ids each, when encoded alone; returns how many.

    Their ends and numbers of ids go to `parts`, int64[n, 2], until it is full or the text ends.  A part ends between grapheme
    clusters, or between characters if one cluster has more ids.  A last part without a byte is a character that alone has
    more ids.  The tokens spell the text, and the encoder splits it.
    """
    cdef const uint8_t[::1] view = data
    cdef whole_text whole
    cdef bbpe_status status = BBPE_OK
    cdef size_t n = view.shape[0], most = parts.shape[0], found = 0, guess = limit
    if encoder.splitter is None:
        raise ValueError("this encoder has no splitter; the ends of the pretokens are needed")
    if parts.shape[1] != 2:
        raise ValueError(f"parts have an end and a number, not {parts.shape[1]} columns")
    if start >= n or most == 0:
        return 0
    whole.tokens, whole.is_str, whole.limit = &tokens.table, False, limit
    whole.text.unit_size = 0
    whole.state = encoder.states.borrow(n - start)
    whole.encoder = encoder.states.encoder()
    try:
        with nogil:
            while status == BBPE_OK and found < most and start < n:
                whole.text.units = &view[start]
                status = find_whole_part(&whole, n - start, &guess, &parts[found, 0])
                found += 1
                if parts[found - 1, 0] == 0:
                    break
                start += <size_t>parts[found - 1, 0]
                parts[found - 1, 0] = <int64_t>start
        check(status)
        return found
    finally:
        encoder.states.give_back(whole.state)


cdef bbpe_status find_whole_part(whole_text *self, size_t n, size_t *guess, int64_t *part) noexcept nogil:
    """Write the length of the first part of n bytes, 0 if no character fits, and its number of ids.

    The text is encoded from cut to cut, where the ids are those of the whole: first up to a guess, which is less than the
    length of the part before this one, then up to where the ids that are left would end if all were as long.  Where there is
    no cut, it is encoded as if it ended a little later, so that no pretoken is read to its end for each of its parts.
    """
    cdef bbpe_status status = BBPE_OK
    cdef size_t count = 0, end = 0, kept = 0, look = guess[0], far = FAR + FAR_EACH * min(self.limit, n), cut
    self.keeps_clusters, self.start, self.before, self.whole = True, 0, 0, n
    while status == BBPE_OK:
        self.length, cut = n, BBPE_SPLIT_NO_CUT
        if look + SPARE < n:
            cut = bbpe_encode_cut(self.encoder, self.state, self.text, look, n, SPARE)
        if cut != BBPE_SPLIT_NO_CUT:
            self.length = cut
        elif look < n and far < n - look:
            self.length = look + far
        status = find_part(self, &count, &end, &kept)
        if self.before + count <= self.limit:
            if cut != BBPE_SPLIT_NO_CUT:
                self.start, self.before = self.length, self.before + count
                look = self.start + length_of_rest(self)
                continue
            if self.length < n:
                far *= 2
                continue
            end, kept = n, self.before + count
        if status == BBPE_OK and end == 0:
            status = find_first(self, n, &end, &kept)
        if end > 0 or not self.keeps_clusters:
            break
        self.keeps_clusters, self.start, self.before, look = False, 0, 0, guess[0]
    part[0], part[1] = <int64_t>end, <int64_t>kept
    guess[0] = end - end // 16
    return status


cdef size_t length_of_rest(const whole_text *self) noexcept nogil:
    """A guess, rather too long, at the bytes of the ids that a part may have after `start`, at most as many as before it."""
    cdef size_t rest = self.limit - self.before
    cdef size_t length = self.start if rest >= self.before else rest * self.start // self.before
    return length + length // 16 + 16


cdef bbpe_status find_first(const whole_text *self, size_t n, size_t *end, size_t *kept) noexcept nogil:
    """Take the first cluster, or character, if it fits alone: its ids may be others, and fewer, than those of the text."""
    cdef const uint8_t *text = <const uint8_t *>self.text.units
    cdef size_t first, count = 0
    cdef bbpe_status status
    if self.keeps_clusters:
        first = bbpe_grapheme_end(text, min(n, <size_t>(ALONE + LAST)), 0)
        if first > ALONE:
            return BBPE_OK
    else:
        bbpe_utf8_decode(text, 0, n, &first)
    status = bbpe_encode_count(self.encoder, self.state, self.text, 0, first, self.limit, False, &count)
    if status == BBPE_OK and count <= self.limit:
        end[0], kept[0] = first, count
    return status


cdef bbpe_status find_part(whole_text *self, size_t *count, size_t *end, size_t *kept) noexcept nogil:
    """Count the ids of a text after `start`, and find the part if they are too many, and how many ids are kept in it."""
    cdef bbpe_status status = count_rest(self, count)
    cdef size_t cut, at
    if status != BBPE_OK or self.before + count[0] <= self.limit:
        return status
    at = self.start + units_of(self, 0, self.limit - self.before)
    end[0] = NO_END
    if not bbpe_offsets_is_simple(self.text.units, self.text.unit_size, min(self.length, 2 * at + 2)):
        return BBPE_OK
    cut = max(self.start, cut_before(self, at))
    status = try_last(self, at, cut, end, kept)
    while status == BBPE_OK and end[0] == NO_END:
        status = find_after_cut(self, at, cut, end, kept)
        if status == BBPE_OK and cut > 0 and end[0] == NO_END:  # then all ends are tried, of the ids as they were
            cut = self.start = self.before = 0
            status = count_rest(self, count)
    return status


cdef bbpe_status count_rest(const whole_text *self, size_t *count) noexcept nogil:
    """Count the ids of a text after `start`, and keep them."""
    return bbpe_encode_count(
        self.encoder, self.state, self.text, self.start, self.length, self.limit - self.before, True, count)


cdef bbpe_status try_last(whole_text *self, size_t at, size_t cut, size_t *end, size_t *kept) noexcept nogil:
    """Take the last of the ends that `find_after_cut` tries if it can be, as most can, without a list of the others."""
    cdef bbpe_status status
    cdef size_t held = self.limit - self.before, known = 0, start = at, last = whole_end(self, at, held), count = 0
    if cut > 0:
        while start > cut:
            held -= 1
            start -= units_of_one(self, held)
        known = self.before + held
    if (cut > 0 and start != cut) or last < cut:
        return BBPE_OK
    status = bbpe_encode_count(self.encoder, self.state, self.text, cut, last, self.limit - known, False, &count)
    if status != BBPE_OK:
        return status
    if known + count <= self.limit:
        end[0], kept[0] = last, known + count
        return BBPE_OK
    return count_rest(self, &count)  # the ids of the whole have been overwritten


cdef inline size_t whole_end(const whole_text *self, size_t at, size_t i) noexcept nogil:
    """The end of what is kept of the first i ids, which end at `at`."""
    cdef size_t end = whole_characters(self, at, i)
    if self.keeps_clusters:
        end = whole_clusters(<const uint8_t *>self.text.units, self.whole, end)
    return end


cdef bbpe_status find_after_cut(
    const whole_text *self, size_t at, size_t cut, size_t *end, size_t *kept
) noexcept nogil:
    """Find the end of the part, whose first `limit` ids end at `at`, after a cut or at it; none if no token begins there."""
    cdef bbpe_status status = BBPE_OK
    cdef size_t i = self.limit - self.before, count = 0
    cdef size_t most = min(i, 4 * (at - cut) + 4)  # a token has a byte or more
    cdef size_t *ends = <size_t *>bbpe_memory_new(most + 1, sizeof(size_t))
    if ends == NULL:
        return BBPE_NO_MEMORY
    while True:
        ends[count] = whole_characters(self, at, i)
        count += 1
        if count > most or (cut > 0 and at <= cut):
            break
        i -= 1
        at -= units_of_one(self, i)
    if self.keeps_clusters:
        all_whole_clusters(<const uint8_t *>self.text.units, self.whole, ends, count)
    if cut == 0 or at == cut:
        status = choose_end(self, cut, self.before + i, ends, count, end, kept)
    bbpe_memory_free(ends)
    return status


cdef inline size_t units_of_one(const whole_text *self, size_t i) noexcept nogil:
    """As `units_of`, of one id."""
    cdef bbpe_text_size size
    memset(&size, 0, sizeof(size))
    bbpe_token_bytes_measure_one(self.tokens, bbpe_encode_state_loan(self.state).ids[i], &size)
    return size.bytes if self.text.unit_size == 0 else size.chars


cdef size_t units_of(const whole_text *self, size_t start, size_t stop) noexcept nogil:
    """How many code units ids [start, stop) spell; of a character that two tokens share, the first one has it."""
    cdef bbpe_id_array ids
    cdef bbpe_text_size size
    memset(&size, 0, sizeof(size))
    ids.data, ids.stride, ids.count = bbpe_encode_state_loan(self.state).ids, sizeof(uint32_t), stop
    ids.type = BBPE_ID_U32
    bbpe_token_bytes_measure(self.tokens, &ids, start, stop, &size)
    return size.bytes if self.text.unit_size == 0 else size.chars


cdef size_t cut_before(const whole_text *self, size_t end) noexcept nogil:
    """A place before `end` at which the ids of what precedes and follows are those of the whole."""
    cdef size_t back = LOOK_BACK, cut
    while back < end:
        cut = bbpe_encode_cut(self.encoder, self.state, self.text, end - back, end, back)
        if cut != BBPE_SPLIT_NO_CUT:
            return cut
        back *= 4
    return 0


cdef size_t whole_characters(const whole_text *self, size_t at, size_t i) noexcept nogil:
    """The end of the last whole character in the first i ids, which end at `at`."""
    cdef const uint8_t *text = <const uint8_t *>self.text.units
    cdef size_t length = 0, back
    if self.text.unit_size > 0:
        text = bbpe_token_bytes_get(self.tokens, bbpe_encode_state_loan(self.state).ids[i], &length)
        return at - (length > 0 and text[0] & 0xC0 == 0x80)
    if self.is_str:
        return at
    for back in range(1, min(<size_t>3, at) + 1):
        if text[at - back] & 0xC0 != 0x80:
            length = 4 if text[at - back] >= 0xF0 else 3 if text[at - back] >= 0xE0 else 2 if text[at - back] >= 0xC0 else 1
            return at - back if length > back else at
    return at


cdef size_t whole_clusters(const uint8_t *text, size_t n, size_t at) noexcept nogil:
    """The end of the last whole grapheme cluster in the first `at` bytes of n."""
    if at < n and (at == 0 or text[at - 1] >= 0x80 or text[at] >= 0x80 or text[at] == 10):
        all_whole_clusters(text, n, &at, 1)
    return at


cdef void all_whole_clusters(const uint8_t *text, size_t n, size_t *ends, size_t count) noexcept nogil:
    """Move each of some ends in n bytes, the last one first in the text, back to where a grapheme cluster ends.

    One walk for all of them, and none beyond: a cluster may be as long as the text.
    """
    cdef size_t end = n, next = n, i = count, stop = min(n, ends[0] + LAST)
    if ends[count - 1] < n:
        end = next = bbpe_grapheme_boundary(text, stop, 0, ends[count - 1])
    while i > 0:
        i -= 1
        while end < ends[i] and next <= ends[i]:
            end = next
            next = bbpe_grapheme_end(text, stop, end) if end < stop else stop
        ends[i] = end


cdef bbpe_status choose_end(
    const whole_text *self, size_t cut, size_t before, const size_t *ends, size_t n, size_t *end, size_t *kept
) noexcept nogil:
    """Choose the first of n ends up to which the text has at most `limit` ids, if there is one, and how many it has; up to
    the cut it has `before`."""
    cdef bbpe_status status = BBPE_OK
    cdef size_t i, start, known, count
    for i in range(n):
        start = cut if ends[i] >= cut else 0
        known = before if ends[i] >= cut else 0
        status = bbpe_encode_count(self.encoder, self.state, self.text, start, ends[i], self.limit - known, False, &count)
        if status != BBPE_OK:
            break
        if known + count <= self.limit:
            end[0], kept[0] = ends[i], known + count
            break
    return status


def cluster_before(data: Buffer, size_t start, size_t at) -> int:
    """The end of the last whole grapheme cluster in bytes start to `at` of UTF-8, where a cluster begins at `start`."""
    cdef const uint8_t[::1] view = data
    cdef size_t n = view.shape[0]
    if not start <= at <= n:
        raise ValueError(f"byte {at} is not within {start} to {n}")
    return at if at == start or at == n else start + whole_clusters(&view[start], n - start, at - start)


def cluster_after(data: Buffer, size_t start, size_t most) -> int:
    """The end of the grapheme cluster that begins at byte `start` of UTF-8, or a place after `most` bytes of a longer one."""
    cdef const uint8_t[::1] view = data
    cdef size_t n = view.shape[0]
    if start >= n:
        raise ValueError(f"byte {start} is not within {n} bytes")
    return start + bbpe_grapheme_end(&view[start], min(n - start, most + LAST), 0)
