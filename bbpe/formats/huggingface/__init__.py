"""`tokenizer.json`, the format of HF's `tokenizers`: one module for each of its components."""
