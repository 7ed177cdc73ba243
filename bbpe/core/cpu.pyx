"""Where threads run (csrc/cpu.h)."""
from bbpe.core.c_cpu cimport bbpe_cpu_here, bbpe_cpu_leave, bbpe_cpu_yield


def cpu_here():
    """The number of the processor that this thread runs on, -1 where nobody knows."""
    return bbpe_cpu_here()


def yield_cpu():
    """Let threads that wait for this one's processor run first."""
    with nogil:
        bbpe_cpu_yield()


def leave_cpu(int cpu):
    """Have this thread go on on another processor, if it is on that one and may run on others."""
    with nogil:
        bbpe_cpu_leave(cpu)
