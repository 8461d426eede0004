#!/bin/bash
# Runs the suites of `make bench`, all of them or those named, and reports. Everything runs on this
# machine, and all contenders of a suite take turns in each of its rounds.
#   uncontended  nobody waits: what acquire and release take over HTTP, at 1, 64 and 512 connections
#   contended    2, 64 and 1,000 clients want one lock: hand-overs, waiting, order
#   idle         clients wait and nothing happens: processor and memory, of 1,000 and of 15,000
#   growth       what an operation costs as locks, waiters and shared holds become many
# QUICK=1 takes a small part of the time, and says as little more. The report is in build/bench/; that of a
# whole run goes into docs/comparison.md, too.
set -euo pipefail
cd "$(dirname "$0")/../../.."

results=build/bench/results.tsv
all=(uncontended contended idle growth)
suites=("$@")
((${#suites[@]})) || suites=("${all[@]}")

mkdir -p build/bench
touch $results
tests/run.sh tests/bench/compare/test_contended.sh # the ruler, before it measures
failed=()
for suite in "${suites[@]}"; do
    sed -i "/^$suite\t/d" $results # what an earlier run has said of it
    tests/bench/compare/measure.sh "$suite" || failed+=("$suite")
done
python3 -B tests/bench/compare/report.py $results build/bench || failed+=(report)
if [[ -z ${QUICK-} && $# == 0 ]]; then
    cp build/bench/bench-*.svg docs/images/
    tests/bench/compare/put_in_page.sh build/bench/bench.md docs/comparison.md
fi
((${#failed[@]} == 0)) || { echo "bench: failed: ${failed[*]}" >&2 && exit 1; }
