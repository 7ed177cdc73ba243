"""Folders as HF's `transformers` reads them: a class, its configuration and a vocabulary."""
