#include "tests/support/faults/preloaded.h"

#include "tests/support/cmocka.h"
#include "tests/support/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUILD_MS = 60000 };

/* preload/ is beside this file, seen from the folder that Baton was built in. */
void preloaded_build(const char *source, const char *library, const char *dir)
{
    struct process compiler;
    char path[300], log[120];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof path, "%.*s/preload/%s", (int)(slash - __FILE__), __FILE__, source);
    snprintf(log, sizeof log, "%s/log", dir);
    const char *const arguments[] = {
        "sh",    "-c", "exec ${CC:-cc} -D_GNU_SOURCE -shared -fPIC -o \"$0\" \"$1\" -ldl",
        library, path, NULL};
    process_start(&compiler, arguments, NULL, log);
    if (!process_wait(&compiler, BUILD_MS) || process_exit_code(&compiler) != 0) {
        char *output = process_output(&compiler);
        print_error("%s", output);
        free(output);
        fail_msg("cannot build %s", path);
    }
}
