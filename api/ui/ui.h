/* ui.h: the page of api/ui/, put together when building. */
#ifndef BATON_API_UI_UI_H
#define BATON_API_UI_UI_H

#include <stddef.h>

extern const char ui_page[]; /* HTML, NUL-terminated */
extern const size_t ui_page_length;

/* The Content-Security-Policy: the page may only run its own script and ask its own batond. */
extern const char ui_policy[];

extern const char ui_etag[]; /* quotes included */

#endif
