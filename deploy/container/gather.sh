#!/bin/bash
# Makes the root file system of the image: programs, the shared libraries they need, and what those
# look for at run time.
#   deploy/container/gather.sh ROOT PROGRAM...
set -euo pipefail
shopt -s inherit_errexit

root=$1
user=65532 # as in the Dockerfile; a number, so that Kubernetes sees that it is not root

copy() { # FILE [PLACE]: what links lead to, under the name that is asked for
    local place=$root${2:-$(realpath "$(dirname "$1")")/$(basename "$1")}
    mkdir -p "$(dirname "$place")"
    [[ -e $place ]] || cp -L --preserve=mode,timestamps "$1" "$place"
}

libraries_of() { # FILE
    ldd "$1" | grep -oE '/[^ ]+' | sort -u
}

# What scanners of images read, one file for each package, as in Google's distroless images; and the
# terms that a copy of it has to come with.
record_package() { # PACKAGE
    local records=$root/var/lib/dpkg/status.d name=${1%%:*}
    mkdir -p "$records"
    dpkg-query --status "$1" >"$records/$name"
    copy "/usr/share/doc/$name/copyright"
}

for folder in bin sbin lib lib64; do
    [[ ! -L /$folder ]] || { mkdir -p "$root/usr/$folder" && ln -s "usr/$folder" "$root/$folder"; }
done

for program in "${@:2}"; do
    program=$(command -v "$program")
    libraries=$(libraries_of "$program")
    copy "$program" "/usr/bin/$(basename "$program")"
    for library in $libraries; do copy "$library"; done
done
copy /etc/ssl/certs/ca-certificates.crt
copy /etc/os-release # for scanners, too

# Libraries find a name by /etc/hosts and DNS, as everywhere.
echo 'hosts: files dns' >"$root/etc/nsswitch.conf"
echo "baton:x:$user:$user:Baton:/var/lib/baton:/usr/sbin/nologin" >"$root/etc/passwd"
echo "baton:x:$user:" >"$root/etc/group"

packages=$(find "$root" -type f -printf '/%P\n' | xargs -r dpkg-query --search 2>/dev/null |
    sed 's/: .*//' | sort -u || true)
for package in $packages ca-certificates; do record_package "$package"; done
