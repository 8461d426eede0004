#!/bin/bash
# Builds the image of this folder by docker, podman or buildah, whichever there is.
#   deploy/container/build.sh NAME VERSION     `make image` calls it
# Environment: BUILDER (such as `podman build`), SOURCE_DATE_EPOCH (the time of the latest commit).
set -euo pipefail
cd "$(dirname "$0")/../.."

# What was built from the same commit with the same packages is the same, to the byte.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
revision=$(git describe --always --abbrev=40 --dirty --exclude '*' 2>/dev/null || echo unknown)
export SOURCE_DATE_EPOCH=$epoch

builder() {
    if [[ -n ${BUILDER-} ]]; then
        echo "$BUILDER"
    elif docker version >/dev/null 2>&1; then # its client alone builds nothing
        echo "docker build"
    elif command -v podman >/dev/null; then
        echo "podman build"
    elif command -v buildah >/dev/null; then
        echo "buildah bud"
    else
        echo "To build an image, install docker (whose daemon has to answer you), podman or buildah." >&2
        return 1
    fi
}

command=$(builder)
own=()
# The format of OCI has no place for HEALTHCHECK.
[[ $command == docker* ]] || own=(--format docker --timestamp "$epoch")
# shellcheck disable=SC2086 # the command is words
exec $command "${own[@]}" --build-arg "VERSION=$2" --build-arg "REVISION=$revision" --build-arg "CREATED=$epoch" \
    --build-arg "HOME_URL=$(deploy/home.sh --url)" --tag "$1" .
