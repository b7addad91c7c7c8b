/* Options of the command line, as tables. Every engine's spelling parses: --name value, --name=value, -name value (go-runc's
 * restore writes a single dash), -n value, -nvalue. "--" ends the options. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum option_kind {
        OPTION_FLAG,   /* bool; --name, --name=true, --name=false */
        OPTION_TEXT,   /* const char * */
        OPTION_NUMBER, /* unsigned */
        OPTION_LIST,   /* struct text_list: may be given again */
        OPTION_OPTIONAL, /* const char *; --name is --name=true, the next word is none of its */
        OPTION_NOTHING_FLAG, /* taken for the sake of callers, and without effect: the help says why */
};

struct text_list { const char **items; size_t n; };

struct option_row {
        const char *name;
        char letter;         /* 0: none */
        uint8_t kind;
        uint16_t offset;     /* of the member in the command's struct */
        const char *help;    /* NULL: another spelling of the next row, which help does not show */
};

/* Where a command's operands stand. */
enum option_order {
        OPTIONS_ANYWHERE,      /* before and behind operands */
        OPTIONS_BEFORE_OPERAND /* exec: all behind the container's id belongs to the program */
};

/* Parses argv[1…] into the struct INTO. Operands are moved together at the front: ret_operands points at the first one inside argv,
 * and the list is NULL-terminated like argv. */
int options_parse(struct arena *arena, const struct option_row *rows, size_t n, enum option_order order, int argc, char **argv, void *into,
                  char ***ret_operands, int *ret_n, struct error *err);

/* "  -b, --bundle VALUE   help", a line each, to stdout. */
void options_help(const struct option_row *rows, size_t n);
