"""Folders of random files beside a tokenizer.json: the tokens, names and ids that HF's `transformers` makes of them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from compared import compared
from seeds import then_full
from vocabularies import document, write_json

import bbpe

transformers = pytest.importorskip("transformers")
FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
TOKENS = ["<a>", "<b>", "<c>", "<d>", "<e>", "the", "<F>"]
USES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
NAMED = ("bos", "eos", "unk", "pad")
TEXTS = ["the <a> in<b> x<c>y  <d>\t the<e>in", "THE <A>  <F>x <f> in the", "<a><b><c> <d> <e>a"]


class Files:
    """The files of one folder: a token has the same options wherever it is named, as `transformers` writes them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        flags = [{name: self.likely(0.3) for name in FLAGS} for _ in TOKENS]
        objects = [{"__type": "AddedToken", "content": text, **flags, "special": True}
                   for text, flags in zip(TOKENS, flags, strict=True)]  # fmt: skip
        self.forms = [row["content"] if self.likely(0.5) else row for row in objects]

    def likely(self, share: float) -> bool:
        return self.rng.random() < share

    def some(self, count: int) -> list[Any]:
        return self.rng.sample(self.forms, count)

    def names(self) -> dict[str, Any]:
        """Tokens by their uses, some of them null."""
        uses = [use for use in USES if self.likely(0.25)]
        return {f"{use}_token": None if self.likely(0.15) else self.some(1)[0] for use in uses}

    def config(self) -> dict[str, Any]:
        found = self.names()
        if self.likely(0.3):
            found["image_token"] = self.some(1)[0]
        lists: list[dict[str, Any]] = [
            {"additional_special_tokens": self.some(2)},
            {"extra_special_tokens": self.some(2)},
            {"extra_special_tokens": {"video_token": self.some(1)[0]}},
            {}, {}
        ]  # fmt: skip
        return found | self.rng.choice(lists)

    def table(self) -> dict[str, Any]:
        """The tokens of `added_tokens_decoder`, special ones or not, whose ids have 1 to 3 digits."""
        texts = self.rng.sample(TOKENS, self.rng.randint(1, 4))
        numbers = self.rng.sample([9, 10, 99, *range(267, 300)], len(texts))
        flags = [{name: self.likely(0.3) for name in FLAGS} for _ in texts]
        rows = zip(numbers, texts, flags, strict=True)
        return {str(number): {"content": text, **chosen, "special": self.likely(0.5)} for number, text, chosen in rows}

    def all(self) -> dict[str, Any]:
        config = self.config()
        others: dict[str, Any] = {"tokenizer_config.json": config}
        if self.likely(0.5):
            config["added_tokens_decoder"] = self.table()
        if self.likely(0.5):
            listed = {"additional_special_tokens": self.some(2)} if self.likely(0.3) else {}
            others["special_tokens_map.json"] = self.names() | listed
        if self.likely(0.4) and "additional_special_tokens" not in others.get("special_tokens_map.json", {}):
            texts = [form for form in self.forms if isinstance(form, str) and form != "the"][:2]
            others["added_tokens.json"] = {text: 267 + number for number, text in enumerate(texts)}
        return others


@pytest.mark.parametrize("first", then_full(range(0, 45, 15), range(45, 120, 15)))
def test_tokens_names_and_ids(tmp_path: Path, first: int) -> None:
    with compared(at_least=15) as one_more:
        for seed in range(first, first + 15):
            files = Files(seed)
            folder = tmp_path / str(seed)
            folder.mkdir()
            normalizer = {"type": "Lowercase"} if files.likely(0.5) else None
            write_json(folder / "tokenizer.json", document(normalizer=normalizer))
            for name, value in files.all().items():
                write_json(folder / name, value)
            hf, tok = transformers.AutoTokenizer.from_pretrained(folder), bbpe.load(folder)
            theirs = {token.content: (number, token.special) for number, token in hf.added_tokens_decoder.items()}
            special = {text: (number, True) for text, number in tok.special_tokens.items()}
            plain = {text: (number, False) for text, number in tok.added_tokens.items()}
            assert special | plain == theirs, seed
            assert [getattr(tok, f"{use}_token") for use in NAMED] == [getattr(hf, f"{use}_token") for use in NAMED]
            for text in TEXTS:
                ids = hf.encode(text, add_special_tokens=False)
                assert tok.encode(text, allowed_special="all") == ids, (seed, text)
            one_more()
