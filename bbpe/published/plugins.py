"""The plugins of tiktoken that are installed: modules of the namespace `tiktoken_ext` that construct encodings."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from ..errors import VocabularyError
from ..lazy import in_gate, safe_import

# tiktoken's own plugin, whose encodings bbpe has
_OWN = "tiktoken_ext.openai_public"


@cache
def plugin_constructors() -> Mapping[str, Callable[[], dict[str, Any]]]:
    """Return the functions of all plugins by the names of their encodings; each returns arguments of an `Encoding`.

    Raises `VocabularyError` on a plugin without constructors, and on two of the same name.
    """
    spec = in_gate(lambda: find_spec("tiktoken_ext"))
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    for module in pkgutil.iter_modules(folders, "tiktoken_ext."):
        if module.name == _OWN:
            continue
        constructors = getattr(safe_import(module.name), "ENCODING_CONSTRUCTORS", None)
        if not isinstance(constructors, Mapping):
            raise VocabularyError(f"plugin {module.name} has no ENCODING_CONSTRUCTORS; expected a dict of functions")
        for name, constructor in constructors.items():
            if found.setdefault(name, constructor) is not constructor:
                raise VocabularyError(f"plugin {module.name} defines {name!r}, as another plugin does; expected one")
    return found
