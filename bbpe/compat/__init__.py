"""The interfaces of other libraries, a folder each, and chat templates."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Modules that programs and pickles may name by the place that they had before, with the place that they have.
_MOVED = {
    "acceleration": "transformers.acceleration",
    "added": "tokenizers.added",
    "backend": "transformers.backend",
    "call_options": "transformers.call_options",
    "components": "tokenizers.components",
    "encoding": "tokenizers.encoding",
    "patching": "transformers.patching",
    "piece_model": "sentencepiece.model",
    "piece_normalizer": "sentencepiece.normalizer",
    "piece_texts": "sentencepiece.texts",
    "row_options": "tokenizers.row_options",
    "texts": "tokenizers.texts",
}


class _Finder:
    """Finds a module by its place before: both names import one module."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, module = name.rpartition(".")
        return ModuleSpec(name, _Finder) if package == __name__ and module in _MOVED else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Let Python make a module, which `exec_module` replaces."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the module at its place now under its name before."""
        sys.modules[module.__name__] = import_module(f"{__name__}.{_MOVED[module.__name__.rpartition('.')[2]]}")


sys.meta_path.append(_Finder)
