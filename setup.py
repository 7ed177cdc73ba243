"""The compiled part: one static library of C leaves, and the Cython modules over it.

Everything else stands in pyproject.toml.
"""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_clib import build_clib

CORES = os.cpu_count() or 1
COVERAGE = "--coverage" in os.environ.get("CFLAGS", "")
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-O3", "-std=c11"]
HEADERS = sorted(map(str, Path("csrc").glob("*.h")))
LEAVES = sorted(map(str, Path("csrc").glob("*.c")))
MODULES = sorted(Path("bbpe/core").glob("*.pyx"))
# what every module that takes memory views would have a copy of
SHARED = "bbpe.core._cyutility"


class BuildLeaves(build_clib):
    """As setuptools does it, but the leaves are compiled side by side."""

    def build_libraries(self, libraries):
        compile_in_order = self.compiler.compile

        def compile_side_by_side(sources, **options):
            with ThreadPoolExecutor(CORES) as executor:
                objects = list(executor.map(lambda source: compile_in_order([source], **options), sources))
            return [name for names in objects for name in names]

        self.compiler.compile = compile_side_by_side
        super().build_libraries(libraries)


def modules():
    return [
        Extension(
            f"bbpe.core.{module.stem}",
            sources=[str(module)],
            depends=[*HEADERS, *LEAVES],
            include_dirs=["csrc"],
            extra_compile_args=FLAGS,
            # behind the leaves, or a linker that takes only what is needed leaves it out
            extra_link_args=[] if sys.platform == "win32" else ["-lm"],
        )
        for module in MODULES
    ] + [Extension(SHARED, sources=[f"{SHARED.replace('.', '/')}.c"], extra_compile_args=FLAGS)]


# processes of `cythonize` may read this file again
if __name__ == "__main__":
    setup(
        cmdclass={"build_clib": BuildLeaves},
        options={"build_ext": {"parallel": CORES}},
        libraries=[
            (
                "bbpe_leaves",
                {"sources": LEAVES, "include_dirs": ["csrc"], "cflags": FLAGS, "obj_deps": {"": HEADERS}},
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
                "freethreading_compatible": True,
                "boundscheck": False,
                "wraparound": False,
                "cdivision": True,
                "initializedcheck": False,
                "embedsignature": True,
            },
        ),
    )
