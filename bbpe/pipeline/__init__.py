"""What happens to a text around the model: special and added tokens, normalizers, pre-tokenizers, alignment."""
