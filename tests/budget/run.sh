#!/bin/bash
# Counts what each operation costs, and compares it with tests/budget/budget.txt. Nothing is timed:
# however busy the machine is, it makes no difference of more than a percent or two.
#   tests/budget/run.sh PROGRAM      `make budget` calls it, with CC in the environment
# Environment: ACCEPT=1: what was counted is the budget from now on. PROFILE=acquire: what its
# instructions are spent on, the first MOST functions (40).
#
# Of one operation:
#   commands      sent to Redis
#   calls         what the scripts among them ask of Redis
#   instructions  of batond's thread: HTTP, API, locks and the Redis client, libraries included
#   allocations   blocks of memory
#   syscalls      calls of the system
# The first two are the same everywhere. The others depend on the compiler and on the libraries, so
# there is a set of them for each combination that was measured; on any other they are only shown.
set -euo pipefail
export LC_ALL=C
program=$(realpath "$1")
cd "$(dirname "$0")/../.."
budget=tests/budget/budget.txt
dir=$(mktemp -d)
redis=

finish() {
    [[ -z $redis ]] || kill "$redis" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$dir"
}
trap finish EXIT

versions() {
    local library compiler=gcc
    ! $CC --version | grep -q clang || compiler=clang
    printf '%s,%s-%s,glibc-%s' "$(uname -m)" $compiler "$($CC -dumpfullversion -dumpversion)" \
        "$(getconf GNU_LIBC_VERSION | sed 's/.* //')"
    for library in libmicrohttpd jansson hiredis libuv; do
        printf ',%s-%s' "$library" "$(pkg-config --modversion "$library")"
    done
}

# Callgrind writes a file when counting begins, which is dropped, and one when it ends. The same
# addresses and the same functions of the C library at each run, whatever the processor can do.
count() {
    env -i PATH="$PATH" GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-ERMS,-FSRM,-RTM \
        setarch -R timeout 120 valgrind -q --tool=callgrind --collect-systime=yes \
        --toggle-collect=counts_while --dump-before=counts_begin --dump-before=counts_end \
        --callgrind-out-file=callgrind "$program" "$dir/redis.sock" >rows
}

# All that was counted, as the budget has it: two tables.
figures() { # VERSIONS
    local i=0 name times allocations own commands calls instructions syscalls
    while read -r name times allocations own commands calls; do
        i=$((i + 2))
        read -r instructions syscalls _ < <(sed -n 's/^totals: //p' "$dir/callgrind.$i")
        echo "$name $times $commands $calls $instructions $allocations $((syscalls - own))"
    done <"$dir/rows" >"$dir/counted"
    awk 'BEGIN { printf "\n%-17s%9s%7s  any\n", "operation", "commands", "calls" }
        { printf "%-17s%9.2f%7.2f\n", $1, $3 / $2, $4 / $2 }' "$dir/counted"
    awk -v versions="$1" 'BEGIN {
            printf "\n%-17s%13s%12s%9s  %s\n", "operation", "instructions", "allocations", "syscalls",
                   versions
        }
        { printf "%-17s%13.0f%12.2f%9.2f\n", $1, $5 / $2, $6 / $2, $7 / $2 }' "$dir/counted"
}

show() { # NAME: what the instructions of this operation are spent on
    local line
    line=$(awk -v name="$1" '$1 == name { print NR }' "$dir/rows")
    [[ -n $line ]] || { echo "no such operation: $1" >&2 && return 1; }
    # What main is called by has all of it, since callgrind collects in a part of main alone.
    callgrind_annotate --auto=no --threshold=100 --show=Ir "$dir/callgrind.$((2 * line))" |
        sed -nE '/^[0-9, ]+\(/p' | awk -v most="${MOST:-40}" '
            $2 == "(100.0%)" { next }
            { sub(/ \[.*/, ""); sub(/[^ ]*\//, "") }
            ++lines <= most'
}

# The tables take the place of those for the same versions.
accept() { # VERSIONS
    {
        awk -v versions="$1" '
            /^operation/ { drop = $NF == "any" || $NF == versions }
            !drop' "$budget" | cat -s
        cat "$dir/figures"
    } >"$dir/budget"
    cp "$dir/budget" "$budget"
    echo "$budget has what was counted now."
}

compare() { # VERSIONS
    awk -v versions="$1" '
        function tolerance(figure, allowed) {
            if (figure == "commands" || figure == "calls")
                return 0
            # What Redis answers in one piece or in two makes a difference now and then, and more so
            # where two batonds take part: which of them is woken first differs from run to run.
            if (figure == "syscalls")
                return allowed < 25 ? 0.5 : 1.5
            return 0.02 * allowed
        }
        function complain(operation, figure, value, what) {
            complaints = complaints sprintf("%s: %s %s; %s\n", operation, value, figure, what)
            failed++
        }
        function judge(operation, figure, value, allowed) {
            if (allowed == "")
                complain(operation, figure, value, "the budget does not know of it")
            else if (value > allowed + tolerance(figure, allowed))
                complain(operation, figure, value, "the budget is " allowed)
            else if (value < allowed - tolerance(figure, allowed))
                complain(operation, figure, value,
                         "the budget is " allowed ": lower it, or this may be lost again unnoticed")
            else
                passed++
        }
        /^#/ || NF == 0 { next }
        $1 == "operation" {
            set = $NF
            for (i = 2; i < NF; i++)
                column[i] = $i
            known[set] = known[set] || NR == FNR
            next
        }
        NR == FNR {
            for (i = 2; i <= NF; i++)
                budget[set, $1, column[i]] = $i
            next
        }
        known[set] {
            for (i = 2; i <= NF; i++)
                judge($1, column[i], $i, budget[set, $1, column[i]])
        }
        END {
            if (!known[versions])
                print "\nThere is no budget for these versions: `make budget ACCEPT=1` adds one."
            if (failed)
                printf "\n%s%s\n", complaints,
                       "If that is meant: `make budget ACCEPT=1`, and say why in the commit."
            printf "\n%d passed, %d failed\n", passed, failed
            exit failed > 0
        }' "$budget" "$dir/figures"
}

cd "$dir"
redis-server --port 0 --unixsocket "$dir/redis.sock" --save '' --dir "$dir" >"$dir/redis.log" &
redis=$!
for ((i = 0; i < 500; i++)); do
    redis-cli -s "$dir/redis.sock" ping >/dev/null 2>&1 && break
    sleep 0.02
done
cd - >/dev/null
these=$(versions)

count_all() {
    redis-cli -s "$dir/redis.sock" flushall >/dev/null
    (cd "$dir" && count)
    figures "$these" >"$dir/figures"
}

# How long Redis takes decides how long a lock was held, and that now and then where batond keeps
# note of it: of a difference that is in the code, no count is free.
compare_thrice() {
    for _ in 1 2 3; do
        count_all
        if compare "$these" >"$dir/verdict"; then
            cat "$dir/figures" "$dir/verdict"
            return
        fi
    done
    cat "$dir/figures" "$dir/verdict"
    return 1
}

if [[ -z ${PROFILE-}${ACCEPT-} ]]; then
    compare_thrice
    exit
fi
count_all
cat "$dir/figures"
if [[ -n ${PROFILE-} ]]; then
    show "$PROFILE"
else
    accept "$these"
fi
