/* Classes of service, on a directory that plays the resctrl file system. */
#define _GNU_SOURCE
#include "unit.h"

#include <ftw.h>

#include "apply/rdt.h"
#include "apply/rdt_schema.h"
#include "base/process.h"
#include "base/str.h"
#include "facts/probe.h"
#include "fake_resctrl.h"
#include "life/release.h"
#include "life/state.h"

static struct arena arena;
static struct error err;
static char scratch[] = "/tmp/sage-rdt.XXXXXX", root[64];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw) {
        (void)st, (void)kind, (void)ftw;
        return remove(path);
}

static int begin(void **state) {
        (void)state;
        strcpy(scratch + strlen(scratch) - 6, "XXXXXX");
        assert_non_null(mkdtemp(scratch));
        snprintf(root, sizeof root, "%s/resctrl", scratch);
        assert_int_equal(__real_mkdir(root, 0755), 0);
        fake_resctrl(root);
        return 0;
}

static int end(void **state) {
        (void)state;
        *fake_root = '\0';
        arena_free(&arena);
        return nftw(scratch, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static bool exists(const char *below) {
        return access(arena_printf(&arena, "%s/%s", root, below), F_OK) == 0;
}

static const char *content(const char *directory, const char *name) {
        char *text = arena_alloc(&arena, 1024);

        fake_get(arena_printf(&arena, "%s/%s", root, directory), name, text, 1024);
        return text;
}

/* What a launch holds of RDT for the container "box"; NULL where it is refused, with ERR. */
static struct status_rdt_claim *acquire(struct plan_rdt *rdt) {
        struct status_rdt_claim *claim;

        rdt->root = root;
        if (rdt_examine(&arena, rdt, "box", &claim, &err) < 0)
                return NULL;
        if (rdt_make(rdt, claim, &err) == 0)
                return claim;
        assert_int_equal(rdt_remove(claim, &(struct error){ 0 }), 0);
        return NULL;
}

static void lines_are_the_same_when_their_numbers_are(void **state) {
        static const char existing[] = "    MB:0= 20;1=100\n    L3:0=0ff;1=00001\nL3CODE:0=f;1=f\n";
        static const struct { const char *asked; bool holds; } rows[] = {
                { "L3:0=ff;1=1", true }, { "L3:1=1;0=FF", true }, { "L3:0=0xff", true }, { "L3:0=ff;", true }, { "L3: 0 = ff ;1=1", true },
                { "L3:00=ff", true }, { "MB:0=20;1=100", true }, { "MB:0=11", true }, { "MB:1=91", true }, { "L3CODE:0=f", true },
                { "L3:0=fe", false }, { "L3:0=fff", false }, { "L3:0=ff;2=1", false }, { "L3:0", false }, { "L3:=ff", false },
                { "MB:0=30", false }, { "MB:0=10", false }, { "MB:1=101", false }, { "L2:0=f", false }, { "L3DATA:0=f", false }, { "L3", false },
                { "L3:0=1f", false }, { "L3:0=11;1=1", false },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                if (rdt_schema_holds(existing, rows[i].asked, 10) != rows[i].holds)
                        print_error("%s\n", rows[i].asked);
                assert_int_equal(rdt_schema_holds(existing, rows[i].asked, 10), rows[i].holds);
        }
        assert_false(rdt_schema_holds("", "L3:0=f", 1));
        assert_false(rdt_schema_holds(existing, "MB:0=19", 1));
}

static void a_class_of_the_containers_own_comes_and_goes_with_it(void **state) {
        static const char *rest[] = { "L3:1=f", "MB:1=30" };
        struct plan_rdt rdt = { .group = "box", .l3_cache_schema = "L3:0=f;1=ff", .mem_bw_schema = "MB:0=20", .schemata = rest,
                                .n_schemata = 2, .monitor = true };
        struct status_rdt_claim *claim = acquire(&rdt);

        (void)state;
        assert_non_null(claim);
        assert_true(claim->ours && !claim->shared);
        assert_string_equal(fake_log, "box/schemata=L3:0=f;1=ff\nbox/schemata=MB:0=20\nbox/schemata=L3:1=f\nMB:1=30\n");
        assert_int_equal(rdt_enter(claim, 4711, &err), 0);
        assert_string_equal(content("box", "tasks"), "4711\n");
        assert_string_equal(content("box/mon_groups/box", "tasks"), "4711\n");
        assert_int_equal(rdt_remove(claim, &err), 0); /* though somebody is in it */
        assert_false(exists("box"));
        assert_int_equal(rdt_remove(claim, &err), 0);
        assert_int_equal(rdt_enter(NULL, 4711, &err), 0);
        assert_int_equal(rdt_remove(NULL, &err), 0);
}

static void a_named_class_that_is_not_there_is_made_where_it_is_described(void **state) {
        struct plan_rdt rdt = { .group = "gold", .named = true };
        struct status_rdt_claim *claim;

        (void)state;
        assert_null(acquire(&rdt));
        assert_int_equal(err.code, CODE_NOT_FOUND);
        assert_string_equal(err.where, "linux.intelRdt.closID");
        assert_false(exists("gold"));
        rdt.l3_cache_schema = "L3:0=3";
        claim = acquire(&rdt);
        assert_true(claim && claim->ours && claim->shared);
        assert_null(claim->monitor);
        /* A launch that fails removes it, unless somebody has come to use it. */
        assert_int_equal(rdt_enter(claim, 1, &err), 0);
        assert_int_equal(rdt_remove(claim, &err), 0);
        assert_true(exists("gold"));
        fake_put(claim->group, "tasks", "", "we");
        assert_int_equal(rdt_remove(claim, &err), 0);
        assert_false(exists("gold"));
}

static void a_named_class_that_is_there_is_used_as_it_is(void **state) {
        static const char *other[] = { "MB:1=50" };
        struct plan_rdt rdt = { .group = "gold", .named = true, .l3_cache_schema = "L3:0=3;1=c" }, second = rdt, third = rdt, bare = rdt;
        struct status_rdt_claim *claim;

        (void)state;
        assert_non_null(acquire(&rdt));
        *fake_log = '\0';
        second.monitor = true;
        claim = acquire(&second);
        assert_true(claim && !claim->ours && claim->shared);
        assert_string_equal(fake_log, "");
        assert_int_equal(rdt_remove(claim, &err), 0);
        assert_true(exists("gold") && !exists("gold/mon_groups/box"));
        third.l3_cache_schema = "L3:0=3;1=8";
        assert_null(acquire(&third));
        assert_int_equal(err.code, CODE_EXISTS);
        assert_string_equal(err.where, "linux.intelRdt.closID");
        assert_non_null(strstr(err.text, "L3:0=3;1=8"));
        third.l3_cache_schema = NULL;
        third.mem_bw_schema = "MB:0=10";
        assert_null(acquire(&third));
        third.mem_bw_schema = NULL;
        third.schemata = other;
        third.n_schemata = 1;
        assert_null(acquire(&third));
        assert_string_equal(fake_log, "");
        bare.l3_cache_schema = NULL;
        claim = acquire(&bare);
        assert_true(claim && !claim->ours);
}

static void the_default_class_is_the_root_and_stays(void **state) {
        struct plan_rdt rdt = { .group = "/", .named = true, .mem_bw_schema = "MB:0=100", .monitor = true };
        struct status_rdt_claim *claim = acquire(&rdt);

        (void)state;
        assert_true(claim && !claim->ours);
        assert_string_equal(claim->group, root);
        assert_int_equal(rdt_enter(claim, 12, &err), 0);
        assert_string_equal(content("mon_groups/box", "tasks"), "12\n");
        assert_int_equal(rdt_remove(claim, &err), 0);
        assert_true(exists("tasks") && !exists("mon_groups/box"));
        rdt.mem_bw_schema = "MB:0=50";
        assert_null(acquire(&rdt));
        assert_string_equal(content("", "schemata"), "    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n");
}

/* Somebody else's under the container's id: config-linux.md, "the runtime has not created the sub-directory". */
static void a_directory_that_was_there_is_not_removed(void **state) {
        struct plan_rdt rdt = { .group = "box", .l3_cache_schema = "L3:0=1" };
        struct status_rdt_claim *claim;

        (void)state;
        assert_int_equal(__wrap_mkdir(arena_printf(&arena, "%s/box", root), 0755), 0);
        claim = acquire(&rdt);
        assert_true(claim && !claim->ours && !claim->shared);
        assert_string_equal(fake_log, "box/schemata=L3:0=1\n");
        assert_int_equal(rdt_remove(claim, &err), 0);
        assert_true(exists("box"));
}

static void a_monitoring_group_of_somebody_else_is_left_alone(void **state) {
        struct plan_rdt rdt = { .group = "/", .named = true, .monitor = true };

        (void)state;
        assert_int_equal(__wrap_mkdir(arena_printf(&arena, "%s/mon_groups/box", root), 0755), 0);
        assert_null(acquire(&rdt));
        assert_int_equal(err.code, CODE_EXISTS);
        assert_true(exists("mon_groups/box"));
}

static void what_the_kernel_refuses_is_told_in_its_words_and_undone(void **state) {
        static const char *wrong[] = { "L3:0=g" };
        struct plan_rdt rdt = { .group = "box", .l3_cache_schema = "L3:0=g", .monitor = true };

        (void)state;
        assert_null(acquire(&rdt));
        assert_int_equal(err.code, CODE_CONFIG_INVALID);
        assert_string_equal(err.where, "linux.intelRdt.l3CacheSchema");
        assert_non_null(strstr(err.text, "Non-hex character"));
        assert_false(exists("box"));
        rdt = (struct plan_rdt){ .group = "gold", .named = true, .schemata = wrong, .n_schemata = 1 };
        assert_null(acquire(&rdt));
        assert_string_equal(err.where, "linux.intelRdt.schemata");
        assert_false(exists("gold"));
        fake_classes = 0;
        assert_null(acquire(&rdt));
        assert_int_equal(err.code, CODE_RESOURCE_EXHAUSTED);
        assert_non_null(strstr(err.text, "Out of CLOSIDs"));
        /* The class can be had, the monitoring group cannot. */
        fake_classes = 1;
        rdt = (struct plan_rdt){ .group = "box", .monitor = true };
        assert_null(acquire(&rdt));
        assert_string_equal(err.where, "linux.intelRdt.enableMonitoring");
        assert_false(exists("box"));
        rdt.root = NULL;
        assert_int_equal(rdt_examine(&arena, &rdt, "box", &(struct status_rdt_claim *){ NULL }, &err), -EOPNOTSUPP);
}

static void an_update_changes_both_or_none(void **state) {
        struct plan_rdt rdt = { .group = "box", .l3_cache_schema = "L3:0=f;1=f", .mem_bw_schema = "MB:0=20;1=20" };
        struct status_rdt_claim *claim = acquire(&rdt);
        _cleanup_str_ struct str before = { 0 }, again = { 0 };

        (void)state;
        assert_int_equal(rdt_change(claim, "L3:0=1;1=1", "MB:0=g", &before, &err), -EINVAL);
        assert_string_equal(err.where, "--mem-bw-schema");
        assert_int_equal(err.effect, EFFECT_NOT_APPLIED);
        assert_true(rdt_schema_holds(content("box", "schemata"), "L3:0=f;1=f", 1));
        assert_int_equal(rdt_change(claim, "L3:0=1;1=1", NULL, &again, &err), 0);
        assert_true(rdt_schema_holds(content("box", "schemata"), "L3:0=1;1=1", 1));
        assert_int_equal(rdt_restore(claim, &again), 0);
        assert_true(rdt_schema_holds(content("box", "schemata"), "L3:0=f;1=f", 1));
        assert_true(rdt_schema_holds(content("box", "schemata"), "MB:0=20;1=20", 1));
}

/* After a runtime that was killed: the claim is on disk, the group may be made or not. */
static void release_undoes_the_claim(void **state) {
        struct plan_rdt rdt = { .group = "box", .monitor = true };
        const char *containers = arena_printf(&arena, "%s/containers", scratch);
        static char boot_id[37];

        (void)state;
        assert_int_equal(process_boot_id(boot_id), 0);
        for (int made = 0; made < 2; made++) {
                struct container c = CONTAINER_CLOSED, again = CONTAINER_CLOSED;

                rdt.root = root;
                assert_int_equal(container_create(containers, "box", &c, &err), 0);
                c.status = (struct status_status){ .schema = 1, .id = "box", .bundle = "/b", .created = 1, .boot_id = boot_id };
                assert_int_equal(rdt_examine(&arena, &rdt, "box", &c.status.rdt, &err), 0);
                assert_int_equal(container_save(&c, &err), 0);
                if (made)
                        assert_int_equal(rdt_make(&rdt, c.status.rdt, &err), 0);
                container_close(&c);
                assert_int_equal(exists("box/mon_groups/box"), made);
                assert_int_equal(container_open(&arena, containers, "box", CONTAINER_LOCKED, &again, &err), 0);
                assert_int_equal(release(&again, &err), 0);
                container_close(&again);
                assert_false(exists("box"));
        }
}

static void the_probe_says_what_there_is(void **state) {
        struct facts_rdt facts;

        (void)state;
        probe_rdt_at(&arena, root, &facts);
        assert_true(facts.cache && facts.bandwidth && facts.monitoring && facts.writable);
        assert_string_equal(facts.root, root);
        assert_int_equal(__real_rmdir(arena_printf(&arena, "%s/info/L3", root)), 0);
        assert_int_equal(__real_rmdir(arena_printf(&arena, "%s/mon_groups", root)), 0);
        probe_rdt_at(&arena, root, &facts);
        assert_true(!facts.cache && facts.bandwidth && !facts.monitoring);
        assert_int_equal(__real_mkdir(arena_printf(&arena, "%s/info/L3CODE", root), 0755), 0);
        probe_rdt_at(&arena, root, &facts);
        assert_true(facts.cache);
        probe_rdt_at(&arena, NULL, &facts);
        assert_true(!facts.root && !facts.cache && !facts.bandwidth && !facts.monitoring && !facts.writable);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(lines_are_the_same_when_their_numbers_are),
                TEST(a_class_of_the_containers_own_comes_and_goes_with_it),
                TEST(a_named_class_that_is_not_there_is_made_where_it_is_described),
                TEST(a_named_class_that_is_there_is_used_as_it_is),
                TEST(the_default_class_is_the_root_and_stays),
                TEST(a_directory_that_was_there_is_not_removed),
                TEST(a_monitoring_group_of_somebody_else_is_left_alone),
                TEST(what_the_kernel_refuses_is_told_in_its_words_and_undone),
                TEST(an_update_changes_both_or_none),
                TEST(release_undoes_the_claim),
                TEST(the_probe_says_what_there_is),
        };

        return RUN_TESTS(tests);
}
