#!/bin/bash
# The life of the package in a root where systemd runs: installed, used, restarted, upgraded, removed,
# purged; and `baton run` in it (run_steps.sh). clean_roots.sh starts it there, with the packages in
# /packages.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

url=http://127.0.0.1:7420

# shellcheck source=tests/package/run_steps.sh
. /packages/run_steps.sh

fail() {
    printf '%s\n' "FAILED: $*" >&2
    journalctl --no-pager -n 40 -u 'baton.*' -u 'job*' -u nightly -u cron >&2
    exit 1
}

ok() { # WHAT; and when
    echo "ok: $* ($SECONDS s)"
}

eventually() { # COMMAND...: within 20 s
    for _ in {1..100}; do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.2
    done
    fail "not within 20 s: $*"
}

property() { # NAME
    systemctl show --property "$1" --value baton.service
}

status() { # ARGUMENT...: of curl; prints the status
    curl -s -o /tmp/reply -w '%{http_code}' "$@" || true
}

answers() { # STATUS ARGUMENT...
    local got
    got=$(status "${@:2}")
    [[ $got == "$1" ]] || fail "${*:2}: $got, not $1: $(cat /tmp/reply)"
}

# Whether the file or folder has this owner and these rights.
is_owned() { # OWNER:GROUP-MODE PATH
    [[ $(stat -c %U:%G-%a "$2") == "$1" ]] || fail "$2 is $(stat -c %U:%G-%a "$2"), not $1"
}

own_redis() { # the process number of the embedded Redis
    pgrep -f 'redis-server unixsocket' || true
}

install_it() { # PACKAGE
    apt-get -q install -y -o Dpkg::Options::=--force-confold "/packages/$1" >/tmp/apt.log 2>&1 ||
        fail "cannot install $1: $(cat /tmp/apt.log)"
}

is_installed_and_runs() {
    install_it baton.deb
    [[ $(systemctl is-active baton) == active ]] || fail "it does not run"
    [[ $(systemctl is-enabled baton) == enabled ]] || fail "it would not run after the next start"
    [[ $(systemctl is-enabled baton.socket) == disabled ]] || fail "nobody asked for the socket"
    is_owned root:root-644 /etc/baton/baton.conf
    is_owned root:root-700 /etc/baton/credentials
    is_owned baton:baton-700 /var/lib/baton
    [[ $(getent passwd baton) == baton:*:/var/lib/baton:*nologin ]] || fail "user: $(getent passwd baton)"
    [[ -e /usr/share/man/man8/batond.8.gz ]] || fail "there is no manual page"
    batond --check || fail "batond --check"
    baton acquire -n by-client >/dev/null || fail "baton acquire"
    ok "installs, and serves as a service at once"
}

documents_have_no_dead_links() {
    find /usr/share/doc/baton -name '*.md' -exec /packages/dead_links.sh {} + >/tmp/dead || fail "dead links: $(cat /tmp/dead)"
    ok "its documents have no dead links"
}

client_needs_no_redis() {
    install_it baton-client.deb
    ! command -v redis-server >/dev/null || fail "the client brings Redis along"
    [[ -e /usr/share/man/man1/baton.1.gz ]] || fail "there is no manual page of the client"
    [[ -e /usr/share/zsh/vendor-completions/_baton ]] || fail "there is no completion for zsh"
    baton show x >/tmp/reply 2>&1 && fail "somebody answers: $(cat /tmp/reply)"
    grep -q 'no batond answered' /tmp/reply || fail "baton: $(cat /tmp/reply)"
    ok "the client installs alone"
}

# Besides, so that restarts are quick, there is hardly a drain.
change() { # LINE...: what else stands in the unit from now on
    mkdir -p /run/systemd/system/baton.service.d
    printf '%s\n' '[Service]' Environment=BATON_DRAIN=300ms "$@" >/run/systemd/system/baton.service.d/change.conf
    systemctl daemon-reload
}

# With no rights, in its own view of the machine; so does its Redis.
is_restrained() {
    local process main redis
    main=$(property MainPID)
    redis=$(own_redis)
    [[ -n $redis ]] || fail "there is no embedded Redis"
    for process in "$main" "$redis"; do
        awk '/^CapEff|^CapBnd/ && $2 !~ /^0+$/ || /^NoNewPrivs/ && $2 != 1 || /^Seccomp:/ && $2 != 2 {
            print; bad = 1 } END { exit bad }' "/proc/$process/status" >&2 || fail "process $process may do that"
        [[ $(stat -c %U "/proc/$process") == baton || $(awk '/^Uid/ { print $2 }' "/proc/$process/status") == "$(id -u baton)" ]] ||
            fail "process $process is not baton's"
        ! touch "/proc/$process/root/usr/x" 2>/dev/null || fail "process $process can write to /usr"
    done
    ok "is restrained, its Redis too"
}

keeps_a_hold_over_a_restart() {
    answers 201 -X POST -H "Lock-Token: $token" "$url/locks/kept?ttl=10m"
    change
    systemctl restart baton
    answers 200 -X PUT -H "Lock-Token: $token" "$url/locks/kept?ttl=10m"
    ok "keeps a hold over a restart"
}

starts_again() {
    local before
    before=$(property MainPID)
    kill -KILL "$(own_redis)"
    eventually answers_yes "$url/readyz"
    [[ $(property MainPID) == "$before" ]] || fail "batond ended with its Redis"
    kill -SEGV "$before"
    eventually runs_anew "$before"
    ok "outlives its Redis, and starts again after a crash"
}

answers_yes() { # URL
    [[ $(status "$1") == 200 ]]
}

runs_anew() { # PROCESS: not this one
    [[ $(property MainPID) != "$1" && $(property MainPID) != 0 ]] && answers_yes "$url/readyz"
}

# The watchdog: a process that has stopped does not tell that it lives.
is_watched() {
    local before
    change 'WatchdogSec=2s' 'TimeoutAbortSec=1s'
    systemctl restart baton
    sleep 5
    [[ $(property NRestarts) == 0 ]] || fail "the watchdog ended who lives"
    before=$(property MainPID)
    kill -STOP "$before"
    eventually runs_anew "$before"
    change
    ok "is started again when it hangs"
}

# Its tokens-file, which is read again, and a secret, which only root can read.
is_configured() {
    local made
    made=$(batond --new-token=ops)
    echo '{"principals": []}' >/etc/baton/tokens.json
    chown root:baton /etc/baton/tokens.json
    chmod 640 /etc/baton/tokens.json
    echo BATON_TOKENS_FILE=/etc/baton/tokens.json >>/etc/baton/baton.conf
    systemctl restart baton
    answers 401 -u "ops:${made%%$'\n'*}" -X POST "$url/locks/ops%2Fa"
    echo "{\"principals\": [${made#*$'\n'}]}" >/etc/baton/tokens.json
    systemctl reload baton
    eventually answers_with 201 -u "ops:${made%%$'\n'*}" -X POST "$url/locks/ops%2Fa"
    sed -i '$d' /etc/baton/baton.conf
    ok "reads its tokens-file, and again when it is reloaded"
}

answers_with() { # STATUS ARGUMENT...
    [[ $(status "${@:2}") == "$1" ]]
}

uses_another_redis() {
    systemctl start redis-server
    redis-cli config set requirepass secret-of-redis >/dev/null
    echo 'redis://:secret-of-redis@127.0.0.1:6379' >/etc/baton/credentials/redis-url
    echo BATON_REDIS_URL_FILE=/run/credentials/baton.service/baton_redis-url >>/etc/baton/baton.conf
    systemctl restart baton
    answers 200 "$url/readyz"
    [[ -z $(own_redis) ]] || fail "it has started a Redis, too"
    ok "uses another Redis, whose password is a credential"
}

# Who waits for the lock when the service restarts is answered that, and no connection is refused.
waits_at_the_socket() {
    local pid
    systemctl stop baton.service
    systemctl start baton.socket
    answers 200 "$url/livez" # which starts it
    (for _ in {1..40}; do
        # It is answered, if late; and a lock, not only a sign of life.
        curl -sS -o /dev/null -w '%{http_code}' --max-time 15 "$url/locks/kept" || true
        echo
        sleep 0.1
    done) >/tmp/replies 2>&1 &
    pid=$!
    systemctl restart baton.service
    wait "$pid"
    ! grep -vx 200 /tmp/replies >&2 || fail "^ of 40 requests behind the socket"
    systemctl stop baton.service baton.socket
    systemctl start baton.service
    ok "restarts behind its socket with no connection refused"
}

# Who asks while it drains is answered. There it has another Redis, since with its own nobody could
# stand in for it; afterwards its own one again.
drains() {
    local pid
    change Environment=BATON_DRAIN=3s
    systemctl restart baton.service
    systemctl stop baton.service &
    pid=$!
    eventually answers_with 503 "$url/readyz"
    answers 201 -X POST "$url/locks/while-draining"
    wait "$pid"
    [[ $(property Result) == success ]] || fail "it was ended: $(property Result)"
    change
    sed -i '$d' /etc/baton/baton.conf
    rm /etc/baton/credentials/redis-url
    systemctl start baton.service
    ok "drains before it stops"
}

# Its Redis stays for as long as it needs it, and goes with it.
stops() {
    systemctl stop baton.service
    [[ $(property Result) == success ]] || fail "it was ended: $(property Result)"
    [[ -z $(own_redis) ]] || fail "its Redis was left"
    systemctl start baton.service
    ok "stops, its Redis too"
}

is_upgraded() {
    answers 200 -X PUT -H "Lock-Token: $token" "$url/locks/kept?ttl=10m"
    echo BATON_DEFAULT_TTL=45s >>/etc/baton/baton.conf
    systemctl restart baton
    local before
    before=$(property MainPID)
    install_it next.deb
    [[ $(dpkg-query -W -f '${Version}' baton) == *next ]] || fail "it was not upgraded"
    [[ $(tail -n 1 /etc/baton/baton.conf) == BATON_DEFAULT_TTL=45s ]] || fail "baton.conf was overwritten"
    [[ $(property MainPID) != "$before" ]] || fail "the old one still runs"
    answers 200 -X PUT -H "Lock-Token: $token" "$url/locks/kept?ttl=10m"
    answers 201 -X POST "$url/locks/default"
    grep -q '"ttl_ms":45000' /tmp/reply || fail "baton.conf is not read: $(cat /tmp/reply)"
    ok "is upgraded, with its holds and its settings"
}

# After removal what somebody may still need is there; after a purge nothing is.
is_removed() {
    echo secret >/etc/baton/credentials/redis-password
    rm -r /run/systemd/system/baton.service.d
    apt-get -q remove -y baton >/tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
    [[ ! -e /usr/bin/batond && -z $(own_redis) ]] || fail "it is still there"
    [[ -e /etc/baton/baton.conf && -e /etc/baton/credentials/redis-password && -e /var/lib/baton/lock ]] || fail "it took its settings or its data along"
    apt-get -q purge -y baton baton-client >/tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
    find / -xdev \( -path /proc -o -path /sys -o -path /packages -o -path /tmp -o -path /var/log \) -prune -o \
        -iname '*baton*' -print >/tmp/left
    [[ ! -s /tmp/left ]] || fail "purged, but: $(cat /tmp/left)"
    [[ $(systemctl list-unit-files 'baton*' --no-legend) == '' ]] || fail "systemd still knows it"
    ok "is removed, and after a purge nothing is left of it"
}

# A unit of the container's that fails is not ours to mend.
has_started() {
    [[ $(systemctl is-system-running) == @(running|degraded) ]]
}

main() {
    # As where systemd is not in a container: what it mounts for a service is seen by it.
    mount --make-rshared /
    eventually has_started
    token=$(head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n')
    for step in client_needs_no_redis is_installed_and_runs documents_have_no_dead_links runs_as_a_unit dies_as_a_unit \
        tells_the_exit_status runs_the_unit_of_the_docs runs_from_cron is_restrained \
        keeps_a_hold_over_a_restart starts_again is_watched is_configured uses_another_redis drains \
        stops waits_at_the_socket is_upgraded is_removed; do
        $step
    done
}

main
