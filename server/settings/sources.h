/* sources.h: reads settings from flags, from variables, and from files of secrets. */
#ifndef BATON_SERVER_SETTINGS_SOURCES_H
#define BATON_SERVER_SETTINGS_SOURCES_H

#include "server/settings/settings.h"

/* All return 0, or a negative errno with a failure that names the flag or the variable. */

/* What has batond do something else than serve, wherever among the flags it stands. */
int sources_read_command(struct settings *settings, int argc, char **argv, struct failure *failure);

/* All others: flags over variables. */
int sources_read(struct settings *settings, int argc, char **argv, struct failure *failure);

/* Overwrites the secrets among the flags and the variables, which ps and /proc show, and what
 * was not copied from there. To be called once they were read, well or not. */
void sources_hide(int argc, char **argv);

#endif
