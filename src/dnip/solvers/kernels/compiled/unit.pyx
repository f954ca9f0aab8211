# cython: language_level=3, cdivision=True, infer_types=True, embedsignature=False
"""All kernels as one module: the files of this folder, in the order in which they build up.

The build compiles it twice: for any processor, and with wide instructions (see ``setup.py``).
"""
import cython
from libc.math cimport INFINITY, ceil, exp, fabs, floor, log, rint, sqrt
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    #if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    #define DNIP_HAS_WIDE (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    #elif defined(_M_X64)
    #include <intrin.h>
    static int dnip_has_wide(void) {
        int found[4];
        __cpuidex(found, 7, 0);
        return (found[1] >> 5) & 1;
    }
    #define DNIP_HAS_WIDE dnip_has_wide()
    #else
    #define DNIP_HAS_WIDE 0
    #endif
    """
    int DNIP_HAS_WIDE

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
