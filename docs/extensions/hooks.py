"""Hooks of the site: what a page cannot have by hand, as it would go stale.

A comment in a page is replaced when the site is built:

    <!-- error classes -->                       a table of the classes of bbpe.errors
    <!-- messages CLASS [MODULE ...] -->         the messages of a class that these modules raise
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parent))
import notebooks
from messages import GAP, ROOT, Message, messages

if TYPE_CHECKING:
    from mkdocs.structure.files import Files

MARK = re.compile(r"^<!-- (error classes|messages) ?(.*) -->$", re.MULTILINE)


def error_classes() -> dict[str, type]:
    """The classes of `bbpe.errors`, by their names."""
    from bbpe import errors

    return {
        name: kind for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)
    }


_found: list[Message] = []


def known_messages() -> list[Message]:
    """All messages, read once."""
    if not _found:
        _found.extend(messages({*error_classes(), "ImportError"} - {"BBPEError"}))
    return _found


def owners(page: str) -> dict[tuple[str, str], str]:
    """Return the marks of a page by the class and the module that each names; "" stands for all other modules."""
    found = {}
    for mark in (each for each in MARK.finditer(page) if each[1] == "messages"):
        kind, *modules = mark[2].split()
        for module in modules or [""]:
            assert (kind, module) not in found, mark[0]
            found[kind, module] = mark[0]
    return found


def owner(message: Message, marks: dict[tuple[str, str], str]) -> str | None:
    """Return the mark that a message belongs to: that of the longest name of its module."""
    names = [module for kind, module in marks if kind == message.kind and message.module.startswith(module)]
    return marks[message.kind, max(names, key=len)] if names else None


def _cell(text: str) -> str:
    ticks = "``" if "`" in text else "`"
    return f"{ticks} {text} {ticks}" if "`" in text else f"{ticks}{text}{ticks}"


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _rows(found: list[Message]) -> list[tuple[str, str]]:
    """Return what is wrong and the way out, without messages that end as others do, only sooner."""
    ways: dict[str, list[str]] = {}
    for each in found:
        ways.setdefault(each.found.lstrip(), []).append(each.way)
    rows = []
    for text, several in ways.items():
        longest = [way for way in dict.fromkeys(several) if not any(o != way and o.startswith(way) for o in several)]
        rows += [(_cell(text), _cell(way) if way else "as above") for way in longest if text != GAP]
    return rows


def errors_page(page: str) -> str:
    """Return the page on errors with its tables."""
    marks = owners(page)

    def tables(mark: re.Match[str]) -> str:
        if mark[1] == "messages":
            found = [each for each in known_messages() if owner(each, marks) == mark[0]]
            return _table([("message", "way out"), ("---", "---"), *_rows(found)])
        rows: list[tuple[str, ...]] = [("class", "also a", "raised when"), ("---",) * 3]
        for name, kind in error_classes().items():
            bases = [base for base in kind.__mro__ if base.__module__ == "builtins"]
            also = [base for base in bases if not any(base in other.__mro__[1:] for other in bases)]
            shown = ", ".join(f"`{base.__name__}`" for base in also)
            rows.append((f"`{name}`", shown, (inspect.getdoc(kind) or "").partition("\n")[0]))
        return _table(rows)

    return MARK.sub(tables, page)


#: The first sentence of each page, by its address.
_purposes: dict[str, str] = {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replace the marks of a page, and note what it is for."""
    paragraph = re.sub(r"\A\s*# .*\n", "", markdown).strip().partition("\n\n")[0]
    # a page that includes another file has no text of its own
    paragraph = "" if paragraph.startswith("--8<--") else paragraph
    purpose = re.match(r".+?\.(?= |$)|.*", " ".join(paragraph.replace("**", "").split()))
    assert purpose is not None
    # links lead from the page, and the sentence stands elsewhere
    _purposes[page.file.src_uri] = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", purpose[0]).rstrip(":")
    return errors_page(markdown) if page.file.src_uri == "errors.md" else markdown


def on_page_content(html: str, page: Any, config: Any, **_: Any) -> str:
    """Show phones the narrow variant of a picture, where there is one: `NAME-narrow.svg` beside `NAME.svg`."""

    def with_variant(image: re.Match[str]) -> str:
        source, _, suffix = image[1].rpartition(".")
        place = Path(config.docs_dir, source.rpartition("/")[2] + f"-narrow.{suffix}")
        narrow = f'<source media="(max-width: 600px)" srcset="{source}-narrow.{suffix}">'
        return f"<picture>{narrow}{image[0]}</picture>" if place.is_file() else image[0]

    return re.sub(r'<img [^>]*\bsrc="([^":]+)"[^>]*>', with_variant, with_columns(html))


def with_columns(html: str) -> str:
    """Mark boxes of output that have columns, whose lines cannot wrap."""
    return re.sub(
        r'<div class="(language-text [^"]*)">(?=<pre>(?:(?!</pre>).)*\S {2,}\S)', r'<div class="has-columns \1">', html,
        flags=re.DOTALL,
    )  # fmt: skip


def generated() -> dict[str, Callable[[], str]]:
    """Return the pages that no file has."""
    made: dict[str, Callable[[], str]] = {"reference/index.md": index_page}
    for path in sorted((ROOT / "examples" / "course").glob("*.ipynb")):
        made[f"course/{path.stem}.md"] = partial(notebooks.page, path)
    return made


def index_page() -> str:
    """Return the alphabetic index of all public names, each with its page and its first line."""
    import bbpe

    links: dict[str, str] = {}
    for path in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for name in re.findall(r"^::: (bbpe\.[\w.]+)$", path.read_text("utf-8"), re.MULTILINE):
            links[name.partition(".")[2]] = f"{path.name}#{name}"
    links.pop("errors")  # a module, whose classes are here one by one
    for name in error_classes():
        links[name] = f"data.md#bbpe.errors.{name}"
    rows = []
    for name in sorted(links, key=lambda name: (name.rpartition(".")[2].lower(), name)):
        item: Any = bbpe
        for part in name.split("."):
            item = getattr(item, part, None)
        line = " ".join((inspect.getdoc(item) or "").partition("\n\n")[0].split()).replace("|", "\\|")
        rows.append(f"| [`{name}`]({links[name]}) | {line} |".replace("<", "&lt;"))
    head = "# Index\n\nEvery public name, in alphabetic order of its last part.\n\n| name | purpose |\n|---|---|\n"
    return head + "\n".join(rows) + "\n"


def on_config(config: Any) -> Any:
    """Show the version, and link to the repository if `pyproject.toml` names one."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    config.site_name = f"{project['name']} {project['version']}"  # which the head of each page shows
    urls = {name.lower(): address for name, address in project.get("urls", {}).items()}
    repository = next((urls[name] for name in ("repository", "source", "homepage") if name in urls), None)
    if repository is not None:
        config.repo_url = repository
        config.edit_uri = "edit/main/docs/"
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""
    from mkdocs.structure.files import File

    for path, make in generated().items():
        files.append(File.generated(config, path, content=make()))
    return files


def on_post_build(config: Any) -> None:
    """Write `llms.txt`: what bbpe is, and what each page is for, for programs that read."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    for title, below in _pages(config.nav):
        lines += ["", f"## {title}", ""] if isinstance(below, list) else []
        for name, path in _leaves(below) if isinstance(below, list) else [(title, below)]:
            address = (config.site_url or "") + re.sub(r"(?:index)?\.md$", "", path)
            lines.append(f"- [{name}]({address or '.'}): {_purposes[path]}".removesuffix(": "))
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _pages(nav: list[dict[str, Any]]) -> Iterator[tuple[str, Any]]:
    for entry in nav:
        yield from entry.items()


def _leaves(nav: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for title, below in _pages(nav):
        if isinstance(below, list):
            yield from ((f"{title}: {name}", path) for name, path in _leaves(below))
        else:
            yield title, below
