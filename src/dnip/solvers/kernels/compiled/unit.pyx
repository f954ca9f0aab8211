# cython: language_level=3, cdivision=True, infer_types=True, freethreading_compatible=True
"""All kernels as one module: the files of this folder, in the order in which they build up.

The build compiles it twice: for any processor, and with wide instructions (see ``setup.py``). It
also writes ``records.pxi``, the structs of the records that kernels are given.
"""
import cython
from libc.math cimport INFINITY, exp, fabs, floor, log, rint, sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #if !defined(DNIP_WIDE)
    #define DNIP_HAS_WIDE 0
    #elif defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    #define DNIP_HAS_WIDE (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
    #else
    #include <intrin.h>
    static int dnip_has_wide(void) {
        int found[4];
        __cpuidex(found, 7, 0);
        return (found[1] >> 5) & 1;
    }
    #define DNIP_HAS_WIDE dnip_has_wide()
    #endif
    """
    int DNIP_HAS_WIDE

ctypedef double *Floats
ctypedef int64_t *Integers
ctypedef int64_t *Confusion
ctypedef uint32_t *SmallIntegers
ctypedef uint16_t *ShortIntegers
ctypedef uint8_t *Booleans
ctypedef uint64_t *Hashes

include "records.pxi"
include "levels.py"
include "values.py"
include "rows.py"
include "flips.py"
include "descent.py"
include "annealing.py"
include "fronts.py"
include "boxes.py"
include "sweep.py"
include "relaxation.py"
include "shaving.py"
include "branching.py"

#: Whether there is a wide build, and this processor has its instructions.
HAS_WIDE = bool(DNIP_HAS_WIDE)
#: Where the kernels are that Python calls.
ADDRESSES = {
    "add_flips": <uintptr_t>&add_flips,
    "begin": <uintptr_t>&begin,
    "count": <uintptr_t>&count,
    "descend": <uintptr_t>&descend,
    "end_flips": <uintptr_t>&end_flips,
    "explore": <uintptr_t>&explore,
    "fill_sparse": <uintptr_t>&fill_sparse,
    "find_flips": <uintptr_t>&find_flips,
    "first_winning_indices": <uintptr_t>&first_winning_indices,
    "is_new_line": <uintptr_t>&is_new_line,
    "kick": <uintptr_t>&kick,
    "narrow": <uintptr_t>&narrow,
    "nearest": <uintptr_t>&nearest,
    "next_class": <uintptr_t>&next_class,
    "offer": <uintptr_t>&offer,
    "pass_class": <uintptr_t>&pass_class,
    "raise_bound": <uintptr_t>&raise_bound,
    "search_depth_first": <uintptr_t>&search_depth_first,
    "settle": <uintptr_t>&settle,
    "shortfall": <uintptr_t>&shortfall,
    "survey": <uintptr_t>&survey,
    "value": <uintptr_t>&value,
    "visit_line": <uintptr_t>&visit_line,
    "visit_lines": <uintptr_t>&visit_lines,
    "walk": <uintptr_t>&walk,
    "walk_chain": <uintptr_t>&walk_chain,
}
