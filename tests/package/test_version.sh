#!/bin/bash
# The version is the one of the Makefile wherever it is told. A release changes it there and in these places.
set -euo pipefail
export LC_ALL=C

version=$(sed -n 's/^VERSION *:= *//p' Makefile)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || { echo "The Makefile has no version" >&2 && exit 1; }
failed=0
while IFS=: read -r file text; do
    grep -qF -- "${text//VERSION/$version}" "$file" && continue
    echo "$file: expected \"${text//VERSION/$version}\"" >&2
    failed=1
done <<'END_OF_TABLE'
openapi.yaml:  version: VERSION
openapi.yaml:                version: VERSION
deploy/debian/changelog:baton (VERSION)
deploy/kubernetes/example/kustomization.yaml:    newTag: VERSION
docs/deploy.md:registry.example.com/baton:VERSION
clients/python/baton/__init__.py:__version__ = "VERSION"
clients/node/package.json:  "version": "VERSION"
clients/java/pom.xml:  <version>VERSION</version>
clients/README.md:baton-client-VERSION.jar
clients/go/README.md:/clients/go@vVERSION -replace
README.md:Release VERSION, before 1.0
CHANGELOG.md:## VERSION (20
END_OF_TABLE
exit $failed
