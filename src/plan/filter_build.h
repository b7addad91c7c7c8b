/* filter_build() for a machine other than this one, which tests compare with libseccomp. */
#pragma once

#include "plan/filter.h"
#include "plan/filter_arch.h"

int filter_build_for(struct arena *arena, const struct oci_seccomp *rules, enum filter_machine machine, struct filter_program *ret,
                     struct error *err);
