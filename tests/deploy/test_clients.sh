#!/bin/bash
# Clients that openapi-typescript, @hey-api/openapi-ts and orval generate from openapi.yaml: they compile, have
# the types that somebody would write, and reach a lock by its name. The types of clients/node fit what it does.
# shellcheck source=tests/deploy/common.sh
source "${0%/*}/common.sh"
bin=$tools/node_modules/.bin
ln -s "$tools/node_modules" "$dir/node_modules"
cp "$root/tests/deploy/clients/"* "$dir"
export OPENAPI=$root/openapi.yaml OUTPUT=$dir/orval.ts DO_NOT_TRACK=1

start_batond batond --state-dir="$dir/state" --workers=1
export BATON=http://$address

cd "$dir"
echo '{"type": "commonjs"}' >package.json
expect "openapi-typescript" "$bin/openapi-typescript" "$OPENAPI" -o typescript.ts
expect "@hey-api/openapi-ts" "$bin/openapi-ts" -i "$OPENAPI" -o hey -c @hey-api/client-fetch
expect "orval" "$bin/orval" --config orval.config.cjs
((failed == 0)) || exit 1

expect "The types of a generated client are not as they should be:" \
    "$bin/tsc" --strict --skipLibCheck --noUncheckedIndexedAccess --target es2022 --lib es2022,dom,dom.iterable --module node16 \
    --types node --outDir built check.ts
((failed == 0)) || exit 1
expect "A generated client does not work:" node built/check.js

# Both say which errors there are, and of which kind each is.
errors_in() {
    sed -n 's/^\(export \)\?\(class [A-Za-z]* extends [A-Za-z]*\) .*/\2/p' "$root/clients/node/$1" | sort
}
expect "The errors of clients/node have other types:" diff <(errors_in errors.js) <(errors_in index.d.ts)

# tsc looks for a package in the folder above, too: there are the tools.
for kind in module commonjs; do
    mkdir -p "$kind/node_modules"
    ln -s "$root/clients/node" "$kind/node_modules/baton-client"
    cp library.ts "$kind"
    echo "{\"type\": \"$kind\"}" >"$kind/package.json"
    expect "The types of clients/node are not as they should be:" \
        "$bin/tsc" --strict --noUncheckedIndexedAccess --target es2022 --lib es2022,dom,dom.iterable --module node16 \
        --types node --outDir "$kind/built" "$kind/library.ts"
    ((failed == 0)) || exit 1
    expect "clients/node does not do what its types say:" node "$kind/built/library.js"
done
exit "$failed"
