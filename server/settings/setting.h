/* setting.h: a row of the table of settings: the syntax of its value, and its place in struct
 * settings. */
#ifndef BATON_SERVER_SETTINGS_SETTING_H
#define BATON_SERVER_SETTINGS_SETTING_H

#include "server/settings/settings.h"

#include <stddef.h>

/* TEXT and SECRET are a char * in struct settings, CHOICE an enum, FLAG a bool, the others an
 * int64_t. A SECRET may also come from a file; batond overwrites it once it is copied. */
enum setting_kind { TEXT, SECRET, DURATION, COUNT, CHOICE, FLAG, REPLICAS, QUARANTINE };

enum { SETTING_KINDS = QUARANTINE + 1 }; /* QUARANTINE is the last kind */

struct setting {
    const char *group; /* a heading of the help and docs/settings.md; its rows are adjacent */
    const char *name;
    enum setting_kind kind;
    size_t offset;        /* in struct settings */
    const char *standard; /* the default; NULL: unset */
    const char *value;    /* stands for the value in the help */
    const char *help;
    int64_t lowest;
    int64_t highest;
    const char *const *choices; /* in the order of the enum, then NULL */
};

/* In server/settings/settings.c. */
extern const struct setting SETTINGS[];
extern const size_t SETTING_COUNT;

enum {
    SETTING_SHOWN = 100
}; /* bytes of a wrong value, so that the message has room to say what is expected */

/* Parses and stores a value. `origin` names its source for messages: --name or BATON_NAME. Returns
 * 0 or a negative errno, with a failure that says what is expected. */
int setting_set(struct settings *settings, const struct setting *setting, const char *value,
                const char *origin, struct failure *failure);

/* Returns the place of a TEXT or SECRET. */
char **setting_text(struct settings *settings, const struct setting *setting);

#endif
