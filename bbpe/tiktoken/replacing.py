"""Make packages that import tiktoken use bbpe."""

from __future__ import annotations

import sys

from ..lazy import safe_import

#: The modules of tiktoken that have a counterpart here, after "tiktoken".
_MODULES = ("", ".core", ".load", ".model", ".registry")
_OURS = __name__.rpartition(".")[0]


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
    if found is not None and found.__name__ != _OURS:
        raise ImportError(
            f"tiktoken is already imported from {getattr(found, '__file__', None)}, and other modules may use it; "
            "call bbpe.tiktoken.install() before the packages that import tiktoken"
        )
    for name in _MODULES:
        sys.modules[f"tiktoken{name}"] = safe_import(_OURS + name)


def uninstall() -> None:
    """Make `import tiktoken` import the package itself again; modules that have imported this one keep it.

    Example:
        >>> import bbpe.tiktoken
        >>> bbpe.tiktoken.uninstall()
    """
    for name in _MODULES:
        found = sys.modules.get(f"tiktoken{name}")
        if found is not None and found.__name__ == _OURS + name:
            del sys.modules[f"tiktoken{name}"]
