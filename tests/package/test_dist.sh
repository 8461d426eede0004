#!/bin/bash
# The tarball of a release has each file of the last commit and no other, its checksum is right, and make works in
# it without git. tests/package/dist_builds.sh builds it.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

if ! git rev-parse --verify --quiet HEAD >/dev/null; then
    echo "test_dist: skipped: this is no clone of git"
    exit
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/dist.XXXXXX")
trap 'rm -rf "$dir"' EXIT
deploy/dist.sh "$dir" 1.2.3 >/dev/null 2>&1
(cd "$dir" && sha256sum --check --quiet SHA256SUMS)
cp "$dir/baton-1.2.3.tar.gz" "$dir/first"
deploy/dist.sh "$dir" 1.2.3 >/dev/null 2>&1
cmp "$dir/first" "$dir/baton-1.2.3.tar.gz"

git ls-tree -r --name-only HEAD | sort >"$dir/expected"
tar -tzf "$dir/baton-1.2.3.tar.gz" | sed -n 's|^baton-1.2.3/\(.*[^/]\)$|\1|p' | sort | diff "$dir/expected" - >&2

tar -xzf "$dir/baton-1.2.3.tar.gz" -C "$dir"
# No git above it either.
help=$(cd "$dir/baton-1.2.3" && GIT_CEILING_DIRECTORIES=$dir make -s help)
grep -q '^dist ' <<<"$help"
