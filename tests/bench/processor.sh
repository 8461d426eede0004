# For `.`, behind processes.sh: the processor time that batond itself takes for an acquire, beside a
# server on libmicrohttpd that does nothing else (compare/peers/floor.c) and beside webdis. Instructions
# (`make budget`) do not show what a scattered heap costs; this does: 64 connections, among 50,000 holds.
# shellcheck shell=bash
# shellcheck disable=SC2154 # dir, pids, batond and so on are of processes.sh
contenders=() # names of servers
declare -A contender_targets contender_methods contender_pids contender_bodies

contend() { # NAME PID URL [METHOD [BODY]]: NAME in the URL is another one in each request
    contenders+=("$1")
    contender_pids[$1]=$2 contender_targets[$1]=$3 contender_methods[$1]=${4-POST} contender_bodies[$1]=${5-}
}

contend_floor() {
    build/bench/floor >"$dir/floor" &
    pids+=($!)
    until_ok test -s "$dir/floor"
    contend floor $! "http://127.0.0.1:$(<"$dir/floor")/locks/NAME?ttl=60s"
}

contend_batond() { # NAME PROGRAM
    batond=("$2")
    launch "$1" --workers=1 --key-prefix="$1:" # another release keeps its records apart
    contend "$1" "$launched_pid" "$launched/locks/NAME?ttl=60s"
    contend "$1-json" "$launched_pid" "$launched/locks/NAME" POST '{"ttl_ms":60000}'
    seq -f "url = \"$launched/locks/held-%.0f?ttl=1h\"" 50000 | curl -s -X POST -K - >/dev/null
}

contend_webdis() {
    local sha
    sha=$(redis script load "return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])")
    launch_webdis 1 0
    contend webdis "$launched_pid" "$launched/EVALSHA/$sha/1/NAME/0123456789012345678901/60000" GET
}

scripted_us() { # that Redis has spent in scripts and functions since the last reset
    redis info commandstats | awk -F '[=,]' '/^cmdstat_(fcall|evalsha):/ { us += $4 } END { print us + 0 }'
}

processor_ns() { # PID: of all its threads so far
    cat "/proc/$1"/task/*/schedstat | awk '{ ns += $1 } END { printf "%.0f\n", ns }'
}

# One line of a round: the server, requests a second, and for each the microseconds of the server, of
# its Redis, and of Redis in the script or function alone.
take_turn() { # NAME
    local before after of_redis rate target=${contender_targets[$1]}
    redis config resetstat >/dev/null
    of_redis=$(processor_ns "$redis_pid")
    before=$(processor_ns "${contender_pids[$1]}")
    rate=$(rate "$target" tests/bench/acquire.lua "/${target#*//*/}" "${contender_methods[$1]}" ${contender_bodies[$1]:+"${contender_bodies[$1]}"})
    after=$(processor_ns "${contender_pids[$1]}")
    echo "$1 $rate $(sed -n 's/^ *\([0-9]*\) requests in.*/\1/p' "$dir/wrk.log") $before $after" \
        "$of_redis $(processor_ns "$redis_pid") $(scripted_us)" |
        awk '{ print $1, $2, ($5 - $4) / $3 / 1000, ($7 - $6) / $3 / 1000, $8 / $3 }'
    redis flushall >/dev/null
}

part_processor() {
    local round name own=${batond[0]}
    contend_floor
    contend_batond batond "$own"
    [[ -z ${BEFORE-} ]] || contend_batond before "$BEFORE"
    batond=("$own")
    if command -v webdis >/dev/null; then contend_webdis; fi
    for ((round = 0; round < ${ROUNDS:-5}; round++)); do
        for name in "${contenders[@]}"; do
            take_turn "$name"
        done
    done >"$dir/turns"
    echo "medians of ${ROUNDS:-5} rounds: requests a second, us of the server's processor for each, the ratio of"
    echo "that to the floor's and to batond's of the same round, us of Redis' processor, us of Redis in the script"
    for name in "${contenders[@]}"; do
        printf '  %-11s %6.0f %6.1f %6.2f %6.2f %6.1f %6.1f\n' "$name" "$(of_turns "$name" rate)" \
            "$(of_turns "$name" us)" "$(of_turns "$name" 'us / of_floor')" "$(of_turns "$name" 'us / of_batond')" \
            "$(of_turns "$name" redis)" "$(of_turns "$name" scripted)"
    done
    end "${contender_pids[@]}"
}

of_turns() { # NAME EXPRESSION: its median over the rounds, which each begin with the floor's turn
    awk -v name="$1" '
        function round_ends() { print '"$2"' }
        $1 == "floor" { if (NR > 1) round_ends(); of_floor = $3 }
        $1 == "batond" { of_batond = $3 }
        $1 == name { rate = $2; us = $3; redis = $4; scripted = $5 }
        END { round_ends() }' "$dir/turns" | median
}
