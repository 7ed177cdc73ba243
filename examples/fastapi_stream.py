"""Count chats and stream text from a FastAPI server, as plain text or as server-sent events, up to a stop string.

`python fastapi_stream.py TOKENIZER`, then `curl -N 'localhost:8000/events?prompt=a+b&stop=b'`.  With a prompt and stop
strings as further arguments, the program asks its own server, without a port, and prints the events.
"""

import json
import sys
from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Body, FastAPI, HTTPException, Query
from fastapi.responses import StreamingResponse

import bbpe


def generate(ids: list[int]) -> Iterator[int]:
    """Yield ids one by one; stands in for a model."""
    yield from ids


def server(tok: bbpe.Tokenizer) -> FastAPI:
    """Return a server that sends each piece of text as soon as it is complete and cannot belong to a stop string."""
    app = FastAPI()

    @app.post("/count")
    def count(messages: Annotated[list[dict[str, Any]], Body()], model: Annotated[str | None, Body()] = None) -> int:
        try:
            return tok.count_messages(messages, model=model)
        except (ValueError, bbpe.VocabularyError) as error:  # it names the message and the field
            raise HTTPException(422, str(error)) from error

    @app.get("/text")
    def text(prompt: str, stop: Annotated[list[str], Query()] = []) -> StreamingResponse:  # noqa: B006
        ids = tok.encode(prompt)  # special tokens in what a user writes are plain text
        pieces = tok.stream_decoder(stop=stop).stream(generate(ids))  # a decoder for each request
        return StreamingResponse(pieces, media_type="text/plain; charset=utf-8")

    @app.get("/events")
    def events(prompt: str, stop: Annotated[list[str], Query()] = []) -> StreamingResponse:  # noqa: B006
        ids = tok.encode(prompt)
        decoder = tok.stream_decoder(stop=stop)

        def lines() -> Iterator[str]:
            for piece in decoder.stream(generate(ids)):
                yield f"data: {json.dumps({'text': piece})}\n\n"
            yield f"data: {json.dumps({'stopped': decoder.stopped, 'tokens': decoder.pushed_count})}\n\n"

        return StreamingResponse(lines(), media_type="text/event-stream")

    return app


def main(tokenizer: str, prompt: str | None = None, *stop: str) -> None:
    """Serve on port 8000, or answer one prompt."""
    app = server(bbpe.load(tokenizer))
    if prompt is None:
        import uvicorn

        uvicorn.run(app)
    else:
        from fastapi.testclient import TestClient

        with TestClient(app).stream("GET", "/events", params={"prompt": prompt, "stop": stop}) as answer:
            answer.raise_for_status()
            for piece in answer.iter_text():
                print(piece, end="", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
