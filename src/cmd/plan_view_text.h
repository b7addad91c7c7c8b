/* The lines of a plan as a person reads it. Names come from a bundle, and this goes to a terminal: control characters are shown, not sent. */
#pragma once

#include "base/str.h"

/* Of a part, with an empty line before it. */
void view_heading(struct str *out, const char *text);

/* "  NAME   ", to be followed by the rest of its line. */
void view_label(struct str *out, const char *name);
void view_put(struct str *out, const char *text);

/* "  NAME   TEXT" */
void view_line(struct str *out, const char *name, const char *text);

/* "  TEXT  (REMARK)", without the second where it is NULL. */
void view_item(struct str *out, const char *text, const char *remark);
