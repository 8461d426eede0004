#!/bin/bash
# README's two commands on a machine that has nothing but git, make and ca-certificates, as README says:
# `make run` to the first lock, a second `make run`, `make test`, and what a machine without apt is told. Then the
# clients with the languages of that release.
#   tests/package/bare_roots.sh [RELEASE...]   12 13
# Environment: QUICK=1: all tests run in Debian 13 alone, and the unit tests in 12. No clients.
# Needs root, and the machine's mirror of Debian. The roots share the machine's network, so that apt
# works in them: nothing else may listen on 127.0.0.1:7420.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

cd "$(dirname "$0")/../.."
[[ $(id -u) == 0 ]] || exec sudo --preserve-env=HOME,TMPDIR,XDG_CACHE_HOME,BATON_TEST_JOBS,QUICK "$0" "$@"

# shellcheck source=tests/package/roots.sh
. tests/package/roots.sh
folder=$(mktemp -d "${TMPDIR:-/tmp}/bare.XXXXXX")
server=
failed=0 passed=0

clean_up() {
    stop_server
    rm -rf "$folder"
}
trap clean_up EXIT

stop_server() { # with its group: make ends before batond has
    [[ -n $server ]] || return 0
    { kill -- "-$server" && wait "$server"; } 2>/dev/null || true
    for _ in {1..100}; do
        kill -0 -- "-$server" 2>/dev/null || break
        sleep 0.1
    done
    server=
}

# What answers there has to be the batond of the root.
expect_nobody() {
    ! curl -s -o /dev/null http://127.0.0.1:7420/livez || {
        echo "somebody listens on 127.0.0.1:7420 already: stop that first" >&2
        exit 1
    }
}

check() { # WHAT COMMAND...
    if "${@:2}"; then
        passed=$((passed + 1))
        echo "Debian $release: ok: $1"
    else
        failed=$((failed + 1))
        echo "Debian $release: FAILED: $1"
    fi
}

prepare() {
    root_unpack "$release" "$root"
    {
        root_enter "$root" apt-get -q update
        root_enter "$root" apt-get -q install -y --no-install-recommends git make ca-certificates
    } >"$folder/log" 2>&1 || { cat "$folder/log" && return 1; }
    mkdir "$root/baton"
    git ls-files -z | tar --null -T - -cf - | tar -C "$root/baton" -xf -
}

# Named is all that is missing: each package, and what it is for.
tells_what_is_missing_without_apt() {
    mv "$root/usr/bin/apt-get" "$root/usr/bin/apt-get.away"
    ! root_enter "$root" make -C /baton run >"$folder/log" 2>&1 || return 1
    mv "$root/usr/bin/apt-get.away" "$root/usr/bin/apt-get"
    local package
    for package in 'There is no apt here' gcc libmicrohttpd-dev libhiredis-dev redis-server; do
        grep -qF "$package" "$folder/log" || { cat "$folder/log" && return 1; }
    done
}

# Of what was installed, for the tests as well.
starts_nothing_at_boot() {
    [[ ! -e $root/usr/sbin/policy-rc.d ]] || return 1
    ! find "$root"/etc/systemd "$root"/etc/rc[2-5].d -type l ! -name 'K*' | grep -E 'redis|nginx|haproxy|prometheus'
}

# As a group of processes, which ends as one.
start_server() { # LOG
    expect_nobody
    set -m
    root_enter "$root" make -C /baton run >"$1" 2>&1 </dev/null &
    server=$!
    set +m
}

# What README has a newcomer type. It answers with a lock, or tells who has it.
answers() { # TEXT: what is in the answer
    root_enter "$root" curl -s -X POST 'http://127.0.0.1:7420/locks/demo?ttl=30s' 2>/dev/null |
        grep -qF "$1"
}

gives_a_lock() {
    local start=$SECONDS
    start_server "$folder/run.log"
    until answers '"token"'; do
        if ! kill -0 "$server" 2>/dev/null || ((SECONDS - start > 300)); then
            cat "$folder/run.log"
            return 1
        fi
        sleep 0.2
    done
    echo "Debian $release: make run gave a lock after $((SECONDS - start)) s"
}

# The embedded Redis has kept the lock, too.
installs_and_builds_nothing_the_second_time() {
    stop_server
    start_server "$folder/again.log"
    local start=$SECONDS
    until answers '"locked"' || ((SECONDS - start > 20)); do
        kill -0 "$server" 2>/dev/null || break
        sleep 0.2
    done
    grep -q 'batond runs as root' "$folder/again.log" && answers '"locked"' && ! grep -E 'missing:|installing|compile|link ' "$folder/again.log"
}

try() { # RELEASE
    release=$1 root=$folder/root-$1
    prepare || return
    check "without apt, make run names what is missing" tells_what_is_missing_without_apt
    check "make run, to the first lock" gives_a_lock
    check "a second make run installs and builds nothing" installs_and_builds_nothing_the_second_time
    stop_server
    local only=
    [[ -z ${QUICK-} || $release == 13 ]] || only=tests/unit/
    check "make test${only:+ ONLY=$only}" root_enter "$root" env BATON_TEST_JOBS="${BATON_TEST_JOBS-}" make -C /baton test ONLY="$only"
    check "nothing that was installed starts at boot" starts_nothing_at_boot
    [[ -n ${QUICK-} ]] || check "make clients-test QUICK=1" root_enter "$root" make -C /baton clients-test QUICK=1
    rm -rf "$root"
}

releases=("$@")
((${#releases[@]})) || releases=(12 13)
for release in "${releases[@]}"; do
    try "$release" || failed=$((failed + 1))
done
echo "$passed passed, $failed failed"
((failed == 0))
