"""The base class of all models: a view of a model for the encoder (csrc/models/model.h)."""


cdef class Model:
    """A model turns a pretoken into ids; immutable, shared by any number of threads.

    A subclass makes its data in `__cinit__`, frees it in `__dealloc__`, and describes in `view` how it is asked.
    """

    @property
    def longest(self) -> int | None:
        """The most bytes that one id decodes to; None where that has no bound, as with unknown words."""
        return None
