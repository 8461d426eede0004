#!/bin/bash
# The list of what is in the image: it is valid, and has each package of Debian whose files are there, with the version that
# is installed. Here the root of the image is made from this machine's packages.
# shellcheck source=tests/deploy/common.sh disable=SC2016 # jq expands it
source "${0%/*}/common.sh"
cd "$root"
list=$dir/sbom.json
deploy/container/gather.sh "$dir/image" "$batond" redis-server
SOURCE_DATE_EPOCH=1763715600 deploy/container/sbom.sh "$dir/image" 1.2.3 0123abc >"$list"

expect "It is no SPDX 2.3" jq -e '.spdxVersion == "SPDX-2.3" and .creationInfo.created == "2025-11-21T09:00:00Z"' "$list"
expect "It has something twice" jq -e '[.packages[].SPDXID] | length == (unique | length)' "$list"
expect "A relation leads nowhere" jq -e '[.packages[].SPDXID] as $ids | .relationships | all(.relatedSpdxElement | IN($ids[]))' "$list"
# Each package is as dpkg knows it.
jq -r '.packages[1:][] | "\(.name) \(.versionInfo)"' "$list" | sort >"$dir/listed"
for file in "$dir/image/var/lib/dpkg/status.d"/*; do
    dpkg-query -W -f '${Package} ${Version}\n' "${file##*/}"
done | sort -u >"$dir/installed"
expect "It has not what is installed" diff "$dir/installed" "$dir/listed"
expect "The address of a package is not right" jq -e --arg version "$(dpkg-query -W -f '${Version}' redis-server)" '
    .packages[] | select(.name == "redis-server").externalRefs[0].referenceLocator |
    @uri "pkg:deb/debian/redis-server@\($version)?arch=" as $expected | startswith($expected)' "$list"
expect "The second list differs" diff "$list" <(SOURCE_DATE_EPOCH=1763715600 deploy/container/sbom.sh "$dir/image" 1.2.3 0123abc)
exit "$failed"
