/* What the helper programs give up, each before it reads the first byte of a stranger's. They were started with the dialer's identity, its
 * Landlock rules and its filter, and with nothing open but their socket (helper_process.c). */
#pragma once

#include "base/error.h"

int lockdown_resolver(struct error *err);
int lockdown_tls(struct error *err);
