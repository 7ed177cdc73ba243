"""`datasets` finds the result of an earlier run by a hash of the function and of all that it holds: tokenizers too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import bbpe

hf = pytest.importorskip("tokenizers")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")
    datasets = pytest.importorskip("datasets")
from datasets.fingerprint import Hasher  # noqa: E402
from small_hf import KINDS  # noqa: E402 - it imports tokenizers

TEXTS = ["see my dogs first", "", "I have 12 dogs"]


#: The small tokenizers as JSON: `tokenizers` does not train the same ones in each process.
DOCUMENTS: dict[str, str] = {}


@pytest.fixture(autouse=True, scope="module")
def _documents() -> None:
    DOCUMENTS.update({name: make().to_str() for name, make in KINDS.items()})


def stock(kind: str = "bytes", made_by: Any = transformers.PreTrainedTokenizerFast) -> Any:
    return made_by(tokenizer_object=hf.Tokenizer.from_str(DOCUMENTS[kind]), pad_token="<s>")


def accelerated(kind: str = "bytes") -> Any:
    return bbpe.accelerate(stock(kind))


def patched(kind: str = "bytes") -> Any:
    bbpe.patch_transformers()
    try:
        return stock(kind)
    finally:
        bbpe.unpatch_transformers()


def trained(model: str = "bpe", size: int = 290) -> bbpe.Tokenizer:
    return bbpe.train_from_iterator(["see my dogs first"] * 3, size, model=model)


class Own(transformers.PreTrainedTokenizerFast):  # type: ignore[misc]
    def extra(self) -> int:
        return 1


#: What is made, and how it is used before it is hashed again.
MADE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {}


def used(tokenizer: Any) -> None:
    tokenizer(TEXTS, truncation=True, max_length=3, padding="max_length")
    tokenizer(TEXTS, padding=True, return_offsets_mapping=True)
    tokenizer("see", split_special_tokens=True)
    tokenizer("see", split_special_tokens=True, return_special_tokens_mask=True)
    tokenizer.decode(tokenizer.encode("see <s> my"))
    tokenizer.batch_decode([[1, 2]])


def encoded(tokenizer: Any) -> None:
    ids = tokenizer.encode("see my dogs")
    tokenizer.decode(getattr(ids, "ids", ids))
    tokenizer.encode_batch(["see", "my"])


def hashed_and_encoded(tokenizer: bbpe.Tokenizer) -> None:
    encoded(tokenizer)
    tokenizer.encode_with_offsets("see")
    assert tokenizer.fingerprint
    assert hash(tokenizer)


MADE |= {f"accelerated {kind}": (partial(accelerated, kind), used) for kind in KINDS}
MADE |= {
    "patched": (patched, used),
    "a class of one's own": (lambda: bbpe.accelerate(stock("bytes", Own)), used),
    "as_huggingface": (lambda: bbpe.accelerate(trained().as_huggingface(pad_token="a")), used),
    "partial": (lambda: partial(accelerated(), truncation=True), lambda made: used(made.func)),
    "a method": (lambda: accelerated().encode, lambda made: used(made.__self__)),
    "its backend": (lambda: accelerated()._tokenizer, encoded),
    "Tokenizer": (trained, hashed_and_encoded),
    "Tokenizer, unigram": (lambda: trained("unigram"), hashed_and_encoded),
    "as_tokenizers": (lambda: trained().as_tokenizers(), encoded),
    "as_tiktoken": (lambda: trained().as_tiktoken(), encoded),
    "as_sentencepiece": (lambda: trained("unigram").as_sentencepiece(), lambda made: made.encode(["see", "my"])),
}


def closing_over(tokenizer: Any) -> Callable[..., Any]:
    return lambda row: tokenizer(row["text"], truncation=True)


def hashes() -> dict[str, str]:
    found = {}
    for name, (make, use) in MADE.items():
        made = make()
        found[name] = Hasher.hash(made)
        use(made)
        found[f"{name}, used"] = Hasher.hash(made)
        found[f"{name}, in a function"] = Hasher.hash(closing_over(made))
    return found


def mapped(folder: str) -> list[tuple[str, int]]:
    """Tokenize a data set, and return the files of its cache with their numbers in the file system."""
    tokenizer = accelerated()
    rows = datasets.load_from_disk(folder)
    rows.map(partial(tokenizer, truncation=True, max_length=3), input_columns="text", batched=True)
    rows.map(closing_over(tokenizer))
    return sorted((path.name, path.stat().st_ino) for path in Path(folder).glob("cache-*"))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory, _documents: None) -> list[tuple[Any, Any]]:
    """The hashes, and the files of the cache, in this process and in one after it."""
    folder = str(tmp_path_factory.mktemp("hashes") / "rows")
    datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = json.loads(json.dumps([hashes(), mapped(folder)]))
    return [here, run(f"[here.hashes(), here.mapped({folder!r})]")]


def run(call: str) -> Any:
    """Return what a call here returns in a process of its own, with another seed for hashes of strings."""
    code = (
        "import json, sys, test_hashes_of_datasets as here; here.DOCUMENTS.update(json.load(sys.stdin));"
        "print(json.dumps(eval(sys.argv[1])))"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *map(str, sys.path)])
    environment = {**os.environ, "PYTHONHASHSEED": "2", "PYTHONPATH": paths}
    command = [sys.executable, "-W", "ignore", "-c", code, call]
    given = json.dumps(DOCUMENTS).encode()
    done = subprocess.run(command, env=environment, input=given, capture_output=True, check=False)
    assert not done.returncode, done.stderr.decode()[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_hashes_are_those_of_other_processes_and_of_other_uses(found: list[tuple[Any, Any]]) -> None:
    first, second = (hashes for hashes, _ in found)
    assert first == second
    for name in MADE:
        assert first[name] == first[f"{name}, used"], name
    assert len({first[name] for name in MADE}) >= len(MADE) - 1  # a patched tokenizer is an accelerated one


def test_map_finds_its_cache_in_another_process(found: list[tuple[Any, Any]]) -> None:
    first, second = (files for _, files in found)
    assert len(first) == 2
    assert second == first


def test_other_tokenizers_have_other_hashes() -> None:
    added, special, split, templated = (accelerated() for _ in range(4))
    added.add_tokens(["<new>"])
    special.add_special_tokens({"additional_special_tokens": ["<new>"]})
    split.split_special_tokens = True
    templated.chat_template = "{{ messages }}"
    others = [accelerated(), accelerated("unigram"), added, special, split, templated, stock(), trained()]
    others.append(trained(size=262))
    assert len({Hasher.hash(each) for each in others}) == len(others)
    assert Hasher.hash(accelerated()) == Hasher.hash(accelerated())


def test_changes_that_are_undone_leave_the_hash() -> None:
    tokenizer = accelerated()
    before = Hasher.hash(tokenizer)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenizer._tokenizer.enable_truncation(4)
        tokenizer._tokenizer.enable_padding(length=7)
        assert Hasher.hash(tokenizer) == before
        assert tokenizer._tokenizer.truncation["max_length"] == 4
        assert tokenizer._tokenizer.padding["length"] == 7
