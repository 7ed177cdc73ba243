"""The documents of classes with `vocab.json` and `merges.txt`, as GPT-2 and RoBERTa, or `vocab.txt`, as BERT.

Source: the classes of HF's `transformers` 5.
"""

from __future__ import annotations

from typing import Any

from ...lazy import safe_import
from ...splitting.patterns import PATTERNS
from .documents import ClassFiles, ClassParts

_LEVEL = {"type": "ByteLevel", "trim_offsets": True}


def byte_level(files: ClassFiles) -> ClassParts:
    """BPE of bytes, after the split of the row and GPT-2's."""
    row = files.row
    prefixed = files.flag("add_prefix_space", row.is_prefixed) and not row.drops_gaps
    splits = [*row.splits, *([split_at(row.pattern, drops_gaps=row.drops_gaps)] if row.pattern else ())]
    own = not row.pattern or row.drops_gaps
    # in a model of bytes an unknown token has no effect
    suffix = {"end_of_word_suffix": row.end_of_word, "unk_token": files.text("unk")} if row.end_of_word else {}
    return ClassParts(
        {"type": "BPE", "vocab": files.keys, "merges": files.merges, **suffix},
        row.normalizers,
        (*splits, {**_LEVEL, "add_prefix_space": prefixed, "use_regex": own}),
        {**_LEVEL, "add_prefix_space": True, "use_regex": True},
    )


def split_at(pattern: str, *, drops_gaps: bool) -> dict[str, Any]:
    """Return a `Split` by the name of a pattern or a regex."""
    if pattern in PATTERNS:
        safe_import("bbpe.formats.huggingface.normalizers")
        from ..huggingface.normalizers import to_oniguruma

        pattern = to_oniguruma(PATTERNS[pattern].steps)[0]
    behavior = "Removed" if drops_gaps else "Isolated"
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": drops_gaps}


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


def words(files: ClassFiles) -> ClassParts:
    """BPE of words with a mark at their ends, after BERT's rules."""
    model = {
        "type": "BPE", "vocab": files.keys, "merges": files.merges, "unk_token": files.text("unk"),
        "end_of_word_suffix": "</w>",
    }  # fmt: skip
    splits = ({"type": "BertPreTokenizer"},)
    return ClassParts(model, files.row.normalizers, splits, {"type": "BPEDecoder", "suffix": "</w>"})


def bert_normalizer(*, lowercase: bool, strips_accents: bool | None) -> dict[str, Any]:
    """Return BERT's normalizer."""
    return {
        "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": strips_accents,
        "lowercase": lowercase,
    }  # fmt: skip


def herbert_ends(files: ClassFiles) -> dict[str, Any]:
    """Return the template of HerBERT, whose ends no file names."""
    return files.template("first A last", "first A last B:1 last:1", {"first": "<s>", "last": "</s>"})


def code_gen_ends(files: ClassFiles) -> dict[str, Any]:
    """Return the template of flags that the configuration has; without any there are no ids around a text."""
    return files.flagged() or {"type": "ByteLevel", "trim_offsets": False, "add_prefix_space": True}


def roberta_ends(files: ClassFiles) -> dict[str, Any]:
    """Return RoBERTa's processor, whose trimming a flag turns off."""
    return _around(files, files.flag("trim_offsets", True), "sep", "cls")


def clip_ends(files: ClassFiles) -> dict[str, Any]:
    """Return RoBERTa's processor with the ends of CLIP."""
    return _around(files, False, "eos", "bos")


def _around(files: ClassFiles, is_trimmed: bool, last: str, first: str) -> dict[str, Any]:
    ends = {name: [files.text(use), files.id_of(files.text(use))] for name, use in (("sep", last), ("cls", first))}
    prefixed = files.flag("add_prefix_space", False)
    return {"type": "RobertaProcessing", "trim_offsets": is_trimmed, "add_prefix_space": prefixed, **ends}


def whisper_ends(files: ClassFiles) -> dict[str, Any]:
    """Return the template of a transcript; a token that the vocabulary lacks becomes the unknown one."""
    names = ["<|startoftranscript|>"]
    for name in ("language", "task"):
        value = files.fields.peek(name)
        if value is not None:
            names.append(f"<|{files.fields.checked(value, str, name).lower()}|>")
            if files.id_of(names[-1]) is None:
                problem = f"the vocabulary has no token {names[-1]!r}; expected the code of one"
                files.fields.refuse(problem, name)
    if not files.flag("predict_timestamps", False):
        names.append("<|notimestamps|>")
    known = [files.text("unk") if files.id_of(name) is None else name for name in names]
    extra = {f"token{place}": name for place, name in enumerate(known)}
    start = " ".join(extra)
    return files.template(f"{start} A eos", f"{start} A B:1 eos:1", extra)
