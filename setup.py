"""The compiled part: the C leaves and the Cython modules, linked into one file.

Everything else stands in pyproject.toml.  `bbpe/core/__init__.py` finds each module in that file.
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
from setuptools.command.build_ext import build_ext

CORES = os.cpu_count() or 1
CFLAGS = os.environ.get("CFLAGS", "")
ARM_WINDOWS = sysconfig.get_platform() == "win-arm64"
COVERAGE = "--coverage" in CFLAGS
#: The module whose file has all others: what Cython's memory views and functions share.
COMPILED = "bbpe.core._compiled"
#: The source that has the identity of the build.
IDENTIFIED = Path("bbpe/core/image.c")
HEADERS = sorted(map(str, Path("csrc").rglob("*.h")))
LEAVES = sorted(map(str, Path("csrc").rglob("*.c")))
MODULES = sorted(map(str, Path("bbpe/core").glob("*.pyx")))
DECLARATIONS = sorted(map(str, Path("bbpe/core").glob("*.pxd")))
#: Modules that a call for one short text or one id runs through.  They are compiled for speed, and all others for size:
#: their loops are in the C core.  Wheels are a tenth smaller.
HOT = frozenset(
    """
    call documents encoder id_buffer id_source ids int_objects matcher short_calls states stops stream text_group
    """.split()
)


def unix_compiler():
    """The command of the compiler anywhere but on Windows, as setuptools chooses it."""
    return shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")


def what_is_missing():
    """A sentence about the compiler or the headers of Python that this machine has not, and what to do; else None."""
    if sys.platform == "win32":
        return None
    command, header = unix_compiler()[0], Path(sysconfig.get_path("include"), "Python.h")
    if shutil.which(command) is None:
        missing, packages = f"there is no C compiler '{command}'", ("build-essential", "gcc")
    elif not header.exists():
        missing, packages = f"Python's headers are not installed: no {header}", ("python3-dev", "python3-devel")
    else:
        return None
    return (
        f"bbpe has a C core, and {missing}; install a wheel, which needs neither: pip install --only-binary bbpe bbpe; "
        f"or on Debian: apt-get install {packages[0]}; on Fedora: dnf install {packages[1]}; "
        "on macOS: xcode-select --install; or name another compiler in the variable CC"
    )


def across_files():
    """The options of GCC for optimising across files: new text takes 3 % less. Other compilers name them otherwise."""
    if sys.platform == "win32" or COVERAGE or "-DBBPE_CHECKED" in CFLAGS:
        return []
    compiler = unix_compiler()
    if shutil.which(compiler[0]) is None:
        return []

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


def windows_compiler(kind):
    """The compiler to use on Windows instead of the one of this kind that setuptools has found; None to keep that.

    The C core has atomic operations, vectors and attributes of GCC and Clang, which cl.exe does not know.  GCC does not
    align the stack of Windows to 32 bytes, as vectors of AVX2 need it.
    """
    wheel = "or install a wheel: pip install --only-binary bbpe bbpe"
    if kind == "msvc":
        folder = "ARM64" if ARM_WINDOWS else "x64"
        studio = Path(os.environ.get("VCINSTALLDIR", ""), "Tools", "Llvm", folder, "bin")
        found = shutil.which("clang-cl") or shutil.which("clang-cl", path=str(studio))
        if found is None:
            sys.exit(
                "bbpe needs clang-cl, and cl.exe alone was found; add 'C++ Clang tools for Windows' in the installer "
                f"of Visual Studio, {wheel}"
            )
        return found
    compiler = shlex.split(os.environ.get("CC") or "gcc")
    told = subprocess.run([*compiler, "--version"], capture_output=True, check=False, text=True).stdout
    if "Free Software Foundation" in told:
        sys.exit(f"bbpe does not work when GCC compiles it on Windows; use Clang (llvm-mingw, clang-cl), {wheel}")
    return None


ACROSS = across_files()
HARD, LINK = hardening()
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-O3", "-std=c11", "-fvisibility=hidden"]
if ARM_WINDOWS:  # Clang there may itself be a program for x86-64
    FLAGS.append("--target=arm64-pc-windows-msvc")
if sys.platform != "win32" and not any(part in CFLAGS for part in ("-fsanitize", "-DBBPE_CHECKED")):
    # of Python's own flags, which setuptools leaves out where CFLAGS are set: without them wheels are 4 % larger,
    # and sums of signed integers undefined where they overflow
    FLAGS += ["-DNDEBUG", "-fwrapv"]
# Python's own flags ask for debugging information, which takes a quarter of the time
if sys.platform != "win32" and not any(option.startswith("-g") for option in shlex.split(CFLAGS)):
    FLAGS.append("-g0")
    if sys.platform == "linux" and not COVERAGE:
        # no names for debuggers, so no tables for them to walk the stack either
        FLAGS.append("-fno-asynchronous-unwind-tables")
        LINK.append("-Wl,-s")


def build_identity():
    """A digest of everything that the compiled modules are made from; finished tables have it in their key."""
    options = (sys.platform, sysconfig.get_config_var("SOABI"), Cython.__version__, CFLAGS, FLAGS, HARD, ACROSS)
    digest = hashlib.sha256(repr(options).encode())
    for path in (*HEADERS, *LEAVES, *DECLARATIONS, *map(str, MODULES)):
        data = Path(path).read_bytes()
        digest.update(f"{Path(path).as_posix()} {len(data)}\n".encode() + data)
    return digest.hexdigest()


def options_of(source):
    """The compiler's options for one source."""
    folder, options = Path(source).parent.as_posix(), FLAGS + HARD
    # the loops of splitters are called by pointer: optimising across files would only compile them a second time
    if folder != "csrc/split":
        options = options + ACROSS
    if folder == "bbpe/core":
        # Strings that Cython has compressed make wheels larger, which compress them again, with the function that each
        # module has for them.  Cython 3.3 writes that function even so.
        options = [*options, "-DCYTHON_COMPRESS_STRINGS=0", "-Wno-unused-function"]
        for_speed, for_size = ("/O2", "/O1") if sys.platform == "win32" else ("-O2", "-Os")
        options.append(for_speed if Path(source).stem in HOT else for_size)
    # what Cython writes does not pass these
    if folder != "bbpe/core" and "-Werror" in CFLAGS:
        options = [*options, "-Wshadow", "-Wvla"]
    if Path(source) == IDENTIFIED:
        options = [*options, f'-DBBPE_BUILD="{build_identity()}"']
    return options


def sources_of(source):
    """The files that an object is made from."""
    everything = [*LEAVES, *MODULES, *DECLARATIONS] if Path(source) == IDENTIFIED else []
    return [source, "setup.py", *HEADERS, *everything]


class BuildCompiled(build_ext):
    """As setuptools does it, but sources are compiled side by side, each with its options, if they have changed.

    The C of modules is generated here alone: neither metadata nor the source distribution need it.
    """

    def run(self):
        if (missing := what_is_missing()) is not None:
            sys.exit(missing)
        for extension in self.extensions:
            extension.sources = generated() + LEAVES
        super().run()

    def build_extension(self, extension):
        if sys.platform == "win32" and (found := windows_compiler(self.compiler.compiler_type)) is not None:
            self.compiler.initialize()
            self.compiler.cc = found
        compile_in_order = self.compiler.compile

        def compile_side_by_side(sources, *, output_dir, **options):
            objects = self.compiler.object_filenames(sources, output_dir=output_dir)

            def compile_one(source, target):
                newest = max(Path(path).stat().st_mtime_ns for path in sources_of(source))
                if self.force or not Path(target).exists() or Path(target).stat().st_mtime_ns <= newest:
                    compile_in_order(
                        [source], output_dir=output_dir, **{**options, "extra_postargs": options_of(source)}
                    )

            with ThreadPoolExecutor(CORES) as executor:
                list(executor.map(compile_one, sources, objects))
            return objects

        self.compiler.compile = compile_side_by_side
        super().build_extension(extension)
        # files of earlier builds for this Python, one for each module, would be found first
        built = Path(self.get_ext_fullpath(extension.name))
        tag = built.name.removeprefix(COMPILED.rpartition(".")[2])
        for module in MODULES:
            built.with_name(Path(module).stem + tag).unlink(missing_ok=True)


def generated():
    """The C that Cython makes of the modules, and of what they share."""
    named = [Extension(f"bbpe.core.{Path(module).stem}", [module]) for module in MODULES]
    named.append(Extension(COMPILED, [f"{COMPILED.replace('.', '/')}.c"]))
    made = cythonize(
        named,
        nthreads=CORES,
        shared_utility_qualified_name=COMPILED,
        # `make coverage` counts the lines of these sources; what is generated may be there without their numbers, or
        # from before there was one file
        emit_linenums=COVERAGE,
        force=COVERAGE or not Path(f"{COMPILED.replace('.', '/')}.c").exists() or None,
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
    )
    return [source for extension in made for source in extension.sources]


def compiled():
    """One extension of all modules, whose C `BuildCompiled` adds, and of the leaves."""
    return Extension(
        COMPILED,
        sources=LEAVES,
        depends=["setup.py", *HEADERS],
        include_dirs=["csrc"],
        extra_link_args=[] if sys.platform == "win32" else ["-lm", *LINK, *ACROSS, *FLAGS],
    )


# processes of `cythonize` may read this file again
if __name__ == "__main__":
    setup(cmdclass={"build_ext": BuildCompiled}, ext_modules=[compiled()])
