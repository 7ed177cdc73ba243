"""Stream text from a FastAPI server: `python fastapi_stream.py TOKENIZER`, then `curl -N localhost:8000/text?prompt=a`.

With a prompt as second argument, the program asks its own server, without a port, and prints the answer.
"""

import sys
from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.responses import StreamingResponse

import bbpe


def generate(ids: list[int]) -> Iterator[int]:
    """Yield ids one by one; stands in for a model."""
    yield from ids


def server(tok: bbpe.Tokenizer) -> FastAPI:
    """Return a server that sends each piece of text as soon as its characters are complete."""
    app = FastAPI()

    @app.get("/text")
    def text(prompt: str) -> StreamingResponse:
        ids = tok.encode(prompt)  # special tokens in what a user writes are plain text
        pieces = tok.stream_decoder().stream(generate(ids))  # a decoder for each request
        return StreamingResponse(pieces, media_type="text/plain; charset=utf-8")

    return app


def main(tokenizer: str, prompt: str | None = None) -> None:
    """Serve on port 8000, or answer one prompt."""
    app = server(bbpe.load(tokenizer))
    if prompt is None:
        import uvicorn

        uvicorn.run(app)
    else:
        from fastapi.testclient import TestClient

        with TestClient(app).stream("GET", "/text", params={"prompt": prompt}) as answer:
            for piece in answer.iter_text():
                print(piece, end="", flush=True)
        print()


if __name__ == "__main__":
    main(*sys.argv[1:])
