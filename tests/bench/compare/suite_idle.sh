# Clients wait for locks that nobody releases: what they cost the servers. See idle.py. Each case of
# each contender begins with an empty server.
# shellcheck shell=bash
. tests/bench/compare/common.sh

idle_start() {
    # shellcheck disable=SC2034 # measure.sh reads it
    rounds=1 # nothing happens: one round is like the other
    version Redis "$(redis-server --version | sed 's/.* v=\([^ ]*\).*/\1/')"
    version Baton "$(build/batond --version | sed 's/.* //')"
}

idle_round() {
    case_of '1000 clients wait for one lock' --waiting 1000
    if [[ -z $QUICK ]]; then
        case_of '15000 clients wait for one lock' --waiting 15000
        case_of '15000 clients wait, each for a lock of its own' --waiting 15000 --names 15000 \
            --patience 90
    fi
}

case_of() { # CASE ARGUMENT... of idle.py
    of_baton "$@"
    of_etcd "$@"
}

of_baton() { # CASE ARGUMENT...
    start_redis
    launch baton --max-wait=1h --max-waiters=20000
    idle "$1" Baton --port "${launched##*:}" --server "$launched_pid" --backend "$redis_pid" "${@:2}"
    end "$launched_pid" "$redis_pid"
    rm -f "$dir/redis.sock"
}

of_etcd() { # CASE ARGUMENT...
    launch_etcd || { missing "$1" etcd "$(tail -n 1 "$dir/etcd.log")" && return; }
    idle "$1" etcd --port "${launched##*:}" --server "$launched_pid" "${@:2}"
    end "$launched_pid"
}

idle() { # CASE CONTENDER ARGUMENT...
    if timeout 200 python3 -B tests/bench/compare/idle.py "${2,,}" --seconds "$(pick 2 20)" \
        --patience 30 "${@:3}" >"$dir/idle" 2>"$dir/idle.err"; then
        record_lines "$1" "$2" <"$dir/idle"
    else
        missing "$1" "$2" "$(tail -n 1 "$dir/idle.err")"
    fi
}
