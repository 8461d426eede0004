#!/bin/bash
# Builds the Debian packages of this tree as it is, into a folder. It does so in a copy, where debian/
# is what deploy/debian is here.
#   deploy/debian/build.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."

copy=$(mktemp -d "${TMPDIR:-/tmp}/baton-deb.XXXXXX")
trap 'rm -rf "$copy"' EXIT
mkdir -p "$copy/baton" "$1"
tar --exclude=./build --exclude=./.git --exclude=./node_modules -cf - . | tar -C "$copy/baton" -xf -
cp -R deploy/debian "$copy/baton/debian"
rm "$copy/baton/debian/build.sh"

# Settings of the make that calls this one are no settings of the package.
unset MAKEFLAGS MFLAGS "${!BATON_@}"
DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS-}"
export DEB_BUILD_OPTIONS
if ! (cd "$copy/baton" && dpkg-buildpackage -us -uc -b) >"$copy/log" 2>&1; then
    tail -n 50 "$copy/log" >&2
    exit 1
fi
cp "$copy/log" "$1/build.log"
cp "$copy"/*.*deb "$copy"/baton_*.changes "$copy"/baton_*.buildinfo "$1"
ls "$1"/baton{,-client}_*.deb
