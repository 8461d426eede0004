/* loaded_scripts.h: the scripts that Redis has received on this connection. */
#ifndef BATON_REDIS_WIRE_LOADED_SCRIPTS_H
#define BATON_REDIS_WIRE_LOADED_SCRIPTS_H

#include "redis/types/script.h"

#include <stdbool.h>

enum { LOADED_MOST = 32 }; /* with more scripts than this, some are sent more often than needed */

/* Zeroed for each new connection. */
struct loaded_scripts {
    size_t count;
    struct loaded_script {
        const struct script *script;
        bool on_its_way;
        bool refused;
        char error[160]; /* why Redis refused to load it, if it did */
    } scripts[LOADED_MOST];
};

/* Returns NULL if Redis has not received the script yet. */
struct loaded_script *loaded_scripts_find(struct loaded_scripts *loaded,
                                          const struct script *script);

/* Notes that a SCRIPT LOAD is on its way. */
void loaded_scripts_begin(struct loaded_scripts *loaded, const struct script *script);

/* Notes the answer to a SCRIPT LOAD; `error` is NULL or the error reply. */
void loaded_scripts_end(struct loaded_scripts *loaded, const struct script *script,
                        const char *error);

#endif
