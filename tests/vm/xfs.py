"""Project quotas on the guest's XFS volume."""

import fcntl
import os
import struct

ROOT = "/srv/xfs"

# struct fsxattr of linux/fs.h: fsx_xflags, fsx_extsize, fsx_nextents, fsx_projid, fsx_cowextsize, fsx_pad[8].
FSXATTR = "IIIII8x"
FS_IOC_FSGETXATTR = 0x801C581F
FS_IOC_FSSETXATTR = 0x401C5820
FS_XFLAG_PROJINHERIT = 0x00000200


def make_project(vm, directory, project, hard_bytes):
    """Makes DIRECTORY, gives it the project id, inherited by all that is created below, and the project a hard limit on blocks."""
    os.mkdir(directory)
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags, extsize, extents, _, cow = struct.unpack(FSXATTR, fcntl.ioctl(fd, FS_IOC_FSGETXATTR, bytes(struct.calcsize(FSXATTR))))
        fcntl.ioctl(fd, FS_IOC_FSSETXATTR, struct.pack(FSXATTR, flags | FS_XFLAG_PROJINHERIT, extsize, extents, project, cow))
    finally:
        os.close(fd)
    vm.run(["xfs_quota", "-x", "-c", f"limit -p bhard={hard_bytes} {project}", ROOT]).must_succeed()
