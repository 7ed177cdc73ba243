"""Encode texts to ids and decode ids to texts, by the spec of a tokenizer."""
