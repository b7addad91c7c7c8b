/* The egress broker's audit (schemas/audit.json) as it is shown: a row a connection, and in the end the sum, which says what in the policy
 * stood in the way. Pure. Whoever is behind the broker had a hand in the lines, and a broker that was taken over may write anything: what
 * comes out has no control characters, and the memory it takes is bounded. */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "spec/egress-summary.h"

#define EGRESS_LINE_MAX 65536u  /* far above what a broker writes; a longer line is passed over */
#define EGRESS_REASONS_MAX 256u /* kept apart in the sum: who asks for a thousand hosts is not looking for the one to be allowed */

struct egress_report {
        bool json; /* the lines as they are, then {"summary":…} */

        /* Inside. */
        struct arena arena; /* what the sum points to */
        struct sage_egress_summary sum;
        struct sage_egress_reason *reasons;
        uint64_t *amounts;  /* one a reason: the most bytes, or seconds, that were asked for and not had */
        struct str partial; /* the beginning of a line */
        bool too_long;      /* its end is still to come */
};

/* Appends the table's head to OUT, in a REPORT that began zeroed but for json. */
void egress_report_begin(struct egress_report *report, struct str *out);
void egress_report_free(struct egress_report *report);
#define _cleanup_egress_report_ __attribute__((cleanup(egress_report_free)))

/* Takes the next N bytes of an audit, however they are cut, and appends a row to OUT for every line that is complete. */
void egress_report_feed(struct egress_report *report, const char *data, size_t n, struct str *out);
/* A file has ended: what is left of it is a line without an end. */
void egress_report_end_file(struct egress_report *report, struct str *out);
/* Appends the sum. */
void egress_report_sum(struct egress_report *report, struct str *out);
