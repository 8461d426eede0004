#!/bin/bash
# Tests the page in a headless Chromium: tests/ui/run.sh BUILD_FOLDER [PATTERN]. `make ui-test` calls it.
set -euo pipefail

build=$1
npm=$build/npm-ui

# axe-core comes from npm, at the version that package.json pins.
if ! cmp -s tests/ui/package.json "$npm/installed.json"; then
    mkdir -p "$npm"
    cp tests/ui/package.json "$npm/package.json"
    npm install --silent --ignore-scripts --no-audit --no-fund --no-package-lock --prefix "$npm"
    cp tests/ui/package.json "$npm/installed.json"
fi

BATON_AXE=$npm/node_modules/axe-core/axe.min.js BATON_PICTURES=$build/ui \
    timeout -k 10 "${BATON_TEST_LIMIT:-300}" node tests/ui/run.js "${2-}"
