"""The steps around the model: special and added tokens, normalizers, pre-tokenizers and decoders."""
