"""The interface of the package tiktoken, without it: `import bbpe.tiktoken as tiktoken`.

`install` makes other packages, which import tiktoken, use it.
"""

from . import core, load, model, registry
from .core import Encoding
from .model import encoding_for_model, encoding_name_for_model
from .registry import get_encoding, list_encoding_names
from .replacing import install, uninstall

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
