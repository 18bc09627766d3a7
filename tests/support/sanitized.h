/* SPDX-License-Identifier: Apache-2.0 */
/* sanitized.h: whether a sanitizer watches. Then a test may try fewer cases of many: each takes several times as long. */
#pragma once

#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif
