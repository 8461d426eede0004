/* table.h: holders and waiters in columns on standard output. A column is as wide as its widest
 * text. On a terminal, a line is no wider than the screen. */
#ifndef BATON_CLI_COMMANDS_TABLE_H
#define BATON_CLI_COMMANDS_TABLE_H

#include <jansson.h>
#include <stddef.h>

enum { TABLE_COLUMNS = 7 }; /* name, state, owner, client, fence, for, left */

/* Begins zeroed. Its owner frees `rows`. */
struct table {
    json_t *rows; /* not yet printed: arrays of texts, or single texts; NULL: none yet */
    size_t widths[TABLE_COLUMNS];
};

/* Adds a row, and takes it over. */
void table_add(struct table *table, json_t *row);

/* Prints the rows, the first time with a heading, and removes them. */
void table_print(struct table *table);

/* How many characters fit into a line of this terminal; `otherwise` if unknown. */
size_t table_room(int terminal, size_t otherwise);

#endif
