/* The words of mounts[].options. */
#include "compile.h"

#include "plan/mount_options.h"

#include <errno.h>
#include <sys/mount.h>

static struct mount_options parse(const char *list) {
        const char *options[16];
        struct mount_options o = { 0 };
        char *copy = arena_strdup(&arena, list), *word;
        size_t n = 0;

        for (word = strtok(copy, " "); word; word = strtok(NULL, " "))
                options[n++] = word;
        if (mount_options_parse(&arena, options, n, "mounts[0].options", &o, &err) < 0) {
                print_error("%s: %s: %s\n", list, err.where, err.text);
                abort();
        }
        return o;
}

/* config.md, "Linux mount options": the table's first column, and what crun adds. */
static const char *const known[] = {
        "async", "atime", "bind", "defaults", "dev", "diratime", "dirsync", "exec", "iversion", "lazytime", "loud", "mand", "noatime",
                "nodev",
        "nodiratime", "noexec", "noiversion", "nolazytime", "nomand", "norelatime", "nostrictatime", "nosuid", "nosymfollow", "private",
                "ratime",
        "rbind", "rdev", "rdiratime", "relatime", "remount", "rexec", "rnoatime", "rnodev", "rnodiratime", "rnoexec", "rnorelatime",
        "rnostrictatime", "rnosuid", "rnosymfollow", "ro", "rprivate", "rrelatime", "rro", "rrw", "rshared", "rslave", "rstrictatime",
                "rsuid",
        "rsymfollow", "runbindable", "rw", "shared", "silent", "slave", "strictatime", "suid", "symfollow", "sync", "tmpcopyup",
                "unbindable",
        "idmap", "ridmap", "copy-symlink", "src-nofollow", "dest-nofollow",
};

static void every_option_of_the_specification_is_known(void **state) {
        size_t n;

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(known); i++) {
                if (parse(known[i]).data)
                        print_error("%s became data\n", known[i]);
                assert_null(parse(known[i]).data);
        }
        mount_options_names(&arena, &n);
        assert_int_equal(n, ELEMENTSOF(known));
}

static void the_table_is_sorted(void **state) {
        size_t n;
        const char **names = mount_options_names(&arena, &n);

        (void)state;
        for (size_t i = 1; i < n; i++)
                if (strcmp(names[i - 1], names[i]) >= 0) {
                        print_error("%s stands before %s\n", names[i - 1], names[i]);
                        abort();
                }
}

struct row {
        const char *options;
        uint64_t flags, set, clear;
};

static void flags_and_attributes_say_the_same_and_the_later_word_counts(void **state) {
        static const struct row rows[] = {
                { "ro", MS_RDONLY, MOUNT_ATTR_RDONLY, 0 },
                { "rw", 0, 0, MOUNT_ATTR_RDONLY },
                { "ro rw", 0, 0, MOUNT_ATTR_RDONLY },
                { "rw ro", MS_RDONLY, MOUNT_ATTR_RDONLY, 0 },
                { "nosuid nodev noexec nosymfollow nodiratime", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOSYMFOLLOW | MS_NODIRATIME,
                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW | MOUNT_ATTR_NODIRATIME, 0 },
                { "nosuid nodev noexec nosymfollow nodiratime suid dev exec symfollow diratime", 0, 0,
                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW | MOUNT_ATTR_NODIRATIME },
                { "suid nosuid", MS_NOSUID, MOUNT_ATTR_NOSUID, 0 },
                { "noatime", MS_NOATIME, MOUNT_ATTR_NOATIME, MOUNT_ATTR__ATIME },
                { "noatime relatime", MS_RELATIME, 0, MOUNT_ATTR__ATIME },
                { "relatime strictatime", MS_STRICTATIME, MOUNT_ATTR_STRICTATIME, MOUNT_ATTR__ATIME },
                { "strictatime noatime", MS_NOATIME, MOUNT_ATTR_NOATIME, MOUNT_ATTR__ATIME },
                { "noatime nodiratime atime", MS_NODIRATIME, MOUNT_ATTR_NODIRATIME, MOUNT_ATTR__ATIME },
                { "strictatime nostrictatime", 0, 0, MOUNT_ATTR__ATIME },
                { "sync dirsync mand iversion lazytime silent",
                  MS_SYNCHRONOUS | MS_DIRSYNC | MS_MANDLOCK | MS_I_VERSION | MS_LAZYTIME | MS_SILENT, 0, 0 },
                { "sync mand iversion lazytime silent async nomand noiversion nolazytime loud", 0, 0, 0 },
                { "defaults", 0, 0, 0 },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct mount_options o = parse(rows[i].options);

                if (o.flags != rows[i].flags || o.attributes_set != rows[i].set || o.attributes_clear != rows[i].clear) {
                        print_error("%s: %#lx %#lx %#lx\n", rows[i].options, (long)o.flags, (long)o.attributes_set,
                                    (long)o.attributes_clear);
                        abort();
                }
                /* The recursive words are the same attributes. */
                assert_int_equal(o.recursive_set | o.recursive_clear, 0);
        }
}

static void recursive_words_are_for_all_below(void **state) {
        static const struct row rows[] = {
                { "rro", 0, MOUNT_ATTR_RDONLY, 0 },
                { "rro rrw", 0, 0, MOUNT_ATTR_RDONLY },
                { "rnosuid rnodev rnoexec rnosymfollow rnodiratime", 0,
                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW | MOUNT_ATTR_NODIRATIME, 0 },
                { "rsuid rdev rexec rsymfollow rdiratime", 0, 0,
                  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC | MOUNT_ATTR_NOSYMFOLLOW | MOUNT_ATTR_NODIRATIME },
                { "rnoatime", 0, MOUNT_ATTR_NOATIME, MOUNT_ATTR__ATIME },
                { "rstrictatime", 0, MOUNT_ATTR_STRICTATIME, MOUNT_ATTR__ATIME },
                { "rrelatime", 0, 0, MOUNT_ATTR__ATIME },
                { "ratime", 0, 0, MOUNT_ATTR__ATIME },
                { "rnorelatime", 0, 0, MOUNT_ATTR__ATIME },
                { "rnoatime rnostrictatime", 0, 0, MOUNT_ATTR__ATIME },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++) {
                struct mount_options o = parse(rows[i].options);

                if (o.recursive_set != rows[i].set || o.recursive_clear != rows[i].clear) {
                        print_error("%s: %#lx %#lx\n", rows[i].options, (long)o.recursive_set, (long)o.recursive_clear);
                        abort();
                }
                assert_int_equal(o.flags | o.attributes_set | o.attributes_clear, 0);
        }
}

static void propagation_is_one_kind(void **state) {
        static const struct { const char *option; uint64_t value; } rows[] = {
                { "shared", MS_SHARED }, { "rshared", MS_SHARED | MS_REC }, { "slave", MS_SLAVE }, { "rslave", MS_SLAVE | MS_REC },
                { "private", MS_PRIVATE }, { "rprivate", MS_PRIVATE | MS_REC }, { "unbindable", MS_UNBINDABLE },
                { "runbindable", MS_UNBINDABLE | MS_REC }, { "rslave rslave", MS_SLAVE | MS_REC }, { "ro", 0 },
        };

        (void)state;
        for (size_t i = 0; i < ELEMENTSOF(rows); i++)
                assert_int_equal(parse(rows[i].option).propagation, rows[i].value);
}

static void the_rest_is_data_in_its_order(void **state) {
        (void)state;
        assert_string_equal(parse("nosuid mode=755 ro size=64k upperdir=/a,b").data, "mode=755,size=64k,upperdir=/a,b");
        assert_null(parse("nosuid").data);
        assert_string_equal(parse("RO").data, "RO"); /* words are as they are spelt */
        assert_string_equal(parse("idmapped").data, "idmapped");
}

static void extensions_are_told_apart(void **state) {
        struct mount_options o = parse("rbind tmpcopyup copy-symlink src-nofollow dest-nofollow remount idmap=uids=0-1-1;gids=0-1-1");

        (void)state;
        assert_true(o.bind && o.recursive && o.copy_up && o.copy_symlink && o.source_nofollow && o.destination_nofollow && o.remount);
        assert_string_equal(o.idmap, "idmap=uids=0-1-1;gids=0-1-1");
        o = parse("bind ridmap sync");
        assert_true(o.bind && !o.recursive && !o.copy_up && !o.remount);
        assert_string_equal(o.idmap, "ridmap");
        assert_string_equal(o.superblock, "sync");
}

static void an_empty_word_is_nothing(void **state) {
        const char *const options[] = { "", "size=1", "", "mode=2" };
        struct mount_options o;

        (void)state;
        assert_int_equal(mount_options_parse(&arena, options, 4, "f", &o, &err), 0);
        assert_string_equal(o.data, "size=1,mode=2");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(every_option_of_the_specification_is_known),
                TEST(the_table_is_sorted),
                TEST(flags_and_attributes_say_the_same_and_the_later_word_counts),
                TEST(recursive_words_are_for_all_below),
                TEST(propagation_is_one_kind),
                TEST(the_rest_is_data_in_its_order),
                TEST(extensions_are_told_apart),
                TEST(an_empty_word_is_nothing),
        };

        return RUN_TESTS(tests);
}
