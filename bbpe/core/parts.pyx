"""The ids of parts of texts that several threads encode, in the order of the parts (csrc/threads/ordered_output.h)."""
cimport cython
from libc.stdint cimport int64_t

from bbpe.core.c_encode cimport BBPE_ENCODE_SLACK, bbpe_encode_state, bbpe_encode_state_loan
from bbpe.core.c_threads cimport (
    BBPE_WORK_QUEUE_ROUND, bbpe_ordered_output_free, bbpe_ordered_output_init, bbpe_ordered_output_join,
)
from bbpe.core.ends cimport check_ends
from bbpe.core.id_buffer cimport IdBuffer
from bbpe.core.states cimport States
from bbpe.core.status cimport check
from bbpe.core.tasks cimport Tasks

cdef enum:
    ROUND_IDS = 1 << 25  # that those of a round may have
    MOST_A_UNIT = 4


cdef class Parts:
    """Parts of texts of `length` characters or bytes together, a task for each, and memory for the ids of all of them.

    Part k is units bounds[k] to bounds[k + 1] of them, int64[n + 1] from 0, each of which has at most `a_unit` ids.
    """

    def __cinit__(self, const int64_t[::1] bounds not None, size_t length, size_t threads, size_t a_unit=1):
        cdef size_t count, average
        if bounds.shape[0] == 0:
            raise ValueError("bounds is empty; expected a 0 and then the end of each part")
        count = bounds.shape[0] - 1
        check_ends(bounds, <size_t>-1 // 64)
        if a_unit > MOST_A_UNIT:
            raise ValueError(f"a_unit is {a_unit}; expected at most {MOST_A_UNIT} ids")
        average = max(<size_t>1, a_unit * <size_t>bounds[count] // max(<size_t>1, count))
        self.lent = []
        self.tasks = Tasks(count, length, threads, max(<size_t>1, min(<size_t>BBPE_WORK_QUEUE_ROUND, ROUND_IDS // average)))
        self.c.tasks, self.c.a_unit, self.c.slack = &self.tasks.c, a_unit, BBPE_ENCODE_SLACK
        check(bbpe_ordered_output_init(&self.c, &bounds[0]))
        self.buffer = IdBuffer(a_unit * self.c.bounds[count])
        self.c.ids, self.c.buffer = self.buffer.ids, self.buffer.buffer

    def __dealloc__(self):
        bbpe_ordered_output_free(&self.c)

    cdef bbpe_encode_state *join(self, States states, size_t worker) except NULL:
        """A state for a worker, in whose memory ids wait until all have ended."""
        self.tasks.check_worker(worker)
        loan = _Loan(states, self.tasks.share, worker)
        bbpe_ordered_output_join(&self.c, worker, &bbpe_encode_state_loan(loan.state).out_of_order)
        self.lent.append(loan)
        return loan.state

    def taken(self) -> npt.NDArray[np.uint32]:
        """The ids of all parts, once all workers have ended: uint32[n]."""
        self.lent.clear()
        return self.buffer.taken(self.c.end)


# with its states to the last, whichever of both the collector comes to first
@cython.no_gc_clear
cdef class _Loan:
    """A state that is given back when it is no longer needed."""

    cdef bbpe_encode_state *state
    cdef States states
    cdef size_t worker

    def __cinit__(self, States states not None, size_t coming, size_t worker):
        self.states, self.worker = states, worker
        self.state = states.borrow(coming, worker)

    def __dealloc__(self):
        if self.state != NULL:
            self.states.give_back(self.state, self.worker)
