#!/usr/bin/env python3
"""Checks that code, comments and documents have no word that is gone: see words.txt.

usage: tests/lint/words.py [FILE...]

Without FILEs it reads what git tracks.
"""
import fnmatch
import os
import re
import subprocess
import sys


def read_words():
    """(pattern, what to say, globs of paths) of each line. A word ends at an underscore, too."""
    with open(os.path.join(os.path.dirname(__file__), "words.txt")) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                gone, say, where = (part.strip() for part in re.split(r" \| ", line))
                yield re.compile(rf"(?<![a-z])(?:{gone})(?![a-z])", re.I), say, where.split()


def main():
    names = sys.argv[1:] or subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    words, count = list(read_words()), 0
    for name in names:
        rows = [(gone, say) for gone, say, where in words if any(fnmatch.fnmatch(name, glob) for glob in where)]
        if not rows or not os.path.exists(name):
            continue
        with open(name, errors="replace") as file:
            for number, line in enumerate(file, 1):
                for gone, say in rows:
                    if match := gone.search(line):
                        print(f'{name}:{number}: "{match[0]}" is gone: say {say}\n    {line.strip()}')
                        count += 1
    print(f"words: {count} that are gone")
    return count > 0


sys.exit(main())
