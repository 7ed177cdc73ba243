"""What all models have in common: a view of them for the encoder (csrc/models/model.h)."""


cdef class Model:
    """What turns a pretoken into ids; immutable, shared by any number of threads.

    A subclass makes its data in `__cinit__`, frees it in `__dealloc__`, and says in `view` how it is asked.
    """

    @property
    def longest(self) -> int | None:
        """The most bytes that one id stands for; None where that has no bound, as with unknown words."""
        return None
