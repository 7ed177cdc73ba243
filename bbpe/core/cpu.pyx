"""Where threads run (csrc/threads/cpu.h)."""
from bbpe.core.c_threads cimport bbpe_cpu_here, bbpe_cpu_position, bbpe_cpu_run_off, bbpe_cpu_yield


cdef class Place:
    """Where the thread runs that makes one, and where it may run."""

    cdef bbpe_cpu_position c

    def __cinit__(self):
        self.c = bbpe_cpu_here()

    @property
    def cpu(self) -> int:
        """The number of the processor, -1 where nobody knows."""
        return self.c.cpu

    def beside(self):
        """Have the thread that calls this run where the one of this place may, but on another processor if there is one."""
        with nogil:
            bbpe_cpu_run_off(&self.c)


def yield_cpu():
    """Let threads that wait for this one's processor run first."""
    with nogil:
        bbpe_cpu_yield()
