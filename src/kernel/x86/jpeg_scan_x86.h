/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_scan_x86.h: what jpeg_scan_x86.S and jpeg_scan_avx2.c know of each other; the latter checks
 * the numbers. */
#pragma once

#define INDEX_BITS 10
#define MAX_AC_BITS 10
#define TABLE_ADVANCE 1024
#define TABLE_ENTRY 2048
#define TABLE_CODE 10240
#define CODE_END 0
#define CODE_OFFSET 72
#define CODE_SYMBOL 144
#define ENTRY_SHIFT 0
#define ENTRY_FIRST 1
#define ENTRY_MASK 2
#define ENTRY_VALUE 4
#define STEER_AC 33792 /* of a block, from the block on */
#define STEER_NEXT_DC 33800
#define LOOP_WINDOW 0
#define LOOP_N_BITS 8
#define LOOP_NEXT 16
#define LOOP_TABLE 24
#define LOOP_K 32
#define LOOP_BLOCK 40
#define LOOP_K_START 48
#define LOOP_EXTEND 56
