#!/bin/bash
# deploy/install-packages.sh: what it installs does not start, now or at the next boot, and its policy goes even if it
# is killed. apt-get and dpkg-query are made up; they work in a root of their own.
. tests/package/common.sh
export folder DPKG_ROOT=$folder/root PATH=$folder/bin:$PATH:/usr/sbin
policy=$DPKG_ROOT/usr/sbin/policy-rc.d
units=$DPKG_ROOT/etc/systemd/system

mkdir "$folder/bin" "$folder/tmp"
export TMPDIR=$folder/tmp
cat >"$folder/bin/apt-get" <<'APT'
#!/bin/bash
[[ $* == *install* ]] || exit 0
"$DPKG_ROOT/usr/sbin/policy-rc.d" || echo $? >"$folder/verdict"
cd "$DPKG_ROOT/etc"
for unit in nginx redis-server systemd-timesyncd getty@; do
    ln -s "/lib/systemd/system/$unit.service" systemd/system/multi-user.target.wants/
done
ln -s /lib/systemd/system/redis-server.service systemd/system/redis.service
ln -s /usr/lib/systemd/system/podman.socket systemd/system/multi-user.target.wants/
mkdir rc2.d rc3.d rc4.d rc5.d
for level in 2 3 4 5; do ln -s ../init.d/webdis rc$level.d/S01webdis; done
[[ ! -p $folder/hold ]] || read -r <"$folder/hold"
APT
printf '#!/bin/sh\nexit 1\n' >"$folder/bin/dpkg-query"
printf '#!/bin/sh\nexec "$@"\n' >"$folder/bin/sudo"
chmod +x "$folder/bin/"*

# As it is before: one service is there, and no folder of init.
make_root() {
    rm -rf "$DPKG_ROOT" "$folder/verdict"
    mkdir -p "$units/multi-user.target.wants" "$DPKG_ROOT/usr/sbin"
    ln -s /lib/systemd/system/haproxy.service "$units/multi-user.target.wants/"
}

# What of the install has stayed.
links() {
    (cd "$DPKG_ROOT/etc" && find systemd rc?.d -type l ! -name 'K*' | sort | paste -sd ' ')
}
stay="systemd/system/multi-user.target.wants/getty@.service systemd/system/multi-user.target.wants/haproxy.service \
systemd/system/multi-user.target.wants/systemd-timesyncd.service"

is_clean() {
    [[ ! -e $policy && $(links) == "$stay" && -z $(ls "$folder/tmp") ]]
}

# python3-redis and libclang-rt-dev are asked for wherever dpkg-query does not know them.
make_root
said=$(deploy/install-packages.sh fuzz 2>&1)
is_clean || fail "what stays: $(links) $(ls "$policy" "$folder/tmp" 2>&1)"
[[ $(<"$folder/verdict") == 101 ]] || fail "services may start"
[[ $said == *$'\nnot started at boot: nginx podman.socket redis redis-server webdis' ]] || fail "it says: $said"

# Killed, while apt-get goes on: the policy stays as long as apt-get, and no longer.
make_root
mkfifo "$folder/hold"
deploy/install-packages.sh fuzz >/dev/null 2>&1 &
until [[ -L $DPKG_ROOT/etc/rc5.d/S01webdis ]]; do sleep 0.05; done
kill -KILL $!
wait $! 2>/dev/null || true
[[ -e $policy ]] || fail "apt-get is still at work, and may start services"
echo >"$folder/hold"
until is_clean; do sleep 0.05; done
rm "$folder/hold"

# The policy of a script that was killed with all its processes is taken away; the system's own is not.
make_root
sed -n "/^policy_text='/,/'\$/p" deploy/install-packages.sh | sed "s/^policy_text='//; s/'\$//" >"$policy"
chmod +x "$policy"
deploy/install-packages.sh fuzz >/dev/null 2>&1
is_clean || fail "what stays of an old policy: $(links)"
make_root
printf '#!/bin/sh\nexit 102\n' >"$policy"
chmod +x "$policy"
deploy/install-packages.sh fuzz >/dev/null 2>&1
[[ $(tail -n 1 "$policy") == 'exit 102' && $(<"$folder/verdict") == 102 ]] || fail "the system's own policy is not respected"
