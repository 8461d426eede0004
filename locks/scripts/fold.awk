# Puts the constants of a Lua script in place of their names, and leaves out comments and
# indentation: Lua 5.1 has no constants, and makes a variable anew at every run of the script, and
# a link to it for each function that uses it. A constant is `local NAME = ` a number or a string
# in single quotes, alone on its line but for a comment, its name in capitals.
/^local [A-Z_]+ = ([0-9]+|'[^']*') *(--.*)?$/ {
    constant[$2] = $4
    next
}
{
    sub(/^ +/, "")
    if (/^--/ || /^$/)
        next
    rest = $0
    folded = ""
    while (match(rest, /[A-Za-z_][A-Za-z_0-9]*/)) {
        word = substr(rest, RSTART, RLENGTH)
        folded = folded substr(rest, 1, RSTART - 1) (word in constant ? constant[word] : word)
        rest = substr(rest, RSTART + RLENGTH)
    }
    print folded rest
}
