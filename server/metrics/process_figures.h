/* process_figures.h: what every Prometheus client tells of its process, as the kernel has it. */
#ifndef BATON_SERVER_METRICS_PROCESS_FIGURES_H
#define BATON_SERVER_METRICS_PROCESS_FIGURES_H

#include <stdio.h>
#include <time.h>

/* Writes them in the Prometheus text format; what cannot be had is left out. Of any thread. */
void process_figures_write(FILE *out, time_t started);

#endif
