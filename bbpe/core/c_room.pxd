cdef extern from "memory/reusable_buffer.h" nogil:
    ctypedef struct bbpe_room:
        void *start
        size_t size
        size_t kept

    bint bbpe_room_open(bbpe_room *self, size_t size)
    bint bbpe_room_extend(bbpe_room *self, size_t bytes)
    void bbpe_room_trim(bbpe_room *self, size_t size)
    void bbpe_room_close(bbpe_room *self)
