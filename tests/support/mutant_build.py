"""The quickest build of the compiled modules, in a copy of the checkout: for tests, after one source has changed.

It differs from that of setup.py: the leaves are one shared library, so that a change of one links no module again.
Nothing is optimised across files, and generated code not at all.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_OBJECTS = Path("build/objects")
_KEPT = Path("build/kept")
_LEAVES = Path("bbpe/core/libbbpe_leaves.so")
# tables that are hidden within a module are now in another file
_COMPILE = ("-std=c11", "-fPIC", "-w", "-MMD", "-Dvisibility(x)=", '-DBBPE_BUILD="mutants"', "-Icsrc")
_DIRECTIVES = (
    "boundscheck=False", "wraparound=False", "cdivision=True", "initializedcheck=False", "embedsignature=True",
    "annotation_typing=False", "freethreading_compatible=True",
)  # fmt: skip
_CYTHON = ("-3", "--shared", "bbpe.core._compiled", *(f"-X{directive}" for directive in _DIRECTIVES))


class BuildError(Exception):
    """A source that does not compile."""


class Build:
    """The compiled modules of one copy of the checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.compiler = [*os.environ.get("CC", "cc").split()]
        self.include = f"-I{sysconfig.get_path('include')}"

    def build(self) -> None:
        """Build everything; what Cython has generated is taken from the checkout, where it is there."""
        for path in (self.root / "bbpe/core").glob("*.so"):
            path.unlink()
        (self.root / _OBJECTS).mkdir(parents=True, exist_ok=True)
        modules = sorted(path.relative_to(self.root) for path in (self.root / "bbpe/core").glob("*.pyx"))
        shared = Path("bbpe/core/_compiled.c")
        if not (self.root / shared).exists():
            self._run(sys.executable, "-m", "cython", "-3", "--generate-shared", str(shared))
        self._make([*self._leaves(), *(path.with_suffix(".c") for path in modules), shared])

    def rebuild(self, path: str) -> dict[Path, Path]:
        """Build anew after a change of this source; the files that were replaced, and where they are now."""
        if path.endswith(".pyx"):
            generated = Path(path).with_suffix(".c")
            kept = self._kept([generated, self._object(generated), self._module(generated)])
            (self.root / generated).unlink()
            return self._guarded(kept, [generated])
        sources = [source for source in (self._source(file) for file in self._depends_on(path)) if source is not None]
        targets = [self._object(source) for source in sources]
        targets += [self._module(source) for source in sources if source.parts[0] == "bbpe"]
        return self._guarded(self._kept([*targets, _LEAVES]), sources)

    def restore(self, kept: dict[Path, Path]) -> None:
        for path, aside in kept.items():
            shutil.move(aside, path)

    def _guarded(self, kept: dict[Path, Path], sources: list[Path]) -> dict[Path, Path]:
        try:
            self._make(sources)
        except BaseException:
            self.restore(kept)
            raise
        return kept

    def _kept(self, paths: Iterable[Path]) -> dict[Path, Path]:
        # not within the package, whose files some tests compare
        kept = {self.root / path: self.root / _KEPT / path for path in paths}
        for path, aside in kept.items():
            aside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, aside)
        return kept

    def _make(self, sources: list[Path]) -> None:
        """Compile sources and link what they are in; the leaves before the modules."""
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2) if len(sources) > 9 else 1) as executor:
            list(executor.map(self._compile, sources))
            if any(source.parts[0] == "csrc" for source in sources):
                objects = [str(self._object(leaf)) for leaf in self._leaves()]
                self._link(_LEAVES, "-Wl,-Bsymbolic", *objects, "-lm", "-pthread")
            list(executor.map(self._link_module, [source for source in sources if source.parts[0] == "bbpe"]))

    def _compile(self, source: Path) -> None:
        if not (self.root / source).exists():
            self._run(sys.executable, "-m", "cython", *_CYTHON, str(source.with_suffix(".pyx")))
        level = "-O1" if source.parts[0] == "csrc" else "-O0"
        self._run(*self.compiler, level, *_COMPILE, self.include, "-c", str(source), "-o", str(self._object(source)))

    def _link_module(self, source: Path) -> None:
        leaves = () if source.stem == "_compiled" else ("-Lbbpe/core", "-lbbpe_leaves", "-Wl,-rpath,$ORIGIN")
        self._link(self._module(source), str(self._object(source)), *leaves)

    def _link(self, target: Path, *parts: str) -> None:
        (self.root / target).unlink(missing_ok=True)
        self._run(*self.compiler, "-shared", "-o", str(target), *parts)

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BuildError(done.stderr)

    def _leaves(self) -> list[Path]:
        return sorted(path.relative_to(self.root) for path in (self.root / "csrc").rglob("*.c"))

    def _depends_on(self, path: str) -> list[Path]:
        """What the compiler wrote beside the objects for which it read this file."""
        return [file for file in (self.root / _OBJECTS).glob("*.d") if path in file.read_text("utf-8").split()]

    @staticmethod
    def _source(depends: Path) -> Path | None:
        names = depends.read_text("utf-8").replace("\\\n", " ").split()
        return Path(names[1]) if len(names) > 1 else None

    @staticmethod
    def _object(source: Path) -> Path:
        return _OBJECTS / f"{'-'.join(source.with_suffix('').parts)}.o"

    @staticmethod
    def _module(source: Path) -> Path:
        return source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX"))
