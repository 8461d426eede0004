#!/bin/bash
# Builds the Debian package in a clean root of each release, checks it by lintian, and lets another
# clean root, in which systemd runs, install, use, upgrade and remove it (in_root.sh). Where Debian has
# valkey, a part of the tests runs on that in the root of the build, too.
#   tests/package/clean_roots.sh [RELEASE...]   12 13
# Needs root, and the machine's mirror of Debian.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

cd "$(dirname "$0")/../.."
[[ $(id -u) == 0 ]] || exec sudo --preserve-env=HOME,XDG_CACHE_HOME "$0" "$@"

releases=("$@")
((${#releases[@]})) || releases=(12 13)
# shellcheck source=tests/package/roots.sh
. tests/package/roots.sh
folder=$(mktemp -d "${TMPDIR:-/tmp}/roots.XXXXXX")
storage=(--root "$folder/podman" --runroot "$folder/podman.run" --storage-driver overlay
    --runtime runc --cgroup-manager cgroupfs)

clean_up() {
    podman "${storage[@]}" rm -f -t 0 -a >/dev/null 2>&1 || true
    # When a container has ended, its monitor runs podman once more, which writes into the folder.
    for ((i = 0; i < 100; i++)); do
        pgrep -f -- "--root $folder/podman" >/dev/null || break
        sleep 0.1
    done
    while umount -q --lazy "$folder/podman/overlay"; do # podman has bound it to itself, each run once
        true
    done
    rm -rf "$folder"
}
trap clean_up EXIT

unpack() { # RELEASE ROOT
    root_unpack "$1" "$2"
    mkdir "$2/packages"
    printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d" # nothing is started from outside
    chmod 755 "$2/usr/sbin/policy-rc.d"
}

build() { # RELEASE: the package is in $folder/RELEASE then
    local root=$folder/build-$1
    unpack "$1" "$root"
    mkdir "$root/baton" "$folder/$1"
    tar --exclude=./build --exclude=./.git --exclude=./node_modules -cf - . | tar -C "$root/baton" -xf -
    ln -s deploy/debian "$root/baton/debian" # where apt looks for what the build needs
    root_enter "$root" apt-get -q update
    root_enter "$root" apt-get -q build-dep -y --no-install-recommends /baton
    rm "$root/baton/debian"
    root_enter "$root" /baton/deploy/debian/build.sh /packages
    [[ $1 == 12 ]] || on_valkey "$root"
    cp "$root"/packages/* "$folder/$1"
    mv "$root/var/lib/apt/lists" "$folder/lists-$1"
    rm -rf "$root"
}

# What batond asks of a server, and what servers do when one of them falls. Not test_cluster_torn: Valkey
# has its replicas agree to CLUSTER SETSLOT, so slots cannot be torn there as that test tears them.
on_valkey() { # ROOT
    local suites="scripts/ redis/test_reconnect redis/test_sentinel integration/test_acquire
        integration/test_waiting integration/test_sentinel integration/test_confirm_sentinel
        integration/test_cluster. integration/test_cluster_changes integration/test_cluster_losses
        integration/test_cluster_moves integration/test_cluster_start integration/test_cluster_clocks"
    root_enter "$1" /baton/deploy/install-packages.sh build run test valkey
    root_enter "$1" make -C /baton test BATON_TEST_REDIS_SERVER=valkey-server \
        ONLY="${suites//$'\n'/ }"
    echo "ok: works on $(root_enter "$1" valkey-server --version | sed 's/ sha=.*//'), a part of the tests (${SECONDS} s)"
}

# The same with a higher version, and with a default in baton.conf that has changed.
next_version() { # RELEASE
    local content=$folder/next-$1
    dpkg-deb -R "$folder/$1"/baton_*.deb "$content"
    sed -i 's/^Version: .*/&+next/' "$content/DEBIAN/control"
    sed -i 's/^#BATON_MAX_TTL=.*/#BATON_MAX_TTL=2h/' "$content/etc/baton/baton.conf"
    dpkg-deb --root-owner-group -b "$content" "$folder/$1/next.deb"
    rm -rf "$content"
}

# A root with systemd, in which what the package recommends can be installed with no network.
prepare() { # RELEASE
    local root=$folder/root-$1
    unpack "$1" "$root"
    cp "$folder/$1"/baton_*.deb "$root/packages/baton.deb"
    cp "$folder/$1"/baton-client_*.deb "$root/packages/baton-client.deb"
    cp "$folder/$1/next.deb" tests/package/{dead_links,in_root,run_steps}.sh README.md docs/shell.md "$root/packages"
    rm -rf "$root/var/lib/apt/lists"
    mv "$folder/lists-$1" "$root/var/lib/apt/lists" # as they were for the build
    root_enter "$root" apt-get -q install -y --no-install-recommends systemd systemd-sysv dbus curl procps
    root_enter "$root" apt-get -q install -y --download-only --no-install-recommends cron libfaketime
    root_enter "$root" apt-get -q install -y --download-only /packages/baton.deb /packages/baton-client.deb
    rm "$root/usr/sbin/policy-rc.d"
}

# What restrains the service needs mounts and namespaces, which is why the container is privileged.
# Podman starts it without a network of its own making; loopback is there.
boot() { # RELEASE
    podman "${storage[@]}" run -d --name "baton-$1-$$" --privileged --systemd=always --network=none \
        --ulimit nofile=16384:16384 --ulimit nproc=4000:4000 --rootfs "$folder/root-$1" /sbin/init
}

inside() { # RELEASE COMMAND...
    timeout 400 podman "${storage[@]}" exec "baton-$1-$$" "${@:2}"
}

run() { # RELEASE
    prepare "$1"
    boot "$1"
    inside "$1" bash /packages/in_root.sh
}

try() { # RELEASE: what is said of it goes to a log
    build "$1"
    lintian --allow-root --fail-on error,warning,info -E --pedantic "$folder/$1"/baton{,-client}_*.deb
    next_version "$1"
    run "$1"
}

# Side by side: each waits for the mirror half of the time. (root_base is for one at a time.)
for release in "${releases[@]}"; do
    root_base "$release" >/dev/null
done
declare -A running=()
for release in "${releases[@]}"; do
    (trap - EXIT && try "$release") >"$folder/$release.log" 2>&1 </dev/null &
    running[$release]=$!
done
failed=0
for release in "${releases[@]}"; do
    if wait "${running[$release]}"; then
        grep '^ok: ' "$folder/$release.log" | sed "s/^ok:/Debian $release:/"
    else
        failed=$((failed + 1))
        printf -- '---- Debian %s\n' "$release"
        tail -n 60 "$folder/$release.log"
    fi
done
echo "$((${#releases[@]} - failed)) passed, $failed failed"
((failed == 0))
