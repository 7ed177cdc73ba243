"""start: a fresh Python -> the ids of a first text, as a user pays for it: the interpreter, imports, loading, encoding.

The cost is the CPU time of the whole process.  `tables=yes` has an earlier process of the same library leave whatever
it keeps for later ones; only bbpe keeps something.  `first` is the characters of the text, or "word".
"""

from __future__ import annotations

import resource
import subprocess
import sys
from array import array
from pathlib import Path

from benchmarks.peers import NotSupported
from benchmarks.piped_vocabularies import tokenizer_file
from benchmarks.vocabularies import prepare, vocabulary

from .encoding import ids_as_bytes
from .registry import MILLISECONDS, Measured, Timed, define, job

define("start", ids_as_bytes, MILLISECONDS, tokenizer="t5", first="word", tables="no")

#: The vocabularies that splintr has compiled in.
_COMPILED_IN = {"cl100k": "cl100k_base", "o200k": "o200k_base"}
#: What a user of each library writes for a list of ids, or what the library has in place of one.
_PROGRAMS = {
    "bbpe": """
import bbpe
tok = bbpe.load({path!r}, cache={cache!r})
ids = tok.encode(text)
""",
    "tokenizers": """
from tokenizers import Tokenizer
ids = Tokenizer.from_file({path!r}).encode(text, add_special_tokens=False).ids
""",
    "splintr": """
import splintr
ids = splintr.{splintr}.encode_raw(text)
""",
    "kitoken": """
from kitoken import Kitoken
ids = Kitoken.from_{kitoken}({path!r}).encode(text, False)
""",
    "gigatoken": """
import gigatoken
ids = gigatoken.Tokenizer{gigatoken}.encode(text)
""",
    "sentencepiece": """
import sentencepiece
ids = sentencepiece.SentencePieceProcessor(model_file={path!r}).encode(text)
""",
    "tiktoken": """
import tiktoken
from tiktoken.load import load_tiktoken_bpe
ranks = load_tiktoken_bpe({path!r})
ids = tiktoken.Encoding({name!r}, pat_str={pattern!r}, mergeable_ranks=ranks, special_tokens={{}}).encode_ordinary(text)
""",
}
_READS = {
    "bbpe": (".json", ".tiktoken", ".model"),
    "tokenizers": (".json",),
    "splintr": (".json", ".tiktoken"),
    "kitoken": (".json", ".tiktoken", ".model"),
    "gigatoken": (".json", ".tiktoken", ".model"),
    "sentencepiece": (".model",),
    "tiktoken": (".tiktoken",),
}
_HEAD = "import sys\ntext = open(sys.argv[1], encoding='utf-8', newline='').read()\n"
_TAIL = "\nfrom array import array\nsys.stdout.buffer.write(array('I', ids).tobytes())\n"


@job("start", _PROGRAMS)
def start(library: str, text: bytes, options: dict[str, str]) -> Timed:
    folder, name = Path(options["folder"]), options["tokenizer"]
    path = _file(name, options)
    if library == "tokenizers" and path.suffix == ".tiktoken":
        path = vocabulary(name, folder).exact
    if path.suffix not in _READS[library]:
        raise NotSupported(f"it does not read {path.name}")
    is_ranks, is_pieces = path.suffix == ".tiktoken", path.suffix == ".model"
    chosen = folder / f"start.{options['first']}.text"
    some = "Hello" if options["first"] == "word" else text.decode("utf-8", "ignore")[: int(options["first"])]
    chosen.write_bytes(some.encode())
    cache = str(folder / "tables") if options["tables"] == "yes" else False
    compiled_in = f"Tokenizer.from_pretrained({_COMPILED_IN.get(name)!r})" if is_ranks else f"from_json({str(path)!r})"
    from_file = f".from_tiktoken({str(path)!r}, pretokenizer={name!r}, special_tokens={{}})"
    giga = from_file if is_ranks else f".from_sentencepiece({str(path)!r})" if is_pieces else f"({str(path)!r})"
    kinds = {".tiktoken": "tiktoken_file", ".model": "sentencepiece_file"}
    code = _PROGRAMS[library].format(
        path=str(path), cache=cache, name=name, pattern=_pattern(name) if is_ranks else "", splintr=compiled_in,
        gigatoken=giga, kitoken=kinds.get(path.suffix, "tokenizers_file"),
    )  # fmt: skip
    command = [sys.executable, "-c", _HEAD + code + _TAIL, str(chosen)]
    # an earlier process leaves compiled modules, too
    _spent(command)
    return lambda: _spent(command)


def _spent(command: list[str]) -> Measured:
    before = _children()
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise NotSupported((done.stderr.decode().strip().splitlines() or ["no message"])[-1])
    return Measured(_children() - before, array("I", done.stdout).tolist())


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _file(name: str, options: dict[str, str]) -> Path:
    """Return the file of a vocabulary: ranks of tiktoken's, a model of SentencePiece's, or a tokenizer.json."""
    if name not in _COMPILED_IN:
        return tokenizer_file(options)
    prepare(name, Path(options["vocabularies"]), Path(options["folder"]))
    return vocabulary(name, Path(options["folder"])).ranks


def _pattern(name: str) -> str:
    from tiktoken_ext import openai_public

    source = getattr(openai_public, f"{name}_base")
    openai_public.load_tiktoken_bpe = lambda *_, **__: {}
    return str(source()["pat_str"])
