"""All tests of this folder end without temporary files and processes (support/leftovers.py)."""

import pytest
from leftovers import nothing_is_left

import bbpe

__all__ = ["nothing_is_left", "tok"]


@pytest.fixture(scope="package")
def tok() -> bbpe.Tokenizer:
    """A small tokenizer; files with tests of other texts have their own."""
    return bbpe.train_from_iterator(["low lower lowest"] * 3, 270, special_tokens=["</s>", "<s>"])
