#define _GNU_SOURCE
#include "plan/devices.h"

#include <linux/capability.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "plan/ids.h"

/* Kernel: include/linux/kdev_t.h; mknod(2) drops the bits above. */
#define LARGEST_MAJOR ((1 << 12) - 1)
#define LARGEST_MINOR ((1 << 20) - 1)

static const struct plan_device default_devices[] = {
        { .path = "/dev/null", .type = S_IFCHR, .major = 1, .minor = 3, .mode = 0666 },
        { .path = "/dev/zero", .type = S_IFCHR, .major = 1, .minor = 5, .mode = 0666 },
        { .path = "/dev/full", .type = S_IFCHR, .major = 1, .minor = 7, .mode = 0666 },
        { .path = "/dev/random", .type = S_IFCHR, .major = 1, .minor = 8, .mode = 0666 },
        { .path = "/dev/urandom", .type = S_IFCHR, .major = 1, .minor = 9, .mode = 0666 },
        { .path = "/dev/tty", .type = S_IFCHR, .major = 5, .minor = 0, .mode = 0666 },
};

/* config-linux.md: u is an unbuffered character device, which Linux does not tell from c. */
static const uint32_t types[] = {
        [OCI_DEVICE_TYPE_C] = S_IFCHR,
        [OCI_DEVICE_TYPE_B] = S_IFBLK,
        [OCI_DEVICE_TYPE_U] = S_IFCHR,
        [OCI_DEVICE_TYPE_P] = S_IFIFO,
};

static int compile_number(struct compilation *c, const struct oci_device *asked, const char *field, const char *member, uint64_t bit,
        int64_t value, int64_t largest, uint32_t *ret) {
        if (asked->type == OCI_DEVICE_TYPE_P)
                return 0;
        if (!(asked->has & bit))
                return INVALID(c->err, FIELD(c->arena, "%s.%s", field, member), "required, unless type is \"p\"");
        if (value < 0 || value > largest)
                return INVALID(c->err, FIELD(c->arena, "%s.%s", field, member), "expected 0 to %lld, found %lld", (long long)largest,
                        (long long)value);
        *ret = (uint32_t)value;
        return 0;
}

/* A node is a name in a directory; slashes behind it say nothing. */
static int compile_path(struct compilation *c, const char *asked, const char *field, const char **ret) {
        size_t length = asked ? strlen(asked) : 0;
        const char *name;

        while (length > 0 && asked[length - 1] == '/')
                length--;
        if (length == 0 || asked[0] != '/')
                return INVALID(c->err, FIELD(c->arena, "%s.path", field), "expected an absolute path, found \"%s\"", asked ?: "");
        *ret = arena_strndup(c->arena, asked, length);
        name = strrchr(*ret, '/') + 1;
        if (streq(name, ".") || streq(name, ".."))
                return INVALID(c->err, FIELD(c->arena, "%s.path", field), "%s names a directory", asked);
        return 0;
}

static int compile_device(struct compilation *c, const struct oci_device *asked, size_t index, struct plan_device *device) {
        const char *field = FIELD(c->arena, "linux.devices[%zu]", index);
        int r;

        if (asked->type < OCI_DEVICE_TYPE_C || asked->type > OCI_DEVICE_TYPE_P)
                return INVALID(c->err, FIELD(c->arena, "%s.type", field), "expected c, b, u or p");
        *device = (struct plan_device){ .field = field, .type = types[asked->type], .mode = 0666 };
        if ((r = compile_path(c, asked->path, field, &device->path)) < 0)
                return r;
        if ((r = compile_number(c, asked, field, "major", OCI_DEVICE_HAS_MAJOR, asked->major, LARGEST_MAJOR, &device->major)) < 0 ||
                (r = compile_number(c, asked, field, "minor", OCI_DEVICE_HAS_MINOR, asked->minor, LARGEST_MINOR, &device->minor)) < 0)
                return r;
        if (asked->has & OCI_DEVICE_HAS_FILE_MODE) {
                /* docker and podman leave the host node's type bits in. */
                uint32_t mode = asked->file_mode & ~(uint32_t)S_IFMT;

                if (mode > 07777)
                        return INVALID(c->err, FIELD(c->arena, "%s.fileMode", field), "expected a file mode in decimal, found %u",
                                asked->file_mode);
                device->mode = mode;
        }
        if (asked->uid == UINT32_MAX || asked->gid == UINT32_MAX)
                return INVALID(c->err, FIELD(c->arena, "%s.%s", field, asked->uid == UINT32_MAX ? "uid" : "gid"), "4294967295 is no owner");
        device->uid = asked->uid;
        device->gid = asked->gid;
        return 0;
}

static int by_path(const void *left, const void *right) {
        const struct plan_device *a = *(const struct plan_device *const *)left, *b = *(const struct plan_device *const *)right;
        int r = strcmp(a->path, b->path);

        return r ? r : (a > b) - (a < b);
}

static bool same_node(const struct plan_device *a, const struct plan_device *b) {
        return a->type == b->type && a->major == b->major && a->minor == b->minor;
}

/* Two entries with one path: the same node twice is one node; two nodes cannot be. Taken out entries lose their path. */
static int drop_duplicates(struct compilation *c, struct plan_device *devices, size_t n) {
        struct plan_device **sorted = arena_array(c->arena, struct plan_device *, n);

        for (size_t i = 0; i < n; i++)
                sorted[i] = &devices[i];
        qsort(sorted, n, sizeof *sorted, by_path);
        for (size_t i = 1; i < n; i++) {
                if (!streq(sorted[i]->path, sorted[i - 1]->path))
                        continue;
                if (!same_node(sorted[i], sorted[i - 1]))
                        return INVALID(c->err, FIELD(c->arena, "%s.path", sorted[i]->field), "%s is another device in %s", sorted[i]->path,
                                sorted[i - 1]->field);
                /* The earlier goes; the later one is what the next comparison looks at. */
                sorted[i - 1]->path = NULL;
        }
        return 0;
}

static bool is_given(const struct plan_device *given, size_t n, const char *path) {
        for (size_t i = 0; i < n; i++)
                if (given[i].path && streq(given[i].path, path))
                        return true;
        return false;
}

/* mknod(2) of a device asks for CAP_MKNOD in the initial user namespace, whoever is to own the node. */
static bool can_mknod(const struct facts_identity *identity) {
        return identity->initial_userns && identity->capabilities & UINT64_C(1) << CAP_MKNOD;
}

/* Of a user namespace that is joined the map may not be known: then nobody knows an owner's id on the host. */
static void choose_maker(struct compilation *c) {
        struct plan_plan *plan = c->plan;
        bool inside = namespace_own(plan, CLONE_NEWUSER), possible = can_mknod(c->facts->identity);

        if (inside && possible && plan->ids->n_uid_map && plan->ids->n_gid_map) {
                plan->make_devices = true;
                plan->has |= PLAN_PLAN_HAS_MAKE_DEVICES;
        }
        plan->bind_devices = !plan->make_devices && (inside || !possible);
        plan->has |= PLAN_PLAN_HAS_BIND_DEVICES;
}

static int check_owners(struct compilation *c) {
        const struct plan_ids *ids = c->plan->ids;

        for (size_t i = 0; c->plan->make_devices && i < c->plan->n_devices; i++) {
                const struct plan_device *device = &c->plan->devices[i];

                if (!device->field || device->type == S_IFIFO)
                        continue;
                if (!ids_map_inside(ids->uid_map, ids->n_uid_map, device->uid))
                        return INVALID(c->err, FIELD(c->arena, "%s.uid", device->field), "%u is not in linux.uidMappings", device->uid);
                if (!ids_map_inside(ids->gid_map, ids->n_gid_map, device->gid))
                        return INVALID(c->err, FIELD(c->arena, "%s.gid", device->field), "%u is not in linux.gidMappings", device->gid);
        }
        return 0;
}

int devices_compile(struct compilation *c) {
        const struct oci_linux *linux = c->request->config->linux;
        struct plan_plan *plan = c->plan;
        struct plan_device *given = arena_array(c->arena, struct plan_device, linux->n_devices);
        int r;

        for (size_t i = 0; i < linux->n_devices; i++)
                if ((r = compile_device(c, &linux->devices[i], i, &given[i])) < 0)
                        return r;
        if ((r = drop_duplicates(c, given, linux->n_devices)) < 0)
                return r;
        plan->devices = arena_array(c->arena, struct plan_device, ELEMENTSOF(default_devices) + linux->n_devices);
        for (size_t i = 0; i < ELEMENTSOF(default_devices); i++)
                if (!is_given(given, linux->n_devices, default_devices[i].path))
                        plan->devices[plan->n_devices++] = default_devices[i];
        for (size_t i = 0; i < linux->n_devices; i++)
                if (given[i].path)
                        plan->devices[plan->n_devices++] = given[i];
        choose_maker(c);
        return check_owners(c);
}
