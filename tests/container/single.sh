# shellcheck shell=bash disable=SC2154 # run.sh sets what is not set here
# One container of the image: what it has and may do, that it serves, stops and keeps its data. To be
# sourced; engine.sh says what the words mean.

permitted=(--env BATON_ALLOW_ANONYMOUS=true)

the_image_is_small() {
    local size
    size=$(engine image inspect --format '{{.Size}}' "$image")
    echo "figure: $((size / 1000)) kB, uncompressed"
    ((size < 40000000))
}

labels_and_commands_are_as_documented() {
    local about
    about=$(engine image inspect "$image" | jq -c '.[0]')
    expect "$(jq -c .Labels <<<"$about")" '"org.opencontainers.image.title":"Baton"' \
        "\"org.opencontainers.image.version\":\"$version\"" \
        '"org.opencontainers.image.licenses":"Apache-2.0"' \
        "\"org.opencontainers.image.revision\":\"$(git rev-parse HEAD)"
    expect "$(jq -c '[.Config.User, .Config.StopSignal, .Config.Entrypoint, .Config.Volumes]' <<<"$about")" \
        '["65532:65532","SIGTERM",["/usr/bin/batond"],{"/var/lib/baton":{}}]'
    expect "$(jq -c '.HealthCheck // .Healthcheck' <<<"$about")" '["CMD","/usr/bin/batond","--check"]'
}

# The list of files is in what `podman export` makes of a container.
nothing_is_there_that_is_not_needed() {
    local files package
    engine create --name files "$image" >/dev/null
    engine export --output "$dir/files.tar" files
    files=$(tar -tf "$dir/files.tar")
    grep -qx 'usr/share/doc/baton/LICENSE' <<<"$files"
    tar -xOf "$dir/files.tar" usr/share/doc/baton/sbom.spdx.json | jq -e '.packages | any(.name == "redis-server")' >/dev/null
    grep -E '(^|/)s?bin/[^/]' <<<"$files" | sort >"$dir/programs"
    diff "$dir/programs" <(printf 'usr/bin/%s\n' baton batond redis-server)
    for package in libmicrohttpd12 libssl3 redis-server; do
        grep -q "^var/lib/dpkg/status.d/$package" <<<"$files"
        grep -q "^usr/share/doc/$package.*/copyright" <<<"$files"
    done
}

who_permits_nobody_is_told_how_to() {
    local code=0
    engine run --name refused "${confined[@]}" "$image" || code=$?
    ((code == 2))
    expect "$(engine logs refused 2>&1)" --tokens-file --tls-client-ca --allow-anonymous
}

locks_are_served() {
    local from=$EPOCHREALTIME token reply
    start baton "${permitted[@]}"
    awk -v from="$from" -v now="$EPOCHREALTIME" \
        'BEGIN { printf "figure: %d ms from podman run to ready, with its own Redis\n", (now - from) * 1000 }'
    reply=$(ask POST '/locks/demo?owner=alice&ttl=30s')
    expect "$reply" $'\n201' '"owner":"alice"'
    token=$(jq -r 'select(objects).token' <<<"$reply")
    expect "$(ask POST '/locks/demo?owner=bob')" $'\n409' '"code":"locked"' '"owner":"alice"'
    expect "$(ask PUT '/locks/demo?ttl=1m' -H "Lock-Token: $token")" $'\n200' '"ttl_ms":60000'
    expect "$(ask GET /locks/demo)" '"state":"held"'
    expect "$(ask DELETE /locks/demo -H "Lock-Token: $token")" '"released":true'
    expect "$(ask GET /metrics)" "baton_build_info{version=\"$version\"} 1"
    expect "$(ask GET /openapi.yaml)" 'openapi: 3.1'
    expect "$(ask GET /livez)" $'\n200'
    expect "$(ask POST /locks/demo -H 'Host: locks.example.com')" $'\n403' allowed-hosts
    expect "$(ask GET /locks/demo -H 'Host: baton')" $'\n200'
}

who_waits_is_handed_the_lock_and_a_watcher_told() {
    local token version
    start baton "${permitted[@]}"
    token=$(ask POST /locks/press | jq -r 'select(objects).token')
    version=$(ask GET /locks/press | jq 'select(objects).version')
    ask POST '/locks/press?wait=30s&owner=bob' >"$dir/waiter" &
    ask GET "/locks/press/events?after=$version&wait=30s" >"$dir/watcher" &
    await_queue press 1
    ask DELETE /locks/press -H "Lock-Token: $token" >/dev/null
    wait
    expect "$(<"$dir/waiter")" $'\n201' '"owner":"bob"'
    expect "$(<"$dir/watcher")" $'\n200' '"changed":true' '"reason":"released"'
}

await_queue() { # NAME LENGTH
    for _ in {1..250}; do
        [[ $(ask GET "/locks/$1") != *"\"queue_length\":$2,"* ]] || return 0
        sleep 0.02
    done
    echo "nobody waits for $1"
    return 1
}

the_health_check_tells_ready_from_not() {
    start baton "${permitted[@]}"
    engine healthcheck run baton
    expect "$(engine inspect --format '{{.State.Health.Status}}' baton)" healthy
    launch lonely "${permitted[@]}" --env BATON_REDIS_URL=redis://127.0.0.1:1
    ! engine healthcheck run lonely
}

filters_of() { # NAME
    sed -n 's/^Seccomp_filters:\s*//p' "/proc/$(process_of "$1")/status"
}

# Docker and podman bring a filter, too, and theirs is looser.
it_may_do_little() {
    local about id
    start baton "${permitted[@]}"
    start loose "${permitted[@]}" --env BATON_SANDBOX=false
    id=$(process_of baton)
    about=$(tr '\t' ' ' <"/proc/$id/status")
    expect "$about" 'Uid: 65532 65532 65532 65532' 'CapEff: 0000000000000000' \
        'CapBnd: 0000000000000000' 'NoNewPrivs: 1' 'Seccomp: 2'
    (($(filters_of baton) > $(filters_of loose)))
    grep -qE '^[0-9]+ [0-9]+ [^ ]+ / / ro[ ,]' "/proc/$id/mountinfo"
    ! engine exec baton sh -c true
}

a_waiter_is_sent_away_with_its_token_and_the_process_ends_well() {
    local from=$EPOCHSECONDS
    start baton "${permitted[@]}"
    ask POST '/locks/last?owner=alice' >/dev/null
    ask POST '/locks/last?wait=50s&keep=30s' >"$dir/waiter" &
    await_queue last 1
    engine stop --time 20 baton
    wait
    expect "$(<"$dir/waiter")" $'\n503' '"code":"draining"' '"token":"'
    [[ $(engine inspect --format '{{.State.ExitCode}}' baton) == 0 ]]
    ((EPOCHSECONDS - from < 20))
}

# Killed with all that is in the container, as by the kernel when memory is short.
holds_outlast_a_kill_and_a_new_container() {
    local fence
    start first "${permitted[@]}" --volume holds:/var/lib/baton
    fence=$(ask POST '/locks/nightly?ttl=5m' | jq 'select(objects).fence')
    engine kill --signal KILL first
    engine rm first
    start second "${permitted[@]}" --volume holds:/var/lib/baton
    expect "$(ask GET /locks/nightly)" "\"fence\":$fence"
    expect "$(ask POST /locks/nightly)" '"code":"locked"'
}

tokens_are_read_from_a_mounted_file() {
    local lines token
    lines=$(engine run --rm "${confined[@]}" "$image" --new-token=ci)
    token=$(head -n 1 <<<"$lines")
    mkdir "$dir/tokens"
    echo "{\"principals\": [$(tail -n 1 <<<"$lines")]}" >"$dir/tokens/tokens.json"
    chown -R 65532 "$dir/tokens"
    chmod 600 "$dir/tokens/tokens.json"
    start baton --env BATON_TOKENS_FILE=/tokens/tokens.json --volume "$dir/tokens:/tokens:ro"
    expect "$(ask POST /locks/ci%2Fdeploy)" $'\n401'
    expect "$(ask POST /locks/ci%2Fdeploy -H "Authorization: Bearer $token")" $'\n201'
}

the_readme_can_be_followed() {
    page_says 1 | sed 's/127\.0\.0\.1:7420/127.0.0.1:7499/g' >"$dir/commands"
    grep -q '^docker run' "$dir/commands"
    follow "$dir/commands" >"$dir/said"
    expect "$(<"$dir/said")" '"name":"demo","token":"'
    [[ $(engine inspect --format '{{.State.ExitCode}}' baton) == 0 ]]
}

# The tests of the repository, with a container in place of each batond that they start.
tests_of_the_suite_pass() {
    export BATON_TEST_BATOND=$PWD/tests/container/batond.sh
    export BATON_TEST_IMAGE=$image BATON_TEST_ENGINE=$PWD/tests/container/engine.sh
    local program
    umask 0 # also for the socket of a Redis that a test starts again
    for program in "${programs[@]}"; do timeout 120 "$program"; done
}
