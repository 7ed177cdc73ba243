"""The compiled core: Cython modules over the C core in `csrc`, in one file, that of `_compiled`."""

import sys
from importlib import import_module
from importlib.machinery import ExtensionFileLoader, ModuleSpec
from importlib.util import spec_from_file_location
from typing import Any

_loader: Any = globals().get("__loader__")
if type(_loader).__module__ == "zipimport":
    raise ImportError(
        f"bbpe has compiled modules, which Python cannot import from an archive; found it in {_loader.archive}; "
        "install it with pip, or unpack the archive",
        name=__name__,
    )

#: The one file, and the modules in it.
_FILE = str(import_module(f"{__name__}._compiled").__file__)
_MODULES = frozenset(
    """
    arrow arrow_rows automaton bin_packer bpe budget call character_tokens charsmap chat_rows column
    count documents encoder file_map helper id_buffer id_column id_source ids image int_objects
    json_lines long_text matcher merge_list model normalizer parts piece_list places pre_tokenizer
    row_order row_views row_writer rows seen short_calls split states stops stream tasks temporary
    text_group token_table traced train train_words transcode truncate unigram unigram_train word_bpe
    wordpiece
    """.split()
)


class _Finder:
    """Finds the modules in the file that has all of them."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, module = name.rpartition(".")
        if package != __name__ or module not in _MODULES:
            return None
        return spec_from_file_location(name, _FILE, loader=ExtensionFileLoader(name, _FILE))


sys.meta_path.append(_Finder)
