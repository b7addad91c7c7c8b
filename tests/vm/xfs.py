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


def set_project(directory, project, flags=FS_XFLAG_PROJINHERIT):
    """Gives DIRECTORY the project id; with the default of FLAGS, all that is created below it inherits it."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        old, extsize, extents, _, cow = struct.unpack(FSXATTR, fcntl.ioctl(fd, FS_IOC_FSGETXATTR, bytes(struct.calcsize(FSXATTR))))
        fcntl.ioctl(fd, FS_IOC_FSSETXATTR, struct.pack(FSXATTR, old & ~FS_XFLAG_PROJINHERIT | flags, extsize, extents, project, cow))
    finally:
        os.close(fd)


def limit(vm, project, *limits):
    """Sets limits such as "bhard=8388608" or "ihard=2048"."""
    vm.run(["xfs_quota", "-x", "-c", f"limit -p {' '.join(limits)} {project}", ROOT]).must_succeed()


def usage(vm, project):
    """Bytes and inodes that the project holds."""
    line = vm.run(["xfs_quota", "-x", "-c", f"quota -p -b -i -N -v {project}", ROOT]).must_succeed().stdout.split()
    return int(line[1]) * 1024, int(line[6])


def make_project(vm, directory, project, hard_bytes, hard_inodes=0):
    """Makes DIRECTORY, gives it the project id, inherited by all that is created below, and the project hard limits."""
    os.mkdir(directory)
    set_project(directory, project)
    limit(vm, project, f"bhard={hard_bytes}", f"ihard={hard_inodes}")
