"""The compiled engine; `bbpe.tokenizer` and `bbpe.training` are its only users."""
