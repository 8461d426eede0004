#include "cli/commands/table.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { NAME, STATE, OWNER, CLIENT, FENCE, FOR, LEFT };

/* On a narrow terminal these columns shrink one after the other, down to this width. */
static const struct {
    int column;
    size_t least; /* 0: it is left out */
} YIELDING[] = {{OWNER, 12}, {CLIENT, 0}, {FENCE, 0}, {NAME, 12}};

size_t table_room(int terminal, size_t otherwise)
{
    struct winsize size;
    return ioctl(terminal, TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : otherwise;
}

/* Returns how many bytes the first characters have, at most `most` bytes, and sets *ret_count to
 * their number. */
static size_t table_measure(const char *text, size_t most, size_t *ret_count)
{
    size_t length = 0;
    for (*ret_count = 0; text[length] && *ret_count < most; ++*ret_count)
        do
            length++;
        while ((text[length] & 0xc0) == 0x80);
    return length;
}

/* The heading is the first row. Most columns begin so wide that what baton watch prints later fits
 * them, too. */
static void table_begin(struct table *table)
{
    static const size_t WIDTHS[TABLE_COLUMNS] = {4, 9, 12, 9, 16, 6, 6};
    if (table->rows)
        return;
    memcpy(table->widths, WIDTHS, sizeof WIDTHS);
    table->rows = memory_checked(json_pack("[[s, s, s, s, s, s, s]]", "NAME", "STATE", "OWNER",
                                           "CLIENT", "FENCE", "FOR", "LEFT"));
}

void table_add(struct table *table, json_t *row)
{
    const json_t *cell;
    size_t i, count;
    table_begin(table);
    json_array_foreach (memory_checked(row), i, cell) {
        table_measure(json_string_value(cell), SIZE_MAX, &count);
        if (count > table->widths[i])
            table->widths[i] = count;
    }
    json_array_append_new(table->rows, row);
}

static void table_fit(size_t widths[TABLE_COLUMNS], size_t room)
{
    size_t total = TABLE_COLUMNS - 1;
    for (size_t i = 0; i < TABLE_COLUMNS; i++)
        total += widths[i];
    for (size_t i = 0; i < sizeof YIELDING / sizeof YIELDING[0]; i++) {
        size_t *width = &widths[YIELDING[i].column], least = YIELDING[i].least;
        for (; total > room && *width > least; *width -= least ? 1 : *width)
            total -= least ? 1 : *width + 1;
    }
}

static void table_print_row(const json_t *row, const size_t widths[TABLE_COLUMNS])
{
    const json_t *cell;
    size_t i, count;
    json_array_foreach (row, i, cell) {
        const char *text = json_string_value(cell);
        if (widths[i] == 0)
            continue;
        table_measure(text, SIZE_MAX, &count);
        size_t cut = count > widths[i];
        int length = (int)table_measure(text, widths[i] - cut, &count);
        int space = (int)(widths[i] - cut - count);
        printf("%*s%.*s%s%*s", i < FOR ? 0 : space, "", length, text, cut ? "…" : "",
               i < FOR ? space + 1 : i < LEFT, "");
    }
    puts(json_is_string(row) ? json_string_value(row) : "");
}

void table_print(struct table *table)
{
    size_t i, widths[TABLE_COLUMNS];
    const json_t *row;
    table_begin(table);
    memcpy(widths, table->widths, sizeof widths);
    table_fit(widths, table_room(STDOUT_FILENO, SIZE_MAX));
    json_array_foreach (table->rows, i, row)
        table_print_row(row, widths);
    json_array_clear(table->rows);
    fflush(stdout);
}
