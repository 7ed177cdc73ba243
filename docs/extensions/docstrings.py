"""An extension of griffe that prepares docstrings for Markdown.

Docstrings are written for `help()`: examples are doctests, and `<s>` is a token.  Markdown would render doctests as
nested quotations, and would take tokens for HTML.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_DOCTEST = re.compile(r"^( *)>>> .*(?:\n\1\S.*|\n\1 +\S.*)*", re.MULTILINE)
_FLAGS = re.compile(r" *# doctest: .*$", re.MULTILINE)
_CODE = re.compile(r"```.*?```|``.*?``|`[^`]*`", re.DOTALL)


class Docstrings(griffe.Extension):
    """Fences doctests, escapes `<` in prose, and shows attributes that are made at first use as attributes."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        """Replace a method that `lazy_property` decorates by the attribute that its users see."""
        if func.parent is not None and any(str(each.value) == "lazy_property" for each in func.decorators):
            made = griffe.Attribute(func.name, lineno=func.lineno, endlineno=func.endlineno, annotation=func.returns)
            made.docstring = func.docstring
            made.labels.add("property")
            func.parent.set_member(func.name, made)


def as_markdown(text: str) -> str:
    """Return a docstring with fenced doctests, and without HTML in its prose."""
    text = _DOCTEST.sub(_fenced, text)
    parts, end = [], 0
    for code in _CODE.finditer(text):
        parts += [text[end : code.start()].replace("<", "&lt;"), code[0]]
        end = code.end()
    return "".join([*parts, text[end:].replace("<", "&lt;")])


def _fenced(found: re.Match[str]) -> str:
    indent = found[1]
    return f"{indent}```pycon\n{_FLAGS.sub('', found[0])}\n{indent}```"
