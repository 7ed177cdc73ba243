"""The committed table of character classes is what its generator writes."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from split_cases import ONE_A_CLASS

from bbpe.core.split import UNICODE_VERSION

CSRC = Path(__file__).resolve().parents[2] / "csrc" / "text"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    unicodedata2 = pytest.importorskip("unicodedata2")
    if unicodedata2.unidata_version != UNICODE_VERSION:
        pytest.skip(f"unicodedata2 knows Unicode {unicodedata2.unidata_version}, the table {UNICODE_VERSION}")
    spec = importlib.util.spec_from_file_location("uclass_generate", CSRC / "uclass_generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.full
def test_table_is_the_generated_one(generator: ModuleType) -> None:
    files = generator.files()
    assert {name: (CSRC / name).read_text("utf-8") for name in files} == files


def test_cases_have_every_class(generator: ModuleType) -> None:
    """The strings that are tried exhaustively have a character of each class."""
    defined = dict(re.findall(r"#define BBPE_CLASS_(\w+) (\d+)", (CSRC / "uclass_table.h").read_text("utf-8")))
    assert list(defined) == generator.CLASSES
    assert {generator.classify(ord(char)) for char in ONE_A_CLASS} == set(defined)


def test_classes_are_set_by_set_those_of_regex(generator: ModuleType) -> None:
    """What the sets of csrc/text/uclass.h stand for, on characters that every version of Unicode knows."""
    regex = pytest.importorskip("regex")
    sets = {
        r"\p{L}": "UPPER LOWER CASELESS HAN_LETTER HAN_RARE KANA_LETTER",
        r"\p{M}": "MARK HAN_MARK KANA_MARK",
        r"\p{N}": "NUMBER HAN_NUMBER",
        r"\s": "SPACE NEWLINE BLANK",
        r"[\p{P}\p{S}]": "PUNCT HAN_SYMBOL KANA_SYMBOL",
        r"[\p{Lu}\p{Lt}]": "UPPER",
        r"\p{Ll}": "LOWER",
        r"[一-龥぀-ゟ゠-ヿ]": "HAN_LETTER KANA_LETTER KANA_MARK KANA_SYMBOL KANA_OTHER",
        r"[\r\n]": "NEWLINE",
    }
    points = [point for point in range(0x10000) if not 0xD800 <= point < 0xE000]
    classes = {point: generator.classify(point) for point in points}
    newer = {point for point in points if generator.unicodedata2.category(chr(point)) == "Cn"} | {0x295}
    for source, names in sets.items():
        found = {ord(char) for char in regex.findall(source, "".join(map(chr, points)))}
        ours = {point for point in points if classes[point] in names.split()}
        assert (found ^ ours) <= newer, source
