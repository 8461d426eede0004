#!/bin/bash
# Completions of baton: what a shell offers is what baton knows. zsh and fish are asked where they are installed.
. tests/package/common.sh

for form in bash zsh fish; do
    awk -v baton="$baton" -v form=$form -f deploy/completions.awk >"$folder/$form"
done

# Outside of a completion.
compopt() {
    :
}
complete() {
    [[ ${*: -1} == baton ]] || fail "it completes ${*: -1}"
}
# shellcheck disable=SC1091
source "$folder/bash"

offers() { # EXPECTED WORD...: the last word is completed
    local expected=$1
    shift
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    _baton
    # Files come in the order of the folder; bash sorts them when it shows them.
    [[ ${COMPREPLY[0]-} != "$folder"/* ]] || mapfile -t COMPREPLY < <(printf '%s\n' "${COMPREPLY[@]}" | sort)
    [[ ${COMPREPLY[*]} == "$expected" ]] ||
        fail "\"$*\" offers: ${COMPREPLY[*]}" "and not: $expected"
}

touch "$folder/key.1" "$folder/key.2"
offers 'run renew release' baton r
offers '--help' baton --h
offers '--on-lost=' baton run --on-l
offers '' baton show --on
offers 'run' baton help ru
offers 'list' baton --url = http://h:1 li
offers '--ca= --cert= --connect-timeout=' baton --json --c
offers 'kill ignore' baton run --on-lost = ''
offers 'kill ignore' baton run --on-lost =
offers 'ignore' baton run nightly --on-lost = i
offers "$folder/key.1 $folder/key.2" baton list --auth-file = "$folder/key"
offers 'SIGTERM' baton run --signal = TER
offers '' baton acquire -w ''
offers '' baton run x -- --on
offers "$folder/key.1 $folder/key.2" baton run x -- cat "$folder/key"
for command in $("$baton" --help | sed -nE '/^Options/q; s/^  ([a-z]+) .*/\1/p'); do
    "$baton" "$command" --help | sed -nE 's/^  .{4}(--[a-z-]+=?).*/\1/p' >"$folder/options"
    offers "$(paste -s -d ' ' "$folder/options")" baton "$command" --
done

if [[ -n $(type -P fish) ]]; then
    asks_fish() { # LINE
        HOME=$folder fish --no-config -c "source $folder/fish; complete -C '$1'" | cut -f 1 | paste -s -d ' '
    }
    [[ $(asks_fish 'baton re') == 'release renew' ]] || fail "fish: $(asks_fish 'baton re')"
    [[ $(asks_fish 'baton --url=x help re') == 'release renew' ]] || fail "fish: $(asks_fish 'baton --url=x help re')"
    [[ $(asks_fish 'baton run --on-l') == '--on-lost' ]] || fail "fish: $(asks_fish 'baton run --on-l')"
    [[ $(asks_fish 'baton run --on-lost=k') == '--on-lost=kill' ]] || fail "fish: $(asks_fish 'baton run --on-lost=k')"
fi

# zsh completes only on a terminal.
if [[ -n $(type -P zsh) ]]; then
    cat >"$folder/asks" <<'ASKS'
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell "PS1=; fpath=($1 \$fpath); autoload -Uz compinit; compinit -u -D; baton() { :; }; echo rea''dy"
zpty -r -m shell line '*ready*'
zpty -w -n shell "$2"$'\t'
zpty -r -m shell line "*$3*"
print found
ASKS
    cp "$folder/zsh" "$folder/_baton"
    zsh -n "$folder/zsh" || fail "^ zsh"
    for line in 'baton rene|renew' 'baton --url=x help rene|renew' 'baton run --on-l|--on-lost' 'baton run --on-lost=i|ignore'; do
        [[ $(HOME=$folder timeout 60 zsh -f "$folder/asks" "$folder" "${line%|*}" "${line#*|}") == *found ]] ||
            fail "zsh does not complete ${line%|*}"
    done
fi
