cdef extern from "cpu.h" nogil:
    int bbpe_cpu_here()
    void bbpe_cpu_yield()
    void bbpe_cpu_leave(int cpu)
