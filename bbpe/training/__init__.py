"""Counted pretokens to a tokenizer."""
