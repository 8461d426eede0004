#include "server/process/readings.h"

#include "api/access/tokens_file.h"

/* A principal that was in the file before keeps its account. */
static int readings_read_tokens_file(struct process *process, struct failure *failure)
{
    const struct tokens_file_options options = {.path = process->settings.tokens_file,
                                                .before = process->principals,
                                                .certificates =
                                                    process->settings.tls_client_ca != NULL};
    struct principals *principals;
    int result = tokens_file_read(&options, &principals, failure);
    if (result < 0)
        return result;
    principals_drop(process->principals);
    process->principals = principals;
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_set_principals(process->workers[i], principals);
    return 0;
}

int readings_of_principals(struct process *process, struct failure *failure)
{
    if (process->settings.tokens_file)
        return readings_read_tokens_file(process, failure);
    process->principals =
        process->settings.tls_client_ca ? principals_certified() : principals_anonymous();
    return 0;
}

static int readings_read_https(struct process *process, struct failure *failure)
{
    const struct https_files files = {.certificate = process->settings.tls_cert,
                                      .key = process->settings.tls_key,
                                      .client_ca = process->settings.tls_client_ca};
    struct https *https;
    int result = https_read(&https, &files, failure);
    if (result < 0)
        return result;
    https_drop(process->https);
    process->https = https;
    if (https_warning(https))
        log_line(&process->log, LOG_WARN, "clients will not trust this batond", "reason",
                 https_warning(https), NULL);
    for (size_t i = 0; i < process->worker_count; i++)
        if (process->workers[i])
            worker_set_https(process->workers[i], https);
    return 0;
}

int readings_of_https(struct process *process, struct failure *failure)
{
    return process->settings.tls_cert ? readings_read_https(process, failure) : 0;
}

/* If a file cannot be read, its last good reading stays in force. */
static void reload(struct process *process, const char *setting,
                   int (*read)(struct process *process, struct failure *failure))
{
    struct failure failure;
    if (read(process, &failure) == 0)
        log_line(&process->log, LOG_INFO, "read again", "setting", setting, NULL);
    else
        log_line(&process->log, LOG_ERROR,
                 "cannot read the file again; its last good content stays in force", "setting",
                 setting, "reason", failure.text, NULL);
}

void readings_again(struct process *process)
{
    if (process->settings.tokens_file)
        reload(process, "tokens-file", readings_read_tokens_file);
    if (process->settings.tls_cert)
        reload(process, "tls-cert", readings_read_https);
}
