/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h: numbers as people read them. */
#pragma once
#include <stdint.h>

double cli_per_second(double n, double seconds);
double cli_megabytes(double bytes);

/* "12.3k": three digits and a suffix. */
const char *cli_short_number(char out[16], double value);

/* "1:02:03", or "2:03". */
const char *cli_clock(char out[16], double seconds);
