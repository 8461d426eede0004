# Uncontended: each connection has a lock of its own, and acquires and releases it all the time.
# shellcheck shell=bash
. tests/bench/compare/common.sh

uncontended_start() {
    start_redis
    version Redis "$(redis-server --version | sed 's/.* v=\([^ ]*\).*/\1/')"
}

uncontended_round() {
    local connections
    for connections in 1 64 512; do
        bare "$connections"
    done
}

bare() { # CONNECTIONS
    local rate
    rate=$(redis-benchmark -s "$dir/redis.sock" -c "$1" -n 20000 --csv -t set | sed -n 's/^"SET","\([0-9.]*\)".*/\1/p')
    record "$1 connections" Redis throughput 'a second' "$rate"
}
