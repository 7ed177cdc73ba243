"""SentencePiece's `.model` files, and pieces of any file."""
