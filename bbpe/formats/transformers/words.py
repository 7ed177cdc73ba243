"""The documents of classes with a `vocab.txt` of words, one on each line: BERT, MPNet, Funnel and their kin.

Source: the classes of HF's `transformers` 5.
"""

from __future__ import annotations

from .documents import ClassFiles, ClassParts


def word_piece(files: ClassFiles) -> ClassParts:
    """WordPiece, with BERT's rules and the options that the class reads."""
    chosen = {"tokenize_chinese_chars": True, "strip_accents": None, "clean_text": True}
    chosen["do_lower_case"] = files.row.lowers
    for name in files.row.options:
        value = files.fields.peek(name)
        if value is not None:
            chosen[name] = files.fields.checked(value, bool, name)
    normalizer = {
        "type": "BertNormalizer", "clean_text": chosen["clean_text"], "lowercase": chosen["do_lower_case"],
        "handle_chinese_chars": chosen["tokenize_chinese_chars"], "strip_accents": chosen["strip_accents"],
    }  # fmt: skip
    model = {
        "type": "WordPiece", "vocab": files.keys, "unk_token": files.text("unk"), "max_input_chars_per_word": 100,
        "continuing_subword_prefix": "##",
    }  # fmt: skip
    splits = ({"type": "BertPreTokenizer"},)
    return ClassParts(model, (normalizer,), splits, {"type": "WordPiece", "prefix": "##", "cleanup": True})
