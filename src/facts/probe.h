/* The probes behind facts_need(), one noun a file, and the small reader they share. */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "facts/facts.h"

/* Each allocates its part in ARENA. 0 or a negative errno; RET untouched on failure. */
int probe_kernel(struct arena *arena, struct facts_kernel **ret, struct error *err);
int probe_features(struct arena *arena, struct facts_features **ret, struct error *err);
int probe_identity(struct arena *arena, struct facts_identity **ret, struct error *err);
int probe_subids(struct arena *arena, const struct facts_identity *identity, struct facts_subids **ret, struct error *err);
int probe_cgroup(struct arena *arena, const struct facts_identity *identity, struct facts_cgroup **ret, struct error *err);
int probe_controllers(struct arena *arena, struct facts_cgroup *cgroup, struct error *err);
int probe_delegation(struct arena *arena, const struct facts_facts *facts, struct facts_delegation **ret, struct error *err);
int probe_cgroup_root(struct arena *arena, const char *path, struct facts_cgroup_root **ret, struct error *err);
int probe_userns(struct arena *arena, const struct facts_identity *identity, struct facts_userns **ret, struct error *err);
int probe_trial(struct arena *arena, struct facts_trial **ret, struct error *err);
int probe_proc(struct arena *arena, struct facts_proc **ret, struct error *err);
int probe_quotas(struct arena *arena, const char *mount, struct facts_quota **ret, size_t *ret_n, struct error *err);
int probe_project(struct arena *arena, const char *workspace, const char *mount, struct facts_project **ret, struct error *err);
int probe_policy(struct arena *arena, const char *path, struct facts_policy **ret, struct error *err);
int probe_numa(struct arena *arena, struct facts_numa **ret, struct error *err);
int probe_rdt(struct arena *arena, struct facts_rdt **ret, struct error *err);
int probe_priorities(struct arena *arena, struct facts_priorities **ret, struct error *err);

/* Reads a small file of /proc, /sys or a cgroup into BUFFER, NUL-terminated, without the last newline: three system calls, where a
 * reader that waits for the end of the file needs four. Returns its length or a negative errno (-EFBIG: it fills the buffer). */
int probe_read(const char *path, char *buffer, size_t size);

/* The same as a number, for one that stands alone. 0 or a negative errno. */
int probe_number(const char *path, uint64_t *ret);

/* The words of TEXT (separated by any of SEPARATORS) as an array in ARENA, NULL-terminated; never NULL itself. */
const char **probe_words(struct arena *arena, const char *text, const char *separators, size_t *ret_n);

/* The parser of /proc/self/mountinfo (proc_pid_mountinfo(5)): calls VISIT for each mount until it returns false. */
struct probe_mount {
        unsigned id, parent;
        const char *root, *point, *type, *super_options;
};
void probe_mountinfo(char *text, bool (*visit)(const struct probe_mount *mount, void *data), void *data);

/* The pure half of probe_proc(): what a mountinfo text says about /proc. TEXT is cut into pieces. */
void probe_proc_text(struct arena *arena, char *text, struct facts_proc *ret);

/* The half of probe_rdt() behind the mount: what the resctrl file system at ROOT (NULL: there is none) can do. */
void probe_rdt_at(struct arena *arena, const char *root, struct facts_rdt *ret);

/* The pure half of probe_subids(): the spans that TEXT, a subuid(5) file, gives to the user NAME (may be NULL) or ID. */
struct facts_id_span *probe_subids_text(struct arena *arena, const char *text, const char *name, uint32_t id, size_t *ret_n);

/* The pure half of probe_cgroup(): the cgroup2 line of a /proc/self/cgroup text, up to but without its newline. NULL: not (yet) there. */
const char *probe_cgroup_line(const char *text, size_t *ret_n);
