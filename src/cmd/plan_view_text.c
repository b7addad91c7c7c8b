#include "cmd/plan_view_text.h"

void view_heading(struct str *out, const char *text) {
        str_printf(out, "%s%s\n", out->size ? "\n" : "", text);
}

void view_label(struct str *out, const char *name) {
        str_printf(out, "  %-20s ", name);
}

void view_put(struct str *out, const char *text) {
        for (; *text; text++) {
                unsigned char c = (unsigned char)*text;

                if (c < 0x20 || c == 0x7f)
                        str_printf(out, "\\x%02x", c);
                else
                        str_putc(out, (char)c);
        }
}

void view_line(struct str *out, const char *name, const char *text) {
        view_label(out, name);
        view_put(out, text);
        str_putc(out, '\n');
}

void view_item(struct str *out, const char *text, const char *remark) {
        str_puts(out, "  ");
        view_put(out, text);
        if (remark) {
                str_puts(out, "  (");
                view_put(out, remark);
                str_putc(out, ')');
        }
        str_putc(out, '\n');
}
