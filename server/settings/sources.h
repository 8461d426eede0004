/* sources.h: reads settings from flags, from variables, and from files of secrets. */
#ifndef BATON_SERVER_SETTINGS_SOURCES_H
#define BATON_SERVER_SETTINGS_SOURCES_H

#include "server/settings/settings.h"

/* All return 0, or a negative errno with a failure that names the flag or the variable. */

/* Reads the commands, such as --help, at any place among the flags. */
int sources_read_command(struct settings *settings, int argc, char **argv, struct failure *failure);

/* Reads the settings: flags override variables. */
int sources_read(struct settings *settings, int argc, char **argv, struct failure *failure);

/* Variables that are no settings, but that an operator may have taken for some:
 * BATON_REDIS_HOST. */
struct overlooked {
    char variables[256];
    char settings[128]; /* what to set in their place */
};

/* Returns false if there are none. */
bool sources_overlooked(const struct settings *settings, struct overlooked *ret);

/* Overwrites the secrets among the flags and variables, which ps and /proc show. Call this after
 * reading them, even if that has failed. */
void sources_hide(int argc, char **argv);

#endif
