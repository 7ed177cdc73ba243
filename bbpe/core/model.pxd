from bbpe.core.c_models cimport bbpe_model


cdef class Model:
    cdef bbpe_model view        # what the encoder asks; a subclass owns what it points to
    cdef size_t written_count  # more than any id that encoding writes
    cdef object long_tables    # where encoders find their tables for long texts, and leave them; or None
