#!/bin/bash
# Where the text of the formats has changed since the last release: that release and this one side by side on one
# Redis, under load (tests/integration/test_upgrade.c). `make test` has built this one.
#   tests/upgrade/last_release.sh [TAG]
set -euo pipefail
cd "$(dirname "$0")/../.."
formats=locks/scripts/shared/01-formats.lua

upgrade() { # FROM TO
    BATON_TEST_RELEASE_BEFORE=$1 BATON_TEST_BATOND=$2 BATON_TEST='an_upgrade_under_load*' build/tests/integration/test_upgrade
}

versions() {
    grep -o "format_of('.*"
}

tag=${1-$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)}
if [[ -z $tag ]]; then
    echo "There is no release yet."
    exit
fi
before=$tag:$formats
git cat-file -e "$before" 2>/dev/null || before=$tag:locks/scripts/shared/1-formats.lua # up to 0.2
if ! git cat-file -e "$before" 2>/dev/null; then
    echo "The records of $tag have no versions: this release refuses them."
    exit
elif git show "$before" | cmp -s - "$formats"; then
    echo "No format has changed since $tag."
    exit
fi

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
git archive "$tag" | tar -x -C "$dir"
make --no-print-directory -C "$dir" all >"$dir/log" 2>&1 || { cat "$dir/log" && exit 1; }

echo "From $tag to this build, under load:"
upgrade "$dir/build/batond" build/batond
if [[ $(git show "$before" | versions) == "$(versions <"$formats")" ]]; then
    echo "No version of a format has changed. Back to $tag, under load:"
    upgrade build/batond "$dir/build/batond"
fi
