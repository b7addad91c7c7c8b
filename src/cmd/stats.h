/* What a container has used, as the JSON of runc's `events`, which containerd's go-runc and docker read. Pure: where the text of the
 * cgroup's files comes from is the caller's business. */
#pragma once

#include <stdint.h>

#include "base/str.h"

struct stats_source {
        /* The text of the cgroup's FILE, valid until the next call, or NULL where there is none. */
        const char *(*read)(void *data, const char *file);
        void *data;
        const char *const *huge_page_sizes; /* "2MB", "1GB"; NULL-terminated */
        const struct stats_rdt *rdt;        /* NULL: the container has no class of service */
};

/* Where its class of service is; FILE above is then a path, too. */
struct stats_rdt {
        const char *root;           /* of the resctrl file system */
        const char *group;          /* the class */
        const char *monitored;      /* the monitoring group, or the class */
        const char *const *domains; /* what that counts by: "mon_L3_00", "mon_L3_01"; NULL-terminated */
};

/* {"cpu":…,"memory":…,"pids":…,"blkio":…,"hugetlb":…}, and "intel_rdt" where there is a class of service. What this host does not count is 0,
 * what it does not limit is "no limit" in runc's words: 18446744073709551615, for pids 0. */
void stats_append(struct str *out, const struct stats_source *source);

/* That last member's value. Of a resource that this host cannot share out nothing is said (resctrl.rst). */
void stats_append_rdt(struct str *out, const struct stats_source *source);

/* The number behind KEY in a file of "KEY NUMBER" lines; 0 where it is not. TEXT may be NULL. */
uint64_t stats_number(const char *text, const char *key);
