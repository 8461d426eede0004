#!/bin/bash
# A container in place of batond, for tests that start one: with the same flags, and on the network of
# this machine, since the tests ask there. The files that flags name are mounted, and opened to the
# container's user.
# Environment: BATON_TEST_ENGINE (tests/container/engine.sh), BATON_TEST_IMAGE.
set -euo pipefail

# shellcheck source=tests/container/engine.sh
. "$BATON_TEST_ENGINE"
mounts=()
settings=()
for name in $(compgen -e BATON_); do
    [[ $name == BATON_TEST_* || $name == BATON_CONTAINER_* ]] || settings+=(--env "$name")
done
flag=
for argument; do
    case $argument in
    --*=*) flag=${argument%%=*} argument=${argument#*=} ;;
    esac
    case $flag=$argument in
    --state-dir=*)
        mkdir -p "$argument"
        chown 65532 "$argument"
        mounts+=(--volume "$argument:$argument")
        ;;
    --redis-url=unix://*)
        socket=${argument#unix://}
        chmod 755 "${socket%/*}"
        chmod 777 "$socket"
        mounts+=(--volume "${socket%/*}:${socket%/*}")
        ;;
    --tokens-file=*)
        chown 65532 "$argument"
        mounts+=(--volume "$argument:$argument:ro")
        ;;
    esac
    flag=$argument
done
# Several of them share the machine's addresses, so that of the image is not for them.
exec podman "${options[@]}" run --rm --network host "${confined[@]}" --env BATON_ADMIN_LISTEN= \
    "${settings[@]}" "${mounts[@]}" \
    "$BATON_TEST_IMAGE" "$@"
