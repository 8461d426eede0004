#!/usr/bin/env python3
"""Checks that the problems in openapi.yaml's examples say what the program says.

usage: tests/lint/examples.py

The title belongs to its code in api/http/problem.h. Each sentence of a detail is one of a string in the
sources, where a conversion of printf stands for anything.
"""
import glob
import re
import sys

LITERAL = r'"(?:[^"\\\n]|\\.)*"'
CONVERSION = r"(%[-+#0-9.*]*(?:ll|l|z|h)?[a-z]|%%)"
LAYERS = ("api", "base", "locks", "redis", "server")
SHORTEST = 7  # characters of a pattern beside what stands for anything


def sentences(text):
    """Those of a text, without their ends; a parameter's name in front is no part of one."""
    return [re.sub(r"^\w+: ", "", part).strip(" .") for part in re.split(r"(?<=[.;]) ", text) if part.strip(" .")]


def said():
    """A pattern for each sentence of the program's strings."""
    names = [name for layer in LAYERS for name in glob.glob(f"{layer}/**/*.[ch]", recursive=True)]
    sources = "\n".join(open(name).read() for name in names)
    for name, text in re.findall(rf"#define (\w+) ({LITERAL})$", sources, re.M):
        sources = re.sub(rf"\b{name}\b(?=\s*\")", lambda _, text=text: text, sources)
    for match in re.finditer(rf"/\*.*?\*/|{LITERAL}(?:(?:\s|PRI\w+)*{LITERAL})*", sources, re.S):
        if match[0].startswith('"'):
            text = re.sub(r'%"\s*PRI\w+\s*"?', "%s", match[0])
            text = re.sub(r'(?<!\\)"\s*"', "", text).strip('"').replace(r"\"", '"')
            for sentence in sentences(text):
                parts = ["%" if part == "%%" else part for part in re.split(CONVERSION, sentence)]
                if len("".join(parts[::2])) >= SHORTEST:
                    yield "".join(".*" if re.fullmatch(CONVERSION, part) else re.escape(part) for part in parts)


def main():
    with open("openapi.yaml") as file:
        document = file.read()
    with open("api/http/problem.h") as file:
        titles = dict(re.findall(r'X\(PROBLEM_\w+, "(\w+)", \d+,[\s\\]+"([^"]+)"\)', file.read()))
    patterns = re.compile("|".join(set(said())), re.I)
    shown = re.findall(r"type: urn:baton:problem:(\w+)\n +title: '?([^\n]*?)'?\n +status: \d+\n"
                       r" +detail: (?:>-\n)?(.*?)\n +instance:", document, re.S)
    shown += [(code, titles[code], detail) for code, detail in re.findall(r'example: "(\w+): (.*)\\n"', document)
              if code in titles]
    wrong = 0
    for code, title, detail in shown:
        detail = " ".join(detail.strip(" '").replace(r"\"", '"').split())
        problems = [] if title == titles[code] else [f'the title is "{titles[code]}"']
        problems += [f'the program never says "{part}"' for part in sentences(detail) if not patterns.fullmatch(part)]
        for problem in problems:
            print(f"openapi.yaml: an example of {code}: {problem}")
        wrong += len(problems)
    print(f"examples: {wrong} complaints about {len(shown)} problems")
    return wrong > 0 or len(shown) < len(titles)


sys.exit(main())
