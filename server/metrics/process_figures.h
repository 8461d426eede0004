/* process_figures.h: the standard process metrics of Prometheus clients, read from the kernel. */
#ifndef BATON_SERVER_METRICS_PROCESS_FIGURES_H
#define BATON_SERVER_METRICS_PROCESS_FIGURES_H

#include <stdio.h>
#include <time.h>

/* Writes them in the Prometheus text format, without those that cannot be read. From any thread. */
void process_figures_write(FILE *out, time_t started);

#endif
