"""The compiled engine: Cython modules over the C core in `csrc`."""
