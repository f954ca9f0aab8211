/* Loops over rows that compilers turn into vector code, for any processor and for AVX2.

The choice is made when the library is loaded. Sums and products are the same to the last bit. */
#pragma once
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__)
#define EACH_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define EACH_PROCESSOR
#endif
#ifdef _MSC_VER
#define restrict __restrict
#endif

/* Let a class lead the rows where its product is above the best so far. */
EACH_PROCESSOR static void take_lead(double weight, const double *restrict column, uint32_t class,
                                     int64_t n, double *restrict best, uint32_t *restrict leader) {
    for (int64_t i = 0; i < n; i++) {
        double here = weight * column[i];
        leader[i] ^= (leader[i] ^ class) & -(uint32_t)(here > best[i]); /* without a branch */
        best[i] = here > best[i] ? here : best[i];
    }
}

/* Buckets of quotients: the leading bits of a float64, counted from those of the first bucket. */
EACH_PROCESSOR static void find_buckets(const double *restrict p, const double *restrict rival_score,
                                        int64_t n, double least, double most, int64_t shift,
                                        int64_t first, uint32_t *restrict bucket) {
    for (int64_t i = 0; i < n; i++) {
        double quotient = rival_score[i] / p[i];
        uint64_t bits;
        quotient = quotient > least ? quotient : least;
        quotient = quotient < most ? quotient : most;
        memcpy(&bits, &quotient, 8);
        bucket[i] = (uint32_t)((bits >> shift) - (uint64_t)first);
    }
}
