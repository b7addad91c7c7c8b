#include "plan/rdt.h"

#include <limits.h>

int rdt_check_schema(const char *schema, const char *only, const char *field, struct error *err) {
        size_t name = strspn(schema, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");

        if (strchr(schema, '\n'))
                return INVALID(err, field, "expected one line of a schemata file, found several");
        if (name == 0 || schema[name] != ':' || !schema[name + 1])
                return INVALID(err, field, "expected a line of a schemata file, such as %s:0=…, found \"%s\"", only ?: "L3", schema);
        if (only && (strlen(only) != name || memcmp(only, schema, name) != 0))
                return INVALID(err, field, "expected \"%s:\" at the beginning, found \"%s\"", only, schema);
        return 0;
}

/* It becomes a directory of the resctrl file system, beside those that the kernel has there (resctrl.rst). */
static bool can_be_group(const char *name) {
        static const char *const taken[] = { ".", "..", "info", "mon_groups", "mon_data" };

        for (size_t i = 0; i < ELEMENTSOF(taken); i++)
                if (streq(name, taken[i]))
                        return false;
        return *name && strlen(name) <= NAME_MAX && !strpbrk(name, "/\n");
}

static const char *unless_empty(const char *text) {
        return text && *text ? text : NULL;
}

static int compile_schemata(struct compilation *c, const struct oci_intel_rdt *asked, struct plan_rdt *rdt) {
        int r;

        rdt->l3_cache_schema = unless_empty(asked->l3_cache_schema);
        rdt->mem_bw_schema = unless_empty(asked->mem_bw_schema);
        rdt->schemata = asked->schemata;
        rdt->n_schemata = asked->n_schemata;
        if (rdt->l3_cache_schema && (r = rdt_check_schema(rdt->l3_cache_schema, NULL, "linux.intelRdt.l3CacheSchema", c->err)) < 0)
                return r;
        if (rdt->mem_bw_schema && (r = rdt_check_schema(rdt->mem_bw_schema, "MB", "linux.intelRdt.memBwSchema", c->err)) < 0)
                return r;
        for (size_t i = 0; i < rdt->n_schemata; i++)
                if ((r = rdt_check_schema(rdt->schemata[i], NULL, FIELD(c->arena, "linux.intelRdt.schemata[%zu]", i), c->err)) < 0)
                        return r;
        return 0;
}

int rdt_compile(struct compilation *c) {
        const struct oci_intel_rdt *asked = c->request->config->linux->intel_rdt;
        struct plan_rdt *rdt;
        int r;

        rdt = arena_new(c->arena, struct plan_rdt);
        rdt->named = unless_empty(asked->clos_id) != NULL;
        rdt->group = rdt->named ? asked->clos_id : c->plan->id;
        rdt->monitor = asked->enable_monitoring;
        rdt->root = c->facts->rdt ? c->facts->rdt->root : NULL;
        if (!(rdt->named && streq(rdt->group, "/")) && !can_be_group(rdt->group))
                return INVALID(c->err, "linux.intelRdt.closID", "\"%s\" cannot be the name of a class of service%s", rdt->group,
                        rdt->named ? "" : "; without closID it is the container's id");
        if ((r = compile_schemata(c, asked, rdt)) < 0)
                return r;
        c->plan->rdt = rdt;
        return 0;
}
