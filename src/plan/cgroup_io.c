/* linux.resources.blockIO: weights and limits of devices. */
#include "plan/cgroup_writer.h"

#include <inttypes.h>

static const struct cgroup_conversion block_io_table[] = {
        { "blockIO.weight", SPECIAL, "io.bfq.weight", CGROUP_ROW(oci_block_io, OCI_BLOCK_IO, weight, WEIGHT, U16) },
        { "blockIO.leafWeight", NONE, NULL, CGROUP_ROW(oci_block_io, OCI_BLOCK_IO, leaf_weight, LEAF_WEIGHT, U16) },
};

/* 10 to 1000 of blkio.bfq.weight on the scale of io.weight, 1 to 10000; io.weight is what there is without the BFQ scheduler. */
static void add_io_weight(struct cgroup_writer *w, const char *member, const char *device, unsigned weight) {
        struct plan_cgroup_write *write = cgroup_write(w, member, "io.bfq.weight", "%s%u", device, weight);

        write->else_file = "io.weight";
        write->else_value = FIELD(w->arena, "%s%u", device, 1 + (weight - 10) * 9999 / 990);
}

static int check_io_weight(struct cgroup_writer *w, const char *member, unsigned weight) {
        if (weight < 10 || weight > 1000)
                return INVALID(w->err, cgroup_field(w, member), "expected 10 to 1000, found %u", weight);
        return 0;
}

static int convert_weight_devices(struct cgroup_writer *w, const struct oci_block_io *io) {
        for (size_t i = 0; i < io->n_weight_device; i++) {
                const struct oci_weight_device *d = &io->weight_device[i];
                const char *member = FIELD(w->arena, "blockIO.weightDevice[%zu]", i);
                char device[64];
                int r;

                if (d->has & OCI_WEIGHT_DEVICE_HAS_LEAF_WEIGHT && d->leaf_weight)
                        return cgroup_no_file(w, FIELD(w->arena, "%s.leafWeight", member));
                if (!(d->has & OCI_WEIGHT_DEVICE_HAS_WEIGHT))
                        return INVALID(w->err, cgroup_field(w, member), "expected a weight");
                if ((r = check_io_weight(w, FIELD(w->arena, "%s.weight", member), d->weight)) < 0)
                        return r;
                snprintf(device, sizeof device, "%" PRId64 ":%" PRId64 " ", d->major, d->minor);
                add_io_weight(w, member, device, d->weight);
        }
        return 0;
}

/* One device a write: cgroup-v2.rst, "io.max". */
static void convert_throttle(
        struct cgroup_writer *w, const char *member, const char *key, const struct oci_throttle_device *devices, size_t n) {
        for (size_t i = 0; i < n; i++) {
                const char *name = FIELD(w->arena, "blockIO.%s[%zu]", member, i);
                const struct oci_throttle_device *d = &devices[i];

                if (d->rate) /* 0 takes a limit away in v1 */
                        cgroup_write(w, name, "io.max", "%" PRId64 ":%" PRId64 " %s=%" PRIu64, d->major, d->minor, key, d->rate);
                else
                        cgroup_write(w, name, "io.max", "%" PRId64 ":%" PRId64 " %s=max", d->major, d->minor, key);
        }
}

int cgroup_convert_block_io(struct cgroup_writer *w, const struct oci_block_io *io) {
        int r;

        if (!io)
                return 0;
        if ((r = cgroup_convert(w, block_io_table, ELEMENTSOF(block_io_table), io)) < 0)
                return r;
        if (io->has & OCI_BLOCK_IO_HAS_WEIGHT && io->weight != 0) {
                if ((r = check_io_weight(w, "blockIO.weight", io->weight)) < 0)
                        return r;
                add_io_weight(w, "blockIO.weight", "", io->weight);
        }
        if ((r = convert_weight_devices(w, io)) < 0)
                return r;
        convert_throttle(w, "throttleReadBpsDevice", "rbps", io->throttle_read_bps_device, io->n_throttle_read_bps_device);
        convert_throttle(w, "throttleWriteBpsDevice", "wbps", io->throttle_write_bps_device, io->n_throttle_write_bps_device);
        convert_throttle(w, "throttleReadIOPSDevice", "riops", io->throttle_read_iops_device, io->n_throttle_read_iops_device);
        convert_throttle(w, "throttleWriteIOPSDevice", "wiops", io->throttle_write_iops_device, io->n_throttle_write_iops_device);
        return 0;
}
