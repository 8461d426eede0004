#!/bin/bash
# The early exits of the functions change nothing: without them, the same requests get the same replies and
# grants. The suites that say what these are pass with a library that has none. Left out are those that
# count calls or keys (costs, single_hold), and messages: a server may be told of an end that it knows.
set -euo pipefail

build=$(dirname "${BATON_TEST_BATOND:-build/batond}")
suites=(model acquire release renew leave queue servers quarantine numbers inspect full raise)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# Of another run of make, they may be older than the library.
programs=("${suites[@]/#/${build#"$PWD/"}/tests/scripts/test_}")
flavour=$(grep -oxE 'address|thread' <<<"${build##*/}") || true
make --no-print-directory -s SANITIZE="$flavour" "${programs[@]}"

tests/scripts/without_early_exits.sh "$build/generated/library.lua" >"$dir/library.lua"
export BATON_TEST_LIBRARY=$dir/library.lua
for program in "${programs[@]}"; do
    "$program" >"$dir/log" 2>&1 || {
        echo "without early exits, $program:"
        cat "$dir/log"
        exit 1
    }
done
