"""A spec as bytes: what was cut off or joined to is refused, and never read as another spec."""

from __future__ import annotations

import pytest

import bbpe
from bbpe.spec.pickled import from_plain, spec_bytes, spec_of_bytes, to_plain
from bbpe.spec.rules import Lowercase


@pytest.mark.parametrize("model", ["bpe", "unigram"])
def test_bytes_that_are_cut_off_are_refused(model: str) -> None:
    size = 300 if model == "bpe" else 330
    spec = bbpe.train_from_iterator(["low lower lowest newest"] * 3, size, model=model).spec  # type: ignore[call-overload]
    data = spec_bytes(spec)
    assert spec_of_bytes(data) == spec
    without_merges = len(data) - 8 - len(spec.merges.data())  # a spec of ranks has none
    for end in {*range(0, len(data), 7), *range(len(data) - 40, len(data))} - {without_merges}:
        with pytest.raises((ValueError, TypeError)):
            spec_of_bytes(data[:end])
    with pytest.raises((ValueError, TypeError)):
        spec_of_bytes(data + data[-40:])


@pytest.mark.parametrize("values", [(1.0, 2.5), (1.0, 2), (1, 2.0), (), (1.0,), ("a", 1.0), (True, 0.5), (None, 1.0)])
def test_numbers_keep_their_types(values: tuple[object, ...]) -> None:
    again = from_plain(to_plain(values))
    assert again == values
    assert list(map(type, again)) == list(map(type, values))


def test_a_class_of_another_package_is_no_data_of_a_spec() -> None:
    other = type("Lowercase", (), {"__module__": "other.rules", "__match_args__": ()})
    with pytest.raises(TypeError, match="expected data of a spec"):
        to_plain(other())
    assert to_plain(Lowercase()) == {"rules.Lowercase": []}
