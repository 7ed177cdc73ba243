"""The base class of all models: a view of a model for the encoder (csrc/models/model.h)."""


cdef class Model:
    """A model turns a pretoken into ids; immutable, shared by any number of threads.

    A subclass makes its data in `__cinit__`, frees it in `__dealloc__`, and describes in `view` how it is asked.
    """

    def keep_long_tables(self, object tables not None):
        """Have encoders of this BPE model find their tables for long texts by `tables.read(name)`, a buffer or None, and
        leave those that they make with `tables.write(name, image)`; the names are "cuts" and "match"."""
        self.long_tables = tables

    @property
    def longest(self) -> int | None:
        """The most bytes that one id decodes to; None where that has no bound, as with unknown words."""
        return None
