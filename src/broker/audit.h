/* The audit: a JSON line a connection (schemas/audit.json), in files of a bounded size, and never a reason to wait. */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "spec/audit.h"

/* A file that is full becomes PATH.1, in place of the one before. */
#define AUDIT_FILE_MAX (4u << 20)

struct audit {
        int fd;              /* -1: nobody wants to know */
        int older;           /* PATH.1, or -1 */
        bool regular;        /* a file, which can be cut; not a pipe or a terminal */
        uint64_t size;       /* of the file */
        uint64_t lost;       /* lines that no line has told of yet */
        struct str gathered; /* lines to be written, of which the first tells of TOLD that were lost */
        uint64_t told;
};

/* where: a path, or "fd:N" for a descriptor that is open already (its regular file is begun anew when it is full), or NULL. Opens all that
 * will ever be needed. */
int audit_open(const char *where, struct audit *ret, struct error *err);
void audit_close(struct audit *audit);

/* Gathers LINE, of which lost is set here, to be written with others before long (audit_flush()): a write of its own would be a good part of
 * what a short request costs. */
void audit_add(struct audit *audit, struct sage_audit *line);

/* Writes what was gathered, or counts it as lost: a full disk stops no traffic. */
void audit_flush(struct audit *audit);
