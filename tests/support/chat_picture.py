"""Write the outputs of the guide to chats: what its examples print, and the picture of a chat with its style.

    python tests/support/chat_picture.py

The picture is between two comments, and in a notebook it
would be the value of the example above it.  Its style is a file of its own, because Markdown on other sites shows a
style as text.
"""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

from page_outputs import EXAMPLE, with_outputs

ROOT = Path(__file__).resolve().parents[2]
PAGE, STYLE = ROOT / "docs" / "chats.md", ROOT / "docs" / "stylesheets" / "chat.css"
_BEGIN, _END = "<!-- picture: python tests/support/chat_picture.py -->\n", "<!-- end of picture -->\n"
_CSS = re.compile(r"<style>(.*?)</style>")


def picture(page: str) -> tuple[str, str]:
    """Return the element and the style of the value of the example above the picture of a page."""
    space: dict[str, Any] = {}
    blocks = EXAMPLE.findall(page.partition(_BEGIN)[0])
    with redirect_stdout(StringIO()):
        for _, block, _ in blocks[:-1]:
            exec(compile(block, str(PAGE), "exec"), space)
    shown = eval(blocks[-1][1], space)._repr_html_()
    (style,) = _CSS.findall(shown)
    return _CSS.sub("", shown) + "\n", style.replace("}", "}\n")


def with_picture(page: str, element: str) -> str:
    """Return a page with another picture."""
    before, _, rest = page.partition(_BEGIN)
    return before + _BEGIN + element + _END + rest.partition(_END)[2]


if __name__ == "__main__":
    text = with_outputs(PAGE.read_text("utf-8"), PAGE.name)
    element, style = picture(text)
    PAGE.write_text(with_picture(text, element), "utf-8")
    STYLE.write_text(style, "utf-8")
