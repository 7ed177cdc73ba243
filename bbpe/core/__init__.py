"""The compiled engine; `bbpe.tokenizer` and `bbpe.training.train` are its only users."""
