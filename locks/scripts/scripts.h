/* scripts.h: the Lua functions of locks/scripts, one library, embedded when building. */
#ifndef BATON_LOCKS_SCRIPTS_SCRIPTS_H
#define BATON_LOCKS_SCRIPTS_SCRIPTS_H

#include "redis/types/script.h"

extern const struct library script_library;

extern const struct script script_acquire;
extern const struct script script_break;
extern const struct script script_count;
extern const struct script script_changes;
extern const struct script script_ended;
extern const struct script script_epoch;
extern const struct script script_epoch_read;
extern const struct script script_inspect;
extern const struct script script_leave;
extern const struct script script_libraries;
extern const struct script script_list;
extern const struct script script_many;
extern const struct script script_mark;
extern const struct script script_raise;
extern const struct script script_ready;
extern const struct script script_release;
extern const struct script script_renew;
extern const struct script script_tick;
extern const struct script script_heartbeat;
extern const struct script script_watch;

#endif
