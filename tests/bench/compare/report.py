#!/usr/bin/python3
"""Says what the suites of `make bench` came to: report.py RESULTS FOLDER."""

import collections
import statistics
import sys


def main():
    results, _folder = sys.argv[1:]
    values = collections.defaultdict(list)
    with open(results, encoding="utf-8") as lines:
        for line in lines:
            suite, case, contender, _, figure, unit, value = line.rstrip("\n").split("\t")
            values[suite, case, contender, figure, unit].append(value)
    for (suite, case, contender, figure, unit), all_values in values.items():
        try:
            numbers = [float(value) for value in all_values]
        except ValueError:
            print(f"{suite}  {case}  {contender}  {figure}: {all_values[0]}")
            continue
        print(f"{suite}  {case}  {contender}  {figure}: {statistics.median(numbers):.6g} {unit}"
              f" ({min(numbers):.6g} to {max(numbers):.6g})")


main()
