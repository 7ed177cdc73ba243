"""The compiled part: one static library of C leaves, and the Cython modules over it.

Everything else stands in pyproject.toml.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-O3", "-std=c11"]
HEADERS = sorted(map(str, Path("csrc").glob("*.h")))
LEAVES = sorted(map(str, Path("csrc").glob("*.c")))
MODULES = sorted(Path("bbpe/core").glob("*.pyx"))
# what every module that takes memory views would have a copy of
SHARED = "bbpe.core._cyutility"

setup(
    libraries=[
        (
            "bbpe_leaves",
            {"sources": LEAVES, "include_dirs": ["csrc"], "cflags": FLAGS, "obj_deps": {"": HEADERS}},
        )
    ],
    ext_modules=cythonize(
        [
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
        ]
        + [Extension(SHARED, sources=[f"{SHARED.replace('.', '/')}.c"], extra_compile_args=FLAGS)],
        shared_utility_qualified_name=SHARED,
        # a build that counts what is run counts the lines of these sources, not of what is generated (`make coverage`)
        emit_linenums="--coverage" in os.environ.get("CFLAGS", ""),
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
