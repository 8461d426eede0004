#!/usr/bin/env python3
"""Checks that the code can be read one room after the other.

usage: tests/lint/rooms.py BUILD_FOLDER

1. No header includes itself, be it through others.
2. A room includes only rooms below it, in the order of rooms.txt.
3. No circle of more than LARGEST_INCLUDES files that use each other's headers (a .c and its .h count
   as one), or of more than LARGEST_USES object files that use each other's symbols (by `nm`).
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(__file__)
LARGEST_INCLUDES, LARGEST_USES = 6, 3


def read_orders():
    orders = {}
    with open(os.path.join(HERE, "rooms.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                layer, rooms = line.split(":")
                orders[layer] = rooms.split()
    return orders


def find_sources(layers):
    return sorted(os.path.join(folder, name) for layer in layers
                  for folder, _, names in os.walk(layer)
                  for name in names if name.endswith((".c", ".h")))


def read_includes(sources):
    """{file: {included file of the product: line number}}"""
    includes = {}
    for source in sources:
        includes[source] = {}
        with open(source) as file:
            for number, line in enumerate(file, 1):
                match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
                if match and os.path.exists(match[1]):
                    includes[source].setdefault(match[1], number)
    return includes


def circles(graph):
    """The sets of nodes that reach each other, each of more than one (Tarjan, without recursion)."""
    index, low, stack, found = {}, {}, [], []
    for root in sorted(graph):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        work = [(root, iter(sorted(graph[root])))]
        while work:
            node, successors = work[-1]
            for successor in successors:
                if successor not in index:
                    index[successor] = low[successor] = len(index)
                    stack.append(successor)
                    work.append((successor, iter(sorted(graph.get(successor, ())))))
                    break
                if successor in stack:
                    low[node] = min(low[node], index[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    at = stack.index(node)
                    if len(stack) - at > 1:
                        found.append(sorted(stack[at:]))
                    del stack[at:]
    return sorted(found, key=len, reverse=True)


def room_of(path, orders):
    """The layer, and how high the room of the file is in it."""
    parts = path.split("/")
    order = orders[parts[0]]
    room = parts[1] if len(parts) > 2 or parts[1] in order else "."
    return parts[0], order.index(room) if room in order else None


def check_order(includes, orders):
    for source, included in includes.items():
        layer, height = room_of(source, orders)
        if height is None:
            yield [f"{source}: say in tests/lint/rooms.txt where its room is"]
            continue
        for target, number in included.items():
            other, at = room_of(target, orders)
            if other == layer and at is not None and at > height:
                yield [f"{source}:{number}: includes {target}, whose room is above its own"]


def in_words(circle, graph, why, orders):
    """Which edges keep the circle together, those that lead upwards first."""
    members, lines = set(circle), []
    for source in circle:
        for target in sorted(graph[source] & members):
            (layer, low), (other, high) = room_of(source, orders), room_of(target, orders)
            up = layer == other and low is not None and high is not None and high > low
            names = sorted(why[source, target])
            lines.append((not up, f"  {'up: ' if up else '    '}{source} -> {target}: {' '.join(names[:6])}"
                          + (" ..." if len(names) > 6 else "")))
    return [line for _, line in sorted(lines)]


def check_circles(kind, graph, why, orders, most):
    for circle in circles(graph):
        if len(circle) > most:
            yield ([f"{kind} of {len(circle)} files, of which {most} may be"]
                   + in_words(circle, graph, why, orders))


def header_graph(includes):
    graph = {source: {target for target in included if target.endswith(".h")}
             for source, included in includes.items() if source.endswith(".h")}
    return graph, {(a, b): [f"line {includes[a][b]}"] for a in graph for b in graph[a]}


def unit_graph(includes):
    graph, why = {}, {}
    for source, included in includes.items():
        unit = source[:-2]
        graph.setdefault(unit, set())
        for target in included:
            if target[:-2] != unit:
                graph[unit].add(target[:-2])
                why.setdefault((unit, target[:-2]), set()).add(source)
    return graph, why


def symbol_graph(build, sources):
    """Which object uses which, by the names that it needs and the other has."""
    objects = [(source, f"{build}/{source[:-2]}.o") for source in sources if source.endswith(".c")]
    missing = [path for _, path in objects if not os.path.exists(path)]
    if missing:
        sys.exit(f"rooms: not built: {' '.join(missing[:5])}: `make all` first")
    needs, has = {source: set() for source, _ in objects}, {}
    source_of = {path: source for source, path in objects}
    listing = subprocess.run(["nm", "-gA", *source_of], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        path, symbol = line.split(":", 1)
        kind, name = symbol.split()[-2:]
        if kind == "U":
            needs[source_of[path]].add(name)
        else:
            has[name] = source_of[path]
    graph, why = {}, {}
    for source, names in needs.items():
        graph[source] = {has[name] for name in names if name in has}
        for name in names:
            if name in has:
                why.setdefault((source, has[name]), set()).add(name)
    return graph, why


def main():
    orders = read_orders()
    sources = find_sources(orders)
    includes = read_includes(sources)
    units, symbols = unit_graph(includes), symbol_graph(sys.argv[1], sources)
    found = list(check_circles("header-circle", *header_graph(includes), orders, 1))
    found += check_order(includes, orders)
    found += check_circles("includes", *units, orders, LARGEST_INCLUDES)
    found += check_circles("uses", *symbols, orders, LARGEST_USES)
    for lines in found:
        print("\n".join(lines))
    sizes = [[len(circle) for circle in circles(graph)] for graph in (units[0], symbols[0])]
    print(f"rooms: {len(found)} violations; "
          f"circles of includes {sizes[0]}, of uses {sizes[1]}")
    return len(found) > 0


if __name__ == "__main__":
    sys.exit(main())
