#!/bin/bash
# Lets each engine lose parts of itself many times in each setting, and the clocks of its servers jump:
# what docs/guarantees.md says of it, as two tables.
#   tests/chaos/guarantees.sh FOLDER   where test_partitions and test_clock_jumps are
# Environment: CYCLES of each setting (100), JOBS side by side (2), ENGINES (words of Sentinel, One Redis, Cluster,
# Quorum, clocks; all), LOGS (a folder, made if need be).
set -euo pipefail
export LC_ALL=C

folder=$1
logs=${LOGS:-$(mktemp -d)}
engines=${ENGINES:-Sentinel One Cluster Quorum clocks}
export BATON_TEST_CYCLES=${CYCLES:-100}
mkdir -p "$logs"

bad=0
mapfile -t runs < <(sed -n 's/^    {"\([A-Z][A-Za-z ]*\)", "\([^"]*\)", .*/\1: \2/p' "${BASH_SOURCE[0]%/*}/test_partitions.c" |
    grep -E "^(${engines// /|})" || true)
# shellcheck disable=SC2016 # the inner shell expands it
((${#runs[@]} == 0)) || printf '%s\0' "${runs[@]}" |
    xargs -0 -P "${JOBS:-2}" -n 1 bash -c 'BATON_TEST=$3 "$1/test_partitions" >"$2/$3.log" 2>&1 ||
        { echo "not as promised: $2/$3.log" >&2; exit 1; }' - "$folder" "$logs" || bad=1

echo '| engine | setting | faults | grants | lost | lost, with a replica or a memory | double | fences that fell | longest without a grant | of one name | until the first grant |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
for run in "${runs[@]}"; do
    sed -n 's/^| /| /p' "$logs/$run.log"
done
[[ " $engines " == *' clocks '* ]] || exit $bad
echo
"$folder/test_clock_jumps" >"$logs/clock jumps.log" 2>&1 || bad=1
echo '| clock | noticed by both batonds after (there, back) | grants | lost | double | fences that fell | longest without a grant of one name |'
echo '| --- | --- | --- | --- | --- | --- | --- |'
grep -E '^\| ' "$logs/clock jumps.log"
grep -E 'whose clock' "$logs/clock jumps.log"
echo "by fault: $logs" >&2
exit $bad
