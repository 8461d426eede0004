#!/bin/bash
# Prints the figures, beside what is asked of them where something is; exits with 1 if one is beyond
# that. It takes a few minutes. The parts, all of them if none is named:
#   start     from starting batond, and from `make run`, to a held lock
#   command   what an acquire asks of Redis
#   crowd     what an acquire costs Redis with 1 and with 10,000 shared holds
#   workers   the same with 1 to 4 workers, and the processor time of batond and of Redis for each
#   memory    what 1,000 connections that have asked once, and rest, keep of memory
#   handover  from a DELETE to the 201 of the client that waits, beside BLPOP and LPUSH
#   cost      what a hand-over asks of Redis with 1 and with 1,000 clients waiting
#   parked    what 15,000 parked clients cost, and a hand-over among them; and 5,000 on one name
#   contended hand-overs a second among 2, 64 and 1,000 clients, in order, beside BLPOP
#   slow      what a request takes while 2,000 slow clients are connected
#   kill      the stall that the SIGKILL of one of two batonds makes, five times
#   metrics   what the figures of /metrics cost a request; with BEFORE=/another/batond, also how many
#             requests a second this one serves beside that one
#   logs      what access and audit log cost a request, written to a file, or where nobody reads
#   redis     what each operation takes of Redis' time beside a bare SET NX at the same pace; with
#             BEFORE=/another/batond also beside that one
#   processor what an acquire takes of batond's processor time and of Redis', beside a bare server on
#             libmicrohttpd and webdis; with BEFORE=/another/batond also beside that one; ROUNDS=5
#   confirm   acquires a second and their median latency, confirmed by replicas beside not confirmed
#   engines   acquire and release on a single Redis, with Sentinel, on a Cluster and with a quorum
#   cli       what `baton run` costs beside flock(1): time, memory, and how often it wakes up
#   code      lengths of functions, sizes of files, what includes what
set -euo pipefail
cd "$(dirname "$0")/../.."
. tests/bench/processes.sh
. tests/bench/engines.sh
. tests/bench/processor.sh
missed=0

start_batond() { # once; sets $url
    [[ -n ${url-} ]] && return
    launch batond
    url=$launched
}

load() { # ARGUMENT...: a figure beyond its bound, or none at all, fails the run, but at its end
    timeout 300 build/bench/load "$1" --redis "127.0.0.1:$redis_port" "${@:2}" || missed=1
}

calls() { # COMMAND: how often Redis has run it
    redis info commandstats | sed -n "s/^cmdstat_$1:calls=\([0-9]*\),.*/\1/p"
}

usec() { # microseconds of one FCALL, on average since the last reset
    redis info commandstats | sed -n 's/^cmdstat_fcall:.*usec_per_call=\([0-9.]*\),.*/\1/p'
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

part_command() {
    local before after
    start_batond
    curl -fs -X POST "$url/locks/warm" >/dev/null
    before=$(calls fcall)
    seq -f "url = \"$url/locks/command-%g\"" 10000 >"$dir/urls"
    curl -s -X POST -K "$dir/urls" >/dev/null
    after=$(calls fcall)
    echo "10,000 acquires of free locks: $((after - before)) calls of FCALL"
}

part_crowd() {
    local round one many i
    start_batond
    for round in 1 2 3 4 5; do
        curl -fs -X POST "$url/locks/one?mode=shared&ttl=10m" >/dev/null
        redis config resetstat >/dev/null
        seq -f "url = \"$url/locks/lone$round-%g?mode=shared&ttl=10m\"" 500 >"$dir/first"
        curl -s -X POST -K "$dir/first" >/dev/null # a hold on each of 500 names...
        redis config resetstat >/dev/null
        curl -s -X POST -K "$dir/first" >/dev/null # ... and a second one beside it
        one="${one-} $(usec)"
        if ((round == 1)); then
            seq -f "url = \"$url/locks/many?mode=shared&ttl=10m&owner=o%g\"" 10000 >"$dir/crowd"
            curl -s -X POST -K "$dir/crowd" >/dev/null
        fi
        seq -f "url = \"$url/locks/many?mode=shared&ttl=10m&owner=r$round-%g\"" 500 >"$dir/more"
        redis config resetstat >/dev/null
        curl -s -X POST -K "$dir/more" >/dev/null
        many="${many-} $(usec)"
    done
    # shellcheck disable=SC2086
    one=$(printf '%s\n' $one | median) many=$(printf '%s\n' $many | median)
    echo "an acquire with 1 shared hold there: $one us of Redis; with 10,000: $many us" \
        "(ratio $(awk "BEGIN { printf \"%.2f\", $many / $one }"))"
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

ticks() { # PID...: hundredths of a second of processor time so far, of each
    local pid
    for pid in "$@"; do
        awk '{ print $14 + $15 }' "/proc/$pid/stat"
    done
}

# For one acquire: its rate and latency, and the microseconds of processor of batond and of Redis.
part_workers() {
    local workers round connections before after all=()
    local -A urls processes
    for workers in 1 2 3 4; do
        launch "workers$workers" --workers="$workers"
        urls[$workers]=$launched processes[$workers]=$launched_pid all+=("$launched_pid")
    done
    for connections in 1 64 512; do
        for round in 1 2 3 4 5; do
            for workers in 1 2 3 4; do
                redis flushall >/dev/null
                before=$(ticks "${processes[$workers]}" "${pids[0]}")
                CONNECTIONS=$connections rate "${urls[$workers]}" tests/bench/acquire.lua >/dev/null
                after=$(ticks "${processes[$workers]}" "${pids[0]}")
                # shellcheck disable=SC2086 # two numbers each
                echo $connections $workers $before $after \
                    "$(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p; s/^Requests.sec: *//p' "$dir/wrk.log" |
                        tr '\n' ' ')"
            done
        done
    done | awk '{ print $1, $2, $8, 10000 * ($5 - $3) / $7, 10000 * ($6 - $4) / $7 }' >"$dir/workers"
    echo 'medians of 5 rounds: connections, workers, acquires a second, us of batond and of Redis for each'
    for connections in 1 64 512; do
        for workers in 1 2 3 4; do
            echo "  $connections $workers" "$(of_workers 3)" "$(of_workers 4)" "$(of_workers 5)"
        done
    done
    end "${all[@]}"
}

of_workers() { # COLUMN: its median, for so many connections and workers
    awk -v connections="$connections" -v workers="$workers" -v column="$1" \
        '$1 == connections && $2 == workers { printf "%.1f\n", $column }' "$dir/workers" | median
}

part_memory() {
    local before after i fd fds=()
    launch memory --workers=1
    curl -fs "$launched/livez" >/dev/null
    before=$(awk '/VmRSS/ { print $2 }' "/proc/$launched_pid/status")
    for ((i = 0; i < 1000; i++)); do
        exec {fd}<>"/dev/tcp/127.0.0.1/${launched##*:}"
        fds+=("$fd")
        printf 'POST /locks/memory-%d HTTP/1.1\r\nHost: localhost\r\n\r\n' $i >&"$fd"
        read -r -u "$fd"
    done
    after=$(awk '/VmRSS/ { print $2 }' "/proc/$launched_pid/status")
    echo "a connection that rests: $(((after - before) * 1024 / 1000)) bytes of batond"
    for fd in "${fds[@]}"; do
        exec {fd}<&-
    done
    end "$launched_pid"
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

part_cost() {
    local waiters
    launch cost
    for waiters in 1 1000; do
        load commands --url "$launched" --waiters $waiters --count 100
    done
    end "$launched_pid"
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

part_contended() {
    local clients
    launch contended
    for clients in 2 64 1000; do
        load contend --url "$launched" --clients $clients --rounds 3 --seconds 2
    done
    end "$launched_pid"
}

part_slow() {
    launch slow
    load slow --url "$launched" --clients 2000 --seconds 9
    end "$launched_pid"
}

part_kill() {
    local seed killed killed_pid
    for seed in 1 2 3 4 5; do
        launch killed
        killed=$launched killed_pid=$launched_pid
        disown "$killed_pid" # or bash would announce its death
        launch other
        load kill --url "$killed" --pid "$killed_pid" --url "$launched" --waiters 1000 --seed $seed
        end "$launched_pid"
        kill "$killed_pid" 2>/dev/null || true
    done
}

lock_and_release() { # FIRST LAST: of so many names, for `curl -K`
    local i token=token-of-some-length
    for ((i = $1; i <= $2; i++)); do
        printf 'url = "%s"\nrequest = %s\nheader = "Lock-Token: %s"\noutput = /dev/null\n%s' \
            "$launched/locks/cost-$i" POST "$token-$i" $'next\n' \
            "$launched/locks/cost-$i" DELETE "$token-$i" "$( ((i == $2)) || echo next)"
        echo
    done
}

# Instructions as callgrind counts them: all of batond's, libraries' included, and of them those of
# metrics_* and of the clock, which is read for them alone.
part_metrics() {
    local round ours before ratios='' pairs=1000
    batond=(valgrind --tool=callgrind --callgrind-out-file="$dir/callgrind" "${batond[0]}")
    launch counted --workers=1
    lock_and_release 1 100 | curl -s -K -
    lock_and_release 101 $((100 + pairs)) >"$dir/urls"
    callgrind_control -z "$launched_pid" >/dev/null 2>&1
    curl -s -K "$dir/urls"
    callgrind_control -d "$launched_pid" >/dev/null 2>&1
    until_ok test -s "$dir/callgrind.1"
    end "$launched_pid"
    callgrind_annotate --threshold=100 --inclusive=yes --auto=no --show-percs=no "$dir/callgrind.1" |
        awk -v requests=$((2 * pairs)) '
            { gsub(",", "", $1) }
            /PROGRAM TOTALS/ { all = $1 }
            match($2, /metrics\.c:metrics_.*/) { # some stand there twice
                name = substr($2, RSTART)
                if ($1 > own[name]) own[name] = $1
            }
            /:uv_hrtime/ { clock += $1 }
            END {
                for (name in own) counting += own[name]
                printf "a request (acquire, release, in turn): %d instructions of batond, ", all / requests
                printf "%d of them for figures, %d for reading the clock (%.2f %%)\n", counting / requests,
                       clock / requests, 100 * (counting + clock) / all
                exit counting == 0 || counting + clock > 0.02 * all
            }' || missed=1
    batond=("${batond[-1]}")
    [[ -n ${BEFORE-} ]] || return 0
    launch now
    local now=$launched
    batond=("$BEFORE")
    launch before
    echo 'acquires a second, wrk with 64 connections, one Redis, two cores:'
    for round in 1 2 3 4 5 6 7; do
        ours=$(rate "$now" tests/bench/acquire.lua)
        redis flushall >/dev/null
        before=$(rate "$launched" tests/bench/acquire.lua)
        redis flushall >/dev/null
        ratios="$ratios $(awk "BEGIN { printf \"%.3f\", $ours / $before }")"
        echo "  round $round: this one $ours, the other $before"
    done
    # shellcheck disable=SC2086
    echo "  ratio, median of 7:$(printf '%s\n' $ratios | median | sed 's/^/ /') (all:$ratios)"
}

# Instructions of a request, an acquire or a release in turn, of all threads of batond.
instructions() { # FLAG...
    local pairs=1000
    redis flushall >/dev/null # or the tokens would be spent
    batond=(valgrind --tool=callgrind --callgrind-out-file="$dir/logs.callgrind" "${batond[0]}")
    launch traced --workers=1 "$@"
    lock_and_release 1 100 | curl -s -K -
    lock_and_release 101 $((100 + pairs)) >"$dir/urls"
    callgrind_control -z "$launched_pid" >/dev/null 2>&1
    curl -s -K "$dir/urls"
    callgrind_control -d "$launched_pid" >/dev/null 2>&1
    until_ok test -s "$dir/logs.callgrind.1"
    end "$launched_pid"
    batond=("${batond[-1]}")
    counted=$(($(sed -n 's/^summary: //p; s/^totals: //p' "$dir/logs.callgrind.1" | tail -n 1) / (2 * pairs)))
    rm "$dir"/logs.callgrind*
}

launch_unheard() { # a batond with both logs that nobody reads once it listens
    local line
    mkfifo "$dir/fifo"
    "${batond[@]}" --listen=127.0.0.1:0 --redis-url="redis://127.0.0.1:$redis_port" \
        --access-log=true --audit-log=true 2>"$dir/fifo" &
    launched_pid=$!
    pids+=($!)
    exec {unheard}<"$dir/fifo"
    launched=
    while [[ -z $launched ]]; do
        read -r -u "$unheard" line
        launched=$(sed -n 's/.*"msg":"listening".*"url":"\([^"]*\)".*/\1/p' <<<"$line")
    done
    until_ok curl -fs "$launched/readyz"
}

part_logs() {
    local flavour round all=() none
    local -A urls rates slow ratios
    instructions
    none=$counted
    echo "a request (acquire, release, in turn): $none instructions of batond without a log"
    instructions --access-log=true
    echo "  with the access log $counted ($(awk "BEGIN { printf \"%.2f\", $counted / $none }") times as many)"
    instructions --access-log=true --audit-log=true
    echo "  with the audit log, too, $counted ($(awk "BEGIN { printf \"%.2f\", $counted / $none }") times)"
    launch none
    urls[none]=$launched all+=("$launched_pid")
    launch access --access-log=true
    urls[access]=$launched all+=("$launched_pid")
    launch both --access-log=true --audit-log=true
    urls[both]=$launched all+=("$launched_pid")
    launch_unheard
    urls[unheard]=$launched all+=("$launched_pid")
    echo 'acquires a second, wrk with 64 connections, and the 99th percentile of their latency:'
    for round in 1 2 3 4 5; do
        for flavour in none access both unheard; do
            rates[$flavour]=$(rate "${urls[$flavour]}" tests/bench/acquire.lua)
            slow[$flavour]=$(sed -n 's/^ *99% *//p' "$dir/wrk.log")
            ratios[$flavour]+=" $(awk "BEGIN { printf \"%.2f\", ${rates[$flavour]} / ${rates[none]} }")"
            redis flushall >/dev/null
            truncate -s 0 "$dir/access.log" "$dir/both.log"
        done
        echo "  round $round: without ${rates[none]} (${slow[none]}), access log ${rates[access]}" \
            "(${slow[access]}), both ${rates[both]} (${slow[both]}), both and nobody reads" \
            "${rates[unheard]} (${slow[unheard]})"
    done
    for flavour in access both unheard; do
        # shellcheck disable=SC2086
        echo "  $flavour to none, median of 5: $(printf '%s\n' ${ratios[$flavour]} | median)" \
            "(all:${ratios[$flavour]})"
    done
    echo "  lines lost where nobody reads: $(curl -fs "${urls[unheard]}/metrics" |
        sed -n 's/^baton_log_lines_lost_total //p')"
    end "${all[@]}"
    exec {unheard}<&-
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

part_redis() {
    python3 tests/bench/time_in_redis.py build/batond ${BEFORE:+"$BEFORE"}
}

part_code() {
    local layer sources
    mapfile -t sources < <(find base redis locks api server -name '*.c')
    echo 'lines of functions, from opening to closing brace (base redis locks api server):'
    awk '/^\{/ { start = FNR } /^\}/ && start { print FNR - start + 1, FILENAME; start = 0 }' \
        "${sources[@]}" | sort -n >"$dir/functions"
    awk '{ v[NR] = $1; if ($1 > 40) long++ } END {
        printf "  %d functions, median %d, 95%% at most %d, longest %d, over 40: %d\n",
               NR, v[int((NR + 1) / 2)], v[int(NR * 0.95)], v[NR], long }' "$dir/functions"
    tail -n 3 "$dir/functions" | sed 's/^/  /'
    echo 'files:'
    for layer in base redis locks api server; do
        find "$layer" -name '*.[ch]' -exec wc -l {} + | awk -v layer="$layer" '$2 != "total" {
            n++; sum += $1; if ($1 > most) { most = $1; name = $2 } }
            END { printf "  %-7s %3d files %5d lines, largest %s (%d)\n", layer, n, sum, name, most }'
    done
    wc -l locks/scripts/*.lua locks/scripts/*/*.lua | tail -n 1 | sed 's/^ */  lua     /'
    echo 'includes between layers (number of files):'
    grep -oE '^#include "(base|redis|locks|api|server)/' -r base redis locks api server \
        --include='*.[ch]' | sed -E 's#^([a-z]+)/[^:]*:\#include "([a-z]+)/#\1 \2#' |
        awk '$1 != $2' | sort | uniq -c | sed 's/^ */  /; s/ \([a-z]*\) \([a-z]*\)$/ \1 -> \2/'
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
((${#parts[@]})) || parts=(start command crowd handover cost parked contended slow kill metrics logs redis processor confirm engines cli code)
start_redis
for part in "${parts[@]}"; do
    echo "== $part"
    "part_$part"
done
((missed == 0))
