#!/bin/sh
# Puts a script together: compose.sh OPERATION.lua STATE.lua SHARED.lua...
set -eu

operation=$1 state=$2
shift 2
common=$(dirname "$operation")/common/$(basename "$operation")
[ -e "$common" ] || common=/dev/null
cat "$state" "$common" "$@" "$operation"
