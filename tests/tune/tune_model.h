/* SPDX-License-Identifier: Apache-2.0 */
/* tune_model.h: a run that is only simulated, on a clock of its own, for controllers to tune. */
#pragma once
#include "tune/controller.h"

/* Times are milliseconds. What a ticket costs depends on its number alone. */
struct scene {
    const char *name;
    int cores;
    int n_tickets;                  /* in a batch */
    double ticket, spread;          /* mean cost; 0: all alike, 1: as random arrivals are */
    double slow_share, slow_factor; /* batches that cost more */
    double step, step_spread;       /* of the consumer */
    int step_threads;               /* cores it would use; 0: it waits for a device */
    int pause_every;                /* steps from one pause to the next; 0: none */
    double pause;
    double phase, phase_factor; /* every other phase costs more by the factor; 0: none */
    double jump_at, jump;       /* of the clock */
    int window, max_window;     /* where a tuned run begins, and may go */
    bool is_window_fixed;
    int fixed_workers; /* 0: free */
};

struct outcome {
    double n_batches, wait_share;
    double late_share; /* waits in the second half */
    double mean_workers, mean_window;
    int n_moves, window, workers;
    double slowest_growth; /* from the first wait with too few workers until all may work */
};

/* Workers and window stay as given, or are tuned from there. */
struct outcome run_scene(const struct scene *scene, int workers, int window, double milliseconds,
                         bool is_tuned);

/* The most batches that fixed numbers give. */
struct outcome best_of_grid(const struct scene *scene, double milliseconds);
