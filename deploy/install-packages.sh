#!/bin/bash
# Installs the Debian packages of the named groups, those that are missing only, without asking.
#   deploy/install-packages.sh build run test bench lint
set -euo pipefail

# group, package, the command that makes the package needless (- for none), what it is for
table='
build  gcc                   gcc           compiles batond
build  libc6-dev             -             headers of the C library
build  pkgconf               pkg-config    finds the libraries
build  libmicrohttpd-dev     -             HTTP
build  libjansson-dev        -             JSON
build  libhiredis-dev        -             the Redis client
build  libssl-dev            -             TLS to Redis
build  libuv1-dev            -             the event loop
run    redis-server          redis-server  keeps the locks
run    curl                  curl          to try it
test   libcmocka-dev         -             the test framework
test   libcurl4-openssl-dev  -             the HTTP client of the tests
test   libyaml-dev           -             reads openapi.yaml in the tests
bench  wrk                   wrk           makes load
bench  webdis                webdis        what to compare with
lint   clang                 clang         a second compiler
lint   clang-format          clang-format  checks the layout of the code
lint   clang-tidy            clang-tidy    checks C
lint   cppcheck              cppcheck      checks C
lint   lua-check             luacheck      checks Lua
lint   shellcheck            shellcheck    checks shell scripts
lint   nodejs                node          runs the linters of openapi.yaml
lint   npm                   npm           installs the linters of openapi.yaml
'

wanted() {
    local group package command reason
    while read -r group package command reason; do
        [[ -n $group && " $* " == *" $group "* ]] || continue
        [[ $command != - ]] && command -v "$command" >/dev/null && continue
        printf '%s\t%s\n' "$package" "$reason"
    done <<<"$table"
}

installed() {
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

as_root() {
    if [[ $(id -u) == 0 ]]; then "$@"; else sudo "$@"; fi
}

# Debian starts a service as soon as its package is installed. Baton starts a Redis of its own, so
# nothing else needs one: RUNLEVEL=1 tells invoke-rc.d, and this policy deb-systemd-invoke, to leave
# services alone. A policy that the system has already is respected.
policy=/usr/sbin/policy-rc.d

install() {
    local made_policy=
    if [[ ! -e $policy ]]; then
        printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
        made_policy=yes
        trap 'as_root rm -f "$policy"' EXIT
        as_root chmod 755 "$policy"
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
    [[ -z $made_policy ]] || { as_root rm -f "$policy" && trap - EXIT; }
}

main() {
    local missing=() package reason list
    list=$(wanted "$@")
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        [[ -z $list ]] && return
        echo "This is not a Debian system; please install what corresponds to:" >&2
        echo "$list" >&2
        exit 1
    fi
    while IFS=$'\t' read -r package reason; do
        [[ -z $package ]] || installed "$package" && continue
        missing+=("$package")
        echo "missing: $package ($reason)"
    done <<<"$list"
    ((${#missing[@]})) || return 0
    echo "installing: ${missing[*]}"
    if ! [[ $(id -u) == 0 ]] && ! command -v sudo >/dev/null; then
        echo "Installing needs root or sudo: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    as_root apt-get update -q
    install "${missing[@]}"
}

main "$@"
