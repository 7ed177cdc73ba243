"""Show text while ids arrive: `python stream_decode.py TOKENIZER TEXT`."""

import sys
from collections.abc import Iterator

import bbpe


def generate(tok: bbpe.Tokenizer, text: str) -> Iterator[int]:
    """Yield ids one by one; stands in for a model."""
    yield from tok.encode(text)


def main(tokenizer: str, text: str) -> None:
    """Write each piece of text as soon as its characters are complete."""
    tok = bbpe.load(tokenizer)
    decoder = tok.stream_decoder()
    for token_id in generate(tok, text):
        print(decoder.push(token_id), end="", flush=True)
    print(decoder.finish())


if __name__ == "__main__":
    main(*sys.argv[1:])
