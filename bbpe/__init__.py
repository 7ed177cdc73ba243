"""Train tokenizers on anything, and encode fast with exactly the ids that a model was trained with.

>>> import bbpe
>>> tok = bbpe.train_from_iterator(["The goods are delivered within 14 days."], vocab_size=270)
>>> tok.decode(tok.encode("The goods within 14 days"))
'The goods within 14 days'

Make a tokenizer: `train`, `train_from_iterator` and `extend` learn one. `load` reads a file, a folder, a published
    vocabulary ("o200k_base") or that of a model ("gpt-4o"). `tok.save` writes a tokenizer.
Encode: `tok.encode`, `encode_batch`, `encode_batch_to_numpy`, `encode_files`, `encode_with_offsets`, `encode_padded`.
Decode: `tok.decode`, `decode_bytes`, `decode_batch`, `stream_decoder`.
Fit: `tok.count_tokens`, `truncate`, `chunk`, `count_messages`.
Chats: `tok.apply_chat_template`, `encode_chat`, `encode_chat_batch`, `continue_chat`.
See: `tok.pieces`, `tok.trace`, `tok.to_html`.
Judge: `evaluate`, `compare`, `lint`, `learning_curve`, `corpus_curve`.
Data: `count` collects pretokens, `shard` writes files for training, `load_shards` reads them, `merge_shards` and
    `verify_shards` look after them.
Other libraries: `accelerate` speeds up a tokenizer of transformers, `patch_transformers` all of them. `bbpe.tiktoken`
    has the names of tiktoken. `tok.as_tiktoken`, `as_sentencepiece`, `as_tokenizers` and `as_huggingface` are views.

The command `bbpe` does all of this without a line of Python: `bbpe --help`.
"""

import os.path
import sys


def _is_command() -> bool:
    """Return whether this process is `python -m bbpe`, or the script `bbpe` that is installed beside its Python."""
    program, words = (*getattr(sys, "argv", ()), "")[0], getattr(sys, "orig_argv", [])
    if program == "-m":  # while Python looks for the module
        return "-mbbpe" in words or ("-m", "bbpe") in zip(words, words[1:], strict=False)  # noqa: RUF007
    # pathlib would be imported for this alone
    if os.path.basename(program) not in ("bbpe", "bbpe.exe", "bbpe-script.py"):  # noqa: PTH119
        return False
    beside = os.path.abspath(sys.executable)  # noqa: PTH100
    return bool(os.path.dirname(os.path.realpath(program)) == os.path.dirname(beside))  # noqa: PTH120


if _is_command():
    import _signal  # type: ignore[import-not-found]

    # until the command line listens (bbpe/__main__.py), Ctrl-C ends the process without a traceback
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from collections.abc import Callable  # noqa: E402
from operator import attrgetter  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

from .lazy import VIEWS, safe_import  # noqa: E402

if TYPE_CHECKING:
    from .budget import set_cache_limit
    from .compat.classic import BBPETokenizer
    from .compat.transformers.acceleration import accelerate, is_accelerated
    from .compat.transformers.patching import patch_transformers, unpatch_transformers
    from .counting.count import count, count_from_iterator
    from .counting.counts import PretokenCounts, Summary, load_counts
    from .counting.options import Counting
    from .counting.plan import CountPlan, count_part, plan_count, sum_counts
    from .encoding.engine import CacheInfo
    from .encoding.stream import StreamDecoder
    from .encodings import encoding_for_model, get_encoding
    from .errors import (
        AccelerationError,
        AccelerationWarning,
        BBPEError,
        CorpusError,
        MemoryLimitError,
        PatternError,
        SpecialTokenError,
        TokenIdError,
        TokenNotFoundError,
        VocabularyError,
        VocabularyWarning,
    )
    from .loading import load
    from .report.compare import Comparison, SplitPair, compare
    from .report.curves import Curve, CurvePoint, corpus_curve, learning_curve
    from .report.evaluate import evaluate
    from .report.evaluation import Evaluation
    from .report.findings import Finding, LintReport
    from .report.lint import lint
    from .report.measures import Measures
    from .report.trace import Trace
    from .shards.bins import Bins
    from .shards.blend import Blend, blend_shards
    from .shards.convert import convert_shards, plan_conversion
    from .shards.count import TokenCounts, count_tokens
    from .shards.estimate import ShardEstimate, estimate_shards
    from .shards.iterated import shard_from_iterator
    from .shards.load import Shards, load_shards
    from .shards.merge import merge_shards
    from .shards.mixture import Mixture, MixtureSource
    from .shards.opened import ShardFiles, open_shards
    from .shards.plan import ShardPlan
    from .shards.retokenize import plan_retokenizing, retokenize
    from .shards.row_stream import RowStream
    from .shards.run import finish_shards, plan_shards, shard, shard_part
    from .shards.source_tokens import SourceTable, SourceTokens
    from .shards.status import ShardsStatus, shards_status
    from .shards.texts import count_shards
    from .shards.verify import verify_shards
    from .shards.windows import Windows
    from .splitting.splitter import split, split_spans
    from .tokenizer import Tokenizer
    from .training.bpe import BPE, WordPiece
    from .training.extend import extend
    from .training.prune import prune
    from .training.train import train, train_from_counts, train_from_iterator
    from .training.unigram import Unigram
    from .training.vocabulary_map import VocabularyMap, vocabulary_map
    from .types import AlignedIds, Chunk, EncodedChat, EncodedChats, Padded, Ragged

__all__ = [
    "BPE",
    "AccelerationError",
    "AccelerationWarning",
    "AlignedIds",
    "BBPEError",
    "BBPETokenizer",
    "Bins",
    "Blend",
    "CacheInfo",
    "Chunk",
    "Comparison",
    "CorpusError",
    "CountPlan",
    "Counting",
    "Curve",
    "CurvePoint",
    "EncodedChat",
    "EncodedChats",
    "Evaluation",
    "Finding",
    "LintReport",
    "Measures",
    "MemoryLimitError",
    "Mixture",
    "MixtureSource",
    "Padded",
    "PatternError",
    "PretokenCounts",
    "Ragged",
    "RowStream",
    "ShardEstimate",
    "ShardFiles",
    "ShardPlan",
    "Shards",
    "ShardsStatus",
    "SourceTable",
    "SourceTokens",
    "SpecialTokenError",
    "SplitPair",
    "StreamDecoder",
    "Summary",
    "TokenCounts",
    "TokenIdError",
    "TokenNotFoundError",
    "Tokenizer",
    "Trace",
    "Unigram",
    "VocabularyError",
    "VocabularyMap",
    "VocabularyWarning",
    "Windows",
    "WordPiece",
    "accelerate",
    "blend_shards",
    "compare",
    "convert_shards",
    "corpus_curve",
    "count",
    "count_from_iterator",
    "count_part",
    "count_shards",
    "count_tokens",
    "encoding_for_model",
    "estimate_shards",
    "evaluate",
    "extend",
    "finish_shards",
    "get_encoding",
    "is_accelerated",
    "learning_curve",
    "lint",
    "load",
    "load_counts",
    "load_shards",
    "merge_shards",
    "open_shards",
    "patch_transformers",
    "plan_conversion",
    "plan_count",
    "plan_retokenizing",
    "plan_shards",
    "prune",
    "retokenize",
    "set_cache_limit",
    "shard",
    "shard_from_iterator",
    "shard_part",
    "shards_status",
    "split",
    "split_spans",
    "sum_counts",
    "train",
    "train_from_counts",
    "train_from_iterator",
    "unpatch_transformers",
    "verify_shards",
    "vocabulary_map",
]
__version__ = "0.2.0"

#: The modules of the public names.  A module is imported when one of its names is first used, so a program that only
#: loads a tokenizer does not wait for the import of training.
_MODULES = {
    ".budget": "set_cache_limit",
    ".compat.transformers.acceleration": "accelerate is_accelerated",
    ".compat.classic": "BBPETokenizer",
    ".compat.transformers.patching": "patch_transformers unpatch_transformers",
    ".counting.count": "count count_from_iterator",
    ".counting.counts": "PretokenCounts Summary load_counts",
    ".counting.options": "Counting",
    ".counting.plan": "CountPlan count_part plan_count sum_counts",
    ".encoding.engine": "CacheInfo",
    ".encodings": "encoding_for_model get_encoding",
    ".errors": "AccelerationError AccelerationWarning BBPEError CorpusError MemoryLimitError PatternError "
    "SpecialTokenError TokenIdError TokenNotFoundError VocabularyError VocabularyWarning",
    ".report.compare": "Comparison SplitPair compare",
    ".report.curves": "Curve CurvePoint corpus_curve learning_curve",
    ".report.evaluate": "evaluate",
    ".report.evaluation": "Evaluation",
    ".report.trace": "Trace",
    ".report.measures": "Measures",
    ".report.findings": "Finding LintReport",
    ".report.lint": "lint",
    ".training.bpe": "BPE WordPiece",
    ".training.extend": "extend",
    ".training.prune": "prune",
    ".types": "AlignedIds Chunk EncodedChat EncodedChats Padded Ragged",
    ".shards.blend": "Blend blend_shards",
    ".shards.bins": "Bins",
    ".shards.count": "TokenCounts count_tokens",
    ".shards.estimate": "ShardEstimate estimate_shards",
    ".shards.convert": "convert_shards plan_conversion",
    ".shards.iterated": "shard_from_iterator",
    ".shards.load": "Shards load_shards",
    ".shards.merge": "merge_shards",
    ".shards.opened": "ShardFiles open_shards",
    ".shards.mixture": "Mixture MixtureSource",
    ".shards.plan": "ShardPlan",
    ".shards.retokenize": "plan_retokenizing retokenize",
    ".shards.row_stream": "RowStream",
    ".shards.run": "finish_shards plan_shards shard shard_part",
    ".shards.status": "ShardsStatus shards_status",
    ".shards.source_tokens": "SourceTable SourceTokens",
    ".shards.verify": "verify_shards",
    ".shards.texts": "count_shards",
    ".shards.windows": "Windows",
    ".splitting.splitter": "split split_spans",
    ".encoding.stream": "StreamDecoder",
    ".loading": "load",
    ".tokenizer": "Tokenizer",
    ".training.train": "train train_from_counts train_from_iterator",
    ".training.unigram": "Unigram",
    ".training.vocabulary_map": "VocabularyMap vocabulary_map",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


def _view(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports a module of the package, and calls one of its functions."""
    make = attrgetter(name)
    return lambda *arguments, **options: make(safe_import(__name__ + module))(*arguments, **options)


VIEWS["maker"] = _view(".published.names", "maker_of")
VIEWS["html"] = _view(".report.view", "to_html")
VIEWS["summary"] = _view(".report.view", "summary")
VIEWS["trace"] = _view(".report.trace", "trace")
VIEWS["tiktoken"] = _view(".tiktoken.core", "Encoding._of")
VIEWS["chat_html"] = _view(".report.chat_view", "to_html")
VIEWS["chat_fragment"] = _view(".report.chat_view", "fragment")
VIEWS["chat"] = _view(".compat.chat", "apply_chat_template")
VIEWS["encode_chat"] = _view(".compat.chat.encoding", "encode_chat")
VIEWS["encode_chat_batch"] = _view(".compat.chat.encoding", "encode_chat_batch")
VIEWS["continue_chat"] = _view(".compat.chat.continuing", "continue_chat")
VIEWS["encode_chat_columns"] = _view(".compat.chat.columns", "encode_chat_columns")
VIEWS["encode_segments"] = _view(".compat.chat.encoding", "encode_segments")
VIEWS["messages"] = _view(".compat.chat.counting", "count_messages")
VIEWS["sentencepiece"] = _view(".compat.sentencepiece", "SentencePieceProcessor._of")
VIEWS["tokenizers"] = _view(".compat.tokenizers", "Tokenizer")
VIEWS["transformers"] = _view(".compat.transformers", "as_huggingface")


#: Public modules, which are imported when they are first used too.
_PUBLIC = ("ray", "reference", "sglang", "tiktoken", "vllm")


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return safe_import(f"{__name__}.{name}")
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(safe_import(__name__ + _MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__", *_PUBLIC])
