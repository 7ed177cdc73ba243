"""Real text for a checkout without `../shared`: Python's library, and the message catalogues of packages.

English is the language reference that `help()` shows, code is the standard library, and the languages are Django's and
pycountry's translations: sentences and names in more than a hundred languages, with their placeholders and line ends.
"""

from __future__ import annotations

import gettext
import sysconfig
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

#: Bytes: of more no test says anything that it does not say of these.
MOST = 4_000_000
#: Bytes that a text has at least, so that no test proves its promise on next to nothing.
LEAST = 60_000
#: A catalogue's part in a text of many languages, in messages: the first kilobytes are in many scripts.
_TURN = 8


@cache
def public_text(name: str) -> bytes | None:
    """The text "en", "code", "multi", "ja" or "zh"; `None` when no package that has it is installed."""
    text = TEXTS[name]()
    data = text.encode()[:MOST].decode("utf-8", "ignore").encode()
    return data if len(data) >= LEAST else None


def _english() -> str:
    from pydoc_data.topics import topics

    return "".join(f"{topics[name]}\n" for name in sorted(topics))


def _code() -> str:
    folder, parts, size = Path(sysconfig.get_path("stdlib")), [], 0
    for pattern in ("*.py", "asyncio/*.py", "email/*.py", "multiprocessing/*.py", "idlelib/*.py"):
        for path in sorted(folder.glob(pattern)):
            parts.append(path.read_bytes().decode("utf-8", "ignore"))
            size += len(parts[-1])
            if size > MOST:
                return "".join(parts)
    return "".join(parts)


#: Packages, and where their catalogues are; pycountry has names only.
_SENTENCES = (("django", "conf/locale"), ("django", "contrib/*/locale"))
_NAMES = (("pycountry", "locales"),)


def _messages(places: Iterable[tuple[str, str]], *languages: str) -> Iterator[list[str]]:
    """The messages of each catalogue of some languages, or of all."""
    for package, place in places:
        found = find_spec(package)
        for root in () if found is None else found.submodule_search_locations or ():
            for path in sorted(Path(root).glob(f"{place}/*/LC_MESSAGES/*.mo")):
                if not languages or path.parent.parent.name in languages:
                    with path.open("rb") as file:
                        catalogue = gettext.GNUTranslations(file)._catalog  # the one way to all its messages
                    yield [text for key, text in catalogue.items() if key and isinstance(text, str)]


def _lines(messages: Iterable[str]) -> str:
    return "".join(f"{message}\n" for message in messages)


def _of(*languages: str) -> str:
    return "".join(map(_lines, _messages(_SENTENCES + _NAMES, *languages)))


def _multi() -> str:
    """Of every catalogue some messages, then the next ones of every catalogue."""
    catalogues = list(_messages(_SENTENCES))
    most = max(map(len, catalogues), default=0)
    turns = (rows[start : start + _TURN] for start in range(0, most, _TURN) for rows in catalogues)
    return "".join(map(_lines, turns))


TEXTS = {
    "en": _english,
    "code": _code,
    "multi": _multi,
    "ja": lambda: _of("ja"),
    "zh": lambda: _of("zh_Hans", "zh_Hant", "zh_CN", "zh_TW", "zh_HK"),
}
