#!/bin/bash
# Runs one suite: tests/bench/compare/measure.sh NAME. Whatever it starts ends with it.
set -euo pipefail
cd "$(dirname "$0")/../../.."
# shellcheck source=tests/bench/compare/common.sh
. "tests/bench/compare/suite_$1.sh"
suite=$1

record '' '' date '' "$(date -u '+%Y-%m-%d %H:%M UTC')"
record '' '' commit '' "$(git rev-parse --short HEAD 2>/dev/null)"
record '' '' busy '%' "$(busy_percent)"
[[ -z $QUICK ]] || record '' '' quick '' yes
"${suite}_start"
for ((round = 1; round <= rounds; round++)); do
    "${suite}_round"
done
echo "$suite: $rounds rounds in $SECONDS s"
