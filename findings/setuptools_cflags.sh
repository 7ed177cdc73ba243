#!/usr/bin/env bash
# setuptools 84.2.1: a variable CFLAGS does not add to the interpreter's options, it replaces them.
#
# The flags with which CPython was built stand in `sysconfig.get_config_var("CFLAGS")`, and an extension is compiled with
# them: -DNDEBUG, -fwrapv, -O3 and others. One warning option in the environment, as `CFLAGS=-Wall pip install .`, and all
# of them are gone: assertions are compiled in, the optimisation is the compiler's default (none), and the overflow of
# a signed integer is undefined again. setuptools 65.5.0 kept those of `sysconfig.get_config_var("OPT")`.
#
# Seen (Python 3.11.7, whose OPT is "-DNDEBUG -g -fwrapv -O3 -Wall", and GCC 12.2.0):
#   setuptools 65.5.0  without CFLAGS: no assertions, optimised    CFLAGS=-Wall: no assertions, optimised
#   setuptools 84.2.1  without CFLAGS: no assertions, optimised    CFLAGS=-Wall: assertions, not optimised
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > seen.c <<'C'
#include <Python.h>
#ifdef NDEBUG
#define ASSERTIONS "no assertions"
#else
#define ASSERTIONS "assertions"
#endif
#ifdef __OPTIMIZE__
#define OPTIMISED "optimised"
#else
#define OPTIMISED "not optimised"
#endif
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "seen", ASSERTIONS ", " OPTIMISED, -1, NULL};
PyMODINIT_FUNC PyInit_seen(void) { return PyModule_Create(&module); }
C
cat > setup.py <<'PYTHON'
from setuptools import Extension, setup

setup(name="seen", version="1", ext_modules=[Extension("seen", ["seen.c"])])
PYTHON
result() {
	rm -rf build seen.*.so
	"$1/bin/python" setup.py --quiet build_ext --inplace --force > build.log 2>&1 || { cat build.log; exit 1; }
	"$1/bin/python" -c "import seen; print(seen.__doc__)"
}
unset CFLAGS
seen=""
for version in 65.5.0 84.2.1; do
	python3 -m venv "$version"
	"$version/bin/pip" install --quiet --disable-pip-version-check "setuptools==$version"
	line="setuptools $version  without CFLAGS: $(result "$version")    CFLAGS=-Wall: $(CFLAGS=-Wall result "$version")"
	echo "$line"
	seen="$seen$line
"
done
[ "$seen" = "setuptools 65.5.0  without CFLAGS: no assertions, optimised    CFLAGS=-Wall: no assertions, optimised
setuptools 84.2.1  without CFLAGS: no assertions, optimised    CFLAGS=-Wall: assertions, not optimised
" ]
