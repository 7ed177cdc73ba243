"""The number of tokens of images: by the rules of OpenAI, or as the caller gives it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bbpe


@pytest.fixture(scope="module")
def tok() -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["x"], 256)  # a byte is a token


def of(*, role: str = "assistant", **fields: Any) -> dict[str, Any]:
    return {"role": role, **fields}


def image(detail: str | None = None) -> dict[str, Any]:
    inner = {"url": "https://example.com/a.png", "detail": detail}
    return {"type": "image_url", "image_url": {key: value for key, value in inner.items() if value is not None}}


@pytest.mark.parametrize(
    ("model", "size", "detail", "tokens"),
    [
        # the examples of OpenAI's guide
        ("gpt-4o", (1024, 1024), "high", 765), ("gpt-4o", (2048, 4096), "high", 1105),
        ("gpt-4o", (4096, 8192), "low", 85), ("gpt-4.1-mini", (1024, 1024), None, 1659),
        ("gpt-4.1-nano", (1800, 2400), None, 3572),
        # what the API has charged, less the text
        ("gpt-4o-2024-08-06", (128, 64), None, 255), ("gpt-4o-mini-2024-07-18", (128, 64), "high", 2833 + 5667),
        ("gpt-4o-mini", (9, 9), "low", 2833), ("o3-2025-04-16", (128, 64), "auto", 225),
        ("gpt-4.1", (2049, 513), None, 1445), ("gpt-4.1", (2050, 513), None, 765),
        # the sides of tiles and patches, and the most patches
        ("gpt-5", (512, 512), None, 210), ("gpt-5", (513, 512), None, 350), ("gpt-5", (1, 1), "low", 70),
        ("o4-mini", (32, 32), None, 2), ("o4-mini", (33, 32), None, 4), ("gpt-5-nano", (1, 100_000), None, 3779),
        ("gpt-5-mini", (1536, 1024), None, 2489), ("gpt-5-mini", (1568, 1024), None, 2411),
        ("gpt-5-mini", (1024, 1568), "low", 2411), ("gpt-4-turbo", (768, 768), None, 765),
        ("openai/gpt-4o", (769, 768), None, 765), ("ft:gpt-4o-2024-08-06:org::id", (768, 10_000), None, 765),
        # models without a published rule
        ("gpt-5.1", 123, None, 123), ("gpt-5.2", 0, "original", 0),
    ],
)  # fmt: skip
def test_images_of_openai(
    tok: bbpe.Tokenizer, model: str, size: tuple[int, int] | int, detail: str | None, tokens: int
) -> None:
    text = tok.count_messages([of(content=[{"type": "text", "text": "ab"}])], model=model)
    content = [{"type": "text", "text": "ab"}, image(detail)]
    assert tok.count_messages([of(content=content)], model=model, images=[size]) - text == tokens
    part = {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": detail}
    assert tok.count_messages([of(content=[part]), of(content="ab")], model=model, images=[size]) - tokens == (
        text + 3 + len("assistant")
    )


def test_images_are_counted_in_order(tok: bbpe.Tokenizer) -> None:
    messages = [of(content=[image("low")]), of(content=["a", image(), image()])]
    none = tok.count_messages([of(content=[]), of(content=["a"])], model="gpt-4o")
    sizes = [(1, 1), (512, 512), [513, 512]]
    assert tok.count_messages(messages, model="gpt-4o", images=sizes) - none == 85 + 255 + 425  # type: ignore[arg-type]
    for given, words in (
        (sizes[:2], r"images has 2 of them, and messages\[1\].content\[2\] is one more; expected images=\["),
        ([*sizes, 5], "images has 4 of them, and the messages have 3; expected images=.* one for each image"),
        ([(0, 5), *sizes], r"images\[0\] is \(0, 5\); expected \(width, height\) in pixels, or a number of tokens"),
        ([True, *sizes], r"images\[0\] is True"), ([-1, *sizes], r"images\[0\] is -1"),
        (["ab"], r"images\[0\] is 'ab'"), ([(5, 5, 5)], r"images\[0\] is \(5, 5, 5\)"),
        ([(5.5, 5)], r"images\[0\] is \(5.5, 5\)"), ([None], "is None"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            tok.count_messages(messages, model="gpt-4o", images=given)  # type: ignore[arg-type]
    for wrong in ("ab", 5, {(1, 2)}):
        with pytest.raises(TypeError, match=r"images is .*; expected images=\[\(width, height\)"):
            tok.count_messages(messages, model="gpt-4o", images=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="images has 1 of them, and the messages have 0"):
        tok.count_messages([of(content="a")], model="gpt-4o", images=[(1, 1)])
    with pytest.raises(ValueError, match=r"content\[0\]: detail is 'original', for which no rule is known"):
        tok.count_messages([of(content=[image("original")])], model="gpt-4o", images=[(1, 1)])
    with pytest.raises(ValueError, match=r"images of model 'gpt-5.2' are not published; expected images=\[tokens, "):
        tok.count_messages([of(content=[image()])], model="gpt-5.2", images=[(1, 1)])


def test_an_image_without_the_name_of_a_model() -> None:
    named = bbpe.Tokenizer.from_ranks({bytes([at]): at for at in range(256)}, pattern="o200k", name="o200k_base")
    with pytest.raises(ValueError, match=r"image, whose tokens depend on the model; expected model=, such"):
        named.count_messages([of(content=[image()])], images=[(1, 1)])
    assert named.count_messages([of(content=[image()])], images=[7]) == 6 + len("assistant") + 7


def test_images_in_a_template(tmp_path: Path) -> None:
    """A processor replaces the mark that a template writes by as many tokens as the image takes."""
    pytest.importorskip("jinja2")
    bbpe.train_from_iterator(["x"], 256).save(tmp_path / "tokenizer.json")
    (tmp_path / "chat_template.jinja").write_text("{{ messages | length }}")
    tok = bbpe.load(tmp_path)
    for part in (image(), {"type": "image"}, {"type": "input_audio"}, {"type": "video"}):
        words = rf"messages\[1\]\.content\[1\] is a part of the type '{part['type']}'; expected text: a template"
        with pytest.raises(ValueError, match=words):
            tok.count_messages([of(content="a"), of(content=[{"type": "text", "text": "b"}, part])])
    with pytest.raises(ValueError, match="images is given, and the messages have none"):
        tok.count_messages([of(content="a")], images=[(1, 1)])
