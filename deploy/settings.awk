# Puts what `batond --help` says of the settings into a page, in place of its lines @SETTINGS@ and
# @COMMANDS@.
#   batond --help | awk -v form=manual -f deploy/settings.awk deploy/man/batond.8.in -
#   batond --help | awk -v form=conf -v unit=deploy/systemd/baton.service \
#       -f deploy/settings.awk deploy/systemd/baton.conf.in -
# The variables that the unit sets are the defaults of a service.

BEGIN {
    while (unit && (getline line < unit) > 0)
        if (sub(/^Environment=/, "", line))
            of_unit[substr(line, 1, index(line, "=") - 1)] = substr(line, index(line, "=") + 1)
}

# Splits a help text from the default behind it, which is left in `standard`.
function take_default(text) {
    standard = ""
    if (match(text, / \(default: [^()]*\)$/)) {
        standard = substr(text, RSTART + 11, RLENGTH - 12)
        text = substr(text, 1, RSTART - 1)
    }
    return text
}

# Breaks a text into lines of at most 78 bytes.
function wrap(text,    count, words, i, line, all) {
    count = split(text, words, / +/)
    for (i = 1; i <= count; i++) {
        if (line != "" && length(line) + 1 + length(words[i]) > 78) {
            all = all line "\n"
            line = ""
        }
        line = line (line == "" ? "" : " ") words[i]
    }
    return all line
}

# What troff would take for something else.
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/"/, "\\(dq", text)
    gsub(/~/, "\\(ti", text)
    return text
}

# Punctuation that stands by itself is a delimiter to mdoc(7), and some words are its macros.
function argument(text) {
    return "\"\\&" roff(text) "\\&\""
}

function sentence(text) {
    return text ~ /^[a-z]+:/ ? text : toupper(substr(text, 1, 1)) substr(text, 2)
}

function for_manual(name, value, text, standard) {
    return ".It Fl " argument("-" name) (value == "" ? "" : " Ns = Ns Ar " argument(value)) "\n" \
        wrap(roff(sentence(text))) ".\n" \
        (standard == "" ? "" : "The default is\n.Ql " argument(standard) " .\n")
}

function for_conf(name, value, text, standard) {
    gsub(/-/, "_", name)
    name = "BATON_" toupper(name)
    if (name in of_unit)
        standard = of_unit[name]
    else if (value == "")
        standard = "false"
    return "\n# " text "\n#" name "=" standard "\n"
}

# Puts a text, whatever is in it, in place of a line.
function replace(line, text,    at) {
    at = index(page, line "\n")
    if (at)
        page = substr(page, 1, at - 1) text substr(page, at + length(line) + 1)
}

FNR == NR {
    page = page $0 "\n"
    next
}
FNR == 1 {
    place = "@SETTINGS@"
}
/^Instead of serving:$/ {
    place = "@COMMANDS@"
}
/^  --/ {
    name = value = substr($0, 5)
    sub(/[=[].*/, "", name)
    value = substr(value, length(name) + 2)
    getline text
    sub(/^ +/, "", text)
    text = take_default(text)
    made[place] = made[place] (form == "conf" ? for_conf(name, value, text, standard) \
                                              : for_manual(name, value, text, standard))
}
END {
    replace("@SETTINGS@", made["@SETTINGS@"])
    replace("@COMMANDS@", made["@COMMANDS@"])
    printf "%s", page
}
