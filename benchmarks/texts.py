"""The texts of a benchmark: corpora read from files, worst cases made here, documents cut from either."""

from __future__ import annotations

import ast
import base64
import json
import lzma
import random
import sysconfig
from collections.abc import Callable
from pathlib import Path

import numpy as np

SHARED = Path(__file__).resolve().parents[2] / "shared"
_BLOCK = 1 << 20


def _repeated(unit: str) -> Callable[[int], bytes]:
    data = unit.encode()
    return lambda size: (data * (size // len(data) + 1))[:size]


def _code_points(first: int, last: int) -> Callable[[int], bytes]:
    def make(size: int) -> bytes:
        points = np.random.default_rng(4).integers(first, last, size, dtype=np.uint32, endpoint=True)
        return points.astype("<u4").tobytes().decode("utf-32-le").encode()[:size]

    return make


def _base64(size: int) -> bytes:
    return base64.b64encode(np.random.default_rng(4).bytes(size))[:size]


def _emoji(size: int) -> bytes:
    """Families, professions and flags, joined by U+200D or with a skin tone, in random order."""
    joined = ["👨‍👩‍👧‍👦", "👩🏽‍🚀", "🏳️‍🌈", "🧑🏿‍🤝‍🧑🏻", "❤️‍🔥", "👩‍❤️‍💋‍👨"]
    order = np.random.default_rng(4).integers(0, len(joined), size // 8)
    return "".join(joined[index] for index in order).encode()[:size]


def _random_bytes(size: int) -> bytes:
    return np.random.default_rng(4).bytes(size).decode("utf-8", "replace").encode()[:size]


def _lines(alphabet: str, width: int) -> Callable[[int], bytes]:
    """Lines of `width` random characters of an alphabet, as in files of sequences."""

    def make(size: int) -> bytes:
        chosen = np.random.default_rng(4).integers(0, len(alphabet), (size // (width + 1) + 1, width + 1))
        letters = np.frombuffer(alphabet.encode(), np.uint8)[chosen]
        letters[:, -1] = ord("\n")
        return letters.tobytes()[:size]

    return make


def _base64_lines(size: int) -> bytes:
    """Lines of 76 characters, as in e-mail."""
    return base64.encodebytes(np.random.default_rng(4).bytes(size))[:size]


def _any_unicode(size: int) -> bytes:
    """Code points up to U+2FFFF, no surrogates and few for private use."""
    points = np.random.default_rng(4).integers(0xA0, 0x30000, size)
    points = points[(points < 0xD800) | (points >= 0xF900)]
    return points.astype("<u4").tobytes().decode("utf-32-le").encode()[:size]


_WORDS = "thanks love this so much happy birthday what a day see you soon order user cart".split()


def _message(rng: random.Random) -> str:
    """Words and emoji, some of which are made of several characters."""
    emoji = (chr(rng.randrange(0x1F300, 0x1F650)), "👨‍👩‍👧‍👦", "👩🏽‍🚀", "🏳️‍🌈", "❤️‍🔥", "🇩🇪", "👍🏾")
    words = rng.choices(_WORDS, k=rng.randint(1, 5))
    return f"{' '.join(words)} {''.join(rng.choices(emoji, (14, *[1] * 6), k=rng.randint(1, 4)))}"


def _log_line(rng: random.Random) -> str:
    date = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.randint(0, 59):02}.{rng.randint(0, 999):03}"
    source = f"[worker-{rng.randrange(64)}] com.example.{rng.choice(_WORDS)}.Handler"
    path = f"/api/v{rng.randint(1, 3)}/{rng.choice(_WORDS)}/{rng.randrange(100_000)}"
    what = f"id={rng.getrandbits(64):016x} path={path} status={rng.choice((200, 404, 500))}"
    return f"{date}T{clock}Z {rng.choice(('INFO', 'WARN', 'ERROR'))} {source} - {what} took {rng.random() * 100:.2f} ms"


def _json_line(rng: random.Random) -> str:
    name, tags = " ".join(rng.choices(_WORDS, k=2)), rng.choices(_WORDS, k=3)
    place = {"x": rng.randrange(100), "there": rng.random() < 0.5}
    about = {"id": rng.randrange(1_000_000), "name": name, "tags": tags, "score": round(rng.random(), 4)}
    return json.dumps({**about, "place": place})


def _csv_line(rng: random.Random) -> str:
    measured = f"{rng.random() * 1000:.3f},{rng.randrange(2)},{rng.gauss(0, 1):.6f}"
    return f"{rng.randrange(100_000)},{measured},{rng.randint(1900, 2026)}"


def _records(line: Callable[[random.Random], str]) -> Callable[[int], bytes]:
    """Lines that differ, until the text has its size."""

    def make(size: int) -> bytes:
        rng, parts, length = random.Random(4), list[bytes](), 0
        while length < size:
            parts.append(f"{line(rng)}\n".encode())
            length += len(parts[-1])
        return b"".join(parts)[:size]

    return make


#: Text that is neither prose nor code, by name; each takes its size in bytes.
NOT_PROSE: dict[str, Callable[[int], bytes]] = {
    "dna": _lines("ACGT", 70),
    "proteins": _lines("ACDEFGHIKLMNPQRSTVWY", 60),
    "hex": _lines("0123456789abcdef", 64),
    "base64-lines": _base64_lines,
    "any-unicode": _any_unicode,
    "messages": _records(_message),
    "logs": _records(_log_line),
    "json": _records(_json_line),
    "csv": _records(_csv_line),
}
#: Texts on which a tokenizer may go quadratic, by name; each takes its size in bytes.
WORST: dict[str, Callable[[int], bytes]] = {
    "one-letter": _repeated("a"),
    "blanks": _repeated(" "),
    "newlines": _repeated("\n"),
    "one-cjk": _repeated("中"),
    "random-cjk": _code_points(0x4E00, 0x9FFF),
    "random-letters": _code_points(ord("a"), ord("z")),
    "base64": _base64,
    "emoji": _emoji,
    "random-bytes": _random_bytes,
}
_MADE = NOT_PROSE | WORST


def _sources() -> list[Path]:
    """The sources of Python's standard library, in order of their names, without its tests."""
    root = Path(sysconfig.get_path("stdlib"))
    left_out = {"site-packages", "dist-packages", "test", "tests", "idle_test", "__pycache__"}
    return sorted(path for path in root.rglob("*.py") if left_out.isdisjoint(path.relative_to(root).parts))


def _stdlib(size: int | None) -> bytes:
    return b"".join(path.read_bytes() for path in _sources())[:size]


def _docstrings(size: int | None) -> bytes:
    found: list[str] = []
    for path in _sources():
        nodes = ast.walk(ast.parse(path.read_bytes()))
        places = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        found += [text for node in nodes if isinstance(node, places) and (text := ast.get_docstring(node))]
    return "\n\n".join(found).encode()[:size]


#: What every machine with Python has: its standard library's code, and the prose in it.
BUILT: dict[str, Callable[[int | None], bytes]] = {"stdlib": _stdlib, "docstrings": _docstrings}


def natural() -> list[str]:
    """The names of the corpora that are there: those beside the checkout, and those made of the standard library."""
    return [*sorted(path.name.partition(".")[0] for path in (SHARED / "corpora").glob("*.txt.xz")), *BUILT]


def read(corpus: str, size: int | None) -> bytes:
    """Return the text of a file, of a corpus beside the checkout by its name (`en`), of the standard library (`stdlib`,
    `docstrings`), or one that is made: a worst case, or no prose.

    `size` cuts it, at the end of a character, so that every library sees the same text; one that is made is as
    large as asked for, 1 MB by default.
    """
    if corpus in _MADE:
        data = _MADE[corpus](size or 1_000_000)
    elif corpus in BUILT:
        data = BUILT[corpus](size)
    else:
        path = Path(corpus)
        if not path.exists():
            path = SHARED / "corpora" / f"{corpus}.txt.xz"
        if not path.exists():
            names = ", ".join([*BUILT, *_MADE])
            raise SystemExit(f"no corpus {corpus}: expected a file, a name in {path.parent} or one of {names}")
        data = _head(path, size)
    return data.decode("utf-8", "ignore").encode()


def _head(path: Path, size: int | None) -> bytes:
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        if size is None:
            return file.read()
        parts = []
        while size > 0 and (part := file.read(min(size, _BLOCK))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def documents(text: str, size: int = 2000) -> list[str]:
    """Cut a text at line ends into documents of at least `size` bytes each; a long line is a document."""
    *lines, last = text.split("\n")
    found: list[str] = []
    document: list[str] = []
    length = 0
    for line in [*(line + "\n" for line in lines), last]:
        document.append(line)
        length += len(line.encode())
        if length >= size:
            found.append("".join(document))
            document, length = [], 0
    rest = "".join(document)
    return [*found, rest] if rest else found
