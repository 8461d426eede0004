# For `.`: where tests write.
# shellcheck shell=bash

# Prints /dev/shm if that has so many GiB free, else /tmp. A disk on which everybody writes makes a Redis that
# keeps each command there, and programs that are read from it, wait longer than batond waits for an answer.
scratch_parent() { # GIB
    local free
    free=$(df --output=avail -B1G /dev/shm 2>/dev/null | tail -n 1) || free=0
    if ((free < $1)) || grep -qE '^[^ ]+ /dev/shm [^ ]+ [^ ]*(noexec|nosuid|nodev)' /proc/mounts; then
        echo /tmp
    else
        echo /dev/shm
    fi
}
