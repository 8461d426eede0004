# For `.`, behind processes.sh: the engines that batond can work on, each of servers of its own on
# loopback, with a batond, and what a lock costs on them beside a single Redis.
# shellcheck shell=bash
# shellcheck disable=SC2154 # dir, pids and batond are of processes.sh
engines=()                                      # those that have come up
declare -A engine_urls engine_rates engine_waits # of each: where it is, and what was measured
node_port=                                      # of the latest server

start_node() { # NAME ARGUMENT...: a redis-server; sets $node_port
    local folder=$dir/$1
    node_port=$(free_node_port)
    mkdir "$folder"
    redis-server "${config[@]}" --port "$node_port" --bind 127.0.0.1 --save '' --dir "$folder" \
        --repl-diskless-sync-delay 0 "${@:2}" >"$folder/log" &
    pids+=($!)
    until_ok redis-cli -p "$node_port" ping
}
config=() # what comes before all arguments of a server, such as a file

free_node_port() { # prints one that is free 10000 higher, too, where nodes of a Cluster talk
    python3 - <<'END'
import socket
while True:
    one, other = socket.socket(), socket.socket()
    one.bind(("127.0.0.1", 0))
    port = one.getsockname()[1]
    try:
        other.bind(("127.0.0.1", port + 10000))
        break
    except (OSError, OverflowError):
        pass
print(port)
END
}

start_sentinels() { # prints nothing; sets $url
    local primary i
    start_node watched
    primary=$node_port
    start_node watched-replica-1 --replicaof 127.0.0.1 "$primary"
    start_node watched-replica-2 --replicaof 127.0.0.1 "$primary"
    url=redis+sentinel://
    for i in 1 2 3; do
        printf 'sentinel monitor mymaster 127.0.0.1 %s 2\n' "$primary" >"$dir/sentinel-$i.conf"
        config=("$dir/sentinel-$i.conf" --sentinel)
        start_node "sentinel-$i"
        config=()
        url+=127.0.0.1:$node_port,
    done
    url=${url%,}/mymaster
    until_ok knows_others "$node_port"
}

knows_others() { # PORT: of a sentinel
    redis-cli -p "$1" sentinel master mymaster | tr '\n' ' ' |
        grep -q 'num-slaves 2 num-other-sentinels 2'
}

start_cluster() { # three primaries, each with a replica; sets $url
    local i nodes=()
    for i in 1 2 3 4 5 6; do
        start_node "cluster-$i" --cluster-enabled yes
        nodes+=("127.0.0.1:$node_port")
    done
    redis-cli --cluster create "${nodes[@]}" --cluster-replicas 1 --cluster-yes >"$dir/cluster.log"
    until_ok is_cluster
    url=redis+cluster://$(IFS=,; echo "${nodes[*]}")
}

is_cluster() {
    (($(redis-cli -p "$node_port" cluster nodes | grep -c connected) == 6)) &&
        redis-cli -p "$node_port" cluster info | grep -q cluster_state:ok
}

start_members() { # COUNT: independent servers; sets $url
    local i
    url=redis+quorum://
    for ((i = 1; i <= $1; i++)); do
        start_node "member-$1-$i"
        url+=127.0.0.1:$node_port,
    done
    url=${url%,}
}

# Where batond does not know the engine, or cannot use it, the others are measured without it.
add_engine() { # NAME URL FLAG...
    local log="$dir/engine-${#engines[@]}.log" at
    "${batond[@]}" --listen=127.0.0.1:0 --redis-url="$2" "${@:3}" 2>"$log" &
    local pid=$!
    until_ok eval "grep -q '\"msg\":\"listening\"' '$log' || ! kill -0 $pid"
    at=$(sed -n 's/.*"msg":"listening".*"url":"\([^"]*\)".*/\1/p' "$log")
    if [[ -z $at ]]; then
        wait "$pid" || echo "  left out: $1: $(tail -n 1 "$log")"
        return
    fi
    pids+=("$pid")
    until_ok curl -fs "$at/readyz"
    engines+=("$1")
    engine_urls[$1]=$at
}

start_engines() {
    local url
    add_engine 'redis' "redis://127.0.0.1:$redis_port"
    start_node alone
    local alone=$node_port
    start_node alone-replica --replicaof 127.0.0.1 "$alone"
    add_engine 'redis, replicas:1' "redis://127.0.0.1:$alone" --confirm=replicas:1
    start_sentinels
    add_engine 'redis+sentinel' "$url"
    add_engine 'redis+sentinel, replicas:1' "$url" --confirm=replicas:1
    start_cluster
    add_engine 'redis+cluster' "$url"
    add_engine 'redis+cluster, replicas:1' "$url" --confirm=replicas:1
    start_members 3
    add_engine 'redis+quorum of 3' "$url"
    start_members 5
    add_engine 'redis+quorum of 5' "$url"
}

measure_engine() { # NAME CLIENTS: one round
    build/bench/load pairs --url "${engine_urls[$1]}" --exchange "$dir/exchange" --clients "$2" \
        --seconds "${SECONDS_EACH:-2}" >"$dir/figures"
    [[ $(sed -n 's/^failures\tanswers\t//p' "$dir/figures") == 0 ]] || return
    engine_rates[$1,$2]+=" $(sed -n 's/^throughput\ta second\t//p' "$dir/figures")"
    engine_waits[$1,$2]+=" $(sed -n 's/^acquire median\tus\t//p' "$dir/figures")"
}

of_rounds() { # WORDS [BASE WORDS]: their median, or that of the ratios round by round
    # shellcheck disable=SC2086 # the words are numbers
    paste -d ' ' <(printf '%s\n' $1) <(printf '%s\n' ${2:-$1}) |
        awk -v ratios="${2:+1}" '{ print ratios ? $1 / $2 : $1 }' | median
}

print_engine() { # NAME CLIENTS
    printf '  %-28s %8.0f a second (%.2f)   median of an acquire %6.0f us (%.2f)\n' "$1" \
        "$(of_rounds "${engine_rates[$1,$2]}")" \
        "$(of_rounds "${engine_rates[$1,$2]}" "${engine_rates[redis,$2]}")" \
        "$(of_rounds "${engine_waits[$1,$2]}")" \
        "$(of_rounds "${engine_waits[$1,$2]}" "${engine_waits[redis,$2]}")"
}

part_engines() {
    local rounds=${ROUNDS:-5} round clients engine
    ask_baton >"$dir/exchange"
    start_engines
    for clients in 64 1; do
        for ((round = 0; round < rounds; round++)); do
            for engine in "${engines[@]:round % ${#engines[@]}}" "${engines[@]:0:round % ${#engines[@]}}"; do
                measure_engine "$engine" "$clients"
            done
        done
        echo "acquire and release with $clients connection(s), medians of $rounds rounds, and as ratios to redis:"
        for engine in "${engines[@]}"; do
            print_engine "$engine" "$clients"
        done
    done
}
