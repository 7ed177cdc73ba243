"""Train tokenizers on anything, and encode fast with exactly the ids that a model was trained with.

>>> import bbpe
>>> tok = bbpe.train_from_iterator(["see my eyes first", "see my dogs"], vocab_size=260)
>>> tok.decode(tok.encode("see my eyes"))
'see my eyes'
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
    from .report.evaluate import Evaluation, evaluate
    from .report.findings import Finding, LintReport
    from .report.lint import lint
    from .report.measures import Measures
    from .report.trace import Trace
    from .shards.bins import Bins
    from .shards.count import TokenCounts, count_tokens
    from .shards.load import Shards, load_shards
    from .shards.merge import merge_shards
    from .shards.plan import ShardPlan
    from .shards.row_stream import RowStream
    from .shards.run import finish_shards, plan_shards, shard, shard_part
    from .shards.verify import verify_shards
    from .shards.windows import Windows
    from .splitting.splitter import split, split_spans
    from .tokenizer import Tokenizer
    from .training.bpe import BPE, WordPiece
    from .training.extend import extend
    from .training.prune import prune
    from .training.train import train, train_from_counts, train_from_iterator
    from .training.unigram import Unigram
    from .types import AlignedIds, Chunk, EncodedChat, EncodedChats, Padded, Ragged

__all__ = [
    "BPE",
    "AccelerationError",
    "AccelerationWarning",
    "AlignedIds",
    "BBPEError",
    "BBPETokenizer",
    "Bins",
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
    "Padded",
    "PatternError",
    "PretokenCounts",
    "Ragged",
    "RowStream",
    "ShardPlan",
    "Shards",
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
    "VocabularyWarning",
    "Windows",
    "WordPiece",
    "accelerate",
    "compare",
    "corpus_curve",
    "count",
    "count_from_iterator",
    "count_part",
    "count_tokens",
    "encoding_for_model",
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
    "patch_transformers",
    "plan_count",
    "plan_shards",
    "prune",
    "set_cache_limit",
    "shard",
    "shard_part",
    "split",
    "split_spans",
    "sum_counts",
    "train",
    "train_from_counts",
    "train_from_iterator",
    "unpatch_transformers",
    "verify_shards",
]
__version__ = "0.1.0"

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
    ".report.evaluate": "Evaluation evaluate",
    ".report.trace": "Trace",
    ".report.measures": "Measures",
    ".report.findings": "Finding LintReport",
    ".report.lint": "lint",
    ".training.bpe": "BPE WordPiece",
    ".training.extend": "extend",
    ".training.prune": "prune",
    ".types": "AlignedIds Chunk EncodedChat EncodedChats Padded Ragged",
    ".shards.bins": "Bins",
    ".shards.count": "TokenCounts count_tokens",
    ".shards.load": "Shards load_shards",
    ".shards.merge": "merge_shards",
    ".shards.plan": "ShardPlan",
    ".shards.row_stream": "RowStream",
    ".shards.run": "finish_shards plan_shards shard shard_part",
    ".shards.verify": "verify_shards",
    ".shards.windows": "Windows",
    ".splitting.splitter": "split split_spans",
    ".encoding.stream": "StreamDecoder",
    ".loading": "load",
    ".tokenizer": "Tokenizer",
    ".training.train": "train train_from_counts train_from_iterator",
    ".training.unigram": "Unigram",
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


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(safe_import(__name__ + _MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
