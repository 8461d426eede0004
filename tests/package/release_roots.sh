#!/bin/bash
# Makes a release in a root of each Debian, twice, which has to give the same bytes. Another root, which has no clone,
# installs it from those files alone (in_release_root.sh). The image is made and loaded on this machine.
#   tests/package/release_roots.sh [PART...]   12 13 image
# Needs root, and the machine's mirror of Debian. It takes the last commit.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C

cd "$(dirname "$0")/../.."
[[ $(id -u) == 0 ]] || exec sudo --preserve-env=HOME,TMPDIR,XDG_CACHE_HOME "$0" "$@"

parts=("$@")
((${#parts[@]})) || parts=(12 13 image)
# shellcheck source=tests/package/roots.sh
. tests/package/roots.sh
folder=$(mktemp -d "${TMPDIR:-/tmp}/release-roots.XXXXXX")
of_both=(--root "$folder/images" --runroot "$folder/run" --storage-driver overlay)
export BUILDAH_ISOLATION=chroot # it needs fewer rights
version=$(sed -n 's/^VERSION *:= *//p' Makefile)
passed=0 failed=0
git clone --quiet . "$folder/clone" # commits that come meanwhile do not count

clean_up() {
    podman "${of_both[@]}" rm --all --force --time 0 >/dev/null 2>&1 || true
    umount -q --lazy "$folder/images/overlay" || true
    rm -rf "$folder"
}
trap clean_up EXIT

check() { # WHAT FUNCTION ARGUMENT...: a process of its own, which the first command that fails ends
    local status=0
    (set -e && "${@:2}") >"$folder/log" 2>&1 &
    wait $! || status=$?
    grep '^ok: ' "$folder/log" | sed 's/^ok:/   /' || true
    if ((status == 0)); then
        passed=$((passed + 1))
        echo "passed: $1 ($SECONDS s)"
    else
        failed=$((failed + 1))
        tail -n 60 "$folder/log"
        echo "FAILED: $1"
    fi
}

install_in() { # ROOT PACKAGE...
    root_enter "$1" apt-get -q update
    root_enter "$1" apt-get -q install -y --no-install-recommends "${@:2}"
}

# The release is in $folder/release-RELEASE then.
is_made_twice_the_same() { # RELEASE
    local root=$folder/root
    root_unpack "$1" "$root"
    install_in "$root" git make ca-certificates
    git clone --quiet "$folder/clone" "$root/baton"
    root_enter "$root" make -C /baton release WITHOUT=image
    mv "$root/baton/build/release" "$folder/release-$1"
    root_enter "$root" make -C /baton release WITHOUT=image
    diff "$folder/release-$1/SHA256SUMS" "$root/baton/build/release/SHA256SUMS"
    rm -rf "$root"
}

# The languages come from the mirror; then there is no network.
is_installed_as_users_do() { # RELEASE
    local root=$folder/user
    root_unpack "$1" "$root"
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d" # apt-get starts nothing
    chmod 755 "$root/usr/sbin/policy-rc.d"
    mkdir "$root/examples"
    cp -R "$folder/release-$1" "$root/release"
    cp tests/package/in_release_root.sh "$root"
    clients/conformance/readme.py "$root/examples"
    install_in "$root" ca-certificates python3-venv nodejs npm golang-go default-jdk-headless
    root_enter "$root" bash -c 'apt-get -q install -y /release/baton*.deb'
    export -f root_enter
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare --net bash -c 'ip link set lo up && root_enter "$@"' - "$root" bash /in_release_root.sh
    rm -rf "$root"
}

# In place of a registry, the root that the tests keep becomes the base image.
make_base() {
    mkdir "$folder/base"
    cp "$(root_base 13)" "$folder/base/root.tar"
    printf 'FROM scratch\nADD root.tar /\nCMD ["bash"]\n' >"$folder/base/Dockerfile"
    buildah "${of_both[@]}" build --quiet --tag docker.io/library/debian:trixie-slim "$folder/base"
    rm -rf "$folder/base"
}

make_image() { # FOLDER
    (
        cd "$folder/clone"
        ENGINE="buildah ${of_both[*]}" WITHOUT='source_tarball packages documents python node java go' \
            deploy/release.sh "$1" "$version"
    )
}

image_is_the_same_and_gives_a_lock() {
    local container
    make_base
    make_image "$folder/image"
    buildah "${of_both[@]}" rmi --force "localhost/baton:$version"
    make_image "$folder/image-again"
    diff "$folder/image/SHA256SUMS" "$folder/image-again/SHA256SUMS"
    buildah "${of_both[@]}" rmi --force "localhost/baton:$version"
    podman "${of_both[@]}" load --input "$folder/image/baton-$version-image.oci.tar"
    container=$(podman "${of_both[@]}" --runtime runc run --detach --pull=never --network none --ulimit nofile=16384:16384 \
        --ulimit nproc=1000:1000 --read-only --cap-drop all --env BATON_ALLOW_ANONYMOUS=true "localhost/baton:$version")
    podman "${of_both[@]}" --runtime runc exec "$container" baton acquire --patience=30s deploy
    echo "ok: podman load has a lock"
}

for part in "${parts[@]}"; do
    if [[ $part == image ]]; then
        check "image: twice the same, and loaded" image_is_the_same_and_gives_a_lock
    else
        check "Debian $part: twice the same release" is_made_twice_the_same "$part"
        check "Debian $part: installed as users do" is_installed_as_users_do "$part"
    fi
done
echo "$passed passed, $failed failed"
((failed == 0))
