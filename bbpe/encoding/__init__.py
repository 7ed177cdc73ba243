"""Texts to ids and back, by a tokenizer's spec."""
