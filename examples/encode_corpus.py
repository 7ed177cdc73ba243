"""Encode files into arrays: `python encode_corpus.py TOKENIZER CORPUS OUTPUT`.

Writes OUTPUT.ids.npy with all ids and OUTPUT.offsets.npy (int64): document i is ids[offsets[i]:offsets[i + 1]].
"""

import sys

import numpy as np

import bbpe


def main(tokenizer: str, corpus: str, output: str) -> None:
    """Encode one document after the other, and end each with the end-of-text token if there is one."""
    tok = bbpe.load(tokenizer)
    dtype = np.uint16 if tok.vocab_size <= 1 << 16 else np.uint32
    end = np.array([tok.special_tokens[text] for text in ("<|endoftext|>",) if text in tok.special_tokens], dtype)
    rows = [np.concatenate([ids.astype(dtype), end]) for ids in tok.encode_files(corpus)]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    np.save(output + ".ids.npy", np.concatenate([np.empty(0, dtype), *rows]))
    np.save(output + ".offsets.npy", offsets)
    print(f"{len(rows):,} documents, {offsets[-1]:,} ids of {np.dtype(dtype)}")


if __name__ == "__main__":
    main(*sys.argv[1:])
