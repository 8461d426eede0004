#!/usr/bin/python3
"""Says what the suites of `make bench` came to: report.py RESULTS FOLDER.

Prints tables, and writes them to FOLDER/bench.md, with a picture of each suite beside it. A figure
is the median of the rounds, a ratio the median of the ratios within each round, since whatever else
the machine did then met both. Exit status: 1 where a contender is missing or something went wrong;
never for being slow."""

import collections
import math
import os
import pathlib
import platform
import re
import statistics
import sys

import chart
from suites import BOUNDS, FAILURES, LIMITS, SUITES, VIOLATIONS

BUSY = 10.0  # percent of the processors that others take, from which on the figures say little


class Results:
    """All records: values by round of each figure, and what is said of a suite or a contender."""

    def __init__(self, path):
        self.values = collections.defaultdict(dict)
        self.units, self.order = {}, collections.defaultdict(dict)
        self.missing, self.versions, self.facts = {}, {}, collections.defaultdict(dict)
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                self.add(*line.rstrip("\n").split("\t"))

    def add(self, suite, case, contender, turn, figure, unit, value):
        if figure == "missing":
            self.missing.setdefault((suite, case, contender), value)
        elif figure == "version":
            self.versions[contender] = value
        elif not case:
            self.facts[suite][figure] = value
        else:
            rounds = self.values[suite, case, contender, figure]
            # A suite that counts its rounds itself has all of them in one of ours.
            rounds[(int(turn), sum(key[0] == int(turn) for key in rounds))] = float(value)
            self.units[suite, figure] = unit
        if case:
            self.order[suite].setdefault(case, {}).setdefault(contender, {})[figure] = True

    def of(self, *key):
        return list(self.values.get(key, {}).values())

    def ratios(self, over, under):
        """Of two figures, in the rounds that both have."""
        first, second = self.values.get(over, {}), self.values.get(under, {})
        return [first[turn] / second[turn] for turn in first if second.get(turn)]


def shown(value):
    """Three digits that count."""
    if value == 0:
        return "0"
    if 0 < value < 0.001:
        return "<0.001"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.{max(0, 2 - math.floor(math.log10(abs(rounded))))}f}"


def middle(values, spread=False):
    if not values:
        return ""
    text = shown(statistics.median(values))
    return text + f" ({shown(min(values))} to {shown(max(values))})" if spread and len(values) > 1 else text


def table(head, rows):
    """A table of Markdown that can be read as it is. All columns but the first are numbers."""
    rows = [[str(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = ["| " + " | ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                               for i, (cell, width) in enumerate(zip(row, widths))) + " |"
             for row in rows]
    lines.insert(1, "| " + " | ".join(("-" * width) if i == 0 else "-" * (width - 1) + ":"
                                      for i, width in enumerate(widths)) + " |")
    return "\n".join(lines)


def figures_of(results, suite, cases):
    """Those of the suite in its order, and all others, without those that only count mistakes."""
    there = {figure: True for case in cases for figures in results.order[suite][case].values()
             for figure in figures if figure not in FAILURES and figure != "missing"}
    first = [figure for figure in SUITES[suite].figures if figure in there] or list(there)
    return first, [figure for figure in there if figure not in first]


def heading(results, suite, figure):
    unit = results.units[suite, figure]
    return f"{figure}, {unit}" if unit else figure


def rows_of(results, suite, case, cells):
    """A row for each contender: its name, and what `cells` makes of (suite, case, contender)."""
    for contender in results.order[suite][case]:
        row = cells((suite, case, contender))
        if any(row):
            name = f"**{contender}**" if contender == "Baton" else contender
            yield [name + (" (limit)" if contender in LIMITS else ""), *row]


def case_tables(results, suite, case):
    """Of one case: the main figures, and what else was measured in a table that can be opened."""
    first, others = figures_of(results, suite, [case])
    if not first:
        return

    def main_cells(key):
        ratios = results.ratios((*key, first[0]), (suite, case, "Baton", first[0]))
        return [middle(results.of(*key, first[0]), spread=True), middle(ratios),
                *(middle(results.of(*key, figure)) for figure in first[1:])]

    def other_cells(key):
        return [middle(results.of(*key, figure), spread=True) for figure in others]

    heads = [heading(results, suite, figure) for figure in first]
    yield f"### {titled(case)}"
    yield table(["", heads[0], "times Baton's", *heads[1:]],
                list(rows_of(results, suite, case, main_cells)))
    if others:
        yield "<details><summary>Other figures</summary>"
        yield table(["", *(heading(results, suite, figure) for figure in others)],
                    list(rows_of(results, suite, case, other_cells)))
        yield "</details>"


def size_tables(results, suite):
    """Of a suite of one contender: for each kind a table, a row for each figure."""
    kinds = collections.defaultdict(list)
    for case in results.order[suite]:
        kinds[case.split(" ", 1)[1]].append(case)
    for kind, cases in kinds.items():
        contender = next(iter(results.order[suite][cases[0]]))
        cases.sort(key=lambda case: int(case.split()[0]))
        rows = [[heading(results, suite, figure),
                 *(middle(results.of(suite, case, contender, figure), spread=True) for case in cases)]
                for figures in figures_of(results, suite, cases) for figure in figures]
        yield table([titled(kind), *(f"{int(case.split()[0]):,}" for case in cases)], rows)


def missing_lines(results, suite):
    for (of, case, contender), reason in results.missing.items():
        if of == suite:
            yield f"Missing: {contender} ({case}): {reason}"


def suite_text(results, suite):
    about = SUITES[suite]
    parts = [f"## {about.title}", about.about]
    if about.by_size:
        parts += size_tables(results, suite)
    else:
        for case in results.order[suite]:
            parts += case_tables(results, suite, case)
    parts += missing_lines(results, suite)
    return parts


def bound_row(results, bound):
    key = (bound.suite, bound.case)
    ours = (*key, "Baton", bound.figure)
    values = results.of(*ours)
    if bound.beside:
        all_of = [results.ratios(ours, (*key, contender, bound.figure)) for contender in bound.beside]
        all_of = [ratios for ratios in all_of if ratios]
        closest = min if bound.at_least is not None else max
        values = closest(all_of, key=statistics.median) if all_of else []
    if not values:
        return [bound.text, *aim(bound), "not measured", ""]
    value = statistics.median(values)
    met = (bound.at_least is None or value >= bound.at_least) and \
          (bound.at_most is None or value <= bound.at_most)
    return [bound.text, *aim(bound), middle(values, spread=True), "yes" if met else "**no**"]


def aim(bound):
    if bound.at_least is not None:
        return [f"at least {bound.at_least:g}"]
    return [f"at most {bound.at_most:g}"]


def bounds_text(results):
    rows = [bound_row(results, bound) for bound in BOUNDS if bound.suite in results.order]
    return ["## Aims", table(["", "aim", "measured", "met"], rows)] if rows else []


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    with open("/proc/meminfo", encoding="utf-8") as lines:
        memory = int(lines.readline().split()[1]) / 2**20
    system = platform.freedesktop_os_release()["PRETTY_NAME"]
    return (f"{os.cpu_count()} cores of {models[0] if models else platform.machine()}, "
            f"{memory:.0f} GiB, {system}, Linux {platform.release()}")


def introduction(results):
    dates = sorted(facts["date"] for facts in results.facts.values() if "date" in facts)
    commits = " ".join(sorted({facts["commit"] for facts in results.facts.values() if "commit" in facts}))
    quick = any(facts.get("quick") for facts in results.facts.values())
    first = min((facts for facts in results.facts.values() if "busy" in facts), default={},
                key=lambda facts: facts["date"])
    busy = float(first.get("busy", 0))
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items()
                         if name != "Baton")
    return [
        "# Measured beside what else there is",
        "`make bench` writes this. It installs the others, starts everything on loopback, and lets all "
        "contenders take turns in every round. A figure is the median of the rounds, with the least "
        "and the most in brackets. Clients, servers and stores share the cores: compare a figure with "
        "the others beside it.",
        "**This was a quick run: one short round.**" if quick else "",
        "**The machine was busy with other things, so these figures say little.**" if busy > BUSY else "",
        f"- {dates[0]}{f' to {dates[-1]}' if dates[-1] != dates[0] else ''}; {machine()}; other "
        f"programs took {busy:.0f} % of the processors before it\n"
        f"- Baton {results.versions.get('Baton', '')}{f' ({commits})' if commits else ''}\n- {versions}",
    ]


def draw(results, suite, folder):
    """The picture of a suite. Returns what Markdown says to show it."""
    about = SUITES[suite]
    panels = list((size_panels if about.by_size else case_panels)(results, suite))
    if not panels:
        return ""
    path = pathlib.Path(folder, f"bench-{suite}.svg")
    path.write_text(chart.draw(about.title, panels), encoding="utf-8")
    return f"![{about.title}: the main figures of the tables below as bars]({path.name})"


def bar(results, label, kind, *key):
    values = results.of(*key) or [math.nan]
    return chart.Bar(label, kind, statistics.median(values), min(values), max(values))


def case_panels(results, suite):
    for case, contenders in results.order[suite].items():
        for figure, axis in SUITES[suite].drawn.items():
            bars = [bar(results, contender,
                        "ours" if contender == "Baton" else "limit" if contender in LIMITS else "peer",
                        suite, case, contender, figure) for contender in contenders]
            if not all(math.isnan(bar.value) for bar in bars):
                yield chart.Panel(titled(case), subtitle(suite, figure), figure, axis, bars)


def titled(case):
    """Begins with a capital, and has commas in its numbers."""
    text = re.sub(r"\d{4,}", lambda number: f"{int(number[0]):,}", case)
    return text[0].upper() + text[1:]


def subtitle(suite, figure):
    """Where the axes alone would not tell what is drawn."""
    return figure if len(SUITES[suite].drawn) > 1 else ""


def size_panels(results, suite):
    for figure, axis in SUITES[suite].drawn.items():
        kinds = collections.defaultdict(list)
        for case, contenders in results.order[suite].items():
            contender = next(iter(contenders))
            if results.of(suite, case, contender, figure):
                size, kind = case.split(" ", 1)
                kinds[kind].append((int(size), bar(results, f"{int(size):,}", "ours", suite, case,
                                                   contender, figure)))
        for kind, bars in kinds.items():
            yield chart.Panel(titled(kind), subtitle(suite, figure), f"{figure} {kind}", axis,
                              [bar for _, bar in sorted(bars)])


def wrong(results):
    """What makes the run fail."""
    for (suite, case, contender), reason in results.missing.items():
        yield f"{suite}, {case}: {contender} is missing: {reason}"
    for (suite, case, contender, figure), values in results.values.items():
        total = sum(values.values())
        if total > 0 and (figure in FAILURES or (figure in VIOLATIONS and contender == "Baton")):
            yield f"{suite}, {case}: {contender}: {figure}: {total:g}"


def main():
    path, folder = sys.argv[1:]
    results = Results(path)
    pathlib.Path(folder).mkdir(exist_ok=True)
    parts = introduction(results) + bounds_text(results)
    for suite in SUITES:
        if suite in results.order:
            title, about, *tables = suite_text(results, suite)
            parts += [title, draw(results, suite, folder), about, *tables]
    text = "\n\n".join(part for part in parts if part) + "\n"
    pathlib.Path(folder, "bench.md").write_text(text, encoding="utf-8")
    print("\n".join(line for line in text.split("\n") if not line.startswith(("<", "!"))))
    bad = list(wrong(results))
    for line in bad:
        print(f"bench: {line}", file=sys.stderr)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
