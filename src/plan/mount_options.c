#define _GNU_SOURCE
#include "plan/mount_options.h"

#include <stdlib.h>
#include <sys/mount.h>

enum kind {
        NOTHING,    /* "defaults" */
        FLAG,       /* one mount: MS_* for a new one, MOUNT_ATTR_* for a bind */
        SUPERBLOCK, /* a file system: MS_* only */
        RECURSIVE,  /* MOUNT_ATTR_* for the mount and all below it */
        PROPAGATION,
        EXTENSION, /* a member of struct mount_options */
        IDMAP,
};

struct mount_option {
        const char *name;
        enum kind kind;
        uint32_t set, clear;                       /* MS_* */
        uint32_t attributes_set, attributes_clear; /* MOUNT_ATTR_* */
        size_t member;                             /* of struct mount_options, a bool */
};

/* mount_setattr(2): the access time is one field of several values, so setting one means to clear the field. noatime takes the
 * field's place in mount(2) as well, where two of the three flags together would be EINVAL or chance. */
#define ATIME MOUNT_ATTR__ATIME
#define MS_ATIME (MS_NOATIME | MS_RELATIME | MS_STRICTATIME)
/* "The kernel's default", which is relatime since 2.6.30 (mount(8)). */
#define DEFAULT_ATIME .clear = MS_ATIME, .attributes_clear = ATIME
#define MEMBER(name) .kind = EXTENSION, .member = offsetof(struct mount_options, name)

/* Sorted by name, for bsearch(). */
static const struct mount_option options_table[] = {
        { "async", SUPERBLOCK, .clear = MS_SYNCHRONOUS },
        { "atime", FLAG, DEFAULT_ATIME },
        { "bind", MEMBER(bind) },
        { "copy-symlink", MEMBER(copy_symlink) },
        { "defaults", NOTHING },
        { "dest-nofollow", MEMBER(destination_nofollow) },
        { "dev", FLAG, .clear = MS_NODEV, .attributes_clear = MOUNT_ATTR_NODEV },
        { "diratime", FLAG, .clear = MS_NODIRATIME, .attributes_clear = MOUNT_ATTR_NODIRATIME },
        { "dirsync", SUPERBLOCK, .set = MS_DIRSYNC },
        { "exec", FLAG, .clear = MS_NOEXEC, .attributes_clear = MOUNT_ATTR_NOEXEC },
        { "idmap", IDMAP },
        { "iversion", SUPERBLOCK, .set = MS_I_VERSION },
        { "lazytime", SUPERBLOCK, .set = MS_LAZYTIME },
        { "loud", SUPERBLOCK, .clear = MS_SILENT },
        { "mand", SUPERBLOCK, .set = MS_MANDLOCK },
        { "noatime", FLAG, .set = MS_NOATIME, .clear = MS_ATIME, .attributes_set = MOUNT_ATTR_NOATIME, .attributes_clear = ATIME },
        { "nodev", FLAG, .set = MS_NODEV, .attributes_set = MOUNT_ATTR_NODEV },
        { "nodiratime", FLAG, .set = MS_NODIRATIME, .attributes_set = MOUNT_ATTR_NODIRATIME },
        { "noexec", FLAG, .set = MS_NOEXEC, .attributes_set = MOUNT_ATTR_NOEXEC },
        { "noiversion", SUPERBLOCK, .clear = MS_I_VERSION },
        { "nolazytime", SUPERBLOCK, .clear = MS_LAZYTIME },
        { "nomand", SUPERBLOCK, .clear = MS_MANDLOCK },
        { "norelatime", FLAG, DEFAULT_ATIME },
        { "nostrictatime", FLAG, DEFAULT_ATIME },
        { "nosuid", FLAG, .set = MS_NOSUID, .attributes_set = MOUNT_ATTR_NOSUID },
        { "nosymfollow", FLAG, .set = MS_NOSYMFOLLOW, .attributes_set = MOUNT_ATTR_NOSYMFOLLOW },
        { "private", PROPAGATION, .set = MS_PRIVATE },
        { "ratime", RECURSIVE, DEFAULT_ATIME },
        { "rbind", MEMBER(recursive) },
        { "rdev", RECURSIVE, .attributes_clear = MOUNT_ATTR_NODEV },
        { "rdiratime", RECURSIVE, .attributes_clear = MOUNT_ATTR_NODIRATIME },
        { "relatime", FLAG, .set = MS_RELATIME, .clear = MS_ATIME, .attributes_clear = ATIME },
        { "remount", MEMBER(remount) },
        { "rexec", RECURSIVE, .attributes_clear = MOUNT_ATTR_NOEXEC },
        { "ridmap", IDMAP },
        { "rnoatime", RECURSIVE, .attributes_set = MOUNT_ATTR_NOATIME, .attributes_clear = ATIME },
        { "rnodev", RECURSIVE, .attributes_set = MOUNT_ATTR_NODEV },
        { "rnodiratime", RECURSIVE, .attributes_set = MOUNT_ATTR_NODIRATIME },
        { "rnoexec", RECURSIVE, .attributes_set = MOUNT_ATTR_NOEXEC },
        { "rnorelatime", RECURSIVE, DEFAULT_ATIME },
        { "rnostrictatime", RECURSIVE, DEFAULT_ATIME },
        { "rnosuid", RECURSIVE, .attributes_set = MOUNT_ATTR_NOSUID },
        { "rnosymfollow", RECURSIVE, .attributes_set = MOUNT_ATTR_NOSYMFOLLOW },
        { "ro", FLAG, .set = MS_RDONLY, .attributes_set = MOUNT_ATTR_RDONLY },
        { "rprivate", PROPAGATION, .set = MS_PRIVATE | MS_REC },
        { "rrelatime", RECURSIVE, .attributes_clear = ATIME },
        { "rro", RECURSIVE, .attributes_set = MOUNT_ATTR_RDONLY },
        { "rrw", RECURSIVE, .attributes_clear = MOUNT_ATTR_RDONLY },
        { "rshared", PROPAGATION, .set = MS_SHARED | MS_REC },
        { "rslave", PROPAGATION, .set = MS_SLAVE | MS_REC },
        { "rstrictatime", RECURSIVE, .attributes_set = MOUNT_ATTR_STRICTATIME, .attributes_clear = ATIME },
        { "rsuid", RECURSIVE, .attributes_clear = MOUNT_ATTR_NOSUID },
        { "rsymfollow", RECURSIVE, .attributes_clear = MOUNT_ATTR_NOSYMFOLLOW },
        { "runbindable", PROPAGATION, .set = MS_UNBINDABLE | MS_REC },
        { "rw", FLAG, .clear = MS_RDONLY, .attributes_clear = MOUNT_ATTR_RDONLY },
        { "shared", PROPAGATION, .set = MS_SHARED },
        { "silent", SUPERBLOCK, .set = MS_SILENT },
        { "slave", PROPAGATION, .set = MS_SLAVE },
        { "src-nofollow", MEMBER(source_nofollow) },
        { "strictatime", FLAG, .set = MS_STRICTATIME, .clear = MS_ATIME, .attributes_set = MOUNT_ATTR_STRICTATIME,
                .attributes_clear = ATIME },
        { "suid", FLAG, .clear = MS_NOSUID, .attributes_clear = MOUNT_ATTR_NOSUID },
        { "symfollow", FLAG, .clear = MS_NOSYMFOLLOW, .attributes_clear = MOUNT_ATTR_NOSYMFOLLOW },
        { "sync", SUPERBLOCK, .set = MS_SYNCHRONOUS },
        { "tmpcopyup", MEMBER(copy_up) },
        { "unbindable", PROPAGATION, .set = MS_UNBINDABLE },
};

static int compare(const void *name, const void *row) {
        return strcmp(name, ((const struct mount_option *)row)->name);
}

/* crun's "idmap=uids=…;gids=…" is a word with a value. */
static const struct mount_option *find(const char *name) {
        if (str_after(name, "idmap="))
                name = "idmap";
        else if (str_after(name, "ridmap="))
                name = "ridmap";
        return bsearch(name, options_table, ELEMENTSOF(options_table), sizeof options_table[0], compare);
}

const char **mount_options_names(struct arena *arena, size_t *ret_n) {
        const char **names = arena_array(arena, const char *, ELEMENTSOF(options_table) + 1);
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTSOF(options_table); i++)
                names[n++] = options_table[i].name;
        *ret_n = n;
        return names;
}

/* The later option wins: what it sets is no longer cleared, and the other way round. */
static void change(uint64_t *set, uint64_t *clear, uint64_t to_set, uint64_t to_clear) {
        *set = (*set & ~to_clear) | to_set;
        *clear = (*clear & ~to_set) | to_clear;
}

static int apply_propagation(const struct mount_option *option, const char *field, struct mount_options *ret, struct error *err) {
        /* Two kinds one after the other can mean what one call cannot say ("slave", then "shared"). */
        if (ret->propagation && ret->propagation != option->set)
                return UNSUPPORTED(err, field, "expected one kind of propagation, found another one and then %s", option->name);
        ret->propagation = option->set;
        return 0;
}

static int apply(const struct mount_option *option, const char *text, const char *field, struct mount_options *ret, struct error *err) {
        switch (option->kind) {
        case NOTHING:
                break;
        case IDMAP:
                ret->idmap = text;
                break;
        case FLAG:
                ret->flags = (ret->flags & ~(uint64_t)option->clear) | option->set;
                change(&ret->attributes_set, &ret->attributes_clear, option->attributes_set, option->attributes_clear);
                break;
        case SUPERBLOCK:
                ret->flags = (ret->flags & ~(uint64_t)option->clear) | option->set;
                if (option->set)
                        ret->superblock = option->name;
                break;
        case RECURSIVE:
                change(&ret->recursive_set, &ret->recursive_clear, option->attributes_set, option->attributes_clear);
                break;
        case PROPAGATION:
                return apply_propagation(option, field, ret, err);
        case EXTENSION:
                *(bool *)((char *)ret + option->member) = true;
                break;
        }
        return 0;
}

int mount_options_parse(
        struct arena *arena, const char *const *options, size_t n, const char *field, struct mount_options *ret, struct error *err) {
        struct mount_options parsed = { 0 };
        size_t room = 0, used = 0;
        char *data = NULL;
        int r;

        for (size_t i = 0; i < n; i++) {
                const struct mount_option *option = find(options[i]);
                size_t length;

                if (option) {
                        if ((r = apply(option, options[i], field, &parsed, err)) < 0)
                                return r;
                        continue;
                }
                if (!*options[i])
                        continue;
                if (!data) { /* room for all that is left, commas and NUL included */
                        for (size_t k = i; k < n; k++)
                                room += strlen(options[k]) + 1;
                        data = arena_alloc(arena, room);
                } else
                        data[used++] = ',';
                length = strlen(options[i]);
                memcpy(data + used, options[i], length);
                used += length;
        }
        parsed.bind |= parsed.recursive;
        parsed.data = data;
        *ret = parsed;
        return 0;
}
