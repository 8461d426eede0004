#!/bin/bash
# The units: systemd finds nothing wrong with them, and what the service may do is little.
. tests/package/common.sh

cp deploy/systemd/baton.service deploy/systemd/baton.socket "$folder"
sed -i "s|/usr/bin/batond|$batond|" "$folder/baton.service"

# It also tells what it thinks of other units of this machine.
for unit in baton.service baton.socket; do
    SYSTEMD_UNIT_PATH=$folder: systemd-analyze verify --man=no "$folder/$unit" >"$folder/log" 2>&1 ||
        fail "systemd-analyze verify $unit:" "$(<"$folder/log")"
    ! grep -F "baton." "$folder/log" >&2 || fail "^ systemd-analyze verify $unit"
done

# 10 is all that root may do. Newer versions ask for more.
score=$(systemd-analyze security --offline=true --no-pager "$folder/baton.service" |
    sed -n 's/.*Overall exposure level for baton.service: \([0-9.]*\).*/\1/p')
echo "systemd-analyze security: $score"
awk -v score="$score" 'BEGIN { exit !(score != "" && score <= 1.5) }' || fail "that is more than 1.5"
systemd-analyze security --offline=true --threshold=15 "$folder/baton.service" >/dev/null ||
    fail "--threshold says so, too"

# What it says of itself has to be what batond does.
setting() { # NAME
    sed -n "s/^$1=//p" "$folder/baton.service"
}
[[ $(setting KillMode) == mixed ]] || fail "SIGTERM would end the embedded Redis before batond"
[[ $(setting Type) == notify ]] || fail "systemd would not wait until batond serves"
[[ $(setting LogRateLimitIntervalSec) == 0 ]] || fail "journald would drop lines of the audit log"
address=$(sed -n 's/^ListenStream=//p' "$folder/baton.socket")
help=$("$batond" --help)
[[ $help == *"(default: $address)"* ]] || fail "the socket is at $address, batond elsewhere"
