"""Other interfaces to the same tokenizer."""
