"""The interface of the package tiktoken, without it: `import bbpe.tiktoken as tiktoken`.

`install` makes other packages, which import tiktoken, use it.
"""

from __future__ import annotations

import sys

from ..lazy import safe_import
from . import core, load, model, registry
from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names

__all__ = [
    "Encoding",
    "core",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "install",
    "list_encoding_names",
    "load",
    "model",
    "registry",
    "uninstall",
]
#: The version of tiktoken whose interface this is.
__version__ = "0.14.0"
#: The modules of tiktoken that have a counterpart here, after "tiktoken".
_MODULES = ("", ".core", ".load", ".model", ".registry")


def install() -> None:
    """Make `import tiktoken` import `bbpe.tiktoken` in this process, for packages that are imported later.

    tiktoken need not be installed.  A second call changes nothing.

    Raises:
        ImportError: tiktoken is already imported, so modules may hold its functions; call `install` before you import
            the packages that use it.

    Example:
        >>> import bbpe.tiktoken
        >>> bbpe.tiktoken.install()  # doctest: +SKIP
        >>> import litellm  # doctest: +SKIP
    """
    found = sys.modules.get("tiktoken")
    if found is not None and found.__name__ != __name__:
        raise ImportError(
            f"tiktoken is already imported from {getattr(found, '__file__', None)}, and other modules may use it; "
            "call bbpe.tiktoken.install() before the packages that import tiktoken"
        )
    for name in _MODULES:
        sys.modules[f"tiktoken{name}"] = safe_import(__name__ + name)


def uninstall() -> None:
    """Make `import tiktoken` import the package itself again; modules that have imported this one keep it.

    Example:
        >>> import bbpe.tiktoken
        >>> bbpe.tiktoken.uninstall()
    """
    for name in _MODULES:
        found = sys.modules.get(f"tiktoken{name}")
        if found is not None and found.__name__ == __name__ + name:
            del sys.modules[f"tiktoken{name}"]
