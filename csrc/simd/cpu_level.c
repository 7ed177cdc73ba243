/* Asks the processor itself, by cpuid and xgetbv: what compilers offer for it answers "nothing" where their run-time
 * library was left out (zig cc), and so would make everything slow without a word.
 *
 *     leaf 1           does the system save registers (osxsave)?  avx, popcnt
 *     xgetbv           which of them: xmm and ymm; opmask and zmm too
 *     leaf 7           avx2, bmi, bmi2, the parts of avx512
 *     leaf 0x80000001  lzcnt
 */
#include "simd/cpu_level.h"

#include "base/atomic.h"

#ifdef BBPE_HAS_X86
#include <cpuid.h>

enum {
    LEAF1_ECX = 1u << 23 | 1u << 27 | 1u << 28, /* popcnt, osxsave, avx */
    LEAF7_EBX = 1u << 3 | 1u << 5 | 1u << 8, /* bmi, avx2, bmi2 */
    EXTENDED_ECX = 1u << 5, /* lzcnt */
    LEAF7_EBX_512 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30, /* avx512f, dq, cd, bw; vl is the sign */
    LEAF7_ECX_512 = 1u << 1 | 1u << 6, /* vbmi, vbmi2 */
    SAVED = 0x06, SAVED_512 = 0xE6,
};
static const uint32_t LEAF7_EBX_VL = UINT32_C(1) << 31;

typedef struct {
    uint32_t eax, ebx, ecx, edx;
} registers;

/* Zeros where the processor does not have this leaf. */
static registers leaf(uint32_t number) {
    registers found = {0};
    if (!__get_cpuid_count(number, 0, &found.eax, &found.ebx, &found.ecx, &found.edx)) return (registers){0};
    return found;
}

static bool has(uint32_t found, uint32_t wanted) {
    return (found & wanted) == wanted;
}

/* Which registers the system saves when threads take turns. */
static uint32_t saved(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bbpe_cpu_level asked(void) {
    if (!has(leaf(1).ecx, LEAF1_ECX) || !has(leaf(0x80000001u).ecx, EXTENDED_ECX)) return BBPE_CPU_BASE;
    const registers features = leaf(7);
    if (!has(features.ebx, LEAF7_EBX) || !has(saved(), SAVED)) return BBPE_CPU_BASE;
    const bool is_512 = has(features.ebx, LEAF7_EBX_512 | LEAF7_EBX_VL) && has(features.ecx, LEAF7_ECX_512);
    return is_512 && has(saved(), SAVED_512) ? BBPE_CPU_AVX512 : BBPE_CPU_AVX2;
}
#else
static bbpe_cpu_level asked(void) {
    return BBPE_CPU_BASE;
}
#endif

static uint32_t known; /* the level + 1 */

bbpe_cpu_level bbpe_cpu_level_get(void) {
    /* to ask takes thousands of cycles in a virtual machine; threads that ask at once get the same answer */
    const uint32_t seen = BBPE_ATOMIC_LOAD(&known);
    if (BBPE_LIKELY(seen != 0)) return (bbpe_cpu_level)(seen - 1);
    const bbpe_cpu_level level = asked();
    BBPE_ATOMIC_STORE(&known, (uint32_t)level + 1);
    return level;
}

void bbpe_cpu_level_lower(bbpe_cpu_level most) {
    if (most < bbpe_cpu_level_get()) BBPE_ATOMIC_STORE(&known, (uint32_t)most + 1);
}

const char *bbpe_cpu_level_name(void) {
#ifdef BBPE_HAS_NEON
    return "neon"; /* each aarch64 processor has it */
#else
    static const char *const NAMES[] = {"base", "avx2", "avx512"};
    return NAMES[bbpe_cpu_level_get()];
#endif
}
