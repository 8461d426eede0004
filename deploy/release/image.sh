# shellcheck shell=bash disable=SC2154 # release.sh sets the rest
# The image as an archive of OCI, and the list of its parts. release.sh sources this file.

# docker writes no layout of OCI that is the same twice.
engine() {
    if [[ -n ${ENGINE-} ]]; then
        echo "$ENGINE"
    elif command -v buildah >/dev/null; then
        echo buildah
    elif command -v podman >/dev/null; then
        echo podman
    else
        fail "The image needs buildah or podman. WITHOUT=image leaves it out."
    fi
}

# An archive of OCI has no HEALTHCHECK.
image() {
    local engine name=localhost/baton:$version layer
    engine=$(engine)
    BUILDER="$engine build" deploy/container/build.sh "$name" "$version" >"$work/log" 2>&1 ||
        { tail -n 5 "$work/log" >&2 && fail "The image cannot be built by $engine. WITHOUT=image leaves it out."; }
    mkdir "$work/oci"
    # shellcheck disable=SC2086 # the engine is words
    quietly $engine push --format oci "$name" "oci:$work/oci:baton:$version"
    tar -C "$work/oci" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=a+rX \
        -cf "$out/baton-$version-image.oci.tar" blobs index.json oci-layout
    for layer in "$work"/oci/blobs/sha256/*; do
        tar -xzOf "$layer" usr/share/doc/baton/sbom.spdx.json 2>/dev/null || true
    done >"$out/baton-$version-image.spdx.json"
    [[ -s $out/baton-$version-image.spdx.json ]] || fail "The image has no sbom.spdx.json."
}
