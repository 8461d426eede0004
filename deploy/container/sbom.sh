#!/bin/bash
# Prints the list of what is in the image as SPDX 2.3 (JSON): batond itself, and the packages of Debian whose
# records gather.sh has put there.
#   deploy/container/sbom.sh ROOT VERSION REVISION
# Environment: SOURCE_DATE_EPOCH (seconds; the time in the list), so that the same image has the same list.
set -euo pipefail
shopt -s inherit_errexit
export LC_ALL=C
root=$1 version=$2 revision=$3
created=$(date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ)

cat "$root"/var/lib/dpkg/status.d/* | awk -v version="$version" -v revision="$revision" -v created="$created" '
    # A package of Debian: its binary and its source, by the addresses that scanners look up (purl).
    function package(    id, fields) {
        id = "SPDXRef-" name
        gsub(/[^A-Za-z0-9.-]/, "-", id)
        if (!source) source = name
        sub(/ .*/, "", source)
        fields = sprintf("\"SPDXID\":\"%s\",\"name\":\"%s\",\"versionInfo\":\"%s\"", id, name, number)
        printf ",\n  {%s,\"supplier\":\"Organization: Debian\",\"downloadLocation\":\"NOASSERTION\"," \
            "\"filesAnalyzed\":false,\"sourceInfo\":\"built from %s\",\"externalRefs\":[{\"referenceCategory\":\"PACKAGE-MANAGER\"," \
            "\"referenceType\":\"purl\",\"referenceLocator\":\"pkg:deb/debian/%s@%s?arch=%s\"}]}", \
            fields, source, encoded(name), encoded(number), architecture
        related = related sprintf(",\n  {\"spdxElementId\":\"SPDXRef-baton\",\"relationshipType\":\"DEPENDS_ON\"," \
            "\"relatedSpdxElement\":\"%s\"}", id)
    }
    function encoded(text) {
        gsub(/%/, "%25", text); gsub(/\+/, "%2B", text); gsub(/:/, "%3A", text)
        return text
    }
    BEGIN {
        printf "{\"spdxVersion\":\"SPDX-2.3\",\"dataLicense\":\"CC0-1.0\",\"SPDXID\":\"SPDXRef-DOCUMENT\",\"name\":\"baton-%s\"," \
            "\"documentNamespace\":\"urn:baton:image:%s:%s\",\"creationInfo\":{\"created\":\"%s\",\"creators\":[\"Tool: deploy/container/sbom.sh\"]}," \
            "\n\"packages\":[\n", version, version, revision, created
        printf "  {\"SPDXID\":\"SPDXRef-baton\",\"name\":\"baton\",\"versionInfo\":\"%s\",\"downloadLocation\":\"NOASSERTION\"," \
            "\"filesAnalyzed\":false,\"licenseDeclared\":\"Apache-2.0\",\"sourceInfo\":\"revision %s\"}", version, revision
    }
    /^Package: / { if (name) package(); name = $2; number = source = architecture = "" }
    /^Version: / { number = $2 }
    /^Source: / { source = substr($0, 9) }
    /^Architecture: / { architecture = $2 }
    END {
        if (name) package()
        printf "\n],\n\"relationships\":[\n  {\"spdxElementId\":\"SPDXRef-DOCUMENT\",\"relationshipType\":\"DESCRIBES\"," \
            "\"relatedSpdxElement\":\"SPDXRef-baton\"}%s\n]}\n", related
    }'
