#!/bin/bash
# Builds batond and baton from the tarball of a release, where there is no git, and runs the unit tests there.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

dir=$(mktemp -d "${TMPDIR:-/tmp}/dist.XXXXXX")
trap 'rm -rf "$dir"' EXIT
make -s dist DIST="$dir"
tar -xzf "$dir"/baton-*.tar.gz -C "$dir"
cd "$dir"/baton-*/
export GIT_CEILING_DIRECTORIES=$dir
git rev-parse 2>/dev/null && { echo "There is a clone of git here" >&2 && exit 1; }
make -s -j"$(nproc)" all
build/batond --version
make test ONLY=tests/unit/
