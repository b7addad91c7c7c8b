#include "libocispec/validators.h"

#include <string.h>
#include <unistd.h>

static bool nonempty(const char *text, size_t n) {
        (void)text;
        return n > 0;
}

static bool absolute_path(const char *text, size_t n) {
        return n > 0 && text[0] == '/';
}

static bool absolute_path_or_empty(const char *text, size_t n) {
        return n == 0 || text[0] == '/';
}

static size_t digits(const char *text, size_t n) {
        size_t i = 0;

        while (i < n && text[i] >= '0' && text[i] <= '9')
                i++;
        return i;
}

/* SemVer 2.0.0 with major version 1. A newer 1.x only adds members, and unknown members are ignored, so refusing one would break
 * bundles for nothing (config.md, "Specification version"). */
static bool oci_version(const char *text, size_t n) {
        const char *end = text + n;

        for (int part = 0; part < 3; part++) {
                size_t width = digits(text, (size_t)(end - text));

                if (width == 0 || (width > 1 && text[0] == '0') || (part == 0 && (width != 1 || text[0] != '1')))
                        return false;
                text += width;
                if (part < 2 && (text == end || *text++ != '.'))
                        return false;
        }
        return text == end || ((*text == '-' || *text == '+') && text + 1 < end);
}

/* execve(2): one string is at most MAX_ARG_STRLEN, 32 pages with its NUL. The kernel would say E2BIG when everything is set up,
 * and not say of which one. */
static bool arg(const char *text, size_t n) {
        (void)text;
        return n < 32 * (size_t)sysconf(_SC_PAGESIZE);
}

/* environ(7): NAME=VALUE. runc refuses anything else; crun hands it to putenv(3), which deletes a variable for it. */
static bool env(const char *text, size_t n) {
        return n > 0 && text[0] != '=' && memchr(text, '=', n) && arg(text, n);
}

static bool device_access(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!memchr("rwm", text[i], 3) || memchr(text, text[i], i))
                        return false;
        return true;
}

/* The SIZE in the files hugetlb.SIZE.max (cgroup-v2.rst, HugeTLB): 64KB, 2MB, 1GB. */
static bool hugepage_size(const char *text, size_t n) {
        size_t width = digits(text, n);

        return width > 0 && text[0] != '0' && n == width + 2 && memchr("KMG", text[width], 3) && text[width + 1] == 'B';
}

/* cpuset(7), "List format": numbers and ranges, separated by commas. Empty is nothing, as it is for runc. */
static bool cpu_list(const char *text, size_t n) {
        const char *end = text + n;

        for (bool more = n > 0; more;) {
                size_t width = digits(text, (size_t)(end - text));

                if (width == 0 || width > 9)
                        return false;
                text += width;
                if (text < end && *text == '-') {
                        width = digits(text + 1, (size_t)(end - text - 1));
                        if (width == 0 || width > 9)
                                return false;
                        text += 1 + width;
                }
                more = text < end;
                if (more && *text++ != ',')
                        return false;
        }
        return true;
}

/* What is written to a file of which each line is a setting of its own. */
static bool one_line(const char *text, size_t n) {
        return !memchr(text, '\n', n);
}

/* http or https, a host, perhaps a port, perhaps "/": no user, path, query or fragment. What the host may be is asked where it is
 * used; here only that nothing else hides in it. */
static bool proxy_origin(const char *text, size_t n) {
        static const char *const schemes[] = { "http://", "https://" };

        for (int i = 0; i < 2; i++) {
                size_t skip = strlen(schemes[i]);

                if (n <= skip || memcmp(text, schemes[i], skip) != 0)
                        continue;
                text += skip;
                n -= skip;
                if (n > 1 && text[n - 1] == '/')
                        n--;
                for (size_t k = 0; k < n; k++)
                        if (text[k] <= ' ' || text[k] > '~' || memchr("/\\@?#%", text[k], 6))
                                return false;
                return text[0] != ':';
        }
        return false;
}

/* A path whose words mean the same before and after any link in it is followed. */
static bool clean_path(const char *text, size_t n) {
        const char *end = text + n;

        if (n == 0 || *text != '/')
                return false;
        while (text < end) {
                const char *next = memchr(text + 1, '/', (size_t)(end - text - 1));
                size_t width = (size_t)((next ? next : end) - ++text);

                if ((width == 1 && text[0] == '.') || (width == 2 && text[0] == '.' && text[1] == '.'))
                        return false;
                text += width;
        }
        return true;
}

/* PATH of environ(7), where an empty or relative entry would be the current directory, which is the workspace's author's. */
static bool search_path(const char *text, size_t n) {
        for (size_t i = 0; i <= n; i++)
                if ((i == 0 || text[i - 1] == ':') && (i == n || text[i] != '/'))
                        return false;
        return true;
}

static bool letter_or_digit(char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* What Sage takes as the name of a variable. */
static bool env_name(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (text[i] != '_' && !letter_or_digit(text[i]))
                        return false;
        return n > 0 && digits(text, 1) == 0;
}

/* Sage's Identifier, which becomes the name of a file here: no slash, and with its first letter no "." or "..". */
static bool policy_name(const char *text, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!letter_or_digit(text[i]) && (i == 0 || !memchr("._:@-", text[i], 5)))
                        return false;
        return n > 0 && n <= 192;
}

static const struct {
        bool (*check)(const char *text, size_t n);
        const char *expected;
} rules[SPEC_VALID_COUNT] = {
        [SPEC_VALID_NONEMPTY] = { nonempty, "a string that is not empty" },
        [SPEC_VALID_ABSOLUTE_PATH] = { absolute_path, "an absolute path" },
        [SPEC_VALID_ABSOLUTE_PATH_OR_EMPTY] = { absolute_path_or_empty, "an absolute path" },
        [SPEC_VALID_OCI_VERSION] = { oci_version, "a version 1.x.y of the OCI runtime specification" },
        [SPEC_VALID_ARG] = { arg, "a string shorter than 32 pages (execve(2), MAX_ARG_STRLEN)" },
        [SPEC_VALID_ENV] = { env, "NAME=VALUE, shorter than 32 pages (execve(2), MAX_ARG_STRLEN)" },
        [SPEC_VALID_DEVICE_ACCESS] = { device_access, "some of the letters r, w and m" },
        [SPEC_VALID_HUGEPAGE_SIZE] = { hugepage_size, "a size such as 64KB, 2MB or 1GB" },
        [SPEC_VALID_CPU_LIST] = { cpu_list, "a list such as 0-3,7" },
        [SPEC_VALID_ONE_LINE] = { one_line, "a string without a newline" },
        [SPEC_VALID_PROXY_ORIGIN] = { proxy_origin, "an origin such as http://proxy.example:3128 (no user, path, query or fragment)" },
        [SPEC_VALID_CLEAN_PATH] = { clean_path, "an absolute path without . or .. in it" },
        [SPEC_VALID_SEARCH_PATH] = { search_path, "absolute directories separated by colons" },
        [SPEC_VALID_ENV_NAME] = { env_name, "the name of a variable: letters, digits and _, no digit first" },
        [SPEC_VALID_POLICY_NAME] = { policy_name, "a name of at most 192 letters, digits and ._:@-, a letter or digit first" },
};

const char *spec_validate(enum spec_validator rule, const char *text, size_t n) {
        return !rules[rule].check || rules[rule].check(text, n) ? NULL : rules[rule].expected;
}
