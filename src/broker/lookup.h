/* One lookup, waited for: for whoever explains what the broker would do. The broker's own go through the dialer. */
#pragma once

#include "broker/vet.h"

/* Asks sage-egress-resolver in DIRECTORY for NAME, at most TIMEOUT_MS. ret_refusal: REFUSAL_NONE with ret filled, or REFUSAL_DNS_*. Fails only
 * where the program cannot be run. */
int lookup(const char *directory, const char *name, int timeout_ms, struct addresses *ret, enum refusal *ret_refusal, struct error *err);
