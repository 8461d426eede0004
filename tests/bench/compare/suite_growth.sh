# Growth: what acquire and release cost as held locks, waiters and shared holds become many. Baton
# alone, beside itself with one of them; the cases take turns within growth.py.
# shellcheck shell=bash
. tests/bench/compare/common.sh

declare -A held=() # PORT:REDIS_PORT by how many locks are held there

grow() { # ARGUMENT... of growth.py; records what it prints
    local round case figure unit value
    timeout 200 python3 -B tests/bench/compare/growth.py "$@" >"$dir/growth" ||
        { missing "$1" Baton 'growth.py failed' && return; }
    while IFS=$'\t' read -r round case figure unit value; do
        record "$case" Baton "$figure" "$unit" "$value"
    done <"$dir/growth"
}

deploy() { # NAME: a batond with a Redis of its own; sets $ports
    rm -f "$dir/redis.sock" # the one before keeps its port
    start_redis
    launch "$1" --max-wait=1h --max-waiters=20000 --workers=1
    ports=${launched##*:}:$redis_port
}

growth_start() {
    local count
    # shellcheck disable=SC2034 # measure.sh reads it
    rounds=1 # growth.py has its own
    version Redis "$(redis-server --version | sed 's/.* v=\([^ ]*\).*/\1/')"
    for count in 1 $(pick 100000 "10000 1000000"); do
        deploy "held$count"
        held[$count]=$ports
        grow fill "$count" "$redis_port"
    done
    deploy waiters
}

growth_round() {
    local kind much
    much=$(pick '--rounds 2 --count 100' '--rounds 9 --count 200')
    # shellcheck disable=SC2086 # words
    grow held $much --sizes "${!held[@]}" --places "${held[@]}"
    for kind in waiters shared; do
        # shellcheck disable=SC2086
        grow $kind $much --places "$ports"
    done
}
