#include "redis/wire/loaded_scripts.h"

#include <stdio.h>

struct loaded_script *loaded_scripts_find(struct loaded_scripts *loaded,
                                          const struct script *script)
{
    for (size_t i = 0; i < loaded->count; i++)
        if (loaded->scripts[i].script == script)
            return &loaded->scripts[i];
    return NULL;
}

void loaded_scripts_begin(struct loaded_scripts *loaded, const struct script *script)
{
    struct loaded_script *entry = loaded_scripts_find(loaded, script);
    if (!entry && loaded->count < LOADED_MOST)
        entry = &loaded->scripts[loaded->count++];
    if (entry)
        *entry = (struct loaded_script){.script = script, .on_its_way = true};
}

void loaded_scripts_end(struct loaded_scripts *loaded, const struct script *script,
                        const char *error)
{
    struct loaded_script *entry = loaded_scripts_find(loaded, script);
    if (!entry)
        return;
    entry->on_its_way = false;
    entry->refused = error != NULL;
    snprintf(entry->error, sizeof entry->error, "%s", error ? error : "");
}
