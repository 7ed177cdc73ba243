"""Read and write the vocabularies of GGUF files, the model files of llama.cpp."""
