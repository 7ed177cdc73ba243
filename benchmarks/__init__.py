"""Benchmarks: every figure is a ratio to a peer timed in the same run, in fresh processes, answers compared first."""
