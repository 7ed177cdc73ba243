"""Interfaces of other libraries, with the engine of bbpe."""
