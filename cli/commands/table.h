/* table.h: holders and waiters in columns on standard output. A column is as wide as what is in it.
 * On a terminal, a line is no wider than that. */
#ifndef BATON_CLI_COMMANDS_TABLE_H
#define BATON_CLI_COMMANDS_TABLE_H

#include <jansson.h>
#include <stddef.h>

enum { TABLE_COLUMNS = 7 }; /* name, state, owner, client, fence, for, left */

/* Begins zeroed. Its owner frees `rows`. */
struct table {
    json_t *rows; /* not printed yet: arrays of texts, or texts that stand alone; NULL: none yet */
    size_t widths[TABLE_COLUMNS];
};

/* Adds a row, and takes it. */
void table_add(struct table *table, json_t *row);

/* Prints the rows, the first time under a heading, and removes them. */
void table_print(struct table *table);

/* The characters that fit into a line of this terminal, or `otherwise`. */
size_t table_room(int terminal, size_t otherwise);

#endif
