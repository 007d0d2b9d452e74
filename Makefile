# ptgc: .ptg text -> ONNX models.
#
#   make            the command, the static and the shared library, in build/
#   make demo       set up, build, compile an exported model and run it on ONNX Runtime
#   make check      set up, build, test; the last line counts the tests
#   make help       the other targets
#
# V=1 shows the commands; B=dir builds elsewhere; SAN=address,undefined builds with sanitizers.

ifeq ($(filter grouped-target,$(.FEATURES)),)
$(error this Makefile needs GNU make 4.3 or newer; this is $(MAKE_VERSION))
endif
MAKEFLAGS += --no-builtin-rules --no-builtin-variables
ifeq ($(MAKELEVEL),0) # a -j of the command line goes before this one
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:
.DEFAULT_GOAL := all

B := build
$(if $(word 2,$(B)),$(error B='$(B)': make cannot build in a folder whose name has spaces))
G := $(B)/gen
VERSION := $(shell sed -n 's/^\#define PTGC_VERSION "\(.*\)"/\1/p' src/ptgc.h)
SOVERSION := $(firstword $(subst ., ,$(VERSION)))
PREFIX ?= /usr/local
BINDIR = $(PREFIX)/bin
LIBDIR = $(PREFIX)/lib
INCLUDEDIR = $(PREFIX)/include
DATADIR = $(PREFIX)/share

# The environment's CC, AR, OBJCOPY, CPPFLAGS, CFLAGS and LDFLAGS count, as distributions set them.
unset_or_builtin = $(filter default undefined,$(origin $(1)))
CC := $(if $(call unset_or_builtin,CC),gcc,$(CC))
AR := $(if $(call unset_or_builtin,AR),ar,$(AR))
OBJCOPY ?= objcopy
INSTALL ?= install
SAN =
CPPFLAGS ?=
CFLAGS ?= -O2 -g
LDFLAGS ?=
# Warnings are errors for those who run the tests, not for those who build with another compiler.
WERROR = $(if $(filter check%,$(MAKECMDGOALS)),-Werror)
# Tables leave out fields that are 0.
WARNINGS = -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wwrite-strings \
	-Wno-missing-field-initializers
# Without -ffp-contract=off a * b + c is rounded once on some machines, and models have other bytes.
ALL_CFLAGS = -std=c11 -D_GNU_SOURCE -Isrc -I$(G) -fPIC -fvisibility=hidden $(SAN_FLAGS) \
	$(PROTOBUF_C_CFLAGS) $(CPPFLAGS) $(CFLAGS) -ffp-contract=off
SAN_FLAGS = $(if $(SAN),-DVERIFY_EACH=1 -fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
ALL_LDFLAGS = $(SAN_FLAGS) $(CFLAGS) $(LDFLAGS)
# libptgc.a is one object of machine code, also if the compiler optimises while linking; clang's
# linker makes machine code of it by itself.
LTO_CFLAGS = $(if $(findstring -flto,$(CFLAGS)),$(CFLAGS) $(filter -fuse-ld=%,$(LDFLAGS)) \
	$(if $(shell $(CC) -dM -E -x c /dev/null | grep __clang__),,-flinker-output=nolto-rel))
RELOCATABLE = -nostdlib -r $(LTO_CFLAGS)
LIBS = $(PROTOBUF_C_LIBS) -lm

# What the machine has; made again with what is missing installed for the goals that promise that.
SETUP_GOALS := demo check check-counted check-quick check-all check-machines check-update check-runtimes check-asan \
	check-tsan check-valgrind check-pymc check-random check-graphs bench venv wheel web web-serve \
	check-web check-batch
SETUP := $(if $(filter $(SETUP_GOALS),$(MAKECMDGOALS)),install,find)
NO_BUILD := clean help format uninstall deb
ifneq ($(filter-out $(NO_BUILD),$(or $(MAKECMDGOALS),all)),)
include $(G)/config.mk
endif
$(G)/config.mk: tools/setup.sh
	$(Q)mkdir -p $(@D) && tools/setup.sh $(SETUP) >$@

V = 0
Q = $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-8s%s\n' '$(1)' '$(2)';)

# --- sources: whatever lies in these folders ---

SRC := $(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c))
GEN := $(patsubst grammar/%.y,$(G)/%.tab.c,$(wildcard grammar/*.y)) \
	$(patsubst grammar/%.l,$(G)/%.lex.c,$(wildcard grammar/*.l)) \
	$(patsubst proto/%.proto,$(G)/%.pb-c.c,$(wildcard proto/*.proto)) $(G)/lib.c $(G)/lib_c.c
GEN_H := $(patsubst %.tab.c,%.tab.h,$(filter %.tab.c,$(GEN))) \
	$(patsubst %.lex.c,%.lex.h,$(filter %.lex.c,$(GEN))) \
	$(patsubst %.pb-c.c,%.pb-c.h,$(filter %.pb-c.c,$(GEN)))
OBJ := $(SRC:src/%.c=$(B)/obj/%.o) $(GEN:$(G)/%.c=$(B)/obj/gen/%.o)
CORE := $(filter-out $(B)/obj/cmd/%,$(OBJ))
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
C_LIB := $(sort $(wildcard lib/c/*.h))
PTG_LIB := $(sort $(wildcard lib/*/*.ptg))


# Python's module that calls models in C, for any Python from 3.12 on. Without Python.h there is none.
EXTENSION = $(B)/_native.abi3.so

.PHONY: all help
all: $(B)/ptgc $(B)/libptgc.a $(B)/libptgc.so $(EXTENSION)

# A change of the flags or of the list of sources rebuilds, as a change of a source does.
BUILD_FLAGS = $(CC) $(ALL_CFLAGS) $(WARNINGS) $(ALL_LDFLAGS)
ifneq ($(filter-out $(NO_BUILD),$(or $(MAKECMDGOALS),all)),)
$(shell mkdir -p $(B))
ifneq ($(strip $(file <$(B)/flags)),$(strip $(BUILD_FLAGS)))
$(file >$(B)/flags,$(strip $(BUILD_FLAGS)))
endif
ifneq ($(strip $(file <$(B)/objects)),$(strip $(OBJ)))
$(file >$(B)/objects,$(strip $(OBJ)))
endif
endif
$(B)/flags $(B)/objects:

$(B)/ptgc: $(OBJ) $(B)/objects
	$(call say,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(OBJ) $(LIBS)

$(B)/core.o: $(CORE) $(B)/objects
	$(Q)$(CC) $(RELOCATABLE) -o $@ $(CORE)

# One object with nothing but ptgc_* to be seen: a program may have an error() or emit() of its own.
$(B)/libptgc.o: $(B)/core.o
	$(Q)$(OBJCOPY) --localize-hidden $< $@

$(B)/libptgc.a: $(B)/libptgc.o
	$(call say,AR,$@)rm -f $@ && $(AR) rcs $@ $<

$(B)/libptgc.so.$(SOVERSION): $(CORE) $(B)/objects
	$(call say,LD,$@)$(CC) -shared -Wl,-soname,libptgc.so.$(SOVERSION) -Wl,-z,defs \
		$(ALL_LDFLAGS) -o $@ $(CORE) $(LIBS)

$(B)/libptgc.so: $(B)/libptgc.so.$(SOVERSION)
	$(Q)ln -sf $(<F) $@

$(B)/_native.abi3.so: python/native/_native.c tools/python_headers.sh
	$(Q)headers=$$(tools/python_headers.sh $(PYTHON) python3); if [ -n "$$headers" ]; then \
		mkdir -p $(@D) && $(CC) -std=c11 -D_GNU_SOURCE -O2 -shared -fPIC -fvisibility=hidden $(WARNINGS) \
		$(WERROR) $(CPPFLAGS) $(LDFLAGS) -isystem "$$headers" -o $@ $< && \
		$(if $(filter 1,$(V)),:,printf '  %-8s%s\n' LD $@); fi

$(B)/obj/%.o: src/%.c $(B)/flags | $(GEN_H)
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(WARNINGS) $(WERROR) -MMD -MP -c -o $@ $<

$(B)/obj/gen/%.o: $(G)/%.c $(B)/flags | $(GEN_H)
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -std=gnu11 -w -MMD -MP -c -o $@ $<

# --- generated sources ---

$(G)/%.tab.c $(G)/%.tab.h &: grammar/%.y
	$(call say,BISON,$<)mkdir -p $(@D) && bison -Wall -Werror --file-prefix-map=$(G)/= \
		--header=$(G)/$*.tab.h -o $(G)/$*.tab.c $<

$(G)/%.lex.c $(G)/%.lex.h &: grammar/%.l
	$(call say,FLEX,$<)mkdir -p $(@D) && flex --header-file=$(G)/$*.lex.h -o $(G)/$*.lex.c $<

$(G)/%.pb-c.c $(G)/%.pb-c.h &: proto/%.proto
	$(call say,PROTOC,$<)mkdir -p $(@D) && protoc-c --proto_path=proto --c_out=$(G) $<

$(G)/lib.c: tools/embed.sh lib $(wildcard lib/*/) $(PTG_LIB)
	$(call say,EMBED,$@)mkdir -p $(@D) && tools/embed.sh $(PTG_LIB) >$@

$(G)/lib_c.c: tools/embed_c.sh lib/c $(C_LIB)
	$(call say,EMBED,$@)mkdir -p $(@D) && tools/embed_c.sh $(C_LIB) >$@

# --- tests: tests/check.sh runs the layers and adds them up ---

.PHONY: demo check check-quick check-all check-machines elsewhere check-update check-runtimes check-asan check-tsan
.PHONY: check-valgrind check-pymc fuzz bench venv unit
PYTHON = .venv/bin/python
LAYERS = style unit golden cli doc portable maths native examples python runtimes web
TEST_ENV = B=$(B) PTGC=$(B)/ptgc PTGC_LIBRARY=$(abspath $(B))/libptgc.so PYTHON=$(PYTHON) CC='$(CC)' CLANG=$(B)/clang
ASAN = B=$(B)/asan SAN=address,undefined CFLAGS='-O1 -g'

$(B)/cmocka.ok: tools/setup.sh
	$(Q)mkdir -p $(@D) && tools/setup.sh tests && touch $@

# Where a Python is missing, the tests that need it fail, with a line that says so.
venv:
	$(Q)tools/setup.sh python || true
unit: $(UNIT)

# Builds in folders of $(B): of other machines, whose programs run under qemu, and by other compilers.
ELSEWHERE = s390x aarch64 clang gcc-lto clang-lto
cross = CC=$(1)-linux-gnu-gcc AR=$(1)-linux-gnu-ar OBJCOPY=$(1)-linux-gnu-objcopy CFLAGS='-O2 -g' \
	EXTENSION=
BUILD_s390x = $(call cross,s390x)
BUILD_aarch64 = $(call cross,aarch64)
BUILD_clang = CC=clang CFLAGS='-O2 -g'
BUILD_gcc-lto = CC=gcc CFLAGS='-O2 -flto'
BUILD_clang-lto = CC=clang CFLAGS='-O2 -flto'
build_in = $(MAKE) --no-print-directory B=$(B)/$(1) $(BUILD_$(1)) WERROR=-Werror SETUP=find

# The sanitized build comes after the plain one, so that a compile error is told once.
# ALSO: builds of ELSEWHERE that are tested besides; the page then says what was counted.
check: all unit venv
	$(Q)$(MAKE) --no-print-directory $(ASAN) SETUP=find $(B)/asan/ptgc $(B)/asan/corpus unit
	$(Q)tools/setup.sh clang
	+$(Q)$(call build_in,clang) all
	$(Q)$(if $(ALSO),$(MAKE) --no-print-directory elsewhere)
	$(Q)$(TEST_ENV) tests/check.sh $(LAYERS) asan fuzz $(ALSO)
	$(Q)$(if $(ALSO),$(TEST_ENV) python3 tests/portable/page.py)

# Before each commit: minutes. Of the numeric tests those of the ops, a third that changes with the commit.
check-quick: all unit venv
	$(Q)$(TEST_ENV) tests/check.sh style unit golden cli doc grid

# The row of this build in the table of what passed. Nothing is written where a test failed.
.PHONY: check-counted
check-counted: check
	$(call say,PAGE,doc/packaging.md)$(TEST_ENV) python3 tests/portable/page.py

# Before a release: what make check samples is run whole, and other builds are tested. Hours.
check-all:
	$(Q)PTGC_FULL=1 PTGC_EXAMPLES=10000 TEST_TIMEOUT=7200 FUZZ_COUNT=1000000 \
		$(MAKE) --no-print-directory check ALSO='$(ELSEWHERE) compilers'

elsewhere: all
	$(Q)tools/setup.sh clang && tools/setup.sh machines
	+$(Q)$(foreach b,$(ELSEWHERE),$(call build_in,$(b)) all unit &&) true

check-machines: elsewhere venv
	$(Q)$(TEST_ENV) tests/check.sh $(ELSEWHERE) compilers
	$(call say,PAGE,doc/packaging.md)$(TEST_ENV) python3 tests/portable/page.py

# All emitted models on all runtimes, some of which are built first.
check-runtimes: all venv
	$(Q)tools/setup.sh all-runtimes
	$(Q)$(PYTHON) tools/probe_release.py --newer
	$(Q)$(TEST_ENV) $(PYTHON) tests/releases.py 1.17
	$(call say,PAGE,doc/runtimes.md)PYTHONPATH=python $(PYTHON) tests/runtimes/suite.py page

check-asan: $(G)/config.mk
	$(Q)$(MAKE) --no-print-directory $(ASAN) SETUP=find $(B)/asan/ptgc unit
	$(Q)$(TEST_ENV) tests/check.sh asan

check-tsan: $(G)/config.mk
	$(Q)$(MAKE) --no-print-directory B=$(B)/tsan SAN=thread CFLAGS='-O1 -g' SETUP=find \
		$(B)/tsan/unit/test_threads
	$(Q)$(B)/tsan/unit/test_threads

# Each piece of an arena is a block of its own here, which valgrind knows the end of; of a mapping
# that mremap moves and makes longer it does not know the new pages.
check-valgrind: $(G)/config.mk
	$(Q)$(MAKE) --no-print-directory B=$(B)/valgrind CFLAGS='-O1 -g -DARENA_EXACT' SETUP=find \
		$(B)/valgrind/ptgc unit
	$(Q)B=$(B)/valgrind PTGC=$(B)/valgrind/ptgc PYTHON=$(PYTHON) CC='$(CC)' \
		WRAP='valgrind -q --error-exitcode=99 --leak-check=full' \
		tests/check.sh unit golden

check-update: all doc venv
	$(Q)$(TEST_ENV) tests/run.sh -u

# The optimiser that runs while linking takes a minute, which is spent once for all tests.
TESTED = $(if $(LTO_CFLAGS),$(B)/core.o,$(CORE))
$(B)/unit/%: tests/unit/%.c $(TESTED) $(B)/flags $(B)/objects | $(B)/cmocka.ok
	$(call say,CC,$<)mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(WARNINGS) $(WERROR) -MMD -MP \
		$(ALL_LDFLAGS) $(UNIT_LDFLAGS) -o $@ $< $(TESTED) -lcmocka $(LIBS)

WRAPPED = malloc calloc realloc free mmap munmap mremap
$(B)/unit/test_oom: UNIT_LDFLAGS = $(WRAPPED:%=-Wl,--wrap=%)

demo: all venv
	$(Q)$(TEST_ENV) examples/demo.sh

check-pymc: all venv
	$(Q)$(TEST_ENV) tests/pymc/run.sh

bench: all venv
	$(Q)$(TEST_ENV) bench/run.sh

# The texts of make check are always the same. This goes on with random ones for FUZZ_TIME seconds,
# with JOBS processes; what it finds is kept in build/fuzz.
FUZZ_TIME = 60
fuzz: $(B)/ptgc
	$(Q)tools/setup.sh fuzz
	$(Q)tools/fuzz.sh $(B)/fuzz $(FUZZ_TIME) $(B)/ptgc

FUZZ = $(addprefix tests/fuzz/,fuzz.c mutate.c)
$(B)/fuzzer: $(FUZZ) tests/fuzz/libfuzzer.c tests/fuzz/fuzz.h $(CORE)
	$(call say,LD,$@)$(CC) $(ALL_CFLAGS) $(WARNINGS) $(FUZZ_FLAGS) $(ALL_LDFLAGS) -o $@ \
		$(filter %.c,$^) $(CORE) $(LIBS)

# Each piece of an arena is a block of its own here, which the sanitizer knows the end of.
$(B)/corpus: $(FUZZ) tests/fuzz/corpus.c src/base/arena.c tests/fuzz/fuzz.h $(CORE)
	$(call say,LD,$@)$(CC) $(ALL_CFLAGS) $(WARNINGS) -DARENA_EXACT $(ALL_LDFLAGS) -o $@ \
		$(filter %.c,$^) $(filter-out %/base/arena.o,$(CORE)) $(LIBS)

# --- a page that runs models in a browser ---

.PHONY: web web-serve check-web
WEB_PORT = 8000
web: $(B)/ptgc
	$(Q)B=$(B) tools/setup.sh web
	$(call say,WEB,$(B)/web)$(TEST_ENV) web/build.sh sizes

web-serve: web
	$(Q)python3 -c 'import socket; socket.create_server(("localhost", $(WEB_PORT)))' 2>/dev/null || \
		{ echo "another program has port $(WEB_PORT): make web-serve WEB_PORT=8001"; exit 1; }
	$(Q)echo "open http://localhost:$(WEB_PORT)/ (Ctrl-C ends)"
	$(Q)python3 -m http.server --bind localhost --directory $(B)/web $(WEB_PORT)

# With Node alone, then in Chromium, beside what ONNX Runtime computes in Python. Leaves pictures.
check-web: web venv
	$(Q)B=$(B) tools/setup.sh browser
	$(Q)$(TEST_ENV) tests/web/run.sh

# --- a table too large for memory, on Dask and Ray ---

.PHONY: check-batch
check-batch: all venv
	$(Q)$(TEST_ENV) tests/batch/run.sh

FORCE:
.PHONY: FORCE

# --- the rest ---

.PHONY: install uninstall wheel deb clean format doc coverage property
$(B)/ptgc.pc: ptgc.pc.in src/ptgc.h FORCE
	$(Q)sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@INCLUDEDIR@|$(INCLUDEDIR)|' -e 's|@DATADIR@|$(DATADIR)|' -e 's|@VERSION@|$(VERSION)|' $< >$@

# What is installed: mode, file, place; the places may have spaces.
define INSTALLED
755 $(B)/ptgc $(BINDIR)/ptgc
644 src/ptgc.h $(INCLUDEDIR)/ptgc.h
644 $(B)/libptgc.a $(LIBDIR)/libptgc.a
755 $(B)/libptgc.so $(LIBDIR)/libptgc.so.$(VERSION)
link libptgc.so.$(VERSION) $(LIBDIR)/libptgc.so.$(SOVERSION)
link libptgc.so.$(SOVERSION) $(LIBDIR)/libptgc.so
644 $(B)/ptgc.pc $(LIBDIR)/pkgconfig/ptgc.pc
644 examples/ptg.mk $(DATADIR)/ptgc/ptg.mk
644 doc/ptgc.1 $(DATADIR)/man/man1/ptgc.1
644 LICENSE $(DATADIR)/doc/ptgc/LICENSE
644 README.md $(DATADIR)/doc/ptgc/README.md
644 doc/language.md $(DATADIR)/doc/ptgc/language.md
644 doc/ops.md $(DATADIR)/doc/ptgc/ops.md
endef
export INSTALLED DESTDIR

install: all $(B)/ptgc.pc
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))printf '%s\n' "$$INSTALLED" | while read -r mode file place; do \
		mkdir -p "$$DESTDIR$${place%/*}" || exit; \
		case $$mode in \
		link) ln -sf "$$file" "$$DESTDIR$$place" ;; \
		*) $(INSTALL) -m $$mode "$$file" "$$DESTDIR$$place" ;; \
		esac || exit; \
	done

uninstall:
	$(Q)printf '%s\n' "$$INSTALLED" | while read -r mode file place; do rm -f "$$DESTDIR$$place" || exit; done

wheel: $(G)/config.mk venv
	$(Q)tools/wheel.sh $(B)/dist $(PYTHON)

deb:
	$(call say,DEB,$(B)/deb)tools/deb.sh $(B)/deb

clean:
	rm -rf $(B)

format:
	clang-format -i src/*.[ch] src/*/*.[ch] src/*/*/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch] python/native/*.c lib/c/*.h tests/c/*.[ch]

doc: $(B)/ptgc
	$(call say,DOC,doc/ops.md doc/language.md)$(TEST_ENV) tests/doc.sh -u

.PHONY: check-random
check-random: all venv
	$(call say,RANDOM,$(or $(N),1000000) draws of each distribution beside NumPy)$(PYTHON) bench/streams.py --draws $(or $(N),1000000)
	$(Q)for kind in PCG64DXSM Philox; do $(PYTHON) bench/streams.py --draws 100000 --kind $$kind || exit; done
	$(Q)$(TEST_ENV) $(PYTHON) bench/streams.py --calls $(or $(N),1000000)

.PHONY: check-graphs
check-graphs: all venv
	$(call say,GRAPHS,$(or $(N),100000) random graphs beside PyTensor without rewrites)$(TEST_ENV) \
		$(PYTHON) tests/run/many_graphs.py --graphs $(or $(N),100000) --log $(B)/many_graphs.log

property: all venv
	$(call say,PROPERTY,$(or $(N),10000) random graphs)PTGC_EXAMPLES=$(or $(N),10000) PYTHONPATH=python \
		$(PYTHON) -m pytest -q -p no:cacheprovider -n 2 tests/run/test_property.py tests/run/test_random_loops.py

coverage: all venv
	$(call say,COVERAGE,doc/coverage.md)PTGC=$(B)/ptgc $(PYTHON) tests/run/coverage_page.py

accuracy: all venv
	$(call say,ACCURACY,doc/accuracy.md)PTGC=$(B)/ptgc $(PYTHON) tools/measure_accuracy.py

help:
	@printf '%s\n' 'make                build/ptgc, build/libptgc.a, build/libptgc.so' \
	'make demo           set up, build, run an exported model on ONNX Runtime' \
	'make check          set up, build, run the tests, also under ASan and UBSan' \
	'make check-quick    a part of them, in minutes: before each commit' \
	'make check-all      the same without sampling, and check-machines: hours, before a release' \
	'make check-machines builds for s390x and aarch64 under qemu, by clang and with -flto' \
	'make check-update   rewrite the expected outputs of the golden and command line tests' \
	'make check-runtimes all emitted models on all runtimes, write doc/runtimes.md' \
	'make check-pymc     all distributions of PyMC beside PyTensor, write doc/pymc-distributions.md: some minutes' \
	'make check-random N=1000000  that many draws of each distribution beside NumPy, and calls' \
	'make check-graphs N=100000  that many random graphs beside PyTensor without rewrites' \
	'make check-asan     unit, golden and command line tests under ASan and UBSan alone' \
	'make check-tsan     eight threads at once under TSan' \
	'make check-valgrind unit and golden tests under valgrind' \
	'make fuzz           fuzz the compiler for FUZZ_TIME seconds (default 60)' \
	'make property N=10000  that many random graphs of ops beside PyTensor' \
	'make coverage       run the test of every op by dtype and opset, write doc/coverage.md' \
	'make accuracy       measure how far functions are off, write doc/accuracy.md' \
	'make web            a page that runs models in a browser, in build/web; make web-serve' \
	'make check-web      the page in headless Chromium, compared with ONNX Runtime in Python' \
	'make check-batch    examples/batch in one process, on Dask and on Ray' \
	'make bench          benchmarks beside other tools' \
	'make install        to DESTDIR/PREFIX (default /usr/local); make uninstall' \
	'make wheel          source distribution and wheel of the Python package, in build/dist' \
	'make deb            Debian packages, in build/deb; needs debhelper and lintian' \
	'make format         clang-format; make doc: the tables in doc; make clean: rm -r build' \
	'V=1 shows commands, B=dir builds elsewhere, WERROR=-Werror stops at warnings'

-include $(OBJ:.o=.d) $(UNIT:=.d)
