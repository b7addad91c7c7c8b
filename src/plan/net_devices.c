#include "plan/net_devices.h"

#include <ctype.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <net/if.h>

#define BIT(n) (UINT64_C(1) << (n))

/* What the kernel takes for the name of a device: net/core/dev.c, dev_valid_name(). */
static bool is_name(const char *name) {
        size_t n = strlen(name);

        if (n == 0 || n >= IFNAMSIZ || streq(name, ".") || streq(name, ".."))
                return false;
        for (; *name; name++)
                if (*name == '/' || *name == ':' || isspace((unsigned char)*name))
                        return false;
        return true;
}

/* One "%d", for which the kernel puts the first number that is free: net/core/dev.c, __dev_alloc_name(). */
static bool is_template(const char *name) {
        const char *sign = strchr(name, '%');

        return sign && sign[1] == 'd' && !strchr(sign + 1, '%');
}

static int compile_one(struct compilation *c, const struct oci_net_device_entry *entry, struct plan_net_device *ret) {
        const char *field = FIELD(c->arena, "linux.netDevices[\"%s\"]", entry->key);
        const char *inside = entry->value.name && *entry->value.name ? entry->value.name : NULL;

        if (!is_name(entry->key) || strchr(entry->key, '%'))
                return INVALID(c->err, field, "expected the name of a network device: 1 to %d bytes without '/', ':', '%%' and blanks",
                        IFNAMSIZ - 1);
        if (streq(entry->key, "lo"))
                return INVALID(c->err, field, "lo belongs to its network namespace and cannot leave it");
        if (inside && (!is_name(inside) || (strchr(inside, '%') && !is_template(inside))))
                return INVALID(c->err, FIELD(c->arena, "%s.name", field),
                        "expected 1 to %d bytes without '/', ':' and blanks, and of '%%' at most one \"%%d\", found \"%s\"", IFNAMSIZ - 1,
                        inside);
        if (inside && streq(inside, "lo"))
                return INVALID(c->err, FIELD(c->arena, "%s.name", field), "every network namespace has a lo of its own");
        *ret = (struct plan_net_device){ .name = entry->key, .inside = inside };
        return 0;
}

static int check_inside(struct compilation *c, const struct plan_net_device *devices, size_t n) {
        const char *name = devices[n].inside ?: devices[n].name;

        for (size_t i = 0; i < n; i++)
                if (streq(name, devices[i].inside ?: devices[i].name) && !is_template(name))
                        return INVALID(c->err, FIELD(c->arena, "linux.netDevices[\"%s\"]", devices[n].name),
                                "is to be %s in the container, and so is %s", name, devices[i].name);
        return 0;
}

int net_devices_compile(struct compilation *c) {
        const struct oci_linux *linux = c->request->config->linux;
        const struct facts_identity *identity = c->facts->identity;
        struct plan_net_device *devices;
        int r;

        if (linux->n_net_devices > NET_DEVICES_MAX)
                return INVALID(c->err, "linux.netDevices", "expected at most %d devices, found %zu", NET_DEVICES_MAX, linux->n_net_devices);
        if (!namespace_own(c->plan, CLONE_NEWNET))
                return INVALID(c->err, "linux.netDevices",
                        "needs a \"network\" namespace in linux.namespaces: the host's has its devices already");
        if (identity->euid != 0 || !(identity->capabilities & BIT(CAP_NET_ADMIN)))
                return UNSUPPORTED(c->err, "linux.netDevices",
                        "a rootless runtime cannot take devices from the host's network: this needs root and CAP_NET_ADMIN");
        devices = arena_array(c->arena, struct plan_net_device, linux->n_net_devices);
        for (size_t i = 0; i < linux->n_net_devices; i++)
                if ((r = compile_one(c, &linux->net_devices[i], &devices[i])) < 0 || (r = check_inside(c, devices, i)) < 0)
                        return r;
        c->plan->net_devices = devices;
        c->plan->n_net_devices = linux->n_net_devices;
        return 0;
}
