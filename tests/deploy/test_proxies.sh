#!/bin/bash
# deploy/haproxy.cfg and deploy/nginx.conf: haproxy and nginx take them without a warning, and their
# times agree with batond's. How they behave is tried where they stand before replicas that stop
# (tests/chaos, tests/edge): tests/support/front.c starts these very files.
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

# haproxy has seen that a replica drains before that one has stopped, and who was sent away has another
# replica before its turn is over.
check=$(($(of_haproxy 'check inter') * $(sed -n 's/.* fall \([0-9]*\).*/\1/p' haproxy.cfg)))
longer "drain and haproxy's checks" "$(default drain)" "$((check + $(of_haproxy 'timeout connect')))"
longer "claim-window and haproxy's checks" "$(default claim-window)" "$check"
path=$(sed -n 's/^ *option httpchk GET //p' haproxy.cfg)
[[ $path == /readyz ]] || complain "haproxy asks $path"
ADMIN_PORT=7430 expect "haproxy.cfg with an ADMIN_PORT" haproxy -c -q -f haproxy.cfg

exit "$failed"
