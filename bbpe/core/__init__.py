"""The compiled engine: Cython modules over the C core in `csrc`."""

from typing import Any

_loader: Any = globals().get("__loader__")
if type(_loader).__module__ == "zipimport":
    raise ImportError(
        f"bbpe has compiled modules, which Python cannot import from an archive; found it in {_loader.archive}; "
        "install it with pip, or unpack the archive",
        name=__name__,
    )
