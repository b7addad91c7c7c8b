/* What `features` prints (runtime-spec, features.md). */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "spec/features.h"

/* Facts of this build, whatever the host can do, and only what works: lists come from the tables that do the work. */
int features_list(struct arena *arena, struct oci_features **ret, struct error *err);
