#!/bin/bash
# Lets each engine lose parts of itself many times in each setting, and the clocks of its servers jump:
# what docs/guarantees.md says of it, as two tables.
#   tests/chaos/guarantees.sh FOLDER   where test_partitions* and test_clock_jumps are
# Environment: CYCLES of each setting (100), JOBS side by side (2), ENGINES (test_partitions for Sentinel,
# test_partitions_one, test_partitions_cluster, test_partitions_quorum, test_clock_jumps: all), LOGS (a folder, made if need be).
set -euo pipefail
export LC_ALL=C

folder=$1
logs=${LOGS:-$(mktemp -d)}
read -ra engines <<<"${ENGINES:-test_partitions test_partitions_one test_partitions_cluster test_partitions_quorum test_clock_jumps}"
export BATON_TEST_CYCLES=${CYCLES:-100}
mkdir -p "$logs"

here=${BASH_SOURCE[0]%/*}
bad=0
runs=() # PROGRAM SETTING, one after the other
for engine in "${engines[@]}"; do
    [[ $engine != test_clock_jumps ]] || continue
    while IFS= read -r setting; do
        runs+=("$engine" "$setting")
    done < <(sed -n 's/^    {\.name = "\([^"]*\)".*/\1/p' "$here/$engine.c")
done
# shellcheck disable=SC2016 # the inner shell expands it
((${#runs[@]} == 0)) || printf '%s\0' "${runs[@]}" |
    xargs -0 -P "${JOBS:-2}" -n 2 bash -c 'BATON_TEST=$4 "$1/$3" >"$2/$3 $4.log" 2>&1 ||
        { echo "not as promised: $2/$3 $4.log" >&2; exit 1; }' - "$folder" "$logs" || bad=1

echo '| engine | setting | faults | grants | lost | lost, with a replica or a memory | double | fences that fell | longest without a grant | of one name | until the first grant |'
echo '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |'
for ((i = 0; i < ${#runs[@]}; i += 2)); do
    sed -n 's/^| /| /p' "$logs/${runs[i]} ${runs[i + 1]}.log"
done
[[ " ${engines[*]} " == *' test_clock_jumps '* ]] || exit $bad
echo
"$folder/test_clock_jumps" >"$logs/clock jumps.log" 2>&1 || bad=1
echo '| clock | noticed by both batonds after (there, back) | grants | lost | double | fences that fell | longest without a grant of one name |'
echo '| --- | --- | --- | --- | --- | --- | --- |'
grep -E '^\| ' "$logs/clock jumps.log"
grep -E 'whose clock' "$logs/clock jumps.log"
echo "by fault: $logs" >&2
exit $bad
