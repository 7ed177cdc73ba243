"""A blend: Megatron's `--data-path` for sources with weights, without copying them.

Megatron's `BlendedDataset` takes samples of its datasets in proportion to their weights, and each sample of a
`GPTDataset` has the same number of tokens, so that a share of samples is a share of tokens.  A dataset is one part of a
folder, so that the parts share the weight of their folder by their tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from shlex import quote
from typing import Any

from ..errors import CorpusError
from ..records import dataclass
from .load import Folder, Shards, load_shards
from .merge import sources_of, way_to_merge
from .part import read_record
from .plan import ShardPlan
from .policy import differences_of


@dataclass(frozen=True)
class Blend:
    """Parts of shards and their weights; `str` is the value of Megatron's `--data-path`, quoted for a shell.

    Attributes:
        weights: The weight of each part; they sum to 1.
        paths: The path of each part, without a suffix.

    Example:
        >>> print(Blend((0.75, 0.25), ("out/web/part-00000", "out/my code/part-00000")))
        0.75 out/web/part-00000 0.25 'out/my code/part-00000'

    """

    weights: tuple[float, ...]
    paths: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the blend as data for JSON."""
        return {"weights": list(self.weights), "paths": list(self.paths)}

    def arguments(self) -> list[str]:
        """Return the words of the command line after `--data-path`, as a list of arguments has them.

        Example:
            >>> Blend((1.0,), ("out/web/part-00000",)).arguments()
            ['1.0', 'out/web/part-00000']
        """
        return [word for weight, path in zip(self.weights, self.paths, strict=True) for word in (repr(weight), path)]

    def __str__(self) -> str:
        return " ".join(map(quote, self.arguments()))


def blend_shards(folders: Sequence[tuple[Folder, float]]) -> Blend:
    """Return the weights and paths with which Megatron-LM reads sources in these proportions of tokens.

    Nothing is copied, and no documents are chosen: Megatron reads a source again when its samples are used up.
    `merge_shards` with the same weights writes a mixture.

    Args:
        folders: Pairs of a folder of shards in Megatron's format, or shards, and its weight, as in `merge_shards`.

    Returns:
        The blend; `str` of it goes after `--data-path`.

    Raises:
        CorpusError: Shards are not complete, or were made by several tokenizers or with several EOS or BOS.
        TypeError: `folders` is no list of pairs.
        ValueError: Shards have another format or no tokens, or a weight is no finite number above 0.
        OSError: A file cannot be read.

    Example:
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> tok = bbpe.train_from_iterator(["low lower"], 258)
        >>> with TemporaryDirectory() as folder:
        ...     for name in "ab":
        ...         _ = Path(folder, f"{name}.jsonl").write_text('{"text": "low"}')
        ...         _ = bbpe.shard(f"{folder}/{name}.jsonl", f"{folder}/{name}", tok)
        ...     blend = bbpe.blend_shards([(f"{folder}/a", 3), (f"{folder}/b", 1)])
        ...     blend.weights, [path.removeprefix(folder) for path in blend.paths]
        ((0.75, 0.25), ['/a/part-00000', '/b/part-00000'])

    """
    given, weights = sources_of(folders)
    first: ShardPlan | None = None
    if weights is None:
        raise TypeError("folders[0] has no weight; expected pairs of a folder and its weight")
    total, found = sum(weights), list[tuple[float, str]]()
    for number, (shards, weight) in enumerate(zip(map(load_shards, given), weights, strict=True)):
        name = f"folders[{number}] ({shards.plan.folder})"
        if shards.plan.policy.format != "megatron":
            raise ValueError(f"{name} has the format {shards.plan.policy.format!r}; expected 'megatron'")
        if not shards.tokens:
            raise ValueError(f"{name} has no tokens; leave it out of the blend")
        first = first or shards.plan
        _check_alike(first, shards.plan)
        found += _parts(shards, weight / total)
    return Blend(tuple(weight for weight, _ in found), tuple(path for _, path in found))


def _check_alike(one: ShardPlan, other: ShardPlan) -> None:
    """Raise `CorpusError` when two plans have ids that a model would take for others."""
    mine, its = ({"fingerprint": plan.identity["fingerprint"], "bos": plan.policy.bos, "eos": plan.policy.eos}
                 for plan in (one, other))  # fmt: skip
    if found := list(differences_of(mine, its)):
        raise CorpusError(f"{one.folder} and {other.folder}: shards with {', '.join(found)} are no corpus of one model"
                          f"{way_to_merge(one, other)}")  # fmt: skip


def _parts(shards: Shards, weight: Fraction) -> list[tuple[float, str]]:
    """Return the weight and the path of each part that has tokens: Megatron cannot read one without."""
    plan, found = shards.plan, []
    for number in range(len(plan)):
        record = read_record(plan, number)
        if record is None:
            raise CorpusError(f"{plan.stem(number)}: the part is missing; run bbpe.shard again")
        if record.tokens:
            found.append((float(weight * record.tokens / shards.tokens), str(plan.stem(number))))
    return found
