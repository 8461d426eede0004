# For `.`: starts what is measured, on loopback, and ends it when the script ends. Expects to run in
# the repository's folder.
# shellcheck shell=bash
# Redis is emptied between rounds, which is no loss here.
export BATON_QUARANTINE=off
batond=("$PWD/build/batond")
dir=$(mktemp -d) # for files
folders=("$dir") # what goes when the script ends
pids=() # what is to be ended then
redis_port=
redis_pid=
launched=     # URL of the latest batond
launched_pid= # its process
# Without the lines of each request, whose cost is measured elsewhere.
export BATON_ACCESS_LOG=false BATON_AUDIT_LOG=false

finish() {
    kill "${pids[@]}" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "${folders[@]}"
}
trap finish EXIT

until_ok() { # COMMAND...: until it succeeds, 10 s at most
    local i
    for ((i = 0; i < 1000; i++)); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.01
    done
    echo "did not come up: $*" >&2
    return 1
}

free_port() { # prints a port of loopback that nobody has
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

redis() {
    redis-cli -s "$dir/redis.sock" "$@"
}

# Not in protected mode, which takes other addresses of loopback, that the tool uses, for strangers.
start_redis() { # sets $redis_port and $redis_pid
    redis_port=$(free_port)
    redis-server --port "$redis_port" --bind 127.0.0.1 --protected-mode no \
        --unixsocket "$dir/redis.sock" --save '' --dir "$dir" >"$dir/redis.log" &
    redis_pid=$!
    pids+=("$redis_pid")
    until_ok redis ping
}

launch() { # NAME FLAG...: a batond on that Redis; sets $launched and $launched_pid
    local log=$dir/$1.log
    : >"$log"
    "${batond[@]}" --listen=127.0.0.1:0 --redis-url="redis://127.0.0.1:$redis_port" "${@:2}" 2>>"$log" &
    launched_pid=$!
    pids+=("$launched_pid")
    until_ok grep -q '"msg":"listening"' "$log"
    launched=$(sed -n 's/.*"msg":"listening".*"url":"\([^"]*\)".*/\1/p' "$log")
    until_ok curl -fs "$launched/readyz"
}

launch_webdis() { # THREADS VERBOSITY: on that Redis, else as Debian has it; sets $launched and $launched_pid
    local port
    port=$(free_port)
    cat >"$dir/webdis.json" <<END
{"redis_host": "127.0.0.1", "redis_port": $redis_port, "http_host": "127.0.0.1", "http_port": $port, "threads": $1,
 "daemonize": false, "database": 0, "acl": [{"disabled": ["DEBUG"]}], "verbosity": $2, "logfile": "$dir/webdis.log"}
END
    webdis "$dir/webdis.json" >/dev/null 2>&1 &
    launched_pid=$!
    pids+=("$launched_pid")
    launched=http://127.0.0.1:$port
    until_ok curl -fs "$launched/PING"
}

ask_baton() { # prints an exchange of `load`: a lock of its own is acquired and released
    cat <<'END'
each POST /locks/<name>?ttl=30s
expect 201
take 1 "token":"
each DELETE /locks/<name>
header Lock-Token: <1>
expect 200
contains "released":true
END
}

end() { # PID...: of what was started
    kill "$@" 2>/dev/null || true
    wait "$@" 2>/dev/null || true
}
