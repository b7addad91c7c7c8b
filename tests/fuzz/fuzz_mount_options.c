/* libFuzzer: mount options of any text, one a line. */
#include "fuzz.h"

#include "plan/mount_options.h"

#include <sys/mount.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_arena_ struct arena arena = { 0 };
        char *text = arena_strndup(&arena, (const char *)data, size);
        const char **options = arena_array(&arena, const char *, size + 1);
        struct mount_options o, again;
        struct error err = { 0 };
        size_t n = 0, all = 0;

        for (char *line = text, *end; *line; line = end) {
                end = line + strcspn(line, "\n");
                if (*end)
                        *end++ = '\0';
                all += strlen(line) + 1;
                options[n++] = line;
        }
        if (mount_options_parse(&arena, options, n, "f", &o, &err) < 0) {
                expect(err.code == CODE_CAPABILITY_UNSUPPORTED && streq(err.where, "f"), "only propagation is refused");
                return 0;
        }
        expect((o.attributes_set & o.attributes_clear & ~(uint64_t)MOUNT_ATTR__ATIME) == 0, "nothing is set and cleared");
        expect((o.recursive_set & o.recursive_clear & ~(uint64_t)MOUNT_ATTR__ATIME) == 0, "nothing is set and cleared below");
        expect((o.attributes_set & MOUNT_ATTR__ATIME) == 0 || (o.attributes_clear & MOUNT_ATTR__ATIME) == MOUNT_ATTR__ATIME,
               "the access time is cleared before it is set");
        expect(__builtin_popcountll(o.flags & (MS_NOATIME | MS_RELATIME | MS_STRICTATIME)) <= 1, "there is one kind of access time");
        expect(!o.data || strlen(o.data) < all, "data is no more than what was given");

        /* What is data is data again, and what was a word is none of it. */
        if (o.data && !strchr(o.data, ',')) {
                expect(mount_options_parse(&arena, &o.data, 1, "f", &again, &err) == 0 && again.data && streq(again.data, o.data),
                       "data stays data");
                expect(again.flags == 0 && again.attributes_set == 0 && !again.bind, "and means nothing else");
        }
        return 0;
}
