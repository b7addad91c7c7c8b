/* libFuzzer: annotations, one a line, "KEY=VALUE" (sage.sandbox. is put before a key that begins with neither "sage." nor "io."). A line that
 * begins with ! is a policy: !h the host policy, !c that of the command line, !n the one named. What is asked is asked again by its
 * canonical form, as a policy: the same bytes; and a failure names a field. */
#include "fuzz.h"

#include "base/str.h"
#include "plan/sage.h"

#define LINES 24

struct input {
        struct string_pair pairs[LINES];
        size_t n;
        struct sage_sources sources;
        struct sage_host_policy host;
        struct sage_request command_line, named;
};

static int by_key(const void *a, const void *b) {
        return strcmp(((const struct string_pair *)a)->key, ((const struct string_pair *)b)->key);
}

static void take_policy(struct arena *arena, struct input *in, char which, const char *text) {
        struct error err;

        if (which == 'h' && spec_decode(arena, &sage_host_policy_type, "h", text, strlen(text), &in->host, &err) == 0)
                in->sources.host = &in->host;
        if (which == 'c' && spec_decode(arena, &sage_request_type, "c", text, strlen(text), &in->command_line, &err) == 0)
                in->sources.command_line = &in->command_line;
        if (which == 'n' && spec_decode(arena, &sage_request_type, "n", text, strlen(text), &in->named, &err) == 0)
                in->sources.named = &in->named;
}

/* As a document's decoder would have left them: sorted, no key twice. */
static void take_line(struct arena *arena, struct input *in, const char *line, size_t size) {
        char *text = arena_strndup(arena, line, size), *value = strchr(text, '=');

        if (text[0] == '!' && text[1]) {
                take_policy(arena, in, text[1], text + 2);
                return;
        }
        if (!value || value == text || in->n == LINES)
                return;
        *value++ = '\0';
        if (!str_after(text, "io.") && !str_after(text, "sage."))
                text = arena_printf(arena, "sage.sandbox.%s", text);
        for (size_t i = 0; i < in->n; i++)
                if (streq(in->pairs[i].key, text))
                        return;
        in->pairs[in->n++] = (struct string_pair){ text, value };
}

static struct oci_namespace network[] = { { .type = OCI_NAMESPACE_TYPE_NETWORK } };
static struct oci_linux linux_ = { .namespaces = network, .n_namespaces = 1 };

/* The canonical form is a policy that comes to itself. */
static void check_again(struct arena *arena, const struct sage_asked *asked) {
        struct sage_request policy;
        const struct oci_config config = { .linux = &linux_ };
        const struct sage_sources sources = { .command_line = &policy, .command_line_path = "again" };
        struct sage_asked again;
        struct error err = { 0 };

        expect(spec_decode(arena, &sage_request_type, "canonical", asked->canonical, strlen(asked->canonical), &policy, &err) == 0,
                "a canonical form can be read");
        if (sage_compile(arena, &config, &sources, &again, &err) < 0) {
                fprintf(stderr, "%s\n%s: %s\n", asked->canonical, err.where, err.text);
                expect(false, "and asked for");
        }
        expect(streq(asked->canonical, again.canonical) && streq(asked->fingerprint, again.fingerprint), "and comes to itself");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_arena_ struct arena arena = { 0 };
        struct input in = { .sources = { .host_path = "h", .command_line_path = "c", .named_path = "n" } };
        struct oci_config config = { .annotations = in.pairs, .linux = &linux_ };
        struct sage_asked asked = { 0 };
        struct error err = { 0 };

        for (const char *line = (const char *)data, *end = line + size; size && line < end;) {
                const char *stop = memchr(line, '\n', (size_t)(end - line));
                size_t n = (size_t)((stop ? stop : end) - line);

                if (!memchr(line, '\0', n))
                        take_line(&arena, &in, line, n);
                line += n + 1;
        }
        if (in.n)
                qsort(in.pairs, in.n, sizeof *in.pairs, by_key);
        config.n_annotations = in.n;
        if (sage_compile(&arena, &config, &in.sources, &asked, &err) < 0) {
                expect(err.where[0] && err.text[0] && err.code >= CODE_CONFIG_INVALID && err.code <= CODE_IDENTITY_INVALID,
                        "a failure names a field");
                return 0;
        }
        if (asked.request)
                check_again(&arena, &asked);
        return 0;
}
