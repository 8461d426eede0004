#!/bin/bash
# deploy/haproxy.cfg and deploy/nginx.conf: haproxy and nginx take them without a warning, and their
# times agree with batond's. How they behave is tried where they stand before replicas that stop
# (tests/chaos, tests/edge): tests/support/front.c starts these very files. What they say by themselves
# is JSON, as what batond says.
# shellcheck source=tests/deploy/common.sh
source "${0%/*}/common.sh"
cd "$root/deploy"
PATH+=:/usr/sbin:/sbin

said=$(haproxy -dW -c -f haproxy.cfg 2>&1) || complain "haproxy:" "$said"
[[ -z $said || $said == 'Configuration file is valid' ]] || complain "haproxy:" "$said"
said=$(nginx -t -q -e stderr -p "$dir" -c "$PWD/nginx.conf" -g "pid $dir/pid;" 2>&1) || complain "nginx:" "$said"
[[ -z $said ]] || complain "nginx:" "$said"

ms() { # 500ms, 10s, 2m: as both of them and batond write times
    case $1 in
    *ms) echo "${1%ms}" ;;
    *s) echo $((${1%s} * 1000)) ;;
    *m) echo $((${1%m} * 60000)) ;;
    *) fail "no time: $1" ;;
    esac
}

default() { # SETTING, in milliseconds
    local value
    value=$("$batond" --help | grep -A 3 -- "^ *--$1=" | sed -n '/(default: /{s/.*(default: \([^)]*\)).*/\1/p;q}')
    ms "$value"
}

of_haproxy() { # WORDS, then a time
    ms "$(sed -n "s/^ *\(.* \)\{0,1\}$1 \([0-9]*m\{0,1\}s\)\b.*/\2/p" haproxy.cfg)"
}

of_nginx() { # DIRECTIVE
    ms "$(sed -n "s/^ *$1 \([0-9]*m\{0,1\}s\);.*/\1/p" nginx.conf)"
}

longer() { # WHAT ONE ANOTHER
    (($2 > $3)) || complain "$1: $2 ms, and $3 ms"
}

# Whoever waits is silent for as long as it may wait.
wait=$(default max-wait)
for timeout in client server; do
    longer "haproxy's timeout $timeout and max-wait" "$(of_haproxy "timeout $timeout")" "$wait"
done
longer "nginx' proxy_read_timeout and max-wait" "$(of_nginx proxy_read_timeout)" "$wait"
longer "the read timeout of proxies that nobody has set and max-wait" 60000 "$((wait + 5000))"

# haproxy has seen that a replica drains before that one has stopped, and who was sent away has another
# replica before its turn is over.
check=$(($(of_haproxy 'check inter') * $(sed -n 's/.* fall \([0-9]*\).*/\1/p' haproxy.cfg)))
longer "drain and haproxy's checks" "$(default drain)" "$((check + $(of_haproxy 'timeout connect')))"
longer "claim-window and haproxy's checks" "$(default claim-window)" "$check"
path=$(sed -n 's/^ *option httpchk GET //p' haproxy.cfg)
[[ $path == /readyz ]] || complain "haproxy asks $path"
ADMIN_PORT=7430 expect "haproxy.cfg with an ADMIN_PORT" haproxy -c -q -f haproxy.cfg

# What they answer by themselves is a problem document, like what batond answers.
free_port() {
    local port
    for port in $(shuf -i 20000-32000 -n 50); do
        (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port" && return; }
    done
}

start_proxy() { # haproxy|nginx REPLICA: sets `front`; there is no second replica
    local port nobody
    port=$(free_port)
    nobody=$(free_port)
    front=http://127.0.0.1:$port
    if [[ $1 == haproxy ]]; then
        LISTEN=127.0.0.1:$port REPLICA_ONE=$2 REPLICA_TWO=127.0.0.1:$nobody \
            haproxy -db -f haproxy.cfg >"$dir/$1.log" 2>&1 &
    else
        sed -e "s/127.0.0.1:7420/127.0.0.1:$port/; s/127.0.0.1:7421/$2/; s/127.0.0.1:7422/127.0.0.1:$nobody/" \
            nginx.conf >"$dir/nginx.conf"
        nginx -p "$dir" -e stderr -c "$dir/nginx.conf" -g "daemon off; master_process off; pid $dir/pid;" \
            >"$dir/$1.log" 2>&1 &
    fi
    started+=("$!")
    wait_for 20 curl -s -o /dev/null "$front" || fail "$1 does not listen:" "$(<"$dir/$1.log")"
}

answers() { # STATUS CODE CURL_ARGUMENT...
    local status
    status=$(curl -s -o "$dir/reply" -D "$dir/head" -w '%{http_code}' "${@:3}")
    if ! grep -qi '^content-type: application/problem+json' "$dir/head" || [[ $status != "$1" ||
        $(jq -r '"\(.status) \(.code) \(.type)"' "$dir/reply") != "$1 $2 urn:baton:problem:$2" ]]; then
        complain "${*:3}: expected $1 $2:" "$(<"$dir/head")" "$(<"$dir/reply")"
    fi
}

is_served() { # URL
    # shellcheck disable=SC2317 # wait_for calls it
    [[ $(curl -s -o /dev/null -w '%{http_code}' "$1") == 200 ]]
}

start_batond named --state-dir="$dir/state" --allowed-hosts=locks.example.com
head -c 100000 /dev/zero | tr '\0' ' ' >"$dir/large"
for proxy in haproxy nginx; do
    start_proxy "$proxy" "$address"
    # haproxy begins with the replica that is not there, until its checks have said so.
    wait_for 20 is_served "$front/readyz" || complain "$proxy does not find batond"
    answers 403 untrusted_origin "$front/locks/a" -H 'Host: other.example.com'
    expect "$proxy: a name that is allowed" curl -sf "$front/locks/a" -H 'Host: locks.example.com:80'
    expect "$proxy: localhost" curl -sf -X POST "$front/locks/$proxy"
    answers 413 too_large -X POST "$front/locks/a" -H 'Content-Type: application/json' --data-binary "@$dir/large"
done
head -c 2000000 /dev/zero >"$dir/large"
answers 413 too_large -X POST "$front/locks/a" -H 'Expect:' --data-binary "@$dir/large"

nobody=127.0.0.1:$(free_port)
start_proxy haproxy "$nobody"
answers 503 no_replica -X POST "$front/locks/a"
grep -qi '^retry-after: 1' "$dir/head" || complain "haproxy does not say when to come again"
start_proxy nginx "$nobody"
answers 502 no_answer -X POST "$front/locks/a"
grep -qi '^retry-after: 1' "$dir/head" || complain "nginx does not say when to come again"

exit "$failed"
