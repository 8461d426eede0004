#!/bin/bash
# Builds the image and runs it, alone and as deploy/compose has it. Ends with a line: N passed, M
# failed. ONLY='word word' runs the checks with one of these words in their name.
#   tests/container/run.sh VERSION PROGRAM...     `make container` calls it. PROGRAM: tests of the suite
# Environment: BATON_CONTAINER_STORE, where images are kept for the next time.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C no_proxy='*'

fail() { # LINE...
    printf '%s\n' "$@" >&2
    exit 1
}

[[ $(id -u) == 0 ]] || exec sudo --preserve-env=BATON_CONTAINER_STORE,ONLY "$0" "$@"
if ! unshare --mount --net --pid --ipc --uts --fork true; then
    echo "SKIPPED, nothing of the image was tried: the kernel allows no containers here"
    exit 0
fi
cd "$(dirname "$0")/../.."
version=$1
programs=("${@:2}")
image=localhost/baton-test:latest
dir=$(mktemp -d "${TMPDIR:-/tmp}/container.XXXXXX")
# shellcheck source=tests/container/engine.sh
. tests/container/engine.sh
# shellcheck source=tests/container/single.sh
. tests/container/single.sh
# shellcheck source=tests/container/replicas.sh
. tests/container/replicas.sh

# What was built today goes; what it was built on stays, for the next time.
clean_up() {
    remove_containers || true
    engine rmi --force "$image" >/dev/null || true
    engine image prune --force >/dev/null || true
    rm -rf "$dir"
}

# Each check is a process of its own, which the first command that fails ends.
passed=0
failed=0
check() { # FUNCTION
    local start=$EPOCHREALTIME verdict=passed
    (
        trap 'echo "failed: $BASH_COMMAND (${BASH_SOURCE[0]}:$LINENO)"' ERR
        set -E
        "$1"
    ) >"$dir/log" 2>&1 &
    wait $! || verdict=FAILED
    if [[ $verdict == FAILED ]]; then
        tail -n 60 "$dir/log"
        for name in $(engine ps --all --format '{{.Names}}'); do
            echo "--- $name said:"
            engine logs --tail 20 "$name" 2>&1
        done
    fi
    sed -n 's/^figure: /    /p' "$dir/log"
    awk -v name="${1//_/ }" -v verdict="$verdict" -v start="$start" -v now="$EPOCHREALTIME" \
        'BEGIN { printf "%s: %s (%.1f s)\n", verdict, name, now - start }'
    remove_containers
    if [[ $verdict == passed ]]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

chosen() { # FUNCTION
    local word
    [[ -n ${ONLY-} ]] || return 0
    for word in $ONLY; do [[ $1 != *"$word"* ]] || return 0; done
    return 1
}

checks=(the_image_is_small labels_and_commands_are_as_documented nothing_is_there_that_is_not_needed
    who_permits_nobody_is_told_how_to locks_are_served who_waits_is_handed_the_lock_and_a_watcher_told
    the_health_check_tells_ready_from_not it_may_do_little
    a_waiter_is_sent_away_with_its_token_and_the_process_ends_well
    holds_outlast_a_kill_and_a_new_container tokens_are_read_from_a_mounted_file
    the_readme_can_be_followed tests_of_the_suite_pass
    compose_yaml_fits_what_is_beside_it replicas_are_one_service replicas_restart_under_load
    locks_outlast_a_redis_that_is_killed)

trap clean_up EXIT
open_store
make_debian
make_neighbours
export BUILDER="nice timeout 900 buildah ${of_both[*]} bud --quiet --layers --pull-never"
BUILDER="$BUILDER --target packages" deploy/container/build.sh localhost/baton-test-packages "$version"
deploy/container/build.sh "$image" "$version"

for name in "${checks[@]}"; do ! chosen "$name" || check "$name"; done
printf '\n%d passed, %d failed\n' "$passed" "$failed"
((failed == 0 && passed > 0))
