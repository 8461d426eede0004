#!/usr/bin/python3
"""Makes each mistake of mutants.txt in a copy of this tree, builds it, and runs the tests that have to notice it.

    run.py [WORD...]   the mutants with one of the words in what goes wrong, in the file or in the tests
    run.py --check     only asks whether each text is still there, once

First the same tests run on the copy as it is, and have to pass. A mutant is caught if one of its tests fails, or
is not over in time, since what it waits for does not come. Prints a row for each, with the test; the last line is
"N passed, M failed", where a mutant passes if it is caught.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = pathlib.Path(__file__).with_name("mutants.txt")
ROW = "{:<118} {:>5} s   {}"


class Mutant:
    """A mistake, where it is made, and the tests that have to notice it."""

    def __init__(self, block):
        head, *lines = [line for line in block.splitlines() if not line.startswith("#")]
        self.what, self.file, self.tests = re.fullmatch(r"(.+): (\S+): (.+)", head).groups()
        self.before, self.after = ("\n".join(line[2:] for line in lines if line[0] == sign) for sign in "-+")

    def __str__(self):
        return f"{self.what}: {self.file}"

    def is_there_once(self):
        return (ROOT / self.file).read_text().count(self.before) == 1

    def is_chosen(self, words):
        return not words or any(word in f"{self} {self.tests}" for word in words)


def read_mutants():
    blocks = re.split(r"\n\n+", TABLE.read_text().strip())
    return [Mutant(block) for block in blocks if not block.splitlines()[-1].startswith("#")]


def check(mutants):
    """How many cannot be made any more."""
    stale = [mutant for mutant in mutants if not mutant.is_there_once()]
    for mutant in stale:
        print(f"tests/mutants/mutants.txt: {mutant}: its text is not there once. Let it follow the code.")
    return len(stale)


def make(copy, target, tests):
    # A mutant may hang its test: the longest of these takes a minute.
    settings = {**os.environ, "BATON_TEST_LIMIT": "150", "MAKEFLAGS": ""}
    return subprocess.run(["make", "-s", f"-j{os.cpu_count()}", target, f"ONLY={tests}"], cwd=copy, env=settings, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def noticed_by(output):
    """The program that failed first, and its test; None if none did."""
    frame = re.search(r"^---- (\S+): exit code (\d+).*?\n(.*?)^----$", output, re.M | re.S)
    if not frame:
        return None
    program, code, log = frame.groups()
    begun = re.findall(r"^\[ RUN +\] (\w+)", log, re.M)
    how = " (not over in time)" if code in ("124", "137") else ""
    return f"{program}: {begun[-1]}{how}" if begun else program + how


def try_mutant(copy, mutant):
    """Returns whether it is caught, and by which test."""
    path = copy / mutant.file
    text = path.read_text()
    path.write_text(text.replace(mutant.before, mutant.after))
    try:
        build = make(copy, "test-programs", mutant.tests)
        if build.returncode:
            return False, "IT DOES NOT BUILD: " + build.stdout.strip()[-400:]
        tests = make(copy, "test", mutant.tests)
    finally:
        path.write_text(text)
    by = noticed_by(tests.stdout)
    if tests.returncode and not by:
        return False, "NO TEST WAS RUN: " + tests.stdout.strip()[-400:]
    return (True, by) if by else (False, "NOTHING")


def run(mutants, copy):
    """How many are not caught."""
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", "build", "node_modules"))
    every = " ".join(sorted({word for mutant in mutants for word in mutant.tests.split()}))
    control = make(copy, "test", every)
    if control.returncode:
        sys.exit(f"{control.stdout}\nThese tests fail without a mutant, so they show nothing.")
    missed = 0
    for mutant in mutants:
        begun = time.monotonic()
        is_caught, by = try_mutant(copy, mutant)
        print(ROW.format(str(mutant), round(time.monotonic() - begun), by), flush=True)
        missed += not is_caught
    return missed


def main():
    words = sys.argv[1:]
    mutants = read_mutants()
    failed = check(mutants)
    if words == ["--check"] or failed:
        sys.exit(1 if failed else 0)
    mutants = [mutant for mutant in mutants if mutant.is_chosen(words)]
    if not mutants:
        sys.exit("No mutant has one of these words.")
    with tempfile.TemporaryDirectory(prefix="baton.mutants.", dir=os.environ.get("TMPDIR")) as folder:
        missed = run(mutants, pathlib.Path(folder, "baton"))
    print(f"\n{len(mutants) - missed} passed, {missed} failed")
    sys.exit(1 if missed else 0)


main()
