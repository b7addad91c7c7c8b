#!/usr/bin/env python3
"""schemas/NAME.json -> OUTDIR/spec/NAME.h (structs, enums, presence bits) and OUTDIR/spec/NAME.c (the tables of table.h).

    generate.py SCHEMADIR NAME... OUTDIR    those schemas
    generate.py SCHEMADIR OUTDIR            every schema there is

README.md says what a schema may hold; whatever is outside of that subset stops the build here.

Also written, for tests: OUTDIR/spec/NAME.corpus (one document a line that is wrong at one known place), OUTDIR/spec/NAME.full (a
document with every member there is, in canonical form), OUTDIR/spec/NAME.dict (words for the fuzzer) and OUTDIR/spec/roots.h (the
root type of every schema of this run).
Files whose content stays the same keep their time, so that a changed schema rebuilds only what it changes.
"""

import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))

FORMATS = {  # name: (C type, bytes, min, max)
    "uint8": ("uint8_t", 1, 0, 2**8 - 1),
    "uint16": ("uint16_t", 2, 0, 2**16 - 1),
    "uint32": ("uint32_t", 4, 0, 2**32 - 1),
    "uint64": ("uint64_t", 8, 0, 2**64 - 1),
    "int32": ("int32_t", 4, -(2**31), 2**31 - 1),
    "int64": ("int64_t", 8, -(2**63), 2**63 - 1),
}

C_KEYWORDS = set("""auto bool break case char const continue default do double else enum extern false float for goto if inline int
    long register restrict return short signed sizeof static struct switch true typedef union unsigned void volatile while asm
    typeof errno""".split())  # errno is a macro where <errno.h> was included

# What may stand in a schema, by where it stands. "description" may stand anywhere and is for people, and so is "difference".
SCHEMA_KEYS = {"description", "differences", "prefix", "root", "unknown", "null", "definitions"}
FOR_PEOPLE = {"description", "difference"}
# What a member of a request is besides its type (README.md, "Rules of requests"): all three of them, or none.
RULE_KEYS = {"class", "default", "tighter"}
CLASSES = ["enforced", "default", "host"]
TIGHTER = ["equal", "less", "true", "false", "subset", "superset", "subset-or-any", "hosts", "mode"]
KEYS = {
    "reference": {"$ref", "emitNull"},
    "string": {"type", "validator", "emitNull"},
    "enum": {"type", "enum"},
    "boolean": {"type", "emitNull"},
    "integer": {"type", "format", "minimum", "maximum", "emitNull"},
    "number": {"type", "minimum", "exclusiveMinimum", "maximum", "emitNull"},
    "array": {"type", "items", "minItems", "emitNull"},
    "map": {"type", "additionalProperties", "keyValidator", "emitNull"},
    "object": {"type", "properties", "required", "additionalProperties"},
}

# One text that keeps each rule and one that breaks it, for the corpus. A rule that every string keeps has no second one.
SAMPLES = {
    "any": ("x", None),
    "nonempty": ("x", ""),
    "absolute-path": ("/x", "x"),
    "absolute-path-or-empty": ("/x", "x"),
    "oci-version": ("1.0.2", "2.0.0"),
    "arg": ("x", None),
    "env": ("A=b", "A"),
    "device-access": ("rwm", "rx"),
    "hugepage-size": ("2MB", "2mb"),
    "cpu-list": ("0-3,7", "0-"),
    "one-line": ("x", "x\ny"),
    "clean-path": ("/x", "/x/../y"),
    "search-path": ("/bin:/usr/bin", "/bin:"),
    "env-name": ("A_1", "1A"),
    "policy-name": ("a.b-1", "a/b"),
    "proxy-origin": ("http://proxy.example:3128", "socks5://proxy.example"),
}


class SchemaError(Exception):
    pass


def refuse(where, text):
    raise SchemaError(f"{where}: {text}")


def snake(name):
    """noNewPrivileges -> no_new_privileges, execCPUAffinity -> exec_cpu_affinity, host-policy -> host_policy"""
    name = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    name = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", name)
    return re.sub(r"[^A-Za-z0-9]", "_", name).lower()


def member_name(name):
    name = snake(name)
    return name + "_" if name in C_KEYWORDS or name == "errno" else name  # errno(3) is a macro


def c_string(data):
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in data) + '"'


def validator_names():
    with open(os.path.join(HERE, "validators.h"), encoding="utf-8") as f:
        names = re.findall(r"^\s+SPEC_VALID_([A-Z0-9_]+),?$", f.read(), re.M)
    return {name.lower().replace("_", "-"): f"SPEC_VALID_{name}" for name in names if name != "COUNT"}


VALIDATORS = validator_names()


class Field:
    """One member: kind and form as in table.h; target is the Definition of an object or an enum."""

    def __init__(self, name):
        self.name = name
        self.form = "one"
        self.kind = None
        self.target = None
        self.format = None
        self.min = self.max = None
        self.validator = self.key_validator = "any"
        self.min_items = 0
        self.emit_null = self.required = self.not_null = self.above_min = False
        self.rule = None

    @property
    def optional_scalar(self):
        return self.form == "one" and not self.required and self.kind in ("boolean", "integer", "number", "enum")

    @property
    def element_c(self):
        if self.kind == "string":
            return "const char *"
        if self.kind == "object":
            return f"struct {self.target.c} "
        if self.kind == "enum":
            return f"enum {self.target.c} "
        return {"boolean": "bool", "number": "double"}.get(self.kind) or FORMATS[self.format][0]

    @property
    def width(self):
        return {"boolean": 1, "number": 8, "enum": 4}.get(self.kind) or (FORMATS[self.format][1] if self.format else 0)


class Definition:
    def __init__(self, schema, name, node):
        self.schema, self.name, self.node = schema, name, node
        self.c = f"{schema.prefix}_{snake(name)}"
        self.upper = self.c.upper()
        self.fields = []
        self.words = node.get("enum")
        self.is_object = "properties" in node
        self.refuse_unknown = schema.refuse_unknown

    @property
    def where(self):
        return f"{self.schema.file}: {self.name}"


class Schema:
    loaded = {}

    @classmethod
    def load(cls, directory, name):
        if name not in cls.loaded:
            schema = cls.loaded[name] = cls(directory, name)
            schema.resolve()
        return cls.loaded[name]

    def __init__(self, directory, name):
        self.directory, self.name, self.file = directory, name, f"{name}.json"
        with open(os.path.join(directory, self.file), encoding="utf-8") as f:
            node = json.load(f, object_pairs_hook=lambda pairs: self.no_duplicates(pairs))
        self.check_keys(self.file, node, SCHEMA_KEYS)
        for key in ("prefix", "root", "unknown", "definitions"):
            if key not in node:
                refuse(self.file, f"needs \"{key}\"")
        if node["unknown"] not in ("ignore", "refuse"):
            refuse(self.file, 'unknown must be "ignore" or "refuse"')
        if node.get("null", "absent") not in ("absent", "refuse"):
            refuse(self.file, 'null must be "absent" or "refuse"')
        self.refuse_null = node.get("null") == "refuse"
        self.prefix, self.root = node["prefix"], node["root"]
        self.refuse_unknown = node["unknown"] == "refuse"
        self.definitions = {k: Definition(self, k, v) for k, v in node["definitions"].items()}
        if self.root not in self.definitions:
            refuse(self.file, f"root {self.root} is not defined")
        self.uses = []  # other schemas whose types we use

    def no_duplicates(self, pairs):
        if len({k for k, _ in pairs}) != len(pairs):
            refuse(self.file, f"duplicate key among {[k for k, _ in pairs]}")
        return dict(pairs)

    @staticmethod
    def check_keys(where, node, allowed):
        if not isinstance(node, dict):
            refuse(where, f"expected an object, found {node!r}")
        for key in node:
            if key not in FOR_PEOPLE and key not in allowed:
                refuse(where, f"\"{key}\" is outside of the subset that may stand here: {', '.join(sorted(allowed))}")

    def find(self, where, ref):
        match = re.fullmatch(r"(?:([A-Za-z0-9_-]+)\.json)?#/definitions/([A-Za-z0-9_]+)", ref)
        if not match:
            refuse(where, f"cannot follow $ref \"{ref}\"")
        schema = self
        if match[1] and match[1] != self.name:
            schema = Schema.load(self.directory, match[1])
            if schema not in self.uses:
                self.uses.append(schema)
        if match[2] not in schema.definitions:
            refuse(where, f"$ref \"{ref}\": there is no such definition")
        return schema.definitions[match[2]]

    def resolve(self):
        for d in self.definitions.values():
            if d.words is not None:
                self.check_keys(d.where, d.node, KEYS["enum"])
                if d.node["type"] != "string" or not d.words or len(set(d.words)) != len(d.words) or len(d.words) > 255:
                    refuse(d.where, "an enum is a list of different strings")
            elif d.is_object:
                self.resolve_object(d)
            else:  # a scalar, array or map that others take over by $ref
                self.member(Field(d.name), d.node, d.where)
        if not self.definitions[self.root].is_object:
            refuse(self.file, "the root must be an object")
        for d in self.objects():
            self.check_depth(d, [])

    def resolve_object(self, d):
        self.check_keys(d.where, d.node, KEYS["object"])
        extra = d.node.get("additionalProperties")
        if d.node.get("type") != "object" or not isinstance(extra, (bool, type(None))):
            refuse(d.where, "an object has type object, and additionalProperties true or false if any")
        if extra is not None:
            d.refuse_unknown = not extra
        required = d.node.get("required", [])
        for name in required:
            if name not in d.node["properties"]:
                refuse(d.where, f"required member {name} has no property")
        for name, node in d.node["properties"].items():
            where = f"{d.where}.{name}"
            field = Field(name)
            field.required = name in required
            if isinstance(node, dict) and node.keys() & RULE_KEYS:
                field.rule = self.rule(node, where)
                node = {key: value for key, value in node.items() if key not in RULE_KEYS}
            self.member(field, node, where)
            field.not_null = self.refuse_null and not (field.rule and field.rule["default"] is None)
            if field.required and field.emit_null:
                refuse(where, "a required member is never null")
            d.fields.append(field)
        if len({f.rule is None for f in d.fields}) > 1:
            refuse(d.where, "either every member has a class, or none has")
        if len(d.fields) > 64 or len({member_name(f.name) for f in d.fields}) != len(d.fields):
            refuse(d.where, "at most 64 members, with names that differ in C")

    @staticmethod
    def rule(node, where):
        """The rule of a member of a request: its class, its default (null: none), and what makes it tighter than a policy's."""
        rule = {"tighter": "equal", **{key: node[key] for key in RULE_KEYS if key in node}}
        if rule.keys() != RULE_KEYS or rule["class"] not in CLASSES or rule["tighter"] not in TIGHTER:
            refuse(where, f"a rule is a class ({', '.join(CLASSES)}), a default and perhaps tighter ({', '.join(TIGHTER)})")
        return rule

    def member(self, field, node, where):
        """Fills FIELD by what a property says: one element, an array of them or a map to them."""
        if "$ref" in node:
            target = self.find(where, node["$ref"])
            if not target.is_object and target.words is None:
                self.check_keys(where, node, KEYS["reference"])
                field.emit_null = node.get("emitNull", False)
                return target.schema.member(field, target.node, target.where)
        field.emit_null = node.get("emitNull", field.emit_null)
        if node.get("type") == "array":
            self.check_keys(where, node, KEYS["array"])
            field.form = "array"
            field.min_items = node.get("minItems", 0)
            self.element(field, node.get("items"), f"{where}[]")
        elif node.get("type") == "object":
            self.check_keys(where, node, KEYS["map"])
            field.form = "map"
            field.key_validator = self.validator(where, node.get("keyValidator", "any"))
            self.element(field, node.get("additionalProperties"), f"{where}{{}}")
            if field.kind not in ("string", "object"):
                refuse(where, "a map is a map to strings or to objects")
        else:
            self.element(field, node, where)
        return None

    def element(self, field, node, where):
        if not isinstance(node, dict):
            refuse(where, "expected a schema")
        if "$ref" in node:
            self.check_keys(where, node, KEYS["reference"])
            target = self.find(where, node["$ref"])
            if target.words is not None or target.is_object:
                field.kind, field.target = ("object" if target.is_object else "enum"), target
                return
            target.schema.element(field, target.node, target.where)
            return
        kind = node.get("type")
        if kind not in ("string", "boolean", "integer", "number"):
            refuse(where, f"type {kind!r} cannot stand here (objects and enums are used by $ref)")
        self.check_keys(where, node, KEYS[kind])
        field.kind = kind
        field.validator = self.validator(where, node.get("validator", "any"))
        if kind == "integer":
            if node.get("format") not in FORMATS:
                refuse(where, f"an integer has a format: {', '.join(FORMATS)}")
            field.format = node["format"]
            _, _, lowest, highest = FORMATS[field.format]
            field.min, field.max = node.get("minimum", lowest), node.get("maximum", highest)
            if not lowest <= field.min <= field.max <= highest or field.max < 0:
                refuse(where, f"minimum and maximum must lie in {field.format}, and maximum may not be negative")
        if kind == "number" and node.keys() & {"minimum", "exclusiveMinimum", "maximum"}:
            field.above_min = "exclusiveMinimum" in node
            field.min, field.max = node.get("exclusiveMinimum", node.get("minimum", 0)), node.get("maximum", 2**53)
            if not (isinstance(field.min, int) and isinstance(field.max, int) and field.min <= field.max):
                refuse(where, "minimum and maximum of a number are integers")

    @staticmethod
    def validator(where, name):
        if name not in VALIDATORS:
            refuse(where, f"there is no validator \"{name}\" in validators.h")
        return name

    def check_depth(self, d, above):
        """The decoder's stack is fixed, and the encoder recurses: a type may not contain itself."""
        if d in above or len(above) > 12:
            refuse(d.where, "contains itself or nests too deep: " + " > ".join(x.name for x in above + [d]))
        for field in d.fields:
            if field.kind == "object":
                self.check_depth(field.target, above + [d])

    def objects(self):
        return [d for d in self.definitions.values() if d.is_object]

    def entries(self):
        """The objects that some member is a map to."""
        return list(dict.fromkeys(f.target for d in self.objects() for f in d.fields if f.form == "map" and f.kind == "object"))

    def enums(self):
        return [d for d in self.definitions.values() if d.words is not None]


# ---- C ----------------------------------------------------------------------------------------------------------------


def emit_enum(d, out):
    names = [f"{d.upper}_" + re.sub(r"[^A-Z0-9]", "_", word.upper()) for word in d.words]
    if len(set(names)) != len(names):
        refuse(d.where, "two words give the same constant")
    out.append(f"enum {d.c} {{")
    out += [f"        {name}{' = 1' if i == 0 else ''}," for i, name in enumerate(names)]
    out += ["};", f"extern const struct spec_enum {d.c}_enum;", ""]


def entry_name(field):
    return f"{field.target.c}_entry"


def emit_member(field, out):
    name = member_name(field.name)
    element = field.element_c
    gap = "" if element[-1] in "* " else " "
    if field.form == "map":
        pointer = "struct string_pair *" if field.kind == "string" else f"struct {entry_name(field)} *"
    elif field.form == "array":
        pointer = f"{element}{gap}*"
    elif field.kind == "object":
        pointer = f"{element}*"
    else:
        pointer = f"{element}{gap}"
    out.append(f"        {pointer}{name};")
    if field.form != "one":
        out.append(f"        size_t n_{name.rstrip('_')};")


def ruled(d):
    return bool(d.fields) and d.fields[0].rule is not None


def emit_struct(d, out):
    bits = [f for f in d.fields if f.optional_scalar]
    for i, field in enumerate(bits):
        out.append(f"#define {d.upper}_HAS_{snake(field.name).upper()} (UINT64_C(1) << {i})")
    out.append(f"struct {d.c} {{")
    if bits:
        out.append("        uint64_t has;")
    for field in d.fields:
        emit_member(field, out)
    if not d.fields:
        out.append("        char nothing;")
    out += ["};", f"extern const struct spec_type {d.c}_type;"]
    if ruled(d):
        out += [f"extern const struct spec_rule {d.c}_rules[{len(d.fields)}];", f"extern const char {d.c}_defaults[];"]
    out.append("")


def header(schema):
    out = [f"/* Made by generate.py from {schema.file}. */", "#pragma once", "", '#include "libocispec/spec.h"', ""]
    out += [f'#include "spec/{other.name}.h"' for other in schema.uses] + ([""] if schema.uses else [])
    out += ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>", ""]
    for d in schema.enums():
        emit_enum(d, out)
    out += [f"struct {d.c};" for d in schema.objects()]
    entries = schema.entries()
    out += [f"struct {d.c}_entry;" for d in entries] + [""]
    for d in schema.objects():
        emit_struct(d, out)
    for d in entries:  # the same struct may be needed by two schemas, of which one includes the other
        guard = f"SPEC_HAVE_{d.upper}_ENTRY"
        out += [f"#ifndef {guard}", f"#define {guard}"]
        out += [f"struct {d.c}_entry {{", "        const char *key;", f"        struct {d.c} value;", "};", "#endif", ""]
    return "\n".join(out)


class Pool:
    """Things that are numbered in the order of their first use."""

    def __init__(self):
        self.items = {}

    def number(self, item):
        return self.items.setdefault(item, len(self.items))


def tables(schema):
    names, types, enums, ranges = {}, Pool(), Pool(), Pool()
    pool_size, name_lines, field_lines, type_lines = 0, [], [], []
    ranges.number((0, 0))
    first = 0
    for d in schema.objects():
        bits, required = 0, 0
        for i, f in enumerate(d.fields):
            raw = f.name.encode()
            if raw not in names:
                names[raw] = pool_size
                pool_size += len(raw) + 2
                name_lines.append("        " + c_string(bytes([len(raw)]) + raw + b"\0"))
            member = member_name(f.name)
            at = [f".name = {names[raw]}", f".offset = offsetof(struct {d.c}, {member})"]
            if f.form != "one":
                at.append(f".count = offsetof(struct {d.c}, n_{member.rstrip('_')})")
            if f.target:
                at.append(f".type = {(types if f.kind == 'object' else enums).number(f.target.c)}")
            at += [f".kind = SPEC_{f.kind.upper()}", f".form = SPEC_{f.form.upper()}"]
            if f.width:
                at.append(f".width = {f.width}")
            flags = [name for name, on in (("SPEC_REQUIRED", f.required), ("SPEC_SIGNED", (f.format or "").startswith("int")),
                                           ("SPEC_EMIT_NULL", f.emit_null), ("SPEC_NOT_NULL", f.not_null),
                                           ("SPEC_ABOVE_MIN", f.above_min)) if on]
            at.append(f".presence = {bits if f.optional_scalar else 'SPEC_NO_BIT'}")
            bits += f.optional_scalar
            if flags:
                at.append(f".flags = {' | '.join(flags)}")
            if f.validator != "any":
                at.append(f".validator = {VALIDATORS[f.validator]}")
            if f.key_validator != "any":
                at.append(f".key_validator = {VALIDATORS[f.key_validator]}")
            if f.min_items:
                at.append(f".min_items = {f.min_items}")
            if f.max is not None:
                at.append(f".range = {ranges.number((f.min, f.max))}")
            field_lines.append(f"        {{ {', '.join(at)} }}, /* {d.name}.{f.name} */")
            required |= f.required << i
        type_lines += [f"const struct spec_type {d.c}_type = {{",
                       f"        .module = &module, .required = UINT64_C({required:#x}), .first = {first}, .n = {len(d.fields)},",
                       f"        .size = sizeof(struct {d.c}), .refuse = {'true' if d.refuse_unknown else 'false'},", "};"]
        first += len(d.fields)
    if pool_size > 0xffff or len(ranges.items) > 255:
        refuse(schema.file, "too many names or ranges for the table")
    return names, types, enums, ranges, name_lines, field_lines, type_lines


def source(schema):
    _, types, enums, ranges, name_lines, field_lines, type_lines = tables(schema)
    out = [f"/* Made by generate.py from {schema.file}. */", f'#include "spec/{schema.name}.h"', "", '#include "libocispec/table.h"', ""]
    for d in schema.enums():
        words = " ".join(c_string(w.encode() + b"\0") for w in d.words)
        out += [f"const struct spec_enum {d.c}_enum = {{ {words}, {len(d.words)} }};"]
    out += ["", "static const char names[] =", *(name_lines or ['        ""'])]
    out[-1] += ";"
    out += ["", "static const struct spec_field fields[] = {", *field_lines, "};", "", "static const struct spec_range ranges[] = {"]
    # -2^63 has no literal of its own: the minus is an operator, and 2^63 does not fit
    out += [f"        {{ {'INT64_MIN' if lo == -(2**63) else f'INT64_C({lo})'}, UINT64_C({hi % 2**64}) }}," for lo, hi in ranges.items]
    out += ["};", ""]
    for kind, pool in (("type", types), ("enum", enums)):
        items = ", ".join(f"&{name}_{kind}" for name in pool.items) or "NULL"
        out.append(f"static const struct spec_{kind} *const {kind}s[] = {{ {items} }};")
    out += ["", "static const struct spec_module module = { names, fields, ranges, types, enums };", "", *type_lines]
    for d in filter(ruled, schema.objects()):
        word = lambda text: text.upper().replace("-", "_")
        out += [f"const struct spec_rule {d.c}_rules[] = {{"]
        out += [f"        {{ SPEC_CLASS_{word(f.rule['class'])}, SPEC_TIGHTER_{word(f.rule['tighter'])} }}, /* {f.name} */" for f in d.fields]
        defaults = {f.name: f.rule["default"] for f in d.fields if f.rule["default"] is not None}
        out += ["};", f"const char {d.c}_defaults[] = {c_string(dump(defaults).encode())};"]
    out += [f"_Static_assert(sizeof(struct {d.c}) <= UINT16_MAX, \"offsets have 16 bits\");" for d in schema.objects()]
    out += [f"_Static_assert(offsetof(struct {d.c}_entry, value) == offsetof(struct spec_entry, value), \"table.h\");"
            for d in schema.entries()]
    out += [f"_Static_assert(sizeof(enum {d.c}) == 4, \"the width of an enum in the table\");" for d in schema.enums()]
    return "\n".join(out) + "\n"


# ---- for tests --------------------------------------------------------------------------------------------------------


def sample(field, element=False):
    """A value that is right for FIELD."""
    if not element and field.form == "array":
        return [sample(field, True)]
    if not element and field.form == "map":
        return {SAMPLES[field.key_validator][0]: sample(field, True)}
    if field.kind == "object":
        return sample_object(field.target)
    if field.kind == "string":
        return SAMPLES[field.validator][0]
    if field.kind == "enum":
        return field.target.words[0]
    if field.kind == "boolean":
        return True
    return (field.min or 0) + field.above_min


def sample_object(d):
    return {f.name: sample(f) for f in d.fields if f.required}


def full(d):
    """A value with every member, of which each array has one element and each map one key."""
    def value(f, form):
        if form == "array":
            return [value(f, "one")]
        if form == "map":
            return {SAMPLES[f.key_validator][0]: value(f, "one")}
        return full(f.target) if f.kind == "object" else sample(f, True)

    return {f.name: value(f, f.form) for f in d.fields}


class Raw(str):
    """JSON text that json.dumps cannot write: 1e3, 2^64 and the like, and duplicate keys."""


def dump(value):
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{dump(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(dump(v) for v in value) + "]"
    return json.dumps(value)


def wrong_elements(field):
    """Values that are wrong for one element of FIELD, each wrong at the element itself."""
    wrong = {
        "string": [7, True, {}, [], Raw('"\\u0000"'), Raw('"\\ud800"')],
        "boolean": ["true", 1, {}, []],
        "integer": ["1", True, {}, [], Raw("1.5"), Raw("1e3"), Raw("18446744073709551616"), Raw("-9223372036854775809")],
        "number": ["1", True, {}, [], Raw("1e999")],
        "enum": ["no-such-word", "", 7, True, {}, []],
        "object": ["x", 7, True, []],
    }[field.kind]
    if field.kind == "string" and SAMPLES[field.validator][1] is not None:
        wrong = wrong + [SAMPLES[field.validator][1]]
    if field.max is not None:
        wrong = wrong + [field.min - 1, field.max + 1] + ([field.min] if field.above_min else [])
    return wrong


def wrong_values(field):
    """(what is appended to the member's path, the member's value)"""
    if field.form == "one":
        yield from (("", v) for v in wrong_elements(field) + ([None] if field.not_null else []))
    elif field.form == "array":
        yield from (("", v) for v in ("x", 7, True, {}) + ((None,) if field.not_null else ()))
        yield from (("[0]", [v]) for v in wrong_elements(field) + [None])
        yield "[1]", [sample(field, True), None]
        if field.min_items:
            yield "", [sample(field, True)] * (field.min_items - 1)
    else:
        key = SAMPLES[field.key_validator][0]
        yield from (("", v) for v in ("x", 7, True, []))
        yield from ((f'["{key}"]', {key: v}) for v in wrong_elements(field) + [None])
        yield f'["{key}"]', Raw("{%s:%s,%s:%s}" % ((json.dumps(key), dump(sample(field, True))) * 2))
        if SAMPLES[field.key_validator][1] is not None:
            bad = SAMPLES[field.key_validator][1]
            yield f'["{bad}"]', {bad: sample(field, True)}


def wrong_documents(d, path, wrap):
    """(path, document) for every member of D and below, each with exactly one fault. WRAP puts an object of D into its document."""
    base = sample_object(d)
    for field in d.fields:
        here = f"{path}.{field.name}" if path else field.name
        for suffix, value in wrong_values(field):
            yield here + suffix, wrap({**base, field.name: value})
        pair = f"{json.dumps(field.name)}:{dump(sample(field))}"
        rest = "".join(f",{json.dumps(k)}:{dump(v)}" for k, v in base.items() if k != field.name)
        yield here, wrap(Raw("{" + f"{pair},{pair}{rest}" + "}"))
        if field.required:
            for absent in ({k: v for k, v in base.items() if k != field.name}, {**base, field.name: None}):
                yield here, wrap(absent)
        if field.kind == "object":
            step, inner = {"one": ("", lambda v: v), "array": ("[0]", lambda v: [v]), "map": ('["x"]', lambda v: {"x": v})}[field.form]
            yield from wrong_documents(field.target, here + step,
                                       lambda v, name=field.name, inner=inner: wrap({**base, name: inner(v)}))
    if d.refuse_unknown:
        yield (f"{path}.no-such-member" if path else "no-such-member"), wrap({**base, "no-such-member": 1})


def corpus(schema):
    """Tab-separated lines: path of the fault, document. Control characters are escaped by JSON, so a line is a line."""
    lines = [f"{path}\t{dump(document)}" for path, document in wrong_documents(schema.definitions[schema.root], "", lambda v: v)]
    return "\n".join(lines) + "\n"


def full_document(schema):
    return dump(full(schema.definitions[schema.root]))


def dictionary(schema):
    words = {json.dumps(f.name) for d in schema.objects() for f in d.fields}
    words |= {json.dumps(w) for d in schema.enums() for w in d.words}
    words |= {'"\\\\u0000"', '"\\\\ud800"', "18446744073709551615", "-9223372036854775808", "null", "true", "1.5", "1e3"}
    return "".join('"' + w.replace('"', '\\"') + '"\n' for w in sorted(words))


def roots(schemas):
    out = ["/* Made by generate.py: the root type of every schema. For tests; the runtime includes what it needs. */", "#pragma once", ""]
    out += [f'#include "spec/{s.name}.h"' for s in schemas]
    out += ["", "static const struct {", "        const char *name;", "        const struct spec_type *type;", "} spec_roots[] = {"]
    out += [f'        {{ "{s.name}", &{s.definitions[s.root].c}_type }},' for s in schemas] + ["};", ""]
    return "\n".join(out)


def write(path, text):
    try:
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main(argv):
    if len(argv) < 3:
        sys.exit(__doc__)
    directory, names, outdir = argv[1], argv[2:-1], argv[-1]
    names = names or sorted(f[:-5] for f in os.listdir(directory) if f.endswith(".json"))
    os.makedirs(os.path.join(outdir, "spec"), exist_ok=True)
    try:
        schemas = [Schema.load(directory, name) for name in names]
        write(os.path.join(outdir, "spec", "roots.h"), roots(schemas))
        for schema in schemas:
            for suffix, make in ((".h", header), (".c", source), (".corpus", corpus), (".full", full_document), (".dict", dictionary)):
                write(os.path.join(outdir, "spec", schema.name + suffix), make(schema))
    except SchemaError as e:
        sys.exit(f"generate.py: {e}")


main(sys.argv)
