#pragma once

#include "plan/compilation.h"

/* linux.intelRdt, where it is there. */
int rdt_compile(struct compilation *c);

/* One line for a schemata file: NAME:…, NAME being any where ONLY is NULL. */
int rdt_check_schema(const char *schema, const char *only, const char *field, struct error *err);
