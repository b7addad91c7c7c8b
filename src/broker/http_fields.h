/* The fields of a request: which of them we read, which stay behind, which we refuse. */
#pragma once

#include "broker/http_head.h"

/* One line "name: value", without its end. */
enum refusal http_field_parse(struct http_head *head, const char *text, size_t n);

/* Marks what Connection names, once all fields are known: they are for this hop only (RFC 9110, 7.6.1). */
void http_fields_drop_hops(struct http_head *head);
