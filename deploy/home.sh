#!/bin/bash
# Where the project lives is one line, HOME_URL in the Makefile. Some tools want it as a literal in files of theirs:
# the module path of Go, the groupId and scm of Maven, the links that package registries show.
#   deploy/home.sh URL       moves the project to https://HOST/PATH: writes it into the Makefile and into those files
#   deploy/home.sh           prints the places that have another; fails if there are any
#   deploy/home.sh --url, --module, --group     prints HOME_URL, the path of the Go module, or the groupId
set -euo pipefail
cd "$(dirname "$0")/.."

# FILE:TEXT, where HOME is the host and the path, and GROUP the groupId.
table='Makefile:HOME_URL := https://HOME
clients/README.md:HOME/clients/go@latest
clients/go/go.mod:module HOME/clients/go
clients/go/README.md:HOME/clients/go
clients/go/baton_test.go:baton "HOME/clients/go"
clients/go/batontest/batontest.go:baton "HOME/clients/go"
clients/go/conformance/main.go:baton "HOME/clients/go"
clients/java/README.md:GROUP:baton-client
clients/java/pom.xml:<groupId>GROUP</groupId>
clients/java/pom.xml:<url>https://HOME</url>
clients/java/pom.xml:<connection>scm:git:https://HOME.git</connection>
clients/node/package.json:"homepage": "https://HOME"
clients/node/package.json:"url": "git+https://HOME.git"
clients/python/pyproject.toml:Homepage = "https://HOME"
docs/deploy.md:HOME/clients/go
docs/deploy.md:GROUP
deploy/debian/control:Homepage: https://HOME
deploy/debian/copyright:Source: https://HOME'

# The domain from behind, and whose project it is there: registries of Java ask for a domain of one's own.
group_of() { # HOST/PATH
    local owner=${1%/*} host=${1%%/*} group
    case $host in github.com | gitlab.com) host=${host%.com}.io ;; esac
    group=$(tr . '\n' <<<"$host" | tac | paste -sd .)
    [[ $owner == "${1%%/*}" ]] || group+=.$(tr / . <<<"${owner#*/}")
    echo "$group"
}

move() { # FROM TO: each HOST/PATH
    local file text old_group new_group
    old_group=$(group_of "$1")
    new_group=$(group_of "$2")
    while IFS=: read -r file text; do
        text=$(<"$file")
        text=${text//"$1"/"$2"}
        text=${text//">$old_group<"/">$new_group<"}
        text=${text//"\`$old_group"/"\`$new_group"}
        printf '%s\n' "$text" >"$file"
    done < <(sort -u -t : -k 1,1 <<<"$table")
}

check() { # HOST/PATH
    local file text failed=0 group
    group=$(group_of "$1")
    while IFS=: read -r file text; do
        text=${text//HOME\//"$1/"}
        text=${text//\/\/HOME/"//$1"}
        text=${text//GROUP/"$group"}
        grep -qF -- "$text" "$file" && continue
        echo "$file: expected \"$text\", because HOME_URL is https://$1 (deploy/home.sh URL writes both)" >&2
        failed=1
    done <<<"$table"
    return $failed
}

home=$(sed -n 's|^HOME_URL *:= *https://||p' Makefile)
case ${1-} in
'') check "$home" ;;
--url) echo "https://$home" ;;
--module) echo "$home/clients/go" ;;
--group) group_of "$home" ;;
*)
    [[ $1 =~ ^https://[a-z0-9.-]+\.[a-z]+(/[A-Za-z0-9_-][A-Za-z0-9._-]*)+$ && $1 != *.git ]] ||
        { echo "\"$1\" is no https://HOST/PATH. Give it without .git and without a slash at its end." >&2 && exit 1; }
    move "$home" "${1#https://}"
    ;;
esac
