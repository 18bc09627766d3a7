/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h: what a run has counted and timed of itself. Part of stoker.h. */
#ifndef STOKER_METRICS_H
#define STOKER_METRICS_H

#include <stoker/stoker.h>

#ifdef __cplusplus
extern "C" {
#endif

/* All numbers of a run as they are now, docs/metrics.md explains each of them: format "json", or
 * "prometheus" for the text that Prometheus scrapes. It costs some microseconds and holds nobody up.
 * Any thread. Returns new, freed with stk_text_free. */
STK_API int stk_iterator_metrics(struct stk_iterator *it, const char *format, char **out,
                                 struct stk_error *err);

/* From now on records what each thread does, keeping its last `intervals`, about 50 bytes each. The
 * option `trace` does so from the beginning. */
STK_API int stk_iterator_trace_start(struct stk_iterator *it, int64_t intervals,
                                     struct stk_error *err);

/* What was recorded, in Chrome's trace event format: ui.perfetto.dev opens it. Any thread. Returns
 * new, freed with stk_text_free. */
STK_API int stk_iterator_trace(struct stk_iterator *it, char **out, struct stk_error *err);

#ifdef __cplusplus
}
#endif

#endif
