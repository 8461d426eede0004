#!/bin/bash
# Puts a report of `make bench` into a page, in place of the one between its two comments, without our aims. Its
# headings become one level lower, its pictures are those in images/.
#   put_in_page.sh REPORT PAGE
set -euo pipefail

report=$1 page=$2
sed '1d; /^## Aims$/,/^## / { /^## Aims$/d; /^## /!d }; s/^##/###/; s/](bench-/](images\/bench-/' "$report" >"$report.part"
sed -e '/^<!-- begin of make bench -->$/,/^<!-- end of make bench -->$/ { /^<!--/!d }' \
    -e "/^<!-- begin of make bench -->\$/r $report.part" "$page" >"$report.page"
cp "$report.page" "$page"
