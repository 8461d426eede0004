#!/bin/bash
# Makes all that a release consists of from the last commit, into a folder, prints the commands that publish each part,
# and publishes nothing. Two runs give the same bytes.
#   deploy/release.sh FOLDER VERSION     `make release` calls it. FOLDER is emptied first
# Environment: WITHOUT='image packages' leaves parts out; ENGINE (such as `podman`) builds the image; SOURCE_DATE_EPOCH
# (the time of the commit).
set -euo pipefail
shopt -s inherit_errexit

fail() {
    printf '%s\n' "$@" >&2
    exit 1
}

git rev-parse --verify --quiet HEAD >/dev/null || fail "A release is made from a clone of git; this is none."
folder=$1 version=$2 here=$PWD
warnings=()
[[ -z $(git status --porcelain) ]] || warnings+=("There are changes that are not committed: they are not in the release.")

# The settings of other builds do not apply to a release.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES CFLAGS CPPFLAGS LDFLAGS "${!BATON_@}"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export LC_ALL=C TZ=UTC SOURCE_DATE_EPOCH
umask 022

work=$(mktemp -d "${TMPDIR:-/tmp}/release.XXXXXX")
trap 'rm -rf "$work"' EXIT
out=$work/release
mkdir "$out"
git clone --quiet --shared . "$work/baton"
cd "$work/baton"

# Runs a command, whose output is of interest only if it fails.
quietly() { # COMMAND...
    "$@" >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && fail "failed: $*"; }
}

# The same tree gives the same archive.
pack_tar() { # FILE FOLDER NAME: the folder NAME in FOLDER
    tar -C "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$3" | gzip -9n >"$1"
}

pack_zip() { # FILE FOLDER: what is in FOLDER
    (
        cd "$2"
        find . -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
        find . -type f -printf '%P\n' | sort | zip -X -D -9 -q -@ "$1"
    )
}

source_tarball() {
    quietly deploy/dist.sh "$work/dist" "$version"
    cp "$work/dist/baton-$version.tar.gz" "$out"
}

# For the Debian that this runs on, which is in their names; and the pages of the manual in HTML.
packages() {
    local debian deb name
    debian=debian$(. /etc/os-release && echo "${VERSION_ID-}")
    quietly deploy/debian/build.sh "$work/deb"
    for deb in "$work"/deb/baton{,-client}_*.deb; do
        name=${deb##*/}
        cp "$deb" "$out/${name%_*}_${debian}_${name##*_}"
    done
    dpkg-deb --fsys-tarfile "$work"/deb/baton_*.deb | tar -xO ./usr/share/man/man8/batond.8.gz | zcat | mandoc -T html >"$out/batond.8.html"
    mandoc -T html deploy/man/baton.1 >"$out/baton.1.html"
}

# The contract, and the text of the release.
documents() {
    cp openapi.yaml "$out/baton-$version-openapi.yaml"
    awk '/^## / { if (found++) exit } found' CHANGELOG.md >"$out/RELEASE.md"
    [[ $(head -n 1 "$out/RELEASE.md") == "## $version ("* ]] ||
        warnings+=("CHANGELOG.md begins with another section than $version: CONTRIBUTING.md says how to cut a release.")
}

# shellcheck source=deploy/release/clients.sh
. deploy/release/clients.sh
# shellcheck source=deploy/release/image.sh
. deploy/release/image.sh
# shellcheck source=deploy/release/publish.sh
. deploy/release/publish.sh

for part in source_tarball packages documents python node java go image; do
    if [[ " ${WITHOUT-} " == *" $part "* ]]; then
        warnings+=("Left out, as WITHOUT says: $part")
    else
        "$part"
    fi
done
(cd "$out" && find . -type f -printf '%P\n' | sort | xargs sha256sum >"$work/sums" && mv "$work/sums" SHA256SUMS)

cd "$here"
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
mv "$out" "$folder"
(cd "$folder" && find . -type f -printf '%s\t%P\n' | sort -k 2)
publish_commands
[[ $(deploy/home.sh --url) != *.example/* ]] ||
    warnings+=("HOME_URL in the Makefile is a placeholder, $(deploy/home.sh --url). Before you publish, run deploy/home.sh URL, commit, and make the release again.")
[[ $(git describe --tags --exact-match 2>/dev/null || true) == "v$version" ]] || warnings+=("The last commit has no tag v$version.")
((${#warnings[@]} == 0)) || printf 'NOTE: %s\n' "${warnings[@]}" >&2
