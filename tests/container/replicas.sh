# shellcheck shell=bash disable=SC2154,SC2034 # run.sh and engine.sh set and use the rest
# What deploy/compose/compose.yaml starts, but for Prometheus and Grafana, whose files tests/deploy
# checks: two replicas on one Redis, behind haproxy. To be sourced.

compose_file=deploy/compose/compose.yaml

# What docs/deploy.md says, by podman-compose, which wants relative files where it is.
compose() { # ARGUMENT...: of docker compose
    [[ $* == "--project-name baton --file $compose_file up --detach" ]]
    printf '#!/bin/bash\nexec podman %s "$@"\n' "${options[*]@Q}" >"$dir/podman"
    chmod +x "$dir/podman"
    cd "${compose_file%/*}" || return
    BATON_IMAGE=$image REDIS_IMAGE=localhost/baton-test-redis HAPROXY_IMAGE=localhost/baton-test-haproxy \
        FILES=16384 PORT=7498 podman-compose --podman-path "$dir/podman" --project-name baton \
        --podman-run-args='--pull=never --ulimit nproc=1000:1000' \
        --file "${compose_file##*/}" up --detach redis baton-1 baton-2 haproxy >"$dir/compose.log" 2>&1 9>&-
}

# Sets `front`, `one` and `two` to where haproxy and the replicas are.
start_replicas() {
    page_says 2 >"$dir/commands"
    rm -rf "$dir/copy"
    mkdir "$dir/copy"
    cp -r deploy "$dir/copy"
    # podman-compose 1.0 gives a check in words to /bin/sh, which the image does not have. It has the check itself.
    sed -i '/# The image has this as well/,/start_period/d' "$dir/copy/$compose_file"
    (cd "$dir/copy" && follow "$dir/commands")
    front=http://127.0.0.1:7498
    one=http://$(address_in_front baton-1):7420
    two=http://$(address_in_front baton-2):7420
    await 200 "$front/readyz"
    await 200 "$one/readyz"
    await 200 "$two/readyz"
}

address_in_front() { # SERVICE
    engine inspect "baton_$1_1" | jq -r '.[0].NetworkSettings.Networks.baton_front.IPAddress'
}

await() { # STATUS URL
    for _ in {1..600}; do
        [[ $(curl -s -o /dev/null -w '%{http_code}' "$2") != "$1" ]] || return 0
        sleep 0.05
    done
    echo "$2 does not answer $1"
    return 1
}

compose_yaml_fits_what_is_beside_it() {
    local source
    docker-compose --file "$compose_file" config >"$dir/config"
    docker-compose --env-file "${compose_file%/*}/.env.example" --file "$compose_file" config >"$dir/example"
    diff "$dir/config" "$dir/example"
    sed -n "s|^ *- \($PWD/[^:]*\):.*|\1|p" "$dir/config" >"$dir/sources"
    (($(wc -l <"$dir/sources") == 5))
    while read -r source; do [[ -e $source ]]; done <"$dir/sources"
    rules_of docs/redis.md >"$dir/rules"
    grep -qxF -- +fcall "$dir/rules"
    # One more, which docs/redis.md names below: to check redis-keeps=all.
    diff <(sort "$dir/rules" - <<<'+config|get') <(rules_of "$compose_file")
}

rules_of() { # FILE: what the user of Redis may do
    tr -d "'" <"$1" | sed -n '/~baton:\* -@all/,/+zunionstore/{s/.*~baton/~baton/;p}' |
        grep -oE '[^ ]{2,}' | sort
}

# A check has 5 s, which do not suffice on a machine that is busy.
await_healthy() { # NAME
    for _ in {1..20}; do
        ! engine healthcheck run "$1" || return 0
    done
    echo "$1 is not healthy"
    return 1
}

replicas_are_one_service() {
    local token service
    start_replicas
    for service in redis baton-1 baton-2 haproxy; do
        await_healthy "baton_${service}_1"
    done
    url=$one
    token=$(ask POST '/locks/press?owner=alice' | jq -r 'select(objects).token')
    url=$two
    expect "$(ask POST /locks/press)" $'\n409' '"owner":"alice"'
    ask POST '/locks/press?wait=30s&owner=bob' >"$dir/waiter" &
    url=$front
    await_queue press 1
    expect "$(ask DELETE /locks/press -H "Lock-Token: $token")" '"released":true'
    wait
    expect "$(<"$dir/waiter")" $'\n201' '"owner":"bob"'
    expect "$(ask GET /locks/press)" '"owner":"bob"'
}

# Takes locks, waiting for some, and gives them back, until told to end. Notes what did not go well.
use_locks() { # N
    local token lock reply
    while [[ ! -e $dir/load/end ]]; do
        token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
        lock=/locks/load-$((RANDOM % 3))
        reply=$(ask POST "$lock?wait=20s" -H "Lock-Token: $token" 2>&1) || true
        [[ ${reply##*$'\n'} == 201 ]] || echo "$reply" >>"$dir/load/failed"
        reply=$(ask DELETE "$lock" -H "Lock-Token: $token" 2>&1) || true
        [[ ${reply##*$'\n'} == 200 ]] || echo "$reply" >>"$dir/load/failed"
        echo >>"$dir/load/done.$1"
    done
}

replicas_restart_under_load() {
    local service client clients=()
    start_replicas
    url=$front # for ask
    mkdir "$dir/load"
    touch "$dir/load/failed"
    for client in {1..6}; do
        use_locks "$client" &
        clients+=($!)
    done
    for service in baton-1 baton-2; do
        sleep 1
        engine stop --time 30 "baton_${service}_1"
        [[ $(engine inspect --format '{{.State.ExitCode}}' "baton_${service}_1") == 0 ]]
        engine start "baton_${service}_1"
        await 200 "http://$(address_in_front "$service"):7420/readyz"
        await_share "$(address_in_front "$service")"
    done
    touch "$dir/load/end"
    wait "${clients[@]}"
    echo "figure: $(cat "$dir"/load/done.* | wc -l) locks taken and released while each replica was restarted"
    head -n 20 "$dir/load/failed"
    [[ ! -s $dir/load/failed ]]
}

# haproxy has found a replica that is back, and gives it its share.
await_share() { # ADDRESS
    local before after
    before=$(acquires_at "$1")
    for _ in {1..200}; do
        after=$(acquires_at "$1")
        ((after < before + 10)) || return 0
        sleep 0.05
    done
    echo "haproxy does not use $1"
    return 1
}

acquires_at() { # ADDRESS
    curl -s "http://$1:7420/metrics" | awk '/^baton_acquires_total/ { n += $2 } END { print n + 0 }'
}

# One is written by one command, the others by several: what is read at the start is both.
locks_outlast_a_redis_that_is_killed() {
    local fence
    start_replicas
    url=$front
    fence=$(ask POST '/locks/nightly?ttl=5m' | jq 'select(objects).fence')
    ask POST '/locks/readers?mode=shared&ttl=5m'
    ask POST '/locks/readers?mode=shared&ttl=5m'
    engine kill --signal KILL baton_redis_1
    await 503 "$one/readyz"
    engine start baton_redis_1
    await 200 "$one/readyz"
    await 200 "$two/readyz"
    await 200 "$front/readyz"
    expect "$(ask GET /locks/nightly)" "\"fence\":$fence"
    expect "$(ask GET /locks/readers)" '"hold_count":2'
}
