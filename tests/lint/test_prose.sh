#!/bin/bash
# The checker of prose says what it should of one bad and one good text for each rule.
set -euo pipefail
prose=$PWD/tests/lint/prose.py
words=$PWD/tests/lint/words.py
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
bad=0

expect() { # RULES FILE: the complaints that its text (stdin) causes, "LINE:RULE" each
    local said found
    cat >"$2"
    said=$("$prose" . "$2" 2>&1) || true
    found=$(sed -n 's/^[^ :]*:\([0-9]*\): \([a-z]*\):.*/\1:\2/p' <<<"$said" | xargs)
    [[ $found == "$1" && (-n $found || $said == "prose: 0 complaints"*) ]] || { bad=1 && printf 'expected "%s", got "%s" for:\n%s\n' "$1" "$said" "$(cat "$2")"; }
}

expect 2:sentence a.md <<<'A short one.
If a lock is taken and a client does not want to wait for it then it asks again after a while and
finds that another one has come first and has the lock now.'
expect '' a.md <<<'If a lock is taken and a client does not want to wait, then it asks again after a while.
It may find that another client (one that came first, or one that has waited for a long time in the queue of
this name, and was always there) has the lock now.'
expect 1:passive a.md <<<'The plan is made by the worker that was woken by the message.'
expect '' a.md <<<'The worker that the message woke makes the plan. The plan is kept.'
expect '1:subject 2:subject 3:subject' a.md <<<'Who finds a lock taken can wait.
It fails, because what was sent is gone.
The page shows it to whoever asks.'
expect '' a.md <<<'If a lock is taken, a client can wait. The answer says what is wrong, and who holds the lock.
Who may ask? Every client.'
expect '1:negative 2:negative 3:negative' a.md <<<'There is no hold without a TTL.
It is not refused but for a reason.
It uses none that is old.'
expect '' a.md <<<'Every hold has a TTL. Neither a client nor batond decides. It is refused for one reason only.'
expect '1:term 2:term' a.md <<<'The era of the data has changed.
The client was told of the hold.'
expect '' a.md <<<'The epoch has changed. batond has reported the hold.'

# Only prose is read: no code, quotes, comments or targets of links.
expect '' a.md <<'END'
<!-- whoever -->
It says `told` and "heard", [here](whoever.md).
```sh
echo "who is told; whoever"
```
END
expect '3:subject 6:subject' a.md <<<'# Who may do it

| who | Whoever does it |
| --- | --- |
| what it is | a thing; a [thing](b.md) |
- Whoever is in a list.'
expect '3:subject 7:term 8:term' a.yaml <<<'info:
  title: Locks
  description: Whoever asks.
  told: no
  summary: |

    It was told.
  description: First
    it was told.
  other: told'
expect '3:subject 6:term' a.in <<<'.Sh WHOEVER
.Pp
What comes is
.Fl \-told .
.\" told
It is told.'
expect '2:term 4:subject' a.txt <<<'  --told=WHAT
      the client was told
  --other=WHO
      whoever can connect'
# shellcheck disable=SC2016 # the text of an alert
expect '1:subject 2:subject 5:subject' a.yml <<<'# Whoever asks.
runbook: Whoever asks.
# This is a command:
#   whoever
# Whoever reads {{ $labels.instance }}.'
expect '2:subject' a.conf <<<'whoever yes
# Whoever listens.'
expect '3:subject 5:term 6:negative' a.c <<<'/* "Whoever asks for it" */
log("told");
refuse("the lock goes to "
       "whoever asks");
log("%" PRId64 " clients were told");
log("nobody has " X, "there is no hold without a TTL");'
expect '2:subject' a.html <<<'<p title="whoever">
<b>Whoever</b> asks.'
expect '1:subject' a.json <<<'"title": "Whoever asks"
"query": "whoever asks"'

# Words that are gone, in the files that the list names.
mkdir base tests
printf 'int was_told;\n/* untold */\n/* Heard. */\nTEST_WITH(who_waits_is_granted, start, stop)\n' >base/a.c
cp base/a.c tests/a.c
found=$({ "$words" base/a.c tests/a.c || true; } | sed -n 's/^\([^ :]*:[0-9]*\): .*/\1/p' | xargs)
[[ $found == "base/a.c:1 base/a.c:3 tests/a.c:1 tests/a.c:4" ]] || { bad=1 && echo "words.py finds $found"; }
exit $bad
