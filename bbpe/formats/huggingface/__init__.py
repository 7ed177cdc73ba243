"""Read and write `tokenizer.json`, the format of HF's `tokenizers`; each component has a module."""
