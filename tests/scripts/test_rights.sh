#!/bin/bash
# Each command that a function calls is tried by ready.lua, so that /readyz can say which right is
# missing, and each that this tries is called somewhere: docs/redis.md asks for no more than is needed.
set -euo pipefail
export LC_ALL=C

scripts=(locks/scripts/*.lua locks/scripts/shared/*.lua)

# What the quarantine gets on without: epoch.lua says so where it calls them.
optional='^(cluster|info)$'

called() {
    sed -E 's/--.*//' "${scripts[@]}" | grep -oE "\b(call|pcall_redis)\('[a-z]+'" |
        sed -E "s/.*'([a-z]+)'/\1/" | grep -vE "$optional" | sort -u
}

tried() {
    grep -oE "^ *\{'[a-z]+'" locks/scripts/ready.lua | grep -oE '[a-z]+' | sort -u
}

if ! diff <(called) <(tried); then
    echo "< functions call it, and ready.lua does not try it; > the other way round"
    exit 1
fi
[[ $(called | wc -l) -gt 20 ]]
