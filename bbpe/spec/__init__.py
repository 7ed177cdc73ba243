"""The definition of a tokenizer as plain data."""
