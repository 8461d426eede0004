#!/bin/bash
# `baton run` in units of systemd and in crontabs, as steps for in_root.sh, which sources this file.

unit() { # NAME LINE...
    printf '%s\n' '[Service]' "${@:2}" >"/run/systemd/system/$1.service"
    systemctl daemon-reload
}

unit_property() { # UNIT NAME
    systemctl show --property "$2" --value "$1"
}

# A command with two descendants in sessions of their own. With `stubborn` one of them ignores SIGTERM.
make_tree() {
    cat >/usr/local/bin/tree <<'END'
#!/bin/sh
setsid sleep 7001 &
(
    [ "$1" != stubborn ] || trap '' TERM
    setsid sleep 7002 &
)
exec sleep 7003
END
    chmod 755 /usr/local/bin/tree
}

tree_has() { # COUNT of processes
    [[ $(pgrep -fc '^sleep 700') == "$1" ]]
}

runs_as_a_unit() {
    make_tree
    unit job Type=exec 'ExecStart=/usr/bin/baton run job -- /usr/local/bin/tree'
    systemctl start job
    eventually tree_has 3
    [[ $(baton run -n -E 5 job -- true; echo $?) == 5 ]] || fail "the unit runs without its lock"
    systemctl stop job
    tree_has 0 || fail "the unit has stopped without a part of its processes"
    baton run -n job -- true || fail "the unit has stopped without a release"
    [[ $(unit_property job Result) == success ]] || fail "stopped: $(unit_property job Result)"
    ok "baton run holds its lock as a unit, and releases it when the unit stops"
}

# With KillMode=process systemd leaves the rest to baton. The next holder must not see any of them.
dies_as_a_unit() {
    local mode
    for mode in process control-group; do
        unit "job-$mode" Type=exec "KillMode=$mode" \
            'ExecStart=/usr/bin/baton run --ttl=5s job -- /usr/local/bin/tree stubborn'
        systemctl start "job-$mode"
        eventually tree_has 3
        systemctl kill --signal=KILL --kill-whom=main "job-$mode"
        baton run -q job -- sh -c '! pgrep -af "^sleep 700"' ||
            fail "KillMode=$mode: of the killed unit these run without the lock"
        [[ $(unit_property "job-$mode" Result) == signal ]] || fail "killed: $(unit_property "job-$mode" Result)"
    done
    ok "baton run, killed as a unit, ends its processes before the lock ends"
}

tells_the_exit_status() {
    unit job Type=oneshot "ExecStart=/usr/bin/baton run job -- sh -c 'exit 7'"
    ! systemctl start job 2>/dev/null || fail "the unit has succeeded"
    [[ $(unit_property job ExecMainStatus) == 7 ]] || fail "exit status: $(unit_property job ExecMainStatus)"
    unit job Type=oneshot "ExecStart=/usr/bin/baton run job -- sh -c 'kill -SEGV \$\$\$\$'"
    ! systemctl start job 2>/dev/null || fail "the unit has succeeded"
    [[ $(unit_property job Result) == signal && $(unit_property job ExecMainStatus) == 11 ]] ||
        fail "killed: $(unit_property job Result) $(unit_property job ExecMainStatus)"
    ok "systemd reports the exit status of the command"
}

make_backup() {
    printf '%s\n' '#!/bin/sh' 'env >>/tmp/backups' >/usr/local/bin/backup
    chmod 755 /usr/local/bin/backup
    : >/tmp/backups
}

backups_are() { # COUNT
    [[ $(grep -c '^BATON_NAME=nightly$' /tmp/backups) == "$1" ]]
}

block_of() { # LANGUAGE DOCUMENT: its first block of that language
    sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/ { /^\`\`\`\$/q; /^\`\`\`/!p }" "/packages/$2"
}

runs_the_unit_of_the_docs() {
    make_backup
    block_of ini shell.md >/run/systemd/system/nightly.service
    systemctl daemon-reload
    baton acquire -n --token-file=/tmp/nightly nightly || fail "nightly is not free"
    systemctl start nightly || fail "a lock that is taken is a failure"
    backups_are 0 || fail "it ran without the lock"
    baton release --token-file=/tmp/nightly nightly
    systemctl start nightly || fail "the unit has failed"
    backups_are 1 || fail "it did not run"
    ok "the unit of docs/shell.md runs its command if the lock is free"
}

cron_tells() { # TEXT
    [[ $(journalctl --no-pager -u cron) == *"$1"* ]]
}

cron_rests() {
    [[ $(pgrep -xc cron) == 1 ]]
}

# The line of the README in two crontabs, and a line whose output cron mails. For cron alone it is a few
# seconds before 3 o'clock.
runs_from_cron() {
    make_backup
    apt-get -q install -y --no-install-recommends cron libfaketime >/tmp/apt.log 2>&1 || fail "$(cat /tmp/apt.log)"
    printf '%s\n' '#!/bin/sh' 'cat >>/tmp/mail' >/usr/sbin/sendmail
    chmod 755 /usr/sbin/sendmail
    block_of crontab README.md | sed 's/baton run/root &/' >/etc/cron.d/nightly
    { block_of crontab README.md && echo '0 3 * * *  echo printed'; } | crontab -
    printf '%s\n' 'EXTRA_OPTS="-L 15"' "LD_PRELOAD=$(dpkg -L libfaketime | grep '/libfaketime.so.1$')" \
        'FAKETIME="@2026-01-01 02:59:55"' >/etc/default/cron
    systemctl restart cron
    eventually grep -qx printed /tmp/mail
    eventually backups_are 1
    eventually cron_tells 'failed with exit status 75'
    eventually cron_rests
    backups_are 1 || fail "it ran twice: $(cat /tmp/backups)"
    ! grep -q baton /tmp/mail || fail "^ $(cat /tmp/mail)"
    ok "the crontab line of the README runs once, and the other machine is silent"
}

