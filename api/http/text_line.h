/* text_line.h: a line of text for people. */
#ifndef BATON_API_HTTP_TEXT_LINE_H
#define BATON_API_HTTP_TEXT_LINE_H

/* Writes the line as printf does, with a newline, for free(3). Invisible characters are escaped as
 * by utf8_show, further newlines, too. */
char *text_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
