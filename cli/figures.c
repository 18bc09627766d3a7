/* SPDX-License-Identifier: Apache-2.0 */
/* figures.c: rates, sizes and times in a few characters. */
#include "figures.h"

#include <stdio.h>

double cli_per_second(double n, double seconds)
{
    return seconds > 0 ? n / seconds : 0;
}

double cli_megabytes(double bytes)
{
    return bytes / (1 << 20);
}

const char *cli_short_number(char out[16], double value)
{
    static const char suffixes[] = " kMGT";
    int i = 0;
    for (; value >= 999.5 && suffixes[i + 1]; i++)
        value /= 1000;
    int decimals = i == 0 && value == (double)(int)value ? 0
                   : value < 9.995                       ? 2
                   : value < 99.95                       ? 1
                                                         : 0;
    snprintf(out, 16, "%.*f%.*s", decimals, value, i > 0, suffixes + i);
    return out;
}

const char *cli_clock(char out[16], double seconds)
{
    int n = seconds < 1e6 ? (int)(seconds + 0.5) : 1000000;
    if (n >= 3600)
        snprintf(out, 16, "%d:%02d:%02d", n / 3600, n / 60 % 60, n % 60);
    else
        snprintf(out, 16, "%d:%02d", n / 60, n % 60);
    return out;
}
