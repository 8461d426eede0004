#!/usr/bin/env python3
"""Checks that texts are plain English: short sentences, clear subjects, one word for one thing.

usage: tests/lint/prose.py BUILD_FOLDER [FILE...]

Without FILEs it reads what TEXTS lists: documents, what batond and its page say, alerts and runbooks,
the comments of deploy/, and `batond --help`. READERS says what is read of which kind of FILE. Code
blocks, code spans, quotes and link targets are skipped. Each complaint names the line where its
sentence begins, the rule, and what to do.

sentence  A sentence has at most LONGEST words, a code span being one. It ends at . ! or ?. What stands
          in parentheses counts by itself. Headings, list items and table cells end a sentence.
passive   A chain: "is" (was, be, been ...) + participle twice, the second hanging on the first by
          "that", "which", "what", "after", "until" ... without a comma; or four in one sentence.
subject   "Who", "whoever", "what", "whatever" or "that which" as a subject: a sentence, or a clause
          after ; or "because", "but", "so that" or "if", begins with it. Questions and headings may
          begin so, and fragments in small letters, such as a table cell. "Whoever" never may.
negative  Two negations in one clause ("no hold without a TTL"; "neither ... nor" is one), "nothing
          but", "not ... but for", "none that", "nobody who".
term      A word for which docs/architecture.md has another.
"""
import glob
import re
import subprocess
import sys

LONGEST = 30
TEXTS = ["*.md", "docs/*.md", "clients/**/*.md", "openapi.yaml", "Dockerfile", "deploy/man/*.[1i]*", "deploy/*.c*f*g*",
         "deploy/compose/*.*", "deploy/*/*.yml", "deploy/grafana/*.json", "deploy/kubernetes/**/*.yaml", "deploy/systemd/*.s*",
         *(f"{layer}/**/*.[ch]" for layer in ("api", "base", "cli", "locks", "redis", "server")), "api/ui/*.js", "api/ui/*.html"]
FEWEST = 4  # words of a string in a program: a shorter one is a name, a field, a piece of a sentence

PARTICIPLE = (r"(?:\w+ed|told|heard|held|given|taken|kept|made|known|lost|sent|seen|set|shown|read|written|"
              r"begun|broken|found|put|said|left|built|done|gone|meant|cut|brought|chosen|paid|run|won|"
              r"thrown|woken|forgotten|hidden|caught|held|bound|lent|spent|sold|stopped|met)")
PASSIVE = (r"\b(?:is|are|was|were|be|been|being)(?: (?:not|also|only|always|never|then|still|already|at once|"
           r"just|\w+ly))? (?!need|indeed)" + PARTICIPLE + r"\b")
HANGS = r"\b(?:that|which|who|what|whose|after|until|before|where|to)\b"
WHO = (r"^(Who|What|That which|Whatever)\b(?! to )|; (who|what|that which|whatever)\b|"
       r"\b(?:because|but|so that|if) (what|whatever|who)\b|\b([Ww]hoever)\b")
NEGATION = r"\b(?:not|never|no|none|nobody|nothing|neither|without|cannot|\w+n't)\b"
CLAUSE = (r"[,;:()–]| (?:and|or|but|if|because|while|when|unless|although|so|until|since|than|as|after|"
          r"before|whether|where|though|that|which|why) ")
NEGATIVE = (r"\b(?:nothing but|none that|nobody (?:who|that)|no (?:one|client|\w+) that is not|"
            r"not [^.;]{0,60}\bbut for|not un\w+ed)\b")
TERMS = [  # what docs/architecture.md has a word for; the pattern sees text without code and quotes
    (r"era|identity of (?:the|its|this) data", "epoch"),
    (r"told|tells? (?:clients?|a client)|hear|hears|heard", "reported, observed, learns, notices, says"),
    (r"parts? of (?:a|the) Cluster|another part", "shard"),
    (r"loose", "unreplicated"),
    (r"fencing token|fence token|fence number", "fence"),
    (r"(?:access|auth|bearer|API) tokens?", "API key"),
    (r"masters?|leaders?", "primary"),
    (r"slaves?|followers?", "replica"),
    (r"peers?", "node, member"),
    (r"hand-?offs?|handovers?", "hand-over"),
    (r"instances? of (?:batond|Redis)|Redis instances?", "batond, node"),
    (r"lockholders?|lock owners?", "holder"),
    (r"comes? further|minds (?:a|the|its)|lets? go of", "advance, supervise, release or discard"),
    (r"time to live|lease time|lifetime of a (?:lock|hold)", "TTL"),
]


def plain(text):
    """The text without what is not prose; a code span or a quote stays as one word."""
    text = re.sub(r"(`+)(?:(?!\1).)+\1|<code>.*?</code>|{{.*?}}", "X", text)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r'"[^"]*"|“[^”]*”', "X", text)
    text = re.sub(r"[\w+]+://\S+|<[^<>]*>", "X", text)
    return re.sub(r"\*+", "", text)


def markdown(lines):
    """(number, text) of each paragraph, list item, heading and table cell; text keeps its line ends."""
    blocks, block, fence = [], None, None
    for number, line in enumerate(lines, 1):
        bare, block = line.strip(), block if line.lstrip()[:1] not in ("|", "#") else None
        if fence or re.match(r"```|~~~|<!--", bare):
            ends = fence or ("-->" if bare.startswith("<!--") else bare[:3])
            closed = ends in bare and (fence or ends == "-->")
            fence, block = (None if closed else ends), None
        elif not bare or re.match(r"\|?[-:| ]+$", bare):
            block = None
        elif bare.startswith("|"):
            blocks += [(number, cell) for cell in re.split(r"(?<!\\)\|", bare.strip("|"))]
        elif bare.startswith("#"):
            blocks.append((number, bare.lstrip("# ").rstrip("?") + "?"))
        elif not block or re.match(r"(?:[-*+]|\d+\.) ", bare):
            block = [number, re.sub(r"^(?:[-*+]|\d+\.) ", "", bare)]
            blocks.append(block)
        else:
            block[1] += "\n" + bare
    return blocks


def yaml(lines):
    """The markdown of each text and comment; block scalars and continued lines by their indent."""
    kept, indent = comment_lines(lines), None
    for index, line in enumerate(lines):
        depth = len(line) - len(line.lstrip())
        start = re.match(r"\s*(?:- )?(?:description|summary|title|runbook): *(.*)", line)
        if indent is not None and (not line.strip() or depth > indent):
            kept[index] = line.strip()
        elif start:
            indent = depth + 2 * line.lstrip().startswith("- ")
            kept[index] = "" if re.match(r"[|>][-+]?$", start[1]) else "- " + start[1].strip("'\"")
        else:
            indent = None
    return markdown(kept)


def comment_lines(lines):
    """Lines with nothing but a comment, without the #; what is indented there is a command."""
    found = (re.match(r"\s*# ?(?![ #!])(.*)", line) for line in lines)
    return [match[1] if match else "" for match in found]


def comments(lines):
    return markdown(comment_lines(lines))


def strings(lines):
    """The literals of a program that say something, with what they are joined with."""
    literal = r'"(?:[^"\\\n]|\\.)*"'
    for match in re.finditer(rf"/\*.*?\*/|//[^\n]*|{literal}(?:(?:\s|PRI\w+)*{literal})*", "\n".join(lines), re.S):
        if match[0].startswith('"'):
            text = re.sub(r'%"\s*PRI\w+\s*"', "X", match[0])
            text = re.sub(r'(?<!\\)"\s*"', "", text)[1:-1].replace(r"\"", '"').replace(r"\n", " ")
            text = re.sub(r"%[-+#0-9.*]*[a-z]+", "X", text.replace("%%", ""))
            if len(plain(text).split()) >= FEWEST:
                yield match.string.count("\n", 0, match.start()) + 1, text


def html(lines):
    """The texts of a page, without their tags."""
    return [(number, re.sub(r"</?\w[^<>]*>", "", line)) for number, line in enumerate(lines, 1)]


def json(lines):
    found = ((number, re.match(r'\s*"(?:title|description)": "(.*)"', line)) for number, line in enumerate(lines, 1))
    return [(number, match[1]) for number, match in found if match]


def mdoc(lines):
    """The text lines of a man page; a name between macros stands in the middle of a sentence."""
    kept, literal = [], False
    for line in lines:
        literal = literal and not line.startswith(".Ed") or line.startswith(".Bd")
        inline = re.match(r"\.(?:Nm|Fl|Xr|Pa|Ql|Ev|Ar)\b(?: *[^.]*?)?( [.,;:)])?$", line)
        text = "X" + (inline[1] or "").strip() if inline else re.sub(r"\\(.)", r"\1", line)
        kept.append("" if literal or text.startswith((".", "@")) else text)
    return markdown(kept)


def help_text(lines):
    """Flags, commands and headings end a text; so does a change of indentation."""
    kept, last = [], None
    for line in lines:
        depth = len(line) - len(line.lstrip())
        flag = re.match(r"\s*(?:--\S+|batond|curl|Usage:)", line)
        kept.append("" if flag else ("- " if depth != last else "") + line.strip())
        last = None if flag else depth
    return markdown(kept)


def sentences(number, text):
    """(line number, sentence) of each; parentheses are taken out and follow as their own."""
    text = plain(text.replace("\n", " \x00"))
    inner = []
    while match := re.search(r"\(([^()]*)\)", text):
        inner.append((number + text.count("\x00", 0, match.start()), match[1]))
        text = text[:match.start()] + "\x00" * match[1].count("\x00") + text[match.end():]
    for at, part in [(number, text), *inner]:
        for sentence in re.split(r"(?<=[.!?])(?<!e\.g\.) ", part):
            begins = at + len(re.match(r"[\s\x00]*", sentence)[0].split("\x00")) - 1
            at += sentence.count("\x00")
            if words := " ".join(sentence.replace("\x00", "").split()):
                yield begins, words


def complaints(sentence):
    words = re.findall(r"[\w'’.,/:+-]*\w[\w'’/+-]*", sentence)
    if len(words) > LONGEST:
        yield "sentence", f"{len(words)} words: make it two, or a list"
    passives = list(re.finditer(PASSIVE, sentence))
    chained = any(re.search(HANGS, between) and "," not in between for between in
                  (sentence[a.end():b.start()] for a, b in zip(passives, passives[1:])))
    if chained or len(passives) > 3:
        yield "passive", " … ".join(p[0] for p in passives) + ": name the subject that acts"
    if not sentence.endswith("?"):  # a heading does, too
        if match := re.search(WHO, sentence):
            yield "subject", f'"{match[match.lastindex]}": name the client, the program or the thing'
    for clause in re.split(CLAUSE, sentence):
        found = re.findall(NEGATION, clause, re.I)
        if len(found) > 1:
            yield "negative", f'"{" … ".join(found)}" in one clause: say what is so'
    if match := re.search(NEGATIVE, sentence, re.I):
        yield "negative", f'"{match[0]}": say what is so'
    for pattern, term in TERMS:
        if match := re.search(r"\b(?:" + pattern + r")\b", sentence, re.I):
            yield "term", f'"{match[0]}": docs/architecture.md says {term}'


READERS = {"md": markdown, "yaml": yaml, "yml": yaml, "in": mdoc, "txt": help_text, "c": strings, "h": strings,
           "js": strings, "html": html, "json": json}


def read(name, build):
    """The blocks of a text."""
    if name == "--help":
        text = subprocess.run([f"{build}/batond", "--help"], capture_output=True, text=True, check=True).stdout
        return help_text(text.splitlines())
    with open(name) as file:
        return READERS.get(name.rsplit(".", 1)[-1], comments)(file.read().splitlines())


def main():
    build, names = sys.argv[1], sys.argv[2:]
    if not names:
        names = sorted({name for pattern in TEXTS for name in glob.glob(pattern, recursive=True)})
        names = [name for name in names if name != "CHANGELOG.md"] + ["--help"]
    count = 0
    for name in names:
        for number, text in read(name, build):
            for line, sentence in sentences(number, text):
                for rule, advice in complaints(sentence):
                    print(f"{name}:{line}: {rule}: {advice}\n    {sentence}")
                    count += 1
    print(f"prose: {count} complaints in {len(names)} texts")
    return count > 0


sys.exit(main())
