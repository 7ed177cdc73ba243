"""GGUF, the model files of llama.cpp."""
