"""Train, encode, count and decode under valgrind: exits with 1 when it reports anything where a frame of ours is.

Meant for a build with -DBBPE_CHECKED, which `make memcheck` makes: others read more than was written, and drop it.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

JOURNEY = """
import bbpe
japanese = "\\u6771\\u4eac\\u90fd\\u306b\\u4f4f\\u3080\\u3002"
texts = [f"see my eyes first, 12345 dogs: {japanese} \\u00dcbermut " * 9, "---- " * 30, "", "caf\\u00e9"]
words = [chr(97 + i % 26) * (i % 24) + chr(0x410 + i % 32) * (i % 9) for i in range(600)]
for pattern in ("gpt2", "o200k", "llama3"):
    tok = bbpe.train_from_iterator([*texts, " ".join(words)], 500, pattern=pattern)
    text = " ".join(words) + texts[0] + "-" * 500
    for _ in range(2):
        ids = tok.encode(text)
        assert tok.encode_to_numpy(text.encode(), threads=2).tolist() == ids
        assert tok.decode(ids) == text and tok.decode_bytes(ids) == text.encode()
        rows = tok.encode_batch([*texts, *words], threads=1)
        assert tok.decode_batch(rows) == [*texts, *words]
        assert tok.count_tokens(text) == len(ids)
        assert tok.count_tokens_batch(texts, threads=1).tolist() == [len(tok.encode(one)) for one in texts]
    bbpe.count_from_iterator([text] * 9, pattern=pattern, threads=2)
for model in ("unigram", "wordpiece"):
    tok = bbpe.train_from_iterator(texts * 3, 400, model=model)
    tok.decode(tok.encode(text))
"""


def reports(log: str) -> list[str]:
    """The reports of a log in which a frame of our modules is."""
    found = re.split(r"(?m)^==\d+== *\n", log)
    ours = re.compile(r"(?m)^==\d+== +(?:at|by) 0x.*(?:bbpe_|/bbpe/core/)")
    kinds = re.compile(r"uninitialised|Invalid|overlap|Mismatched")
    return [report for report in found if kinds.search(report) and ours.search(report)]


def main() -> int:
    """Run the journey, and show what is reported."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "valgrind.log"
        command = [
            "valgrind",
            "--error-limit=no",
            "--num-callers=20",
            f"--log-file={log}",
            sys.executable,
            "-c",
            JOURNEY,
        ]
        subprocess.run(command, check=True, env={**os.environ, "PYTHONMALLOC": "malloc"})
        text = log.read_text("utf-8")
    found = reports(text)
    sys.stdout.write("\n\n".join(found) + f"\n{len(found)} reports\n")
    return bool(found) or "ERROR SUMMARY" not in text


if __name__ == "__main__":
    sys.exit(main())
