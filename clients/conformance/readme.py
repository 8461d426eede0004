#!/usr/bin/env python3
"""Runs the first lines of a client's README by the commands that it shows, or a recipe, and compares what they print
with what the page shows. As a program, it writes the first lines of each client into a folder, as files that run."""
import pathlib
import re
import subprocess
import sys

from stack import HANGS, ROOT

# What stands around the lines in languages that need it, as their pages say.
GO = """package main

import (
	"context"
	"fmt"
	"log"
	"time"

	baton "MODULE"
)

func main() {
	ctx := context.Background()
%s}
"""
JAVA = """import baton.client.*;
import java.time.Duration;
import java.util.List;

class Example {
    public static void main(String[] arguments) throws InterruptedException {
%s    }
}
"""
GO = GO.replace("MODULE", (ROOT / "clients/go/go.mod").read_text().split()[1])
FRAMES = {"go": GO, "java": JAVA}

# Where a client shows an example, in which language, and the file for its lines. Languages without a client have a
# recipe.
EXAMPLES = {
    "python": ("clients/python/README.md", "python", "example.py"),
    "node": ("clients/node/README.md", "js", "example.mjs"),
    "go": ("clients/go/README.md", "go", "example.go"),
    "java": ("clients/java/README.md", "java", "Example.java"),
    "php": ("docs/recipes.md", "php", "example.php"),
    "ruby": ("docs/recipes.md", "ruby", "example.rb"),
}
LONGEST = {"php": 16, "ruby": 15}  # lines; the others have at most ten
COMMANDS = {"php": "php example.php", "ruby": "ruby example.rb"}  # the others show theirs
# npm needs hundreds of packages, and would do just this.
NPM = 'npm() { mkdir node_modules && ln -s "$PWD/$2" node_modules/baton-client; }\n'


def example(page, language):
    """The first block of a language in a page, and the two behind it: what it prints, and the commands that run it."""
    return re.search(rf"^```{language}\n(.*?)^```\n```text\n(.*?)^```(?:.*?^```sh\n(.*?)^```)?", page.read_text(),
                     re.S | re.M).groups()


def write(client, url, folder):
    """Writes the lines of a client, and returns what they are, what they print, and the commands."""
    page, language, file = EXAMPLES[client]
    code, shown, commands = example(ROOT / page, language)
    (folder / file).write_text(FRAMES.get(client, "%s").replace("%s", code).replace("http://127.0.0.1:7420", url))
    return code, shown, commands


def wrong_with(client, url, folder):
    """Returns what is wrong with the example of a client, or None. The folder stands for a clone."""
    code, shown, commands = write(client, url, folder)
    if len(code.splitlines()) > LONGEST.get(client, 10):
        return "The example has too many lines."
    (folder / "clients").symlink_to(ROOT / "clients")
    ran = subprocess.run(["bash", "-euc", NPM + COMMANDS.get(client, commands)], cwd=folder, text=True, timeout=HANGS,
                         capture_output=True, check=False)
    pattern = ".*".join(map(re.escape, shown.split("…")))
    if ran.returncode or not re.fullmatch(pattern, ran.stdout):
        return f"The example ended with {ran.returncode} and printed:\n{ran.stdout}{ran.stderr}"
    return None


if __name__ == "__main__":
    for CLIENT in ("python", "node", "go", "java"):
        write(CLIENT, "http://127.0.0.1:7420", pathlib.Path(sys.argv[1]))
