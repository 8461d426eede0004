#!/bin/bash
# Packs a release: a tarball of the last commit, which builds without git, and its checksum. Two runs give the
# same bytes.
#   deploy/dist.sh FOLDER VERSION     `make dist` calls it
set -euo pipefail
shopt -s inherit_errexit
folder=$1 name=baton-$2

git rev-parse --verify --quiet HEAD >/dev/null || { echo "A release is packed from a clone of git; this is none." >&2 && exit 1; }
[[ -z $(git status --porcelain) ]] || echo "There are changes that are not committed: they are not in the tarball." >&2
mkdir -p "$folder"
git archive --format=tar --prefix="$name/" HEAD | gzip -9n >"$folder/$name.tar.gz"
cd "$folder"
sha256sum "$name.tar.gz" >SHA256SUMS
echo "$folder/$name.tar.gz"
