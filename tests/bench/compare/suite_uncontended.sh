# Nobody waits: every connection has a lock of its own, which it acquires and releases all the time.
# Two more cases only acquire, each time a lock that nobody has: with 64 connections, and with one,
# beside the script that Baton has Redis run, sent without Baton.
# shellcheck shell=bash
. tests/bench/compare/common.sh

bare_set="return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2])"
bare_delete="if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

uncontended_start() {
    local contender
    # shellcheck disable=SC2034 # measure.sh reads it
    rounds=$(pick 1 5)
    contenders=(Baton webdis etcd nginx 'Redis alone' "Baton's script alone")
    connections=$(pick 1 '1 64 512')
    start_redis
    version Redis "$(redis-server --version | sed 's/.* v=\([^ ]*\).*/\1/')"
    start_baton
    describe_bare
    for contender in nginx webdis etcd; do
        "start_$contender" || unset "urls[$contender]"
    done
}

uncontended_round() {
    local clients
    for clients in $connections; do
        all "acquire and release, $(counted "$clients" connection)" --clients "$clients"
    done
    all 'only acquire, 64 connections' --clients 64 --fresh 1
}

counted() { # COUNT WHAT
    if (($1 == 1)); then echo "1 $2"; else echo "$1 $2s"; fi
}

# One round of all contenders, each time with another one first. Nothing of one stays for the next.
all() { # CASE ARGUMENT...
    local i contender what=pairs
    [[ $1 != only* ]] || what=acquire
    for i in "${!contenders[@]}"; do
        contender=${contenders[(i + round - 1) % ${#contenders[@]}]}
        if [[ -z ${urls[$contender]-} ]]; then
            missing "$1" "$contender" 'its server did not come up'
            continue
        fi
        # shellcheck disable=SC2086 # what to watch is words
        load "$1" "$contender" pairs --url "${urls[$contender]}" --exchange "$dir/$contender.$what" \
            --seconds 1 ${watch[$contender]} "${@:2}"
        redis flushall >/dev/null
        [[ $contender != etcd ]] || clear_etcd
    done
}

clear_etcd() { # all keys, and what it remembers of earlier ones
    local revision
    revision=$(curl -fs "${urls[etcd]}/v3/kv/deleterange" -d '{"key":"AA==","range_end":"AA=="}' |
        sed 's/.*"revision":"\([0-9]*\)".*/\1/')
    curl -fs "${urls[etcd]}/v3/kv/compaction" -d '{"revision":"'"$revision"'","physical":true}' >/dev/null
}

declare -A urls watch # of each contender

# What is asked of a contender, from standard input; the first request alone acquires.
describe() { # CONTENDER
    cat >"$dir/$1.pairs"
    awk '/^each/ { n++ } n < 2' "$dir/$1.pairs" >"$dir/$1.acquire"
}

start_baton() {
    launch baton
    urls[Baton]=$launched
    watch[Baton]="--watch server=$launched_pid --watch store=$redis_pid"
    version Baton "$(build/batond --version | sed 's/.* //')"
    describe Baton < <(ask_baton)
}

# The limit of Redis: the usual two scripts of a lock, and those of Baton, as it sends them.
describe_bare() {
    urls['Redis alone']=redis://127.0.0.1:$redis_port
    watch['Redis alone']="--watch store=$redis_pid"
    urls["Baton's script alone"]=${urls['Redis alone']}
    watch["Baton's script alone"]=${watch['Redis alone']}
    set_sha=$(redis script load "$bare_set")
    delete_sha=$(redis script load "$bare_delete")
    describe 'Redis alone' <<END
each EVALSHA $set_sha 1 <name> <token> 30000
expect +OK
each EVALSHA $delete_sha 1 <name> <token>
expect :1
END
    describe "Baton's script alone" < <(spy)
}

# Watches Baton acquire and release a lock, and prints what it asked of Redis, but with a stamp that
# lets it be run at any time (see locks/scripts/shared/02-call.lua).
spy() {
    local token
    local stamp='\\x00\\x00\\x00\\x80t\\xd2\\xeaA\\x00\\x00\\x00\\x00\\x00\\x00\\xf0\\x7f'
    local zeros='\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'
    local monitor
    redis-cli -s "$dir/redis.sock" monitor >"$dir/monitor" &
    monitor=$!
    until_ok grep -q OK "$dir/monitor"
    token=$(curl -s -X POST "${urls[Baton]}/locks/spied?ttl=30s" | sed 's/.*"token":"\([^"]*\)".*/\1/')
    curl -fs -X DELETE -H "Lock-Token: $token" "${urls[Baton]}/locks/spied" >/dev/null
    until_ok eval "((\$(grep -c 'FCALL.*spied' '$dir/monitor') == 2))"
    kill "$monitor"
    wait "$monitor" 2>/dev/null || true
    sed -nE "/FCALL.*spied/{ s/^.*\] ((\"[^\"]*\" ){4})\"([^\"\\\\]|\\\\.)*\"/\1$stamp$zeros$zeros$zeros$zeros$zeros$zeros/; s/\"//g; s/spied/<name>/; s/$token/<token>/; s/^/each /p }" "$dir/monitor" |
        sed '1s/$/\nexpect :/; 2s/$/\ncontains released/; 2s/$/\nexpect $/'
}

# The limit of HTTP: what Baton once answered, header for header, as fixed texts.
start_nginx() {
    local port acquired released
    port=$(free_port)
    acquired=$(curl -si -X POST "${urls[Baton]}/locks/seen?ttl=30s" | tr -d '\r')
    released=$(curl -si -X DELETE "${urls[Baton]}/locks/seen" \
        -H "Lock-Token: $(sed -n 's/.*"token":"\([^"]*\)".*/\1/p' <<<"$acquired")" | tr -d '\r')
    mkdir "$dir/nginx"
    cat >"$dir/nginx.conf" <<END
worker_processes auto;
daemon off;
pid $dir/nginx.pid;
events { worker_connections 2048; }
http {
    access_log off;
    keepalive_requests 1000000000;
    default_type application/json;
    client_body_temp_path $dir/nginx; proxy_temp_path $dir/nginx; fastcgi_temp_path $dir/nginx;
    uwsgi_temp_path $dir/nginx; scgi_temp_path $dir/nginx;
    server_tokens off;
    server {
        listen 127.0.0.1:$port reuseport;
        location / {
            if (\$request_method = DELETE) {
                $(nginx_reply 200 "$released")
            }
            $(nginx_reply 201 "$acquired")
        }
    }
}
END
    start nginx nginx -p "$dir" -c "$dir/nginx.conf" -e stderr
    until_ok curl -fs "http://127.0.0.1:$port/" || return
    urls[nginx]=http://127.0.0.1:$port
    watch[nginx]=$(pgrep -P "$started" | sed 's/^/--watch server=/' | tr '\n' ' ')
    version nginx "$(nginx -v 2>&1 | sed 's,.*/,,')"
    sed 's/^take.*/contains "token":"/; /^header/d; /^each DELETE/a header Lock-Token: 0123456789012345678901' \
        "$dir/Baton.pairs" | describe nginx
}

nginx_reply() { # STATUS ANSWER: Server: and Connection: of nginx in place of X-Request-Id:
    sed -n '1d; s/^\(Location\|ETag\): \(.*\)/add_header \1 '"'\2'"';/p' <<<"$2"
    echo "return $1 '$(tail -n 1 <<<"$2")';"
}

start_webdis() {
    launch_webdis 2 3 || return
    urls[webdis]=$launched
    watch[webdis]="--watch server=$launched_pid --watch store=$redis_pid"
    version webdis "$(dpkg-query -W -f '${Version}' webdis)"
    describe webdis <<END
each GET /EVALSHA/$set_sha/1/<name>/<token>/30000
expect 200
contains "OK"
each GET /EVALSHA/$delete_sha/1/<name>/<token>
expect 200
contains :1}
END
}

start_etcd() {
    launch_etcd || return
    urls[etcd]=$launched
    watch[etcd]="--watch server=$launched_pid"
    describe etcd < <(ask_etcd '<name>')
}
