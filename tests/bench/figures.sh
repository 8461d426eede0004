#!/bin/bash
# Prints the figures, beside what is asked of them where something is; exits with 1 if one is beyond
# that. It takes a few minutes. The parts, all of them if none is named:
#   start     from starting batond, and from `make run`, to a held lock
#   handover  from a DELETE to the 201 of the client that waits, beside BLPOP and LPUSH
#   parked    what 15,000 parked clients cost, and a hand-over among them; and 5,000 on one name
#   processor what an acquire takes of batond's processor time and of Redis', beside a bare server on
#             libmicrohttpd and webdis; with BEFORE=/another/batond also beside that one; ROUNDS=5
#   confirm   acquires a second and their median latency, confirmed by replicas beside not confirmed
#   engines   acquire and release on a single Redis, with Sentinel, on a Cluster and with a quorum
#   cli       what `baton run` costs beside flock(1): time, memory, and how often it wakes up
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/processes.sh
. tests/bench/engines.sh
. tests/bench/processor.sh
missed=0

load() { # ARGUMENT...: a figure beyond its bound, or none at all, fails the run, but at its end
    timeout 300 build/bench/load "$1" --redis "127.0.0.1:$redis_port" "${@:2}" || missed=1
}

median() {
    sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

part_start() {
    local from to port=17420
    from=$(date +%s%N)
    "${batond[@]}" --listen=127.0.0.1:$port --state-dir="$dir/state" 2>/dev/null &
    local batond_pid=$!
    until_ok curl -fs -X POST "http://127.0.0.1:$port/locks/first"
    to=$(date +%s%N)
    kill $batond_pid
    wait $batond_pid || true
    echo "from starting batond with its embedded Redis to a held lock: $(((to - from) / 1000000)) ms"

    rm -rf "$dir/clone"
    git clone -q . "$dir/clone"
    from=$(date +%s%N)
    BATON_STATE_DIR=$dir/state2 BATON_LISTEN=127.0.0.1:$port setsid \
        make -C "$dir/clone" run >"$dir/make.log" 2>&1 &
    local make_pid=$!
    timeout 120 bash -c "until curl -fs -X POST http://127.0.0.1:$port/locks/first; do sleep 0.05; done" \
        >/dev/null
    to=$(date +%s%N)
    kill -TERM -- -$make_pid
    wait $make_pid || true
    echo "from \`make run\` in a fresh clone to a held lock: $(((to - from) / 1000000)) ms"
}

rate() { # URL SCRIPT [ARGUMENT]: requests a second
    local address=$1 script=$2
    shift 2
    wrk --latency -t1 -c"${CONNECTIONS:-64}" -d"${SECONDS_EACH:-4}" -s "$script" "$address" -- "$@" >"$dir/wrk.log"
    if grep -q Non-2xx "$dir/wrk.log"; then
        cat "$dir/wrk.log" >&2
        return 1
    fi
    sed -n 's/^Requests.sec: *//p' "$dir/wrk.log"
}

part_handover() {
    local own own_pid pause
    launch own --redis-url="unix://$dir/redis.sock" # as batond reaches a Redis of its own
    own=$launched own_pid=$launched_pid
    launch remote
    for pause in 20 5 0; do
        echo "quiet for $pause ms before each:"
        load handover --url "$own" --label 'Redis by its socket' --url "$launched" \
            --label 'Redis over TCP' --count 1000 --pause $pause
    done
    end "$own_pid" "$launched_pid"
}

part_parked() {
    local shape empty empty_pid
    launch empty --max-wait=10m --head-timeout=1m # for the control connections in reserve
    empty=$launched empty_pid=$launched_pid
    for shape in '--names 15000' '--waiters 5000'; do
        launch parked --max-wait=10m --head-timeout=1m
        # shellcheck disable=SC2086 # the shape is two words
        load park --url "$launched" --pid "$launched_pid" --url "$empty" $shape --wait 9m \
            --seconds 20 --count 1000
        end "$launched_pid"
    done
    end "$empty_pid"
}

start_replica() { # of that Redis
    local port folder=$dir/replica-${#pids[@]}
    port=$(free_port)
    mkdir "$folder"
    redis-server --port "$port" --bind 127.0.0.1 --save '' --dir "$folder" \
        --replicaof 127.0.0.1 "$redis_port" >"$folder/log" &
    pids+=($!)
}

# The replicas share the two cores with the rest: their part of the work is in the figures.
part_confirm() {
    local round flavour connections median_of pids_of=()
    local -A urls rates waits
    redis config set repl-diskless-sync-delay 0 >/dev/null
    start_replica
    start_replica
    for flavour in none replicas:1 replicas:2; do
        launch "confirm-$flavour" --confirm="$flavour" --confirm-timeout=10s
        urls[$flavour]=$launched
        pids_of+=("$launched_pid")
    done
    for connections in 1 64; do
        echo "acquires a second with $connections connection(s), and their median latency, two replicas:"
        for flavour in none replicas:1 replicas:2; do rates[$flavour]='' waits[$flavour]=''; done
        for round in 1 2 3 4 5; do
            for flavour in none replicas:1 replicas:2; do
                rates[$flavour]+=" $(CONNECTIONS=$connections rate "${urls[$flavour]}" tests/bench/acquire.lua)"
                waits[$flavour]+=" $(sed -n 's/^ *50% *//p' "$dir/wrk.log")"
                redis flushall >/dev/null
            done
        done
        for flavour in none replicas:1 replicas:2; do
            # shellcheck disable=SC2086
            median_of=$(printf '%s\n' ${rates[$flavour]} | median)
            echo "  $flavour: $median_of (all:${rates[$flavour]}; median latencies:${waits[$flavour]})"
        done
    done
    end "${pids_of[@]}"
}

elapsed_us() { # COMMAND...
    local from=${EPOCHREALTIME/./}
    "$@"
    echo $((${EPOCHREALTIME/./} - from))
}

switches() { # PID...: how often their threads have been woken up
    local pid
    for pid in "$@"; do
        cat "/proc/$pid"/task/*/status
    done | awk '/^voluntary_ctxt/ { sum += $2 } END { print sum }'
}

processor_ms() { # sets $processor: the processor time of all commands so far
    local user system
    times >"$dir/times"
    { read -r && read -r user system; } <"$dir/times"
    user=${user%s} system=${system%s}
    user=${user/./} system=${system/./}
    processor=$((${user%m*} * 60000 + 10#${user#*m} + ${system%m*} * 60000 + 10#${system#*m}))
}

part_cli() {
    local i flock baton front guard before processor of_flock=0 of_baton=0 pairs=200 seconds=60
    launch cli
    export BATON_URL=$launched
    for ((i = 0; i < pairs; i++)); do # in turn, so that both have the same machine
        processor_ms
        of_flock=$((of_flock - processor))
        elapsed_us flock "$dir/lock" true >>"$dir/flock.us"
        processor_ms
        of_flock=$((of_flock + processor)) of_baton=$((of_baton - processor))
        elapsed_us build/baton run -n cost -- true >>"$dir/baton.us"
        processor_ms
        of_baton=$((of_baton + processor))
    done
    flock=$(median <"$dir/flock.us") baton=$(median <"$dir/baton.us")
    awk -v flock="$flock" -v baton="$baton" -v pairs=$pairs 'BEGIN {
        printf "medians of %d pairs: flock x true %.1f ms, baton run -n x -- true %.1f ms: %.1f ms more\n",
            pairs, flock / 1000, baton / 1000, (baton - flock) / 1000 }'
    awk -v flock=$of_flock -v baton=$of_baton -v pairs=$pairs 'BEGIN { # what a busy machine does not change
        printf "of the processor: %.1f and %.1f ms: %.1f ms more (at most 8)\n",
            flock / pairs, baton / pairs, (baton - flock) / pairs
        exit (baton - flock) / pairs > 8 }' || missed=1
    build/baton run --ttl=30s cost -- sleep $((seconds + 10)) &
    front=$!
    until_ok pgrep -P "$front" baton >/dev/null
    guard=$(pgrep -P "$front" baton)
    until_ok pgrep -P "$guard" sleep >/dev/null
    cat "/proc/$front/smaps_rollup" "/proc/$guard/smaps_rollup" |
        awk '/^Pss:/ { sum += $2 } END {
            printf "PSS of both processes: %.1f MiB (at most 9)\n", sum / 1024; exit sum > 9 * 1024 }' || missed=1
    sleep 1
    before=$(switches "$front" "$guard")
    sleep $seconds
    echo "woken up in $seconds s, by $((seconds / 10)) renewals and the long polls between them: $(($(switches "$front" "$guard") - before)) times"
    kill "$front"
    wait "$front" || true
    end "$launched_pid"
}

parts=("$@")
((${#parts[@]})) || parts=(start handover parked processor confirm engines cli)
start_redis
for part in "${parts[@]}"; do
    echo "== $part"
    "part_$part"
done
((missed == 0))
