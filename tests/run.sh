#!/bin/bash
# Runs tests, side by side, and ends with one line: N passed, M failed.
#   tests/run.sh TEST...   TEST is a cmocka program or a .sh file
# Environment: BATON_TEST_LIMIT (seconds for one TEST, 300), BATON_TEST_JOBS (how many at a time, four for each
# processor; the second half of them only while the processors have room), BATON_TEST_VALGRIND (if set, programs run
# under valgrind, and what it complains of, of batond too, fails the TEST).
set -euo pipefail
export LC_ALL=C
TIMEFORMAT='%U %S'

# Begun first: else one of them would run on when all others have ended.
longest='
integration/test_quorum
redis/test_inbox
cli/test_run
scripts/test_hold_set
integration/test_lineage
integration/test_quarantine
integration/test_cluster_clocks
integration/test_cluster_losses
redis/test_reconnect
integration/test_cluster_promoted
integration/test_confirm
redis/test_sentinel
integration/test_confirm_setting
integration/test_quarantine_clock
cli/test_run_patience
integration/test_cluster_changes
integration/test_quarantine_fences
integration/test_quarantine_shared
cli/test_oracle
'

count() { # WORD FILE: the tests of which cmocka says so, be it once or again at the end
    sed -nE "s/^\[ +$1 +\] ([A-Za-z_0-9][^(]*)\$/\1/p" "$2" | sort -u | wc -l
}

# What cannot be run under valgrind: a word of a TEST's path, and why. Single tests of a program skip
# themselves (tests/support/cmocka.h).
not_under_valgrind='
unit/test_runner.sh   it is about this script
integration/test_secrets  it looks into the memory of batond, where valgrind keeps copies
server/test_sandbox   the filter does not know the calls that valgrind itself makes
integration/test_readme.sh  it shows what a stream says within a second
scripts/              nothing of batond is in these programs: Redis runs its scripts, against the clock
'

longest_first() { # TEST...: one a line
    printf '%s\n' "$@" | awk -v longest="$longest" '
        BEGIN { count = split(longest, names) }
        {
            for (rank = 1; rank <= count && $0 !~ "(^|/)" names[rank] "$"; rank++) { }
            print rank "\t" $0
        }' | sort -s -n -k 1,1 | cut -f 2-
}

excuse() { # NAME: why it is left out
    [[ -n ${BATON_TEST_VALGRIND-} ]] || return 1
    awk -v name="$1" 'NF && index(name, $1) { $1 = ""; print; found = 1 } END { exit !found }' \
        <<<"$not_under_valgrind"
}

complaints() { # FOLDER: the logs in which valgrind complains
    grep -lE 'ERROR SUMMARY: [1-9]' "$1"/memcheck.* 2>/dev/null
}

# What a TEST has printed and not counted: cmocka passes over what goes wrong when a group is taken
# down, which is where most batonds end and tell of their leaks.
uncounted='GROUP TEARDOWN|(Address|Leak|Thread|UndefinedBehavior)Sanitizer|runtime error: '

# Most TESTs wait for most of their time, but not all, and not under a sanitizer on a slow machine.
has_room() { # DIR: whether one more TEST may begin
    local begun=("$1"/*.log) ended=("$1"/*.count) tasks running=0
    ((2 * (${#begun[@]} - ${#ended[@]}) >= jobs)) || return 0
    for _ in {1..5}; do
        read -r _ _ _ tasks _ </proc/loadavg
        running=$((running + ${tasks%/*} - 1)) # but this one
        sleep 0.1
    done
    ((running < 5 * $(nproc)))
}

run_one() { # DIR TEST: prints a line, and the whole output of a TEST that failed
    local name=${2#./} start code=0 passed failed skipped scratch log why under=() bad
    name=${name#*tests/}
    scratch=$(mktemp -d "$1/XXXXXX")
    log=$scratch.log
    { # one after the other
        flock 8
        until has_room "$1"; do :; done
        : >"$log"
    } 8>"$1/beginning"
    start=$EPOCHREALTIME
    if why=$(excuse "$name"); then
        echo "0 0 1" >"$log.count"
        echo "$name: skipped:$why"
        return
    fi
    [[ -z ${BATON_TEST_VALGRIND-} || $2 == *.sh ]] || under=("${BASH_SOURCE[0]%/*}/valgrind.sh")
    mkdir "$scratch.valgrind"
    { time TMPDIR=$scratch BATON_VALGRIND_LOGS=$scratch.valgrind \
        timeout -k 10 "${BATON_TEST_LIMIT:-300}" "${under[@]}" "$2" </dev/null >"$log" 2>&1; } \
        2>"$scratch.time" || code=$?
    # Of a batond that a failed test left behind nobody else reads what it said.
    grep -rhIE --include=log "$uncounted" "$scratch" >>"$log" || true
    rm -rf "$scratch"
    ((code)) || ! grep -qE "$uncounted" "$log" || code=98
    if bad=$(complaints "$scratch.valgrind"); then
        code=99
        xargs cat <<<"$bad" >>"$log"
    fi
    if [[ $2 == *.sh ]]; then
        passed=$((code == 0 ? 1 : 0)) failed=$((code == 0 ? 0 : 1)) skipped=0
    else
        passed=$(count OK "$log")
        failed=$(count FAILED "$log")
        skipped=$(count SKIPPED "$log")
        # A failed assertion ended it, it crashed, leaked or ran no test.
        ((code == 0 && passed + skipped > 0 || failed > 0)) || failed=1
    fi
    ((skipped == 0)) || sed -n "s|^\(.*: skipped: \)|$name: \1|p" "$log" # those that say why
    sed -i '$!d' "$scratch.time" # bash has named the signal before, if one ended it
    echo "$passed $failed $skipped $(<"$scratch.time")" >"$log.count"
    { # one at a time
        flock 9
        if ((failed)); then
            printf '\n---- %s: exit code %s (124 and 137: time is up; 98: uncounted; 99: valgrind)\n' "$name" "$code"
            awk 1 "$log" # with a newline at the end
            echo "----"
        fi
        awk -v name="$name" -v p="$passed" -v f="$failed" -v s="$skipped" -v t="$start" -v now="$EPOCHREALTIME" '
            { printf "%-44s %4d passed %3d failed%s %7.1f s, of the processor %5.1f s\n", name, p, f,
                  s ? "  " s " skipped" : "", now - t, $1 + $2 }' "$scratch.time"
    } 9>"$1/printing"
}

jobs=${BATON_TEST_JOBS:-$((4 * $(nproc)))}
if [[ ${1-} == --one ]]; then
    shopt -s nullglob
    run_one "$2" "$3"
    exit
fi

# shellcheck source=tests/scratch.sh
. "${0%/*}/scratch.sh"
dir=$(mktemp -d "${TMPDIR:-$(scratch_parent 4)}/baton.XXXXXX")
trap 'rm -rf "$dir"' EXIT
# The first failed assertion ends its program: what it had open would be taken for a leak otherwise, and
# what other threads still do for a fault.
export CMOCKA_TEST_ABORT=1
# cmocka would take a crash for a failed test and go on; a sanitizer has more to say about it.
export ASAN_OPTIONS="handle_segv=2:handle_abort=0:detect_leaks=1:detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export TSAN_OPTIONS="halt_on_error=0:exitcode=66:second_deadlock_stack=1:suppressions=$PWD/tests/threads.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"

(($# == 0)) || longest_first "$@" |
    xargs -d '\n' -n 1 -P "$jobs" "$0" --one "$dir"

cat "$dir"/*.count 2>/dev/null | awk -v took="$SECONDS" '
    { p += $1; f += $2; s += $3; of_processors += $4 + $5 }
    END {
        if (!NR) { f = 1; print "no test was run" }
        printf "\n%d s, of the processors %d s", took, of_processors
        printf "\n%d passed, %d failed%s\n", p, f, s ? ", " s " skipped" : ""
        exit f > 0
    }'
