# For `.`: what tests of packages begin with. They run in the folder of the project.
# shellcheck shell=bash
set -euo pipefail
export LC_ALL=C

# shellcheck disable=SC2034 # the tests read them
batond=${BATON_TEST_BATOND:-$PWD/build/batond} baton=${BATON_TEST_BATON:-$PWD/build/baton}
folder=$(mktemp -d "${TMPDIR:-/tmp}/package.XXXXXX")
trap 'rm -rf "$folder"' EXIT

fail() { # LINE...
    printf '%s\n' "$@" >&2
    exit 1
}
