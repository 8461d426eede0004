# For `.`: what the suites of `make bench` share. A suite is suite_NAME.sh, which begins with
#   . tests/bench/compare/common.sh
# and defines
#   NAME_start     starts its contenders, and sets `rounds` where the standard will not do
#   NAME_round     one round of every contender, in turn
# It says what came out by `record`. What it has started ends when the suite does.
# shellcheck shell=bash
. tests/bench/processes.sh
. tests/scratch.sh

results=build/bench/results.tsv # lines of: suite case contender round figure unit value
suite=                          # whose turn it is
round=0                         # from 1; in NAME_start 0
QUICK=${QUICK-}

pick() { # QUICK FULL: which of them this run takes
    if [[ -n $QUICK ]]; then echo "$1"; else echo "$2"; fi
}

# shellcheck disable=SC2034 # measure.sh reads it
rounds=$(pick 1 5)

# suites.py says which figures fail the run where they are more than 0.
record() { # CASE CONTENDER FIGURE UNIT VALUE: throughput "a second", median us, p99 us...
    printf '%s\t' "$suite" "$1" "$2" "$round" "$3" "$4" >>"$results"
    printf '%s\n' "$5" >>"$results"
}

# What stands in place of figures where a contender cannot run here.
missing() { # CASE CONTENDER REASON
    echo "$suite, $1: $2 is missing: $3" >&2
    record "$1" "$2" missing '' "$3"
}

processor_ticks() { # IDLE ALL, since the machine has started
    awk '$1 == "cpu" { print $5 + $6, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat
}

# How much of the processors is taken for 3 s, also by other machines on the same host. (The load counts
# what was built shortly before.)
busy_percent() {
    local idle all idle_then all_then
    read -r idle all < <(processor_ticks)
    sleep 3
    read -r idle_then all_then < <(processor_ticks)
    echo $((100 - 100 * (idle_then - idle) / (all_then - all)))
}

version() { # CONTENDER TEXT: what it is, for the report
    record '' "$1" version '' "$2"
}

start() { # NAME COMMAND...: its output in $dir/NAME.log; sets $started, its process
    "${@:2}" >"$dir/$1.log" 2>&1 &
    started=$!
    pids+=("$started")
}

record_lines() { # CASE CONTENDER: from standard input, lines of FIGURE<tab>UNIT<tab>VALUE
    local line
    while IFS= read -r line; do
        printf '%s\t' "$suite" "$1" "$2" "$round" >>"$results"
        printf '%s\n' "$line" >>"$results"
    done
}

load() { # CASE CONTENDER ARGUMENT...: of the tool; records the figures that it prints
    local figures
    if figures=$(timeout 120 build/bench/load "${@:3}" 2>"$dir/load.err"); then
        record_lines "$1" "$2" <<<"$figures"
        cat "$dir/load.err" >&2 # an answer that it did not expect
    else
        missing "$1" "$2" "$(tail -n 1 "$dir/load.err")"
    fi
}

# Where no disk is waited for, if there is such a place.
fast_folder() { # sets $folder, a new one
    folder=$(mktemp -d -p "$(scratch_parent 1)" bench.XXXXXX)
    folders+=("$folder")
}

ask_etcd() { # NAME: in base64; prints an exchange of `load`: the lock is acquired and released
    cat <<END
once POST /v3/lease/grant
body {"TTL":600}
expect 200
take 1 "ID":"
each POST /v3/lock/lock
body {"name":"$1","lease":"<1>"}
expect 200
take 2 "key":"
each POST /v3/lock/unlock
body {"key":"<2>"}
expect 200
contains "revision":"
END
}

launch_etcd() { # sets $launched, its URL, and $launched_pid
    local port peers
    port=$(free_port)
    peers=$(free_port)
    fast_folder
    start etcd etcd --data-dir "$folder" --logger=zap --log-outputs=stderr --log-level=error \
        --listen-client-urls "http://127.0.0.1:$port" --advertise-client-urls "http://127.0.0.1:$port" \
        --listen-peer-urls "http://127.0.0.1:$peers" \
        --initial-advertise-peer-urls "http://127.0.0.1:$peers" \
        --initial-cluster "default=http://127.0.0.1:$peers"
    launched=http://127.0.0.1:$port launched_pid=$started
    until_ok curl -fs "$launched/health" || return
    version etcd "$(etcd --version | sed -n 's/^etcd Version: //p')"
}
