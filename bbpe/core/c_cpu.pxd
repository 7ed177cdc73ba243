cdef extern from "threads/cpu.h" nogil:
    ctypedef struct bbpe_cpu_place:
        int cpu
    bbpe_cpu_place bbpe_cpu_here()
    void bbpe_cpu_yield()
    void bbpe_cpu_beside(const bbpe_cpu_place *place)
