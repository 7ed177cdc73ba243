#!/usr/bin/env bash
# GCC 12.2.0 (Debian 12): a mask of AVX-512 that is kept as a number may get two bytes of whatever is on the stack.
#
# `uint32_t found = _mm512_cmpeq_epi32_mask(a, b)` is below 65,536. Where no register is free for it, GCC writes the two bytes of
# the mask to the stack (kmovw) and reads four bytes back (cmpl, tzcnt). The upper two are left over from earlier calls, so the
# result depends on these; tests pass as long as they are zero. Here it takes six other numbers and -Os; -O1 with
# -fsanitize=address,undefined has done it too, in a larger function. `found & 0xFFFF` does not help, as the compiler takes the
# upper bits for zero. An `asm` that moves the mask into a general register (kmovw) helps.
#
# Seen (the first of sixteen lanes that is 7, of none, is number 16):
#   gcc 12.2.0 -O1: 16
#   gcc 12.2.0 -O2: 16
#   gcc 12.2.0 -Os: 23
#
# Needs apt-get of a Debian or Ubuntu that has the package, the headers of the C library, and `as` and `ld`.
set -euo pipefail
version=12.2.0-14+deb12u1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq "gcc-12=$version" "cpp-12=$version" "libgcc-12-dev=$version" libisl23 libmpc3 libmpfr6 libgmp10
for package in ./*.deb; do dpkg-deb -x "$package" root; done
export LD_LIBRARY_PATH="$folder/root/usr/lib/x86_64-linux-gnu"
gcc="$folder/root/usr/bin/x86_64-linux-gnu-gcc-12"
cat > first.c <<'C'
#include <immintrin.h>
#include <stdint.h>

void other(void);
uint64_t first_seven(const uint64_t *numbers, const void *lanes, uint64_t *out);

/* The number of the first lane that is 7, or 16. */
uint64_t first_seven(const uint64_t *numbers, const void *lanes, uint64_t *out) {
    const uint64_t a = numbers[0] * 3, b = numbers[1] * 5, c = numbers[2] * 7;
    const uint64_t d = numbers[3] * 9, e = numbers[4] * 11, f = numbers[5] * 13;
    const uint32_t found = _mm512_cmpeq_epi32_mask(_mm512_loadu_si512(lanes), _mm512_set1_epi32(7));
    uint64_t n = 16;
    if (found) {
        other();
        n = _tzcnt_u32(found);
    }
    other();
    out[0] = a ^ n, out[1] = b ^ n, out[2] = c ^ n, out[3] = d ^ n, out[4] = e ^ n, out[5] = f ^ n;
    return n;
}
C
cat > main.c <<'C'
#include <stdint.h>
#include <stdio.h>

void other(void);
uint64_t first_seven(const uint64_t *numbers, const void *lanes, uint64_t *out);
void other(void) {}

static __attribute__((noinline)) void use_the_stack(void) {
    volatile unsigned char used[512];
    for (int i = 0; i < 512; i++) used[i] = 0x80;
}

int main(void) {
    uint64_t numbers[6] = {1, 2, 3, 4, 5, 6}, out[6];
    uint32_t lanes[16] = {0};
    use_the_stack();
    printf("%d\n", (int)first_seven(numbers, lanes, out));
    return 0;
}
C
"$gcc" -O1 -c main.c
for option in -O1 -O2 -Os; do
	"$gcc" "$option" -mavx512f -mavx512bw -mbmi -S first.c
	"$gcc" -o main main.o first.s
	if grep -q avx512bw /proc/cpuinfo; then found=$(./main); else found="not run, for want of AVX-512"; fi
	echo "gcc $("$gcc" -dumpfullversion) $option: $found"
	expected=16
	if [ "$option" = -Os ]; then
		expected=23
		grep -q 'kmovw.*%k[0-7], [0-9]*(%rsp)' first.s || { echo "the behaviour has changed" >&2; exit 1; }
	fi
	[ "$found" = "$expected" ] || [ "${found#not}" != "$found" ] || { echo "the behaviour has changed" >&2; exit 1; }
done
