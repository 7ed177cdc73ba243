"""Every file loader on mutated files: `PYTHONPATH=tests python tests/fuzz/loaders.py --seconds 60 [NAME ...]`.

As in `test_mutated_files.py`, but several changes at once, for as long as one likes, and from another seed each time.
What is wrong is saved under `build/fuzz/loaders`, and the exit status is 1: an error that is not ours or does not name
the file, a file that takes more than ten seconds, or a tokenizer that loads and then loses bytes.
"""

from __future__ import annotations

import argparse
import io
import random
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from test_mutated_files import FILES, MERGES_TXT, mutated

import bbpe
from bbpe.spec.spec import TextRules

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS_A_FILE = 10
WORDS = ["see my eyes first", "see my dogs", "I've 12 dogs"] * 3
TEXTS = (b"the thing 12's", b"\xff\xe4\xb8\xad", b"")


def other_models() -> dict[str, bytes]:
    """Vocabularies of all models but BPE of bytes, as the files that each has."""
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made = {
        "wordpiece": bbpe.train_from_iterator(WORDS, 60, model="wordpiece", special_tokens=specials),
        "words": bbpe.train_from_iterator(
            WORDS, 80, model=bbpe.BPE(alphabet="chars", end_of_word="</w>", lowercase=True)
        ),
        "unigram": bbpe.train_from_iterator(WORDS, 300, model="unigram"),
    }
    found: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, tok in made.items():
            path = Path(folder) / f"{name}.json"
            tok.save(path, format="huggingface")
            found[path.name] = path.read_bytes()
        made["wordpiece"].save(Path(folder) / "vocab.txt", format="wordpiece")
        found["bert.txt"] = Path(folder, "vocab.txt").read_bytes()
        made["words"].save(Path(folder) / "words.codes", format="codes")
        found["words.codes"] = Path(folder, "words.codes").read_bytes()
    clip = "".join(f"{left} {right}\n" for left, right in (("s", "e"), ("se", "e</w>"), ("m", "y</w>"), ("d", "o")))
    found["bpe_simple_vocab_16e6.txt"] = ('"bpe_simple_vocab_16e6.txt#version: 0.2\n' + clip).encode()
    return found


def seeds() -> dict[str, bytes]:
    """A file of each format; those that need a package are left out without it."""
    found = {**FILES, **other_models()}
    try:
        import sentencepiece
    except ImportError:
        pass
    else:
        for kind in ("bpe", "unigram"):
            model = io.BytesIO()
            # a table of replacements takes a second to read
            rules = "identity" if kind == "bpe" else "nmt_nfkc"
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(["see my eyes first", "see my dogs"] * 5), model_writer=model, vocab_size=300,
                model_type=kind, byte_fallback=True, hard_vocab_limit=False, minloglevel=2,
                normalization_rule_name=rules,
            )
            found[f"{kind}.model"] = model.getvalue()
    if find_spec("pyarrow") is None:
        return found
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "counts.parquet"
        bbpe.count_from_iterator(["see my eyes first", "see my dogs"], pattern="gpt2").save(path)
        found["counts.parquet"] = path.read_bytes()
    return found


def load(path: Path) -> None:
    """Load a file, and use what it is."""
    if path.suffix == ".parquet":
        counts = bbpe.load_counts(path)
        # what the trainer says of no text, and of a corpus of 2^63 bytes and more; the file is in order
        with suppress(OverflowError, *(() if len(counts) else (bbpe.CorpusError,))):
            bbpe.train_from_counts(counts, 256 + len(counts.special_tokens) + 5)
        return
    pattern = "gpt2" if path.name in ("x.tiktoken", "vocab.json", "vocab.txt") else None
    tok = bbpe.load(path, pattern=pattern)
    for text in TEXTS:
        ids = tok.encode(text)
        keeps_all = tok.spec.rules == TextRules() and tok.spec.characters is None and tok.spec.model is None
        if keeps_all and tok.decode_bytes(ids) != text:
            raise AssertionError(f"{text!r} becomes {tok.decode_bytes(ids)!r}")
        tok.decode(ids)


def wrong_with(path: Path, data: bytes, merges: bytes) -> str | None:
    """Say what is wrong when these files are loaded, or nothing."""
    path.write_bytes(data)
    if path.name.startswith("vocab"):
        (path.parent / "merges.txt").write_bytes(merges)
    start = time.process_time()
    try:
        load(path)
    except ValueError as error:  # every error of ours is one; counts that lost their pattern ask for it by a plain one
        if str(path.parent) not in str(error):
            return f"the error does not name the file: {error}"
    except Exception:  # whichever it is, it is what is looked for
        return traceback.format_exc()
    seconds = time.process_time() - start
    return f"it takes {seconds:.0f} seconds" if seconds > SECONDS_A_FILE else None


def fuzz(name: str, seed: bytes, seconds: float) -> bool:
    """Mutate one file for so long; whether all went well."""
    rng, count, end = random.Random(), 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            data, merges = seed, MERGES_TXT
            for _ in range(rng.choice((1, 1, 2, 3, 6))):
                if name.startswith("vocab") and rng.random() < 0.4:
                    merges = mutated(rng, merges or b" ")
                else:
                    data = mutated(rng, data or b" ")
            wrong = wrong_with(Path(folder) / name, data, merges)
            count += 1
            if wrong is not None:
                kept = ROOT / "build" / "fuzz" / "loaders"
                kept.mkdir(parents=True, exist_ok=True)
                (kept / name).write_bytes(data)
                (kept / "merges.txt").write_bytes(merges)
                print(f"{name}: {wrong}\nthe file is in {kept}", file=sys.stderr)
                return False
    print(f"{name:15} {count:8} files in {seconds:.0f} s, nothing wrong")
    return True


def main() -> int:
    parser = argparse.ArgumentParser(allow_abbrev=False, description="Load mutated files.")
    parser.add_argument("--seconds", type=float, default=60, help="for all formats together")
    parser.add_argument("names", nargs="*", help="files to mutate, by name (default: one of each format)")
    args = parser.parse_args()
    files = {name: data for name, data in seeds().items() if not args.names or name in args.names}
    went_well = [fuzz(name, data, args.seconds / len(files)) for name, data in files.items()]
    return 0 if all(went_well) else 1


if __name__ == "__main__":
    sys.exit(main())
