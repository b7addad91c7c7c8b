/* The output of the host's ps, cut down to some processes. Pure. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/str.h"

/* Appends to OUT the first line of TEXT, and of the others those whose PID column holds one of the N PIDS. The column is the word "PID"
 * of the first line, counted in words, as engines count it: ps aligns words to the left and to the right. */
int ps_table_filter(const char *text, const pid_t *pids, size_t n, struct str *out, struct error *err);
