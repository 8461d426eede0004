#!/bin/bash
# Clean roots of Debian, for the scripts that source this file. Roots as debootstrap makes them are kept
# as ${XDG_CACHE_HOME:-~/.cache}/baton-tests/debian-RELEASE.tar. Needs root, and the machine's mirror of
# Debian.

declare -A root_names=([12]=bookworm [13]=trixie)

root_mirror() {
    # shellcheck disable=SC2016 # apt-get expands it
    apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Origin: Debian' |
        awk '!/security/ && !found++; END { if (!found) print "http://deb.debian.org/debian" }'
}

root_base() { # RELEASE: prints the tar of a root as it is before anything is installed
    local cache=${XDG_CACHE_HOME:-$HOME/.cache}/baton-tests
    local tar=$cache/debian-$1.tar root
    if [[ ! -e $tar ]]; then
        mkdir -p "$cache"
        root=$(mktemp -d "${TMPDIR:-/tmp}/base.XXXXXX")
        mkdir "$root/root" # which anybody may enter, unlike what mktemp makes
        debootstrap --variant=minbase "${root_names[$1]}" "$root/root" "$(root_mirror)" >&2
        tar -C "$root/root" -cf "$tar.$$" .
        mv "$tar.$$" "$tar"
        rm -rf "$root"
    fi
    echo "$tar"
}

root_unpack() { # RELEASE ROOT
    local tar
    tar=$(root_base "$1")
    mkdir "$2"
    tar -C "$2" -xf "$tar"
    cp /etc/resolv.conf "$2/etc/resolv.conf"
    echo '127.0.0.1 localhost' >"$2/etc/hosts"
    echo force-unsafe-io >"$2/etc/dpkg/dpkg.cfg.d/unsafe-io" # it is thrown away
}

root_enter() { # ROOT COMMAND...: with its own mounts and processes, which end with it
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare --mount --pid --fork --kill-child bash -c '
        mount -t proc proc "$0/proc"
        mount --rbind /dev "$0/dev"
        exec chroot "$0" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' "$@"
}
