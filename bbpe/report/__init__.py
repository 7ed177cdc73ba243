"""Reports on tokenizers."""
