"""Runs the first lines of a client's README, or a recipe, and compares what they print with what the page shows."""
import os
import re
import subprocess

from stack import HANGS, ROOT

CLIENTS = ROOT / "clients"


def prepare_python(_folder, _build):
    return ["/usr/bin/python3", "example.py"], "example.py", {"PYTHONPATH": str(CLIENTS / "python")}


def prepare_node(folder, _build):
    (folder / "node_modules").mkdir(exist_ok=True)
    (folder / "node_modules/baton-client").symlink_to(CLIENTS / "node")
    return ["node", "example.mjs"], "example.mjs", {}


GO = """package main

import (
	"context"
	"fmt"
	"log"
	"time"

	baton "baton.example/client"
)

func main() {
	ctx := context.Background()
%s}
"""


def prepare_go(folder, _build):
    (folder / "go.mod").write_text("module example\n\ngo 1.19\n\nrequire baton.example/client v0.1.0\n\n"
                                   f"replace baton.example/client => {CLIENTS / 'go'}\n")
    return ["go", "run", "example.go"], "example.go", {}


JAVA = """import baton.client.*;
import java.time.Duration;
import java.util.List;

class Example {
    public static void main(String[] arguments) throws Exception {
%s    }
}
"""


def prepare_java(_folder, build):
    return ["java", "-cp", build / "java", "Example.java"], "Example.java", {}


def prepare_php(_folder, _build):
    return ["php", "example.php"], "example.php", {}


def prepare_ruby(_folder, _build):
    return ["ruby", "example.rb"], "example.rb", {}


# What stands around the lines in languages that need it.
FRAMES = {"go": GO, "java": JAVA}

# Where a client shows an example, in which language, and what makes its lines a program: a command, the name of the
# file, and variables. Languages without a client have a recipe.
EXAMPLES = {
    "python": ("clients/python/README.md", "python", prepare_python),
    "node": ("clients/node/README.md", "js", prepare_node),
    "go": ("clients/go/README.md", "go", prepare_go),
    "java": ("clients/java/README.md", "java", prepare_java),
    "php": ("docs/recipes.md", "php", prepare_php),
    "ruby": ("docs/recipes.md", "ruby", prepare_ruby),
}
LONGEST = {"php": 16, "ruby": 15}  # lines; the others have at most ten


def blocks(page, language):
    """The first block of a language in a page, and the block of text behind it."""
    return re.search(rf"^```{language}\n(.*?)^```\n```text\n(.*?)^```", page.read_text(), re.S | re.M).groups()


def wrong_with(client, url, build, folder):
    """Returns what is wrong with the example of a client, or None."""
    page, language, prepare = EXAMPLES[client]
    code, shown = blocks(ROOT / page, language)
    if len(code.splitlines()) > LONGEST.get(client, 10):
        return "The example has too many lines."
    command, file, variables = prepare(folder, build)
    code = FRAMES.get(client, "%s").replace("%s", code)
    (folder / file).write_text(code.replace("http://127.0.0.1:7420", url))
    ran = subprocess.run(command, cwd=folder, env=os.environ | variables, text=True, timeout=HANGS, check=False,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    pattern = ".*".join(map(re.escape, shown.split("…")))
    if ran.returncode or not re.fullmatch(pattern, ran.stdout):
        return f"The example ended with {ran.returncode} and printed:\n{ran.stdout}"
    return None
