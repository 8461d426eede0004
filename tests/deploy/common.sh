# shellcheck shell=bash
# common.sh: what the tests of deploy/ share: folders, complaints, servers that end with the test.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

root=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
batond=${BATON_TEST_BATOND:-$root/build/batond}
dir=$(mktemp -d "${TMPDIR:-/tmp}/deploy.XXXXXX")
started=()
failed=0

# No setting of whoever runs this has a say, and no proxy stands between.
unset "${!BATON_@}"
export no_proxy=127.0.0.1

stop_all() {
    for pid in "${started[@]}"; do
        { kill "$pid" && wait "$pid"; } 2>/dev/null || true
    done
    rm -rf "$dir"
}
trap stop_all EXIT

# What is wrong. The test goes on, and fails at its end, where it says `exit "$failed"`.
complain() {
    printf '%s\n' "$@" >&2
    failed=1
}

fail() {
    complain "$@"
    exit 1
}

# Says what is wrong unless the command succeeds, with what the command has to say.
expect() { # WHAT COMMAND...
    local output
    output=$("${@:2}" 2>&1) || complain "$1" "$output"
}

wait_for() { # SECONDS COMMAND...
    local end=$((SECONDS + $1))
    until "${@:2}"; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}

# Starts a batond on any port; sets address (HOST:PORT) and pid.
start_batond() { # NAME ARGUMENT...
    local log=$dir/$1.log
    "$batond" --listen=127.0.0.1:0 "${@:2}" 2>"$log" &
    pid=$!
    started+=("$pid")
    wait_for 20 grep -qs '"msg":"listening"' "$log" || fail "batond does not listen:" "$(<"$log")"
    address=$(sed -n 's|.*"msg":"listening","url":"https\{0,1\}://\([^"]*\)".*|\1|p' "$log")
}

start_redis() { # sets redis_url
    redis-server --port 0 --unixsocket "$dir/redis" --save '' --dir "$dir" >"$dir/redis.log" &
    started+=($!)
    wait_for 20 test -S "$dir/redis" || fail "redis-server does not start:" "$(<"$dir/redis.log")"
    redis_url=unix://$dir/redis
}

# What `make deploy-test` has installed from npm.
tools=$root/build/deploy-tools

to_json() { # YAML on stdin; several documents are a list
    "$tools/node_modules/.bin/yaml" --json --strict
}
