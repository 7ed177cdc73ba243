"""The compiled part: one static library of C leaves, and the Cython modules over it.

Everything else stands in pyproject.toml.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import Cython
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib

CORES = os.cpu_count() or 1
CFLAGS = os.environ.get("CFLAGS", "")
COVERAGE = "--coverage" in CFLAGS
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-O3", "-std=c11", "-fvisibility=hidden"]
HEADERS = sorted(map(str, Path("csrc").rglob("*.h")))
LEAVES = sorted(map(str, Path("csrc").rglob("*.c")))
MODULES = sorted(Path("bbpe/core").glob("*.pyx"))
DECLARATIONS = sorted(map(str, Path("bbpe/core").glob("*.pxd")))
# what every module that takes memory views would have a copy of
SHARED = "bbpe.core._cyutility"


def across_files():
    """The options of GCC for optimising across files: new text takes 3 % less. Other compilers name them otherwise."""
    if sys.platform == "win32" or COVERAGE or "-DBBPE_CHECKED" in CFLAGS:
        return []
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")

    def told(option):
        return subprocess.run([*compiler, option], capture_output=True, check=False, text=True).stdout

    is_gcc = "Free Software Foundation" in told("--version")
    return ["-flto=auto"] if is_gcc and int(told("-dumpversion").split(".")[0]) >= 10 else []


def hardening():
    """The options for compiling and linking that have a broken bound end the process instead of going on, on Linux.

    Not over sanitizers, which look at the functions that these replace, nor where the environment decides about it.
    """
    if sys.platform != "linux" or "-fsanitize" in CFLAGS or "_FORTIFY_SOURCE" in CFLAGS:
        return [], []
    # some compilers define it of themselves, and would warn
    return ["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong"], ["-Wl,-z,relro", "-Wl,-z,now"]


ACROSS = across_files()
HARD, HARD_LINK = hardening()


def build_identity():
    """A digest of everything that the compiled modules are made from; finished tables have it in their key."""
    options = (sys.platform, sysconfig.get_config_var("SOABI"), Cython.__version__, CFLAGS, FLAGS, HARD, ACROSS)
    digest = hashlib.sha256(repr(options).encode())
    for path in (*HEADERS, *LEAVES, *DECLARATIONS, *map(str, MODULES)):
        data = Path(path).read_bytes()
        digest.update(f"{Path(path).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


class BuildLeaves(build_clib):
    """As setuptools does it, but the leaves are compiled side by side, and may have names in common."""

    def build_libraries(self, libraries):
        compile_in_order, archive = self.compiler.compile, self.compiler.create_static_lib

        def compile_side_by_side(sources, **options):
            with ThreadPoolExecutor(CORES) as executor:
                objects = list(executor.map(lambda source: compile_in_order([source], **options), sources))
            return [name for names in objects for name in names]

        def archive_by_path(objects, name, output_dir, **options):
            # an archive knows its members by their names alone, and `scalar.o` of one folder would replace the other
            flat = [Path(self.build_temp, "_".join(Path(path).relative_to(self.build_temp).parts)) for path in objects]
            for path, copy in zip(objects, flat, strict=True):
                shutil.copyfile(path, copy)
            # it would keep the members of an earlier build, whose files may be gone
            Path(self.compiler.library_filename(name, output_dir=output_dir)).unlink(missing_ok=True)
            archive(list(map(str, flat)), name, output_dir=output_dir, **options)

        self.compiler.compile = compile_side_by_side
        self.compiler.create_static_lib = archive_by_path
        super().build_libraries(libraries)


def modules():
    return [
        Extension(
            f"bbpe.core.{module.stem}",
            sources=[str(module)],
            # one module has the identity of all of them
            depends=[*HEADERS, *LEAVES, *([*DECLARATIONS, *map(str, MODULES)] if module.stem == "image" else [])],
            define_macros=[("BBPE_BUILD", f'"{build_identity()}"')] if module.stem == "image" else [],
            include_dirs=["csrc"],
            extra_compile_args=FLAGS + HARD + ACROSS,
            # behind the leaves, or a linker that takes only what is needed leaves it out
            extra_link_args=[] if sys.platform == "win32" else ["-lm", *HARD_LINK, *ACROSS],
        )
        for module in MODULES
    ] + [
        Extension(
            SHARED,
            sources=[f"{SHARED.replace('.', '/')}.c"],
            extra_compile_args=FLAGS + HARD,
            extra_link_args=HARD_LINK,
        )
    ]


# processes of `cythonize` may read this file again
if __name__ == "__main__":
    setup(
        cmdclass={"build_clib": BuildLeaves},
        options={"build_ext": {"parallel": CORES}},
        libraries=[
            (
                "bbpe_leaves",
                {
                    "sources": LEAVES,
                    "include_dirs": ["csrc"],
                    # with code besides, so that an archiver need not know what is for the other files
                    "cflags": [*FLAGS, *HARD, *ACROSS, *(["-ffat-lto-objects"] if ACROSS else [])],
                    "obj_deps": {"": HEADERS},
                },
            )
        ],
        ext_modules=cythonize(
            modules(),
            nthreads=CORES,
            shared_utility_qualified_name=SHARED,
            # `make coverage` counts the lines of these sources; what is generated may be there without their numbers
            emit_linenums=COVERAGE,
            force=COVERAGE or None,
            compiler_directives={
                "language_level": 3,
                # annotations are for the stubs alone (tests/support/core_stubs.py)
                "annotation_typing": False,
                "freethreading_compatible": True,
                "boundscheck": False,
                "wraparound": False,
                "cdivision": True,
                "initializedcheck": False,
                "embedsignature": True,
            },
        ),
    )
