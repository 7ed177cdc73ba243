"""Texts to counted pretokens."""
