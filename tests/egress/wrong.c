/* sage-egress-broker with its judgement taken out: what tests/egress/test_cases.py runs to see that each of its cases can fail. A program of
 * the tests, made of the broker's own objects; the linker puts the functions below in place of those that decide (ld(1), --wrap), so nothing
 * in the broker itself can be switched off.
 *
 * WRONG=lax     whoever asks is let through, and what cannot be read is guessed; any policy will do
 * WRONG=shut    nobody is
 * WRONG=closed  no policy will do */
#define _GNU_SOURCE
#include "broker/http_answer.h"
#include "broker/policy.h"
#include "broker/tls_hello.h"
#include "broker/vet.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

int __real_policy_load(struct arena *arena, const char *what, const char *text, size_t size, struct policy *ret, struct error *err);
int __wrap_policy_load(struct arena *arena, const char *what, const char *text, size_t size, struct policy *ret, struct error *err);
enum refusal __real_authority_parse(const char *text, size_t n, uint16_t default_port, struct authority *ret);
enum refusal __wrap_authority_parse(const char *text, size_t n, uint16_t default_port, struct authority *ret);
enum refusal __wrap_policy_decide(const struct policy *policy, const struct authority *authority, enum policy_scheme scheme);
enum refusal __wrap_policy_decide_body(const struct policy *policy, uint64_t length);
struct vetting __wrap_vet(const struct policy *policy, enum host_kind kind, const struct addresses *addresses, uint32_t own,
        const struct addresses *upstream);
enum http_status __wrap_http_head_feed(struct http_head *head, const char *data, size_t n, size_t *ret_used);
enum http_status __wrap_http_answer_feed(struct http_answer *answer, const char *data, size_t n, size_t *ret_used);
enum tls_status __wrap_tls_hello_feed(struct tls_hello *hello, const uint8_t *data, size_t n, size_t *ret_used);
enum tls_answer __wrap_tls_answer_feed(struct tls_answer_state *state, const uint8_t *data, size_t n, size_t *ret_used);

static bool shut;

/* Limits are members of the policy. */
int __wrap_policy_load(struct arena *arena, const char *what, const char *text, size_t size, struct policy *ret, struct error *err) {
        static const char any[] = "{\"mode\":\"allowlist\",\"allowed_hosts\":[\"a.test\"]}";
        const char *how = getenv("WRONG");
        int r = __real_policy_load(arena, what, text, size, ret, err);

        if (how && streq(how, "closed"))
                return fail(err, CODE_NETWORK_POLICY_INVALID, 0, "WRONG", "closed");
        if (!how || (!streq(how, "lax") && !streq(how, "shut")))
                return fail(err, CODE_USAGE, EINVAL, "WRONG", "expected lax, shut or closed");
        if (r < 0 && streq(how, "lax"))
                r = __real_policy_load(arena, what, any, strlen(any), ret, err);
        if (r < 0)
                return r;
        ret->mode = ret->mode == SAGE_NETWORK_MODE_PROXY ? ret->mode : SAGE_NETWORK_MODE_ALLOWLIST;
        shut = streq(how, "shut");
        ret->max_request_body_bytes = ret->max_response_bytes = UINT64_C(1) << 40;
        ret->wall_time_ms = 60000;
        ret->max_connections = 1000;
        return 0;
}

enum refusal __wrap_policy_decide(const struct policy *policy, const struct authority *authority, enum policy_scheme scheme) {
        (void)policy, (void)authority, (void)scheme;
        return shut ? REFUSAL_POLICY_MODE : REFUSAL_NONE;
}

enum refusal __wrap_policy_decide_body(const struct policy *policy, uint64_t length) {
        (void)policy, (void)length;
        return REFUSAL_NONE;
}

struct vetting __wrap_vet(const struct policy *policy, enum host_kind kind, const struct addresses *addresses, uint32_t own,
        const struct addresses *upstream) {
        (void)policy, (void)kind, (void)addresses, (void)own, (void)upstream;
        return (struct vetting){ .refusal = REFUSAL_NONE };
}

/* ---- a reader of requests as many are ------------------------------------------------------------------------------------------ */

static void guess_authority(const char *text, size_t n, struct authority *ret) {
        const char *at = memrchr(text, '@', n), *colon;
        size_t host;

        if (at)
                n -= (size_t)(at + 1 - text), text = at + 1;
        colon = memrchr(text, ':', n);
        host = colon ? (size_t)(colon - text) : n;
        if (host && text[0] == '[')
                text++, host--;
        host -= host && text[host - 1] == ']';
        host = host < HOST_MAX ? host : HOST_MAX;
        *ret = (struct authority){ .port = colon ? (uint16_t)strtoul(colon + 1, NULL, 10) : 80 };
        for (size_t i = 0; i < host; i++)
                ret->host[i] = (char)tolower((unsigned char)text[i]);
        ret->port = ret->port ? ret->port : 80;
}

/* The dialer reads again what the front has read; policies, which have a port by default, are read as they should be. */
enum refusal __wrap_authority_parse(const char *text, size_t n, uint16_t default_port, struct authority *ret) {
        if (default_port)
                return __real_authority_parse(text, n, default_port, ret);
        guess_authority(text, n, ret);
        return REFUSAL_NONE;
}

static void guess_request_line(struct http_head *head, const char *line, size_t n) {
        const char *text = head->lines.bytes.text, *method, *target, *authority, *path, *end = line + n;

        for (method = line; method < end && isspace((unsigned char)*method); method++)
                ;
        for (target = method; target < end && !isspace((unsigned char)*target); target++)
                ;
        head->method = strndup(method, (size_t)(target - method)); /* never freed: this broker serves one test */
        head->connect = strcasecmp(head->method, "CONNECT") == 0;
        for (; target < end && isspace((unsigned char)*target); target++)
                ;
        while (end > target && !isspace((unsigned char)end[-1]))
                end--;
        while (end > target && isspace((unsigned char)end[-1]))
                end--;
        end = end == target ? line + n : end;
        authority = memmem(target, (size_t)(end - target), "://", 3);
        authority = authority ? authority + 3 : target;
        for (path = authority; path < end && !strchr("/?#", *path); path++)
                ;
        head->target = (uint16_t)(path - text);
        head->n_target = (uint16_t)(end - path);
        guess_authority(authority, (size_t)(path - authority), &head->authority);
}

static void guess_field(struct http_head *head, const char *line, size_t n) {
        const char *colon = memchr(line, ':', n), *text = head->lines.bytes.text;
        struct http_field *field = &head->fields[head->n_fields];

        if (!colon || head->n_fields == HTTP_FIELDS_MAX)
                return;
        *field = (struct http_field){ .name = (uint16_t)(line - text),
                .n_name = (uint16_t)(colon - line),
                .value = (uint16_t)(colon + 1 - text),
                .n_value = (uint16_t)(line + n - colon - 1) };
        if (strncasecmp(line, "content-length", 14) == 0) {
                head->has_length = true;
                head->content_length = strtoul(colon + 1, NULL, 0);
                return;
        }
        head->n_fields++;
}

enum http_status __wrap_http_head_feed(struct http_head *head, const char *data, size_t n, size_t *ret_used) {
        struct str *bytes = &head->lines.bytes;
        size_t before = bytes->size, size;
        const char *end, *empty;

        str_add(bytes, data, n);
        *ret_used = n;
        empty = memmem(bytes->text, bytes->size, "\n\r\n", 3);
        size = 3;
        if (!empty) {
                empty = memmem(bytes->text, bytes->size, "\n\n", 2);
                size = 2;
        }
        if (!empty)
                return HTTP_MORE;
        *ret_used = (size_t)(empty - bytes->text) + size - before;
        for (const char *line = bytes->text; line < empty; line = end + 1) {
                size_t length;

                end = memchr(line, '\n', (size_t)(empty + 1 - line));
                length = (size_t)(end - line);
                length -= length && end[-1] == '\r';
                if (!head->method)
                        guess_request_line(head, line, length);
                else
                        guess_field(head, line, length);
        }
        return head->status = HTTP_DONE;
}

/* ---- and of everything else ------------------------------------------------------------------------------------------------------- */

enum http_status __wrap_http_answer_feed(struct http_answer *answer, const char *data, size_t n, size_t *ret_used) {
        (void)data, (void)n;
        answer->code = 200;
        answer->framing = HTTP_BODY_CLOSE;
        *ret_used = 0;
        return answer->status = HTTP_DONE;
}

enum tls_status __wrap_tls_hello_feed(struct tls_hello *hello, const uint8_t *data, size_t n, size_t *ret_used) {
        (void)data;
        *ret_used = n;
        return hello->status = TLS_DONE;
}

enum tls_answer __wrap_tls_answer_feed(struct tls_answer_state *state, const uint8_t *data, size_t n, size_t *ret_used) {
        (void)data;
        *ret_used = n;
        return state->answer = TLS_ANSWER_HELLO;
}
