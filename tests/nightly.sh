#!/bin/bash
# All that the gate (.ci/run) leaves out, as long as it takes; ends with a table. `make nightly` calls it, before a
# release and after a change in what a step covers. It goes on after a step that failed.
#   tests/nightly.sh [WORD]   only the steps with the word in what they are called
set -euo pipefail
cd "$(dirname "$0")/.."
word=${1-}
unset MAKEFLAGS MAKEOVERRIDES ONLY # `make nightly ONLY=word` chooses a step, and not what each step runs

# shellcheck source=tests/steps.sh
. tests/steps.sh

nightly() { # WHAT COMMAND...
    [[ $1 != *"$word"* ]] || step "$@"
}

# What must have the machine for itself.
alone() {
    nightly "timing: how soon things happen" make timing
    nightly "bench: comparison, the short form" make bench QUICK=1
}

# These need the processor all the time.
busy() {
    nightly "lint: all analyzers over all files" make lint
    nightly "tests on this machine" make test
    nightly "tests under ThreadSanitizer" make test SANITIZE=thread
    nightly "tests under valgrind, a part" make test VALGRIND=1 \
        ONLY="test_fields test_rate test_tokens_file test_principal test_acquire test_parameters test_holds test_several test_hold_conn"
    nightly "bare roots: all tests, and clients, in Debian 12 and 13" make bare-test
    nightly "mutants: mistakes that a test has to notice" make mutants
    nightly "model: the hand-over" make model
    nightly "fuzz: 60 s for each target" make fuzz SECONDS=60
    nightly "dist: the tarball builds without git" tests/package/dist_builds.sh
}

# These wait for most of their time: for ends, restarts and timeouts.
patient() {
    nightly "oracle: 500 runs of baton run" env BATON_ORACLE_RUNS=500 BATON_TEST_LIMIT=3600 make test ONLY=test_oracle
    nightly "chaos" make chaos
    nightly "page in a headless Chromium" make ui-test
    nightly "clients: all cases" make clients-test
    nightly "image, run as containers" make container
    nightly "Debian package, in clean roots of 12 and 13" make deb-test
    nightly "release: made twice, and installed in clean roots of Debian 12 and 13" tests/package/release_roots.sh
    nightly "upgrade from the last release" tests/upgrade/last_release.sh
}

step "Packages" deploy/install-packages.sh build run test cases recipes client-go client-java client-php client-ruby deploy ui lint \
    fuzz valgrind budget bare-test deb-test container model bench
step "Build" make -s -j"$(nproc)" test-programs
alone
busy &
patient &
wait
steps_close
