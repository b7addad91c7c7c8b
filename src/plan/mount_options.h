/* The words of mounts[].options. config.md, "Linux mount options", and what crun adds. */
#pragma once

#include "plan/compilation.h"

/* What the options of one mount say together. Flags and attributes are both filled, because only the kind of the mount tells which
 * of them will be used: flags (MS_*) for mount(2) of a new file system, attributes (MOUNT_ATTR_*) for mount_setattr(2) on a bind. */
struct mount_options {
        uint64_t flags;
        uint64_t attributes_set, attributes_clear;
        uint64_t recursive_set, recursive_clear; /* the r… forms, AT_RECURSIVE */
        uint64_t propagation;                    /* MS_SHARED … with or without MS_REC; 0: none was asked for */
        bool bind, recursive, remount;
        bool copy_up, copy_symlink, source_nofollow, destination_nofollow;
        const char *idmap;                       /* "idmap", "ridmap" or crun's "idmap=…"; NULL: none */
        const char *superblock;                  /* an option that only a file system can have, not a bind of it; NULL: none */
        const char *data;                        /* what is in no table, comma-separated, for the file system; NULL: nothing */
};

/* field: "mounts[3].options". Of two options that contradict each other the later counts, as in mount(8). */
int mount_options_parse(struct arena *arena, const char *const *options, size_t n, const char *field, struct mount_options *ret,
                        struct error *err);

/* The names that work, sorted, for `features`. *ret_n entries in an array that lives in ARENA. */
const char **mount_options_names(struct arena *arena, size_t *ret_n);
