#include "tests/support/front.h"

#include "tests/support/clock.h"
#include "tests/support/cmocka.h"
#include "tests/support/free_port.h"
#include "tests/support/raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_LONGEST = 16384, PLACES = 1 + FRONT_REPLICAS };

static const char *const FILES[] = {[FRONT_HAPROXY] = "haproxy.cfg",
                                    [FRONT_NGINX] = "nginx.conf",
                                    [FRONT_NGINX_PLAIN] = "plain.conf"};

static const char PLAIN[] = "events {}\n"
                            "http {\n"
                            "    access_log off;\n"
                            "    upstream replicas {\n"
                            "        server 127.0.0.1:7421;\n"
                            "        server 127.0.0.1:7422;\n"
                            "    }\n"
                            "    server {\n"
                            "        listen 127.0.0.1:7420;\n"
                            "        location /below/ {\n"
                            "            proxy_pass http://replicas/;\n"
                            "        }\n"
                            "        location / {\n"
                            "            proxy_pass http://replicas;\n"
                            "        }\n"
                            "    }\n"
                            "}\n";

/* deploy/ is beside tests/, seen from the folder that Baton was built in. */
static void read_file(const char *name, char *text)
{
    char path[300];
    const char *end = strstr(__FILE__, "tests/support/");
    snprintf(path, sizeof path, "%.*sdeploy/%s", (int)(end - __FILE__), __FILE__, name);
    FILE *file = fopen(path, "re");
    if (!file)
        fail_msg("cannot open %s", path);
    size_t length = fread(text, 1, FILE_LONGEST - 1, file);
    fclose(file);
    text[length] = '\0';
    assert_true(length < FILE_LONGEST - 1);
}

/* Writes the file with these addresses in place of 127.0.0.1:7420, :7421 and :7422, each of which
 * it has once. */
static void write_file(const char *path, const char *text, const int ports[PLACES])
{
    FILE *file = fopen(path, "we");
    int seen[PLACES] = {0};
    assert_non_null(file);
    for (const char *next; (next = strstr(text, "127.0.0.1:742")); text = next + 14) {
        int place = next[13] - '0';
        assert_in_range(place, 0, PLACES - 1);
        seen[place]++;
        fprintf(file, "%.*s127.0.0.1:%d", (int)(next - text), text, ports[place]);
    }
    fputs(text, file);
    fclose(file);
    for (int i = 0; i < PLACES; i++)
        assert_int_equal(seen[i], 1);
}

static bool listens(void *context)
{
    struct front *front = context;
    if (process_wait(&front->process, 0))
        return true; /* it never will: the caller looks */
    int fd = raw_connect(front->port);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Both in the foreground and in one process, so that they end with the test whatever happens. */
static void launch(struct front *front, enum front_kind kind, const char *path)
{
    char log[112], own[400];
    snprintf(log, sizeof log, "%s/log", front->dir.path);
    snprintf(own, sizeof own, "daemon off; master_process off; pid %s/pid; error_log stderr warn;",
             front->dir.path);
    const char *const haproxy[] = {"haproxy", "-db", "-f", path, NULL};
    const char *const nginx[] = {"nginx", "-e", "stderr", "-p", front->dir.path,
                                 "-c",    path, "-g",     own,  NULL};
    process_start(&front->process, kind == FRONT_HAPROXY ? haproxy : nginx,
                  (const char *const[]){"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", NULL},
                  log);
}

void front_start(struct front *front, enum front_kind kind, const int ports[FRONT_REPLICAS])
{
    char text[FILE_LONGEST], path[100];
    *front = (struct front){.port = free_port()};
    temp_dir_make(&front->dir);
    snprintf(path, sizeof path, "%s/%s", front->dir.path, FILES[kind]);
    if (kind == FRONT_NGINX_PLAIN)
        memcpy(text, PLAIN, sizeof PLAIN);
    else
        read_file(FILES[kind], text);
    write_file(path, text, (const int[PLACES]){front->port, ports[0], ports[1]});
    launch(front, kind, path);
    if (clock_wait_until(listens, front, CLOCK_HANG_MS) && front->process.pid)
        return;
    char *output = process_output(&front->process);
    print_error("%s", output);
    free(output);
    fail_msg("%s does not start", FILES[kind]);
}

void front_stop(struct front *front)
{
    if (!front->dir.path[0])
        return;
    process_kill(&front->process);
    temp_dir_remove(&front->dir);
}
