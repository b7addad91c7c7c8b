#include "cmd/command.h"

#include "base/str.h"
#include "cmd/features_list.h"
#include "libocispec/spec.h"
#include "spec/features.h"

extern const struct command command_features;

static int run(struct invocation *invocation, int argc, char **argv, int *ret_status, struct error *err) {
        _cleanup_str_ struct str text = { 0 };
        struct oci_features *features;
        char **operands;
        int r;

        if ((r = command_parse(invocation, &command_features, argc, argv, NULL, 0, 0, &operands, NULL, err)) < 0 ||
                (r = features_list(invocation->arena, &features, err)) < 0 ||
                (r = spec_encode(&oci_features_type, features, &text, SPEC_PRETTY, err)) < 0)
                return r;
        str_putc(&text, '\n');
        *ret_status = 0;
        return command_print(&text, "the features", err);
}

const struct command command_features = { "features", "", "print what this runtime can do, as engines ask for it", run, NULL, 0, 1,
        OPTIONS_ANYWHERE };
