/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_visit.h: inside: the lock around libhdf5, its error messages, and its ids. */
#pragma once
#include "codec/array/hdf5_library.h"

#define H5_USE_110_API /* the functions of 1.10, whatever later versions call by these names */
#include <hdf5.h>

/* What is put back on leaving: who prints the library's errors (nobody meanwhile). */
struct stk__hdf5_visit {
    H5E_auto2_t print;
    void *ctx;
};

void stk__hdf5_enter(struct stk__hdf5_visit *visit);
void stk__hdf5_leave(const struct stk__hdf5_visit *visit);

/* Gives back an id of any kind; what is none is fine. Inside a visit. */
void stk__hdf5_drop(hid_t id);

/* Fails with `what` and the library's deepest reason. Inside a visit. */
int stk__hdf5_fail(struct stk_error *err, const char *what);

/* Fills in type and is_converted; the message is the cause alone. Inside a visit. */
int stk__hdf5_type(hid_t type, struct stk__hdf5_info *out, struct stk_error *err);

/* The type that values have in memory: as in the file, unless the library converts. Returns new. */
hid_t stk__hdf5_memory_type(hid_t dataset, const struct stk__hdf5_info *info);
