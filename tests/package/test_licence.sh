#!/bin/bash
# The licence is the same wherever it is told.
. tests/package/common.sh

grep -q 'Apache License' LICENSE || fail "LICENSE is not the Apache License"
grep -q 'Version 2.0, January 2004' LICENSE || fail "LICENSE is not its version 2.0"
while IFS=: read -r file text; do
    grep -qF -- "$text" "$file" || fail "$file: expected \"$text\""
done <<'END'
README.md:[Apache License 2.0](LICENSE)
openapi.yaml:identifier: Apache-2.0
deploy/debian/copyright:License: Apache-2.0
Dockerfile:org.opencontainers.image.licenses="Apache-2.0"
CONTRIBUTING.md:[Apache License 2.0](LICENSE)
END
! grep -rniE 'rights are reserved|LicenseRef' LICENSE README.md openapi.yaml deploy docs Dockerfile ||
    fail "^ is another licence"
