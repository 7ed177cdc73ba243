/* The hook of -fsanitize-coverage=trace-pc, for drivers that link the objects of the fuzzer and do not count branches. */
void __sanitizer_cov_trace_pc(void);

void __sanitizer_cov_trace_pc(void) {}
