"""A random order of rows that is computed row by row, so that it takes no memory.

    place ──> low and high bits ──> 8 rounds: high ^= hash(low, key), then low ^= hash(high, key), in turn ──> row

Each round can be undone, so all rounds together permute the numbers below a power of two (a Feistel network; Luby and
Rackoff, 1988).  The power is less than twice the number of rows, and at least 256, as rounds on fewer bits are not even.
A result that is no row goes through the rounds again until it is one, which keeps the rest a permutation (cycle walking; Black and Rogaway, 2002).
"""
from libc.stdint cimport uint64_t

cdef enum:
    LEAST_BITS = 8


cdef inline uint64_t mixed(uint64_t number) noexcept nogil:
    """The last steps of splitmix64 (Steele, Lea and Flood, 2014)."""
    number = (number ^ number >> 30) * <uint64_t>0xBF58476D1CE4E5B9
    number = (number ^ number >> 27) * <uint64_t>0x94D049BB133111EB
    return number ^ number >> 31


cdef class RowOrder:
    """The order of `count` rows, by 64 bytes of key; without a key each row is at its own place."""

    def __init__(self, uint64_t count, const unsigned char[::1] key: bytes | None):
        cdef int bits = LEAST_BITS, i, byte
        self.count, self.shuffles = count, key is not None and count > 1
        if key is not None and key.shape[0] != ROUNDS * 8:
            raise ValueError(f"the key has {key.shape[0]} bytes; expected {ROUNDS * 8}")
        if not self.shuffles:
            return
        for i in range(ROUNDS):
            self.keys[i] = 0
            for byte in range(8):
                self.keys[i] |= <uint64_t>key[8 * i + byte] << 8 * byte
        while bits < 64 and (count - 1) >> bits:
            bits += 1
        self.low_bits = bits - bits // 2
        self.low = (<uint64_t>1 << self.low_bits) - 1
        self.high = (<uint64_t>1 << bits // 2) - 1

    def __getitem__(self, uint64_t place) -> int:
        if place >= self.count:
            raise IndexError(f"place {place} of {self.count}")
        return self.row(place)

    cdef uint64_t row(self, uint64_t place) noexcept nogil:
        cdef uint64_t low, high
        cdef int i
        if not self.shuffles:
            return place
        while True:
            low, high = place & self.low, place >> self.low_bits
            for i in range(0, ROUNDS, 2):
                high ^= mixed(low + self.keys[i]) & self.high
                low ^= mixed(high + self.keys[i + 1]) & self.low
            place = high << self.low_bits | low
            if place < self.count:
                return place
