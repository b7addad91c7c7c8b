/* Mounts, and the maps of those that have some. */
#include "configs.h"

#include <sys/mount.h>

#define MOUNT(members) TOP("\"mounts\":[{\"destination\":\"/a\"," members "}]")
#define OPTIONS(options) MOUNT("\"source\":\"/s\",\"options\":[" options "]")

/* clang-format off */
static const struct refusal refused[] = {
        { "a mount over the root", TOP("\"mounts\":[{\"destination\":\"/./\",\"type\":\"tmpfs\"}]"),
          "mounts[0].destination", "below the container's root", AS_INVALID },
        { "a mount over the root by a detour", TOP("\"mounts\":[{\"destination\":\"a/../..\",\"type\":\"tmpfs\"}]"),
          "mounts[0].destination", "root", AS_INVALID },
        { "neither type nor bind", MOUNT("\"options\":[\"ro\"]"), "mounts[0].type", "type of file system", AS_INVALID },
        { "the type none without bind", MOUNT("\"type\":\"none\""), "mounts[0].type", "type of file system", AS_INVALID },
        { "a bind of nothing", MOUNT("\"options\":[\"bind\"]"), "mounts[0].source", "path to bind", AS_INVALID },
        { "a bind with a file system's option", OPTIONS("\"bind\",\"size=1m\",\"ro\",\"mode=0\""),
          "mounts[0].options", "\"size=1m,mode=0\" is for a file system", AS_INVALID },
        { "a remount of a bind with one", OPTIONS("\"bind\",\"remount\",\"mode=0\""),
          "mounts[0].options", "is for a file system", AS_INVALID },
        { "a bind with tmpcopyup", OPTIONS("\"bind\",\"tmpcopyup\""), "mounts[0].options", "is for a tmpfs", AS_INVALID },
        { "proc with tmpcopyup", MOUNT("\"type\":\"proc\",\"options\":[\"tmpcopyup\"]"),
          "mounts[0].options", "tmpfs, not for proc", AS_INVALID },
        { "tmpfs with copy-symlink", MOUNT("\"type\":\"tmpfs\",\"options\":[\"copy-symlink\"]"),
          "mounts[0].options", "copy-symlink is for a bind", AS_INVALID },
        { "tmpfs with src-nofollow", MOUNT("\"type\":\"tmpfs\",\"options\":[\"src-nofollow\"]"),
          "mounts[0].options", "src-nofollow is for a bind", AS_INVALID },
        { "two kinds of propagation", OPTIONS("\"bind\",\"slave\",\"shared\""),
          "mounts[0].options", "one kind of propagation", AS_UNSUPPORTED },
        { "options of the whole cgroup hierarchy", MOUNT("\"type\":\"cgroup2\",\"options\":[\"nsdelegate\"]"),
          "mounts[0].options", "whole host", AS_UNSUPPORTED },
        { "idmap without maps", OPTIONS("\"bind\",\"idmap\""), "mounts[0].options", "needs uidMappings and gidMappings", AS_INVALID },
        { "idmap of half", MOUNT("\"source\":\"/s\",\"options\":[\"bind\",\"idmap\"],\"uidMappings\":" MAP),
          "mounts[0].gidMappings", "both", AS_INVALID },
        { "idmap of tmpfs", MOUNT("\"type\":\"tmpfs\",\"options\":[\"idmap\"]"), "mounts[0].options", "only a bind", AS_INVALID },
        { "maps of tmpfs", MOUNT("\"type\":\"tmpfs\",\"uidMappings\":" MAP), "mounts[0].uidMappings", "only a bind", AS_INVALID },
        { "crun's idmap, wrong", OPTIONS("\"bind\",\"idmap=uids=0-1;gids=0-1-1\""), "mounts[0].options", "expected idmap=uids=", AS_INVALID },
        { "crun's idmap, of nobody", OPTIONS("\"bind\",\"idmap=pids=0-1-1\""), "mounts[0].options", "expected idmap=uids=", AS_INVALID },
        { "crun's idmap, twice the users", OPTIONS("\"bind\",\"idmap=uids=0-1-1;uids=0-1-1\""),
          "mounts[0].options", "expected idmap=uids=", AS_INVALID },
        { "crun's idmap, an @ only", OPTIONS("\"bind\",\"idmap=uids=@\""), "mounts[0].options", "@FROM-TO-SIZE", AS_INVALID },
        { "crun's idmap, an id twice", OPTIONS("\"bind\",\"idmap=uids=0-1-5#4-9-1;gids=0-1-1\""),
          "mounts[0].options.uids", "share the containerID 4", AS_INVALID },
        { "a label that ends itself", LINUX("\"mountLabel\":\"a\\\"b\""), "linux.mountLabel", "quotation mark", AS_INVALID },
        { "ids that the container does not have",
          ALL("", ",\"mounts\":[{\"destination\":\"/a\",\"source\":\"/s\",\"options\":[\"bind\",\"idmap=uids=@0-65530-10;gids=0-0-1\"]}]",
              "," MAPS, ",{\"type\":\"user\"}"),
          "mounts[0].options.uids", "65536 is no id of the container", AS_INVALID },
        { "an empty range in an option", OPTIONS("\"bind\",\"idmap=uids=0-0-1;gids=@1-1-0\""), "mounts[0].options.gids[0].size", "found 0", AS_INVALID },
};
/* clang-format on */

static void a_bad_mount_is_refused_by_the_name_of_its_field(void **state) {
        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(refused); i++)
                must_refuse(&refused[i]);
}

static const struct plan_mount *first_mount(const char *text) {
        return must_compile(text, &root_host)->mounts;
}

static void sysfs_is_bound_where_the_network_is_not_the_containers(void **state) {
#define SYS ",\"mounts\":[{\"destination\":\"/sys\",\"type\":\"sysfs\",\"options\":[\"ro\"]}]"
#define OWN_USERS(network) ALL("", SYS, "," MAPS, ",{\"type\":\"user\"}" network)
        (void)state;
        assert_int_equal(first_mount(ALL("", SYS, "", ""))->kind, PLAN_MOUNT_KIND_FILESYSTEM);
        assert_int_equal(first_mount(OWN_USERS(""))->kind, PLAN_MOUNT_KIND_SYSFS_OR_BIND);
        assert_int_equal(first_mount(OWN_USERS(",{\"type\":\"network\",\"path\":\"/n\"}"))->kind, PLAN_MOUNT_KIND_SYSFS_OR_BIND);
        assert_int_equal(first_mount(OWN_USERS(",{\"type\":\"network\"}"))->kind, PLAN_MOUNT_KIND_FILESYSTEM);
}

static void a_relative_bundle_path_is_below_the_bundle(void **state) {
        struct plan_plan *plan = must_compile(OPTIONS("\"rbind\""), &root_host);

        (void)state;
        assert_string_equal(plan->rootfs->path, "/bundle/rootfs");
        assert_string_equal(plan->mounts[0].source, "/s");
        assert_string_equal(first_mount(MOUNT("\"source\":\"s\",\"type\":\"bind\""))->source, "/bundle/s");
}

/* A bind with an option, in a user namespace that has MAPS. */
#define BIND(option, maps) \
        ALL("", ",\"mounts\":[{\"destination\":\"/a\",\"source\":\"/s\",\"options\":[\"bind\",\"" option "\"]}]", "," maps, \
                ",{\"type\":\"user\"}")

static void crun_idmap_options_become_maps(void **state) {
        const struct plan_idmap *map = first_mount(OPTIONS("\"bind\",\"ridmap=uids=0-1-10#10-21-11;gids=0-100-10\""))->idmap;

        (void)state;
        assert_true(map->recursive);
        assert_int_equal(map->n_uid_map, 2);
        assert_int_equal(map->uid_map[1].inside, 10);
        assert_int_equal(map->uid_map[1].outside, 21);
        assert_int_equal(map->uid_map[1].count, 11);
        assert_int_equal(map->gid_map[0].outside, 100);
        map = first_mount(BIND("idmap", MAPS))->idmap;
        assert_int_equal(map->n_uid_map + map->n_gid_map, 0);
        assert_false(map->recursive);
}

/* The map of a bind with OPTION where the container has MAPS of users. */
static const struct plan_idmap *idmap_among(const char *maps, const char *option) {
        return first_mount(arena_printf(&arena, BIND("%s", "\"gidMappings\":" MAP ",\"uidMappings\":[%s]"), option, maps))->idmap;
}

/* The example of crun's manual page, and a range that the container's map cuts in three. */
static void crun_idmap_options_with_an_at_speak_of_ids_of_the_container(void **state) {
        static const struct plan_id_range cut[] = { { 1000, 500, 1 }, { 1001, 2001, 9 }, { 1010, 70010, 90 } };
        const struct plan_idmap *map = idmap_among(RANGE(0, 0, 1) "," RANGE(1, 2, 1000), "idmap=uids=@1-3-10;gids=@5-7-2");

        (void)state;
        assert_int_equal(map->n_uid_map, 1);
        assert_memory_equal(map->uid_map, (&(struct plan_id_range){ 1, 4, 10 }), sizeof *map->uid_map);
        assert_memory_equal(map->gid_map, (&(struct plan_id_range){ 5, 100007, 2 }), sizeof *map->gid_map);
        map = idmap_among(RANGE(0, 500, 1) "," RANGE(1, 2001, 9) "," RANGE(10, 70010, 1000), "idmap=uids=@1000-0-100;gids=0-0-1");
        assert_int_equal(map->n_uid_map, 3);
        assert_memory_equal(map->uid_map, cut, sizeof cut);
        assert_memory_equal(map->gid_map, (&(struct plan_id_range){ 0, 0, 1 }), sizeof *map->gid_map);
        map = first_mount(OPTIONS("\"bind\",\"idmap=uids=@1-3-10;gids=@0-1-1\""))->idmap;
        assert_memory_equal(map->uid_map, (&(struct plan_id_range){ 1, 3, 10 }), sizeof *map->uid_map);
}

static void a_remount_is_one_call_on_what_is_there(void **state) {
        const struct plan_mount *m = first_mount(MOUNT("\"options\":[\"bind\",\"remount\",\"ro\",\"nosuid\"]"));

        (void)state;
        assert_int_equal(m->kind, PLAN_MOUNT_KIND_FILESYSTEM);
        assert_int_equal(m->flags, MS_BIND | MS_REMOUNT | MS_RDONLY | MS_NOSUID);
        assert_string_equal(m->type, "none");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(a_bad_mount_is_refused_by_the_name_of_its_field),
                TEST(sysfs_is_bound_where_the_network_is_not_the_containers),
                TEST(a_relative_bundle_path_is_below_the_bundle),
                TEST(crun_idmap_options_become_maps),
                TEST(crun_idmap_options_with_an_at_speak_of_ids_of_the_container),
                TEST(a_remount_is_one_call_on_what_is_there),
        };

        return RUN_TESTS(tests);
}
