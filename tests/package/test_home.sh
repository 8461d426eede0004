#!/bin/bash
# Where the project lives is HOME_URL of the Makefile wherever it is told, and deploy/home.sh moves all of it.
. tests/package/common.sh

deploy/home.sh
url=$(deploy/home.sh --url)
mkdir "$folder/tree"
tar --exclude=./build --exclude=./.git --exclude=node_modules -cf - . | tar -C "$folder/tree" -xf -
cp -R "$folder/tree" "$folder/before"
cd "$folder/tree"
deploy/home.sh https://github.com/Team/tool
deploy/home.sh || fail "^ was not moved"
[[ $(deploy/home.sh --url) == https://github.com/Team/tool ]] || fail "HOME_URL is $(deploy/home.sh --url)"
[[ $(deploy/home.sh --group) == io.github.Team ]] || fail "the groupId is $(deploy/home.sh --group)"
! grep -rnF --exclude=CHANGELOG.md "${url#https://}" . >&2 || fail "^ still has $url: deploy/home.sh does not know it"
! deploy/home.sh https://github.com/Team/tool.git 2>/dev/null || fail "takes an address with .git"
sed -i 's|"homepage": "https://github|"homepage": "https://other|' clients/node/package.json
! deploy/home.sh 2>/dev/null || fail "does not notice a file with another home"
sed -i 's|"homepage": "https://other|"homepage": "https://github|' clients/node/package.json
deploy/home.sh "$url"
diff -r "$folder/before" . >&2 || fail "^ is what differs after the way there and back"
