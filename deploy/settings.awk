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

# Splits a flag from the default behind it, which is left in `standard`.
function take_default(flag) {
    standard = ""
    if (match(flag, / \(default: [^()]*\)$/)) {
        standard = substr(flag, RSTART + 11, RLENGTH - 12)
        flag = substr(flag, 1, RSTART - 1)
    }
    return flag
}

# Breaks a text into lines of at most 78 bytes, each of which starts with `mark`.
function wrap(text, mark,    count, words, i, line, all) {
    count = split(text, words, / +/)
    for (i = 1; i <= count; i++) {
        if (line != "" && length(mark line) + 1 + length(words[i]) > 78) {
            all = all mark line "\n"
            line = ""
        }
        line = line (line == "" ? "" : " ") words[i]
    }
    return all mark line
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
        wrap(roff(sentence(text)), "") ".\n" \
        (standard == "" ? "" : "The default is\n.Ql " argument(standard) " .\n")
}

function for_conf(name, value, text, standard) {
    gsub(/-/, "_", name)
    name = "BATON_" toupper(name)
    if (name in of_unit)
        standard = of_unit[name]
    else if (value == "")
        standard = "false"
    return "\n" wrap(text, "# ") "\n#" name "=" standard "\n"
}

# The heading of a group. In the manual each group is a list of its own.
function heading(group) {
    if (form == "conf")
        return "\n\n# " group "\n"
    return end_of_list() ".Ss " group " settings\n.Bl -tag -width Ds\n"
}

function end_of_list() {
    return form == "conf" || made["@SETTINGS@"] == "" ? "" : ".El\n"
}

# Adds the setting whose lines have ended, if there is one.
function add() {
    if (name != "")
        made[place] = made[place] (form == "conf" ? for_conf(name, value, text, standard) \
                                                  : for_manual(name, value, text, standard))
    name = ""
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
/^[A-Z][a-z]+:$/ {
    add()
    made[place] = made[place] heading(substr($0, 1, length($0) - 1))
}
/^Instead of serving:$/ {
    add()
    place = "@COMMANDS@"
}
/^  --/ {
    add()
    name = value = take_default(substr($0, 5))
    sub(/=.*/, "", name)
    value = substr(value, length(name) + 2)
    text = ""
}
/^      / {
    sub(/^ +/, "")
    text = text (text == "" ? "" : " ") $0
}
END {
    add()
    made["@SETTINGS@"] = made["@SETTINGS@"] end_of_list()
    replace("@SETTINGS@", made["@SETTINGS@"])
    replace("@COMMANDS@", made["@COMMANDS@"])
    printf "%s", page
}
