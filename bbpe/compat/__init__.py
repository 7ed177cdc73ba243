"""The interfaces of other libraries, a folder each, and chat templates."""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

#: Modules that programs and pickles may name by the place that they had before, with the place that they have.
_MOVED = {
    "acceleration": "transformers.acceleration",
    "added": "tokenizers.components",
    "backend": "transformers.backend",
    "call_options": "transformers.call_options",
    "components": "tokenizers.components",
    "encoding": "tokenizers.encoding",
    "patching": "transformers.patching",
    "piece_model": "sentencepiece.model",
    "piece_normalizer": "sentencepiece.normalizer",
    "piece_texts": "sentencepiece.results",
    "row_options": "tokenizers.row_options",
    "texts": "tokenizers.texts",
}
#: Classes by their names before.
_RENAMED = {"Engine": "HfTexts", "Part": "EncodingPart", "PieceModel": "SpModel"}


class _MovedModules:
    """Finds a module by its place before: both names import one module."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, module = name.rpartition(".")
        return ModuleSpec(name, _MovedModules) if package == __name__ and module in _MOVED else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """Let Python make a module, which `exec_module` replaces."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the module at its place now under its name before, with its classes under theirs."""
        moved = import_module(f"{__name__}.{_MOVED[module.__name__.rpartition('.')[2]]}")
        for before, now in _RENAMED.items():
            if now in vars(moved):
                setattr(moved, before, vars(moved)[now])
        sys.modules[module.__name__] = moved


sys.meta_path.append(_MovedModules)
