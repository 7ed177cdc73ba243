"""Unigram against SentencePiece on one core: `python -m benchmarks.unigram MODEL TEXT` encodes by lines and whole.

`--train SIZE` trains both on the text first, in processes of their own, and MODEL is where SentencePiece's is written.
Times are user and system time of the process; ids are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import bbpe

_THEIRS = """
import sentencepiece, sys, time
text, model, size = sys.argv[1:]
start = time.process_time()
sentencepiece.SentencePieceTrainer.train(input=text, model_prefix=model.removesuffix(".model"), model_type="unigram",
    vocab_size=int(size), normalization_rule_name="identity", remove_extra_whitespaces=False, byte_fallback=True,
    num_threads=1, minloglevel=2, max_sentence_length=1 << 20)
print(time.process_time() - start)
"""
_OURS = """
import bbpe, sys, time
start = time.process_time()
bbpe.train(sys.argv[1], int(sys.argv[3]), model="unigram", counting=bbpe.Counting(threads=1))
print(time.process_time() - start)
"""


def seconds(source: str, *arguments: str) -> float:
    done = subprocess.run([sys.executable, "-c", source, *arguments], check=True, capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def compare(name: str, ours: Callable[[], object], theirs: Callable[[], object], rounds: int = 5) -> str:
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for found, run in zip(times, (ours, theirs), strict=True):
            start = time.process_time()
            run()
            found.append(time.process_time() - start)
    mine, other = (sorted(found)[rounds // 2] for found in times)
    return f"{name:16} {mine * 1e3:8.1f} ms  {other * 1e3:8.1f} ms  {other / mine:5.2f}x"


def main() -> int:
    import sentencepiece

    parser = argparse.ArgumentParser(allow_abbrev=False, description=__doc__)
    parser.add_argument("model")
    parser.add_argument("text", type=Path)
    parser.add_argument("--train", type=int, metavar="SIZE")
    parser.add_argument("--characters", type=int, default=4_000_000)
    options = parser.parse_args()
    if options.train is not None:
        arguments = (str(options.text), options.model, str(options.train))
        ours, theirs = seconds(_OURS, *arguments), seconds(_THEIRS, *arguments)
        print(f"training {options.train}: {ours:.1f} s, sentencepiece {theirs:.1f} s, {theirs / ours:.2f}x")
    tok, judge = bbpe.load(options.model), sentencepiece.SentencePieceProcessor(model_file=options.model)
    text = options.text.read_text("utf-8", "replace")[: options.characters].replace("\0", "")
    lines = text.split("\n")
    if tok.encode(text) != judge.encode(text) or tok.encode_batch(lines) != judge.encode(lines):
        print("ids differ")
        return 1
    print(compare("lines, lists", lambda: tok.encode_batch(lines, threads=1), lambda: judge.encode(lines)))
    print(compare("lines, arrays", lambda: tok.encode_batch_to_numpy(lines, threads=1), lambda: judge.encode(lines)))
    print(compare("whole, list", lambda: tok.encode(text), lambda: judge.encode(text)))
    print(compare("whole, array", lambda: tok.encode_to_numpy(text, threads=1), lambda: judge.encode(text)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
