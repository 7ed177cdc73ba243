# Two commands for a bare machine with python3 (3.11 or newer), gcc and make:
#   make demo    sets everything up and runs the main job
#   make test    sets everything up and runs the tests
# Both use a virtual environment of their own and are quick the second time.
PYTHON ?= python3
VENV = .venv
BIN = $(VENV)/bin
PIP = $(BIN)/python -m pip --quiet --disable-pip-version-check
# the packages of a dependency group; older versions of pip do not know groups
group = $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['$(1)'])")
C_SOURCES = $(shell find csrc -name '*.c')
C_TESTS = $(wildcard tests/c/*.c tests/c/fuzz/*.c)
C_HEADERS = $(shell find csrc -name '*.h')
SOURCES = setup.py pyproject.toml $(wildcard bbpe/core/*.pyx bbpe/core/*.pxd) $(C_SOURCES) $(C_HEADERS)
EDITABLE = $(PIP) install --no-build-isolation --editable .
# an import compiles what is used: to compile all of the large libraries takes longer than to install them
PACKAGES = $(PIP) install --no-compile
CORES = $$(getconf _NPROCESSORS_ONLN)
# tests start hundreds of interpreters, each of which would compile the package again
export PYTHONDONTWRITEBYTECODE =
# generated code passes these too; with -Werror, setup.py compiles the hand-written leaves with -Wshadow and -Wvla as well
STRICT = -Wall -Wextra -Werror

.PHONY: demo bench bench-quick test test-full test-long test-engines lint stubs strict docs pictures coverage mutants sanitize sanitize-split sanitize-load sanitize-encode sanitize-train \
	sanitize-unigram sanitize-threads sanitize-memory fuzz leaks memcheck cross interpreters wine neon arm clean
demo: $(VENV)/built
	$(BIN)/bbpe demo

# against the best peers on a quiet machine: everything within half an hour, into benchmarks/results, the README and the
# documentation; or the essence of it within three minutes, printed only
bench: $(VENV)/benched
	$(BIN)/python -m benchmarks.suite

bench-quick: $(VENV)/benched
	$(BIN)/python -m benchmarks.suite --quick

test: $(VENV)/tested
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal --count-skips

# whole corpora and exhaustive sweeps; SHARE=0/3 is a third of them
SHARE = 0/1
test-full: $(VENV)/tested
	$(BIN)/python -m pytest -m full --share $(SHARE) --numprocesses auto --dist worksteal

# what takes longer still
test-long: $(VENV)/tested
	$(BIN)/python -m pytest -m long

# engines and formats of other projects, as far as their packages are installed
test-engines: $(VENV)/tested
	$(BIN)/python -m pytest -m engines

lint: $(VENV)/linted
	$(BIN)/ruff check
	$(BIN)/mypy

# the stubs of the compiled modules against their sources, and against what the modules really have; not every version of
# mypy looks at private modules, which one line of the allowlist is for
stubs: $(VENV)/linted
	$(BIN)/python tests/support/core_stubs.py --check
	$(BIN)/python -m mypy.stubtest bbpe.core --mypy-config-file pyproject.toml --ignore-disjoint-bases \
		--ignore-unused-allowlist \
		--allowlist tests/stubtest.txt

# the site, into build/site, and a look at its pages; a warning is an error; the variable hides a notice of the theme about
# the end of its life in 2027
docs: $(VENV)/tested $(VENV)/documented
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m pytest tests/test_site.py --site build/site

# the pictures of the README and the site, into docs/pictures; those of pages need Chromium
pictures: $(VENV)/tested
	$(BIN)/python tests/support/pictures.py

# everything is built anew, in a folder of pip's own, and the tests that follow run on this build
strict: $(VENV)/made
	printf '%s\n' $(C_TESTS) | \
		xargs -P $(CORES) -n 1 $(CC) -std=c11 -O2 -fsyntax-only $(STRICT) -Wshadow -Wvla -Icsrc -Itests/c
	CFLAGS="$(STRICT)" $(EDITABLE)
	touch $(VENV)/built

# the tests over a build that stops at undefined behaviour and memory errors; CPython itself leaks by design
SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g -O1 -DBBPE_CHECKED
sanitize: $(VENV)/tested
	CFLAGS="$(SANITIZE)" LDFLAGS="-fsanitize=address,undefined" $(BIN)/python setup.py -q build \
		--build-base build/sanitize --build-lib build/sanitize/lib
	cd build/sanitize/lib && LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1 PYTHONMALLOC=malloc PYTHONPATH="$$PWD" \
		$(CURDIR)/$(BIN)/python -m pytest $(CURDIR)/tests -p no:cacheprovider --numprocesses auto --dist worksteal

# the lines of Python, Cython and C that no default test runs; gcov comes with gcc, and loses what a worker of pytest-xdist
# ran that is ended before it has written it: one process
COVERAGE = $(CURDIR)/$(BIN)/python -m coverage
coverage: $(VENV)/tested
	$(PIP) install "coverage>=7.10"
	CFLAGS="--coverage -fprofile-update=atomic" LDFLAGS=--coverage $(BIN)/python setup.py -q build \
		--build-base build/coverage --build-lib build/coverage/lib
	rm -f bbpe/core/*.c
	find build/coverage \( -name "*.gcda" -o -name ".coverage*" \) -delete
	cd build/coverage/lib && export PYTHONPATH="$$PWD" COVERAGE_RCFILE=$(CURDIR)/pyproject.toml && \
		$(COVERAGE) run -m pytest $(CURDIR)/tests -p no:cacheprovider && \
		$(COVERAGE) combine -q && $(COVERAGE) json -q -o ../python.json
	$(BIN)/python tests/support/uncovered.py build/coverage build/coverage/python.json

# plants COUNT faults in Python and COMPILED faults in Cython and C, one at a time, and lists those that no test notices;
# SEED chooses them. The first run for a state of the product measures which test runs which line
SEED = 1
COUNT = 100
COMPILED = 30
mutants: $(VENV)/tested
	$(PIP) install "coverage>=7.17"
	$(BIN)/python tests/support/mutants.py --seed $(SEED) --python $(COUNT) --compiled $(COMPILED)

# the vector splitters against the scalar one, without Python: every instruction set of this machine under the sanitizers
SPLIT = -std=c11 $(STRICT) -Wshadow -Wvla -Icsrc tests/c/split_driver.c csrc/text/uclass.c csrc/text/uclass_table.c \
	$(wildcard csrc/split/*.c csrc/simd/*.c)
ROUNDS = 50000
sanitize-split:
	mkdir -p build/split
	$(CC) $(SANITIZE) $(SPLIT) -o build/split/sanitized
	for isa in scalar avx2 avx512 neon; do build/split/sanitized $$isa $(ROUNDS) || [ $$? -eq 3 ] || exit 1; done

# the C core under the sanitizers, compiled once for all drivers; the fuzzer also counts where they go, which the others ignore
LEAF = -std=c11 $(STRICT) -Wshadow -Wvla -Icsrc
ASAN_CORE = $(patsubst csrc/%.c,build/asan/%.o,$(C_SOURCES))
TSAN_CORE = $(patsubst csrc/%.c,build/tsan/%.o,$(C_SOURCES))
build/asan/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(SANITIZE) -fsanitize-coverage=trace-pc $(LEAF) -c $< -o $@
build/tsan/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) -fsanitize=thread -g -O1 -DBBPE_CHECKED $(LEAF) -c $< -o $@
build/asan/%_driver: tests/c/%_driver.c $(wildcard tests/c/*.h) $(ASAN_CORE)
	$(CC) $(SANITIZE) $(LEAF) $< tests/c/untraced.c $(ASAN_CORE) -lm -pthread -o $@
build/tsan/%_driver: tests/c/%_driver.c $(wildcard tests/c/*.h) $(TSAN_CORE)
	$(CC) -fsanitize=thread -g -O1 -DBBPE_CHECKED $(LEAF) $< $(TSAN_CORE) -lm -pthread -o $@

# merging, and the encoder with its caches and its threads
SECONDS = 10
sanitize-encode: $(patsubst %,build/asan/%_driver,bpe cut stage thread words parts matcher automaton state rows stops transcode)
	build/asan/bpe_driver fuzz 3000
	build/asan/cut_driver 3000
	build/asan/stage_driver 1000
	build/asan/thread_driver 1 $(SECONDS)
	build/asan/words_driver 2000
	build/asan/parts_driver 8 2000
	build/asan/matcher_driver 5000
	build/asan/automaton_driver 20000
	build/asan/state_driver 20000
	build/asan/rows_driver 20000
	build/asan/stops_driver 20000
	build/asan/transcode_driver 20000

# reading vocabularies and merges
sanitize-load: build/asan/json_driver
	build/asan/json_driver 200000

# learning merges, with several thresholds, and adding up the counts of threads
sanitize-train: $(patsubst %,build/asan/%_driver,train count)
	build/asan/train_driver 300
	build/asan/count_driver 3 300

# Unigram models: encoding, ways, learning; what normalises their texts
sanitize-unigram: $(patsubst %,build/asan/%_driver,charsmap normalizer unigram)
	build/asan/charsmap_driver 20000
	build/asan/normalizer_driver 2000
	build/asan/unigram_driver 300

sanitize-threads: $(patsubst %,build/tsan/%_driver,thread count parts turns)
	TSAN_OPTIONS=halt_on_error=1 build/tsan/thread_driver 4 $(SECONDS)
	TSAN_OPTIONS=halt_on_error=1 build/tsan/count_driver 4 300
	TSAN_OPTIONS=halt_on_error=1 build/tsan/parts_driver 8 2000
	TSAN_OPTIONS=halt_on_error=1 build/tsan/turns_driver 4 20000

# every allocation fails, one after another
sanitize-memory: $(ASAN_CORE)
	$(CC) $(SANITIZE) $(LEAF) tests/c/memory_driver.c tests/c/untraced.c $(ASAN_CORE) -lm -o build/asan/memory_driver \
		-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=mmap,--wrap=mprotect
	build/asan/memory_driver

# mutated inputs for the leaves and for every file loader, so many seconds each, from a saved corpus
FUZZ_SECONDS = 60
FUZZ_TARGETS = split encode count ranks train decode
fuzz: $(VENV)/tested $(ASAN_CORE)
	$(CC) $(SANITIZE) $(LEAF) tests/c/fuzz/*.c $(ASAN_CORE) -lm -o build/asan/fuzz
	for target in $(FUZZ_TARGETS); do \
		build/asan/fuzz $$target $(FUZZ_SECONDS) tests/fuzz/corpus/$$target build/fuzz/$$target || exit 1; done
	PYTHONPATH=tests/support:tests $(BIN)/python tests/fuzz/loaders.py --seconds $(FUZZ_SECONDS)

# loading, encoding and freeing again and again, under valgrind's eyes where it is installed, and without
leaks: $(VENV)/tested
	$(BIN)/python -m pytest -m "long or not long" tests/core/test_leaks.py

# a journey under valgrind, over a build in which all that is read was written: no value that was never set decides anything
memcheck: $(VENV)/tested
	CFLAGS="-DBBPE_CHECKED -g" $(BIN)/python setup.py -q build --build-base build/memcheck --build-lib build/memcheck/lib
	cd build/memcheck/lib && PYTHONPATH="$$PWD" $(CURDIR)/$(BIN)/python $(CURDIR)/tests/support/memcheck.py

# the vectors of Arm against the scalar truth, under the sanitizers in an emulator, where leaks cannot be looked for: ten minutes
# on two cores; what each driver is told, and `make neon-split` runs one of them
NEON_split = neon 1000 97
NEON_json = 100000
NEON_cut = 400
NEON_normalizer = 8000
NEON_transcode = 30000
NEON_stage = 100
NEON_bpe = fuzz 400
NEON = $(patsubst NEON_%,neon-%,$(filter NEON_%,$(.VARIABLES)))
.PHONY: $(NEON)
AARCH64_CC = aarch64-linux-gnu-gcc
AARCH64_RUN = qemu-aarch64 -L /usr/aarch64-linux-gnu
AARCH64_CORE = $(patsubst csrc/%.c,build/neon/%.o,$(C_SOURCES))
# with these, GCC takes four minutes for the loops of splitting
$(filter build/neon/split/%,$(AARCH64_CORE)): UNCHECKED = -fno-sanitize=null,alignment,object-size,pointer-overflow
$(AARCH64_CORE): build/neon/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(AARCH64_CC) $(SANITIZE) $(UNCHECKED) $(LEAF) -c $< -o $@
build/neon/%_driver: tests/c/%_driver.c $(wildcard tests/c/*.h) $(AARCH64_CORE)
	$(AARCH64_CC) $(SANITIZE) $(LEAF) $< $(AARCH64_CORE) -lm -pthread -o $@
$(NEON): neon-%: build/neon/%_driver
	ASAN_OPTIONS=detect_leaks=0 $(AARCH64_RUN) $< $(NEON_$*)
neon:
	@for tool in $(firstword $(AARCH64_CC)) $(firstword $(AARCH64_RUN)); do command -v $$tool >/dev/null || { echo "make \
	neon needs $$tool; on Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" >&2; exit 1; }; done
	$(MAKE) -j $(CORES) $(NEON)

# the package compiled for Arm, and tests in Debian's Python for it, in the same emulator; docs/platforms.md shows what came of it
arm: $(VENV)/made
	$(BIN)/python tests/platforms/arm.py $(FOLDERS)

# the C core for platforms that are not this one, compiled and not run
CROSS = x86_64-windows-gnu aarch64-windows-gnu aarch64-macos aarch64-linux-musl
ZIG = $(BIN)/python -m ziglang cc -std=c11 -O0 $(STRICT) -Wshadow -Wvla -Icsrc
cross: $(VENV)/crossed
	for target in $(CROSS); do mkdir -p build/cross/$$target && printf '%s\n' $(C_SOURCES) | \
		xargs -P $(CORES) -I{} sh -c '$(ZIG) -target '$$target' -c {} -o build/cross/'$$target'/$$(echo {} | tr / _).o' \
		|| exit 1; done

# every Python that there is here or in Debian, and Windows' own under wine: a build, the smoke test and folders of tests;
# what came of it is written into docs/platforms.md. PYTHONS=3.14 and FOLDERS=core are less
PYTHONS =
FOLDERS =
interpreters: $(VENV)/crossed
	$(BIN)/python tests/platforms/interpreters.py $(PYTHONS)
wine: $(VENV)/crossed
	$(BIN)/python tests/platforms/wine.py $(FOLDERS)

$(VENV)/made:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bbpe needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) install "setuptools>=77" "Cython>=3.2"
	touch $@

$(VENV)/built: $(VENV)/made $(SOURCES)
	$(EDITABLE)
	touch $@

$(VENV)/tested: $(VENV)/built
	$(PACKAGES) $(call group,test)
	# only the axe-core of the one and GPT-2's vocabulary of the other: they would bring Playwright and PyTorch
	$(PACKAGES) --no-deps axe-playwright-python openai-whisper
	touch $@

$(VENV)/benched: $(VENV)/built
	$(PACKAGES) $(call group,bench)
	touch $@

$(VENV)/documented: $(VENV)/made
	$(PACKAGES) $(call group,docs)
	touch $@

$(VENV)/crossed: $(VENV)/made
	$(PACKAGES) $(call group,cross)
	touch $@

$(VENV)/linted: $(VENV)/tested
	$(PACKAGES) $(call group,dev)
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info bbpe/core/*.c bbpe/core/*.so
