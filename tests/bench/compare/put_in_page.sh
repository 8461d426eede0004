#!/bin/bash
# Puts a report of `make bench` into a page, in place of the one between its two comments, without our aims and
# its lesser figures. Its headings become one level lower, its pictures are those in images/.
#   put_in_page.sh REPORT PAGE
set -euo pipefail

report=$1 page=$2
sed '1d; /^## Aims$/,/^## / { /^## Aims$/d; /^## /!d }; /^<details>/,/^<\/details>/d; s/^##/###/; s/](bench-/](images\/bench-/' "$report" | cat -s >"$report.part"
sed -e '/^<!-- begin of make bench -->$/,/^<!-- end of make bench -->$/ { /^<!--/!d }' \
    -e "/^<!-- begin of make bench -->\$/r $report.part" "$page" >"$report.page"
cp "$report.page" "$page"
