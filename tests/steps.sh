# shellcheck shell=bash
# Steps of a gate, for the scripts that source this file: each step runs a command, prints what it said, and has a
# row in the table at the end. Lanes are series of steps that run side by side.
#   step WHAT COMMAND...   steps_close   (the table, and one line for all: N passed, M failed)
# A step that fails without a failed test counts as one failed test; the next step runs all the same.

steps=$(mktemp -d)
trap 'rm -rf "$steps"' EXIT

step() { # WHAT COMMAND...
    local what=$1 start=$SECONDS code=0 output
    shift
    output=$(mktemp "$steps/XXXXXX")
    "$@" >"$output" 2>&1 </dev/null || code=$?
    {
        flock 9
        printf '\n==== %s: %s\n' "$what" "$*"
        cat "$output"
        printf '==== %s: %d s, exit code %d\n' "$what" $((SECONDS - start)) "$code"
        sed -nE 's/^([0-9]+) passed, ([0-9]+) failed.*/\1 \2/p' "$output" | awk -v code="$code" -v what="$what" \
            -v seconds=$((SECONDS - start)) '
            { passed += $1; failed += $2 }
            END {
                if (code && !failed) failed = 1
                printf "%s\t%d\t%d\t%d\n", what, seconds, passed, failed
            }' >>"$steps/table"
    } 9>"$steps/lock"
}

steps_close() { # returns whether nothing failed
    awk -F '\t' -v took="$SECONDS" '
        BEGIN { printf "\n%-72s %8s %8s %8s\n", "step", "seconds", "passed", "failed" }
        { printf "%-72s %8d %8d %8d\n", $1, $2, $3, $4; passed += $3; failed += $4 }
        END {
            if (!NR) failed = 1
            printf "%-72s %8d\n\n%d passed, %d failed\n", "all, side by side", took, passed, failed
            exit failed > 0
        }' "$steps/table"
}
