"""Train a tokenizer on a folder and save it: `python train_on_files.py CORPUS OUTPUT [VOCAB_SIZE]`."""

import sys

import bbpe


def main(corpus: str, output: str, vocab_size: str = "1000") -> None:
    """Count the corpus, train, and save; the suffix of `output` chooses the format."""
    counts = bbpe.count(corpus, pattern="o200k")
    print(counts.summary)
    tok = bbpe.train_from_counts(counts, int(vocab_size), special_tokens=["<|endoftext|>"])
    tok.save(output)
    print(f"{len(tok):,} tokens, the longest is {max(tok.spec.vocab.values(), key=len)!r}")


if __name__ == "__main__":
    main(*sys.argv[1:])
