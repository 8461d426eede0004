# shellcheck shell=bash
# Steps of a gate, for the scripts that source this file: each step runs a command, prints what it said, and has a
# row in the table at the end. Lanes are series of steps that run side by side.
#   step WHAT COMMAND...   steps_close   (what failed, the table, and one line for all: N passed, M failed)
# A step that fails without a failed test counts as one failed test; the next step runs all the same.

steps=$(mktemp -d)
trap 'rm -rf "$steps"' EXIT

# The last lines of each test that failed (tests/run.sh frames what it printed), or else of the whole step.
step_failures() { # WHAT OUTPUT
    printf '\n**** failed: %s\n' "$1"
    awk -v most=12 '
        function tail(from, to) { for (from = to - from > most ? to - most : from; from <= to; from++) print line[from] }
        { line[NR] = $0 }
        /^---- .*: exit code/ { print; begin = NR + 1 }
        /^----$/ && begin { tail(begin, NR - 1); begin = 0; framed = 1 }
        END { if (!framed) tail(1, NR) }' "$2"
}

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
        ((code == 0)) || step_failures "$what" "$output" >>"$steps/failures"
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
    cat "$steps/failures" 2>/dev/null || true
    awk -F '\t' -v took="$SECONDS" '
        BEGIN { printf "\n%-72s %8s %8s %8s\n", "step", "seconds", "passed", "failed" }
        { printf "%-72s %8d %8d %8d\n", $1, $2, $3, $4; passed += $3; failed += $4 }
        END {
            if (!NR) failed = 1
            printf "%-72s %8d\n\n%d passed, %d failed\n", "all, side by side", took, passed, failed
            exit failed > 0
        }' "$steps/table"
}
