#!/bin/bash
# Replays the corpus of each fuzz target, then sends it new input; ends with one line: N passed, M
# failed. What it finds is in FOLDER/findings, the input that a run has collected in FOLDER/corpus.
#   tests/fuzz/run.sh FOLDER SECONDS TARGET...   SECONDS for each, 0: it only replays
# Environment: BATON_TEST_JOBS (2): how many at a time; BATON_SEED: input as in the last run with it, as
# far as the machine is as fast.
set -euo pipefail
export LC_ALL=C
export ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
here=tests/fuzz

number() { # PATTERN FILE: the last one
    { grep -oE "$1" "$2" || true; } | tail -n 1 | grep -oE '[0-9]+$' || echo 0
}

run_one() { # FOLDER SECONDS PROGRAM: prints a line, and what a target has found
    local folder=$1 seconds=$2 program=$3 name log start=$EPOCHREALTIME seeds options result=0
    name=${program##*/fuzz_}
    log=$folder/$name.log
    seeds=$(find "$here/corpus/$name" -type f | wc -l)
    mkdir -p "$folder/corpus/$name" "$folder/findings/$name"
    options=(-artifact_prefix="$folder/findings/$name/" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1)
    [[ -z ${BATON_SEED-} ]] || options+=(-seed=$((BATON_SEED % 4294967295)))
    [[ ! -e $here/dictionaries/$name ]] || options+=(-dict="$here/dictionaries/$name")
    "$program" "${options[@]}" "$here/corpus/$name"/* >"$log" 2>&1 || result=1
    if ((!result && seconds)); then
        "$program" "${options[@]}" -max_total_time="$seconds" -max_len=4096 \
            "$folder/corpus/$name" "$here/corpus/$name" >"$log" 2>&1 || result=1
    fi
    ((!result && seeds)) || result=1
    echo "$result" >"$folder/$name.result"
    if ((result)); then
        printf '\n---- %s: a finding\n' "$name"
        tail -n 60 "$log"
        echo ----
    fi
    printf '%-10s %4d seeds  %10d executions  %6d edges  %6d features  %s  %5.0f s\n' "$name" "$seeds" \
        "$(number 'number_of_executed_units: [0-9]+' "$log")" "$(number 'cov: [0-9]+' "$log")" \
        "$(number 'ft: [0-9]+' "$log")" "$( ((result)) && echo FAILED || echo ok)" \
        "$(awk -v from="$start" -v to="$EPOCHREALTIME" 'BEGIN { print to - from }')"
}

if [[ ${1-} == --one ]]; then
    run_one "$2" "$3" "$4"
    exit
fi

folder=$1 seconds=$2
shift 2
mkdir -p "$folder"
rm -f "$folder"/*.result
(($# == 0)) || printf '%s\0' "$@" | xargs -0 -n 1 -P "${BATON_TEST_JOBS:-2}" "$0" --one "$folder" "$seconds"
cat "$folder"/*.result 2>/dev/null | awk '
    { failed += $1 }
    END {
        if (!NR) { NR = failed = 1; print "no target was run" }
        printf "\n%d passed, %d failed\n", NR - failed, failed
        exit failed > 0
    }'
