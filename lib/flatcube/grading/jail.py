"""The first lines of a sandbox's process: it builds the room it will stay in, gives away what it may do, and serves.

It is started by `unshare`, in namespaces of its own for files, network and processes. The new root is an empty folder
in memory with Python, its packages and the book's library, none of which can be written; the rest of the machine is not
there. Only then is anything of the submission read. Standard library only, up to that moment.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import sys
from pathlib import Path

RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, MOVE, REC, PRIVATE = 1, 2, 4, 8, 32, 4096, 8192, 16384, 1 << 18
KEPT = {2: NOSUID, 4: NODEV, 8: NOEXEC, 1024: 1024, 2048: 2048, 4096: 1 << 21}  # flags of statvfs, flags of mount
NO_NEW_PRIVILEGES, DROP_BOUND, KILLED_WITH_PARENT = 38, 24, 1
CALLS = {"x86_64": 126, "aarch64": 91}  # the number of capset
_libc = ctypes.CDLL(None, use_errno=True)


def _mount(source: str, target: str, kind: str | None, flags: int, data: str = "") -> None:
    given = [each.encode() if each is not None else None for each in (source, target, kind)]
    if _libc.mount(*given, ctypes.c_ulong(flags), data.encode()):
        raise OSError(ctypes.get_errno(), f"{os.strerror(ctypes.get_errno())}: {source} on {target}")


def _shown(path: str, inside: str) -> None:
    """Have a file or folder at its own place below `inside`, for reading only."""
    place = Path(inside + path)
    if place.exists() and not place.is_dir():
        return
    if Path(path).is_dir():
        place.mkdir(parents=True, exist_ok=True)
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    _mount(path, str(place), None, BIND | REC)
    try:
        mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    except OSError:
        raise OSError(0, "this system does not say what is mounted where") from None
    for one in {str(place), *(each for each in mounts if each.startswith(f"{place}/"))}:
        flags = os.statvfs(one).f_flag
        held = sum(flag for bit, flag in KEPT.items() if flags & bit)  # what may not be taken away
        _mount("none", one, None, BIND | REMOUNT | RDONLY | NOSUID | held)


def _build(given: dict) -> None:
    """The new root, and into it."""
    _mount("none", "/", None, REC | PRIVATE)
    root = given["place"]
    _mount("tmpfs", root, "tmpfs", NOSUID | NODEV, "size=4m,mode=755")
    for link in ("/lib", "/lib64", "/bin"):
        if os.path.islink(link):
            os.symlink(os.readlink(link), root + link)
    for name in ("/home", "/tmp"):  # before the rest, for the book may stand in one of them
        os.makedirs(root + name)
        own = f"size={given['disk']},mode=777,nr_inodes=2000"
        _mount("tmpfs", root + name, "tmpfs", NOSUID | NODEV | NOEXEC, own)
    for path in sorted(given["shown"], key=len):  # a folder before what is in it
        _shown(path, root)
    for path in given["hidden"]:
        if os.path.isdir(root + path):
            _mount("tmpfs", root + path, "tmpfs", RDONLY | NOSUID | NODEV, "size=4k")
    for name in ("null", "zero", "urandom", "random"):
        os.makedirs(f"{root}/dev", exist_ok=True)
        Path(f"{root}/dev/{name}").touch()
        _mount(f"/dev/{name}", f"{root}/dev/{name}", None, BIND)
    os.makedirs(f"{root}/proc", exist_ok=True)
    try:
        _mount("proc", f"{root}/proc", "proc", NOSUID | NODEV | NOEXEC)
        if not given["user"]:  # in a namespace of its own for users; elsewhere this would be the machine's number
            Path(f"{root}/proc/sys/user/max_user_namespaces").write_text("0")  # nobody begins anew in there
        _mount("none", f"{root}/proc", None, REMOUNT | RDONLY | NOSUID | NODEV | NOEXEC)
    except OSError:  # some containers allow none; nothing here needs it
        pass
    _mount("none", root, None, REMOUNT | RDONLY | NOSUID | NODEV, "size=4m,mode=755")
    os.chdir(root)
    _mount(".", "/", None, MOVE)
    os.chroot(".")
    os.chdir("/home")


def _limit(given: dict) -> None:
    try:
        import resource
    except ImportError:  # Windows, where only --unsafe runs anything
        return
    most = {"AS": given["memory"], "FSIZE": given["disk"], "NOFILE": 64, "CORE": 0, "CPU": given["cpu"]}
    if given["place"]:  # without a room of its own, other processes of the same user would count
        most["NPROC"] = given["processes"]
    for name, value in most.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))


def _surrender(given: dict) -> None:
    """Give away every privilege, for good."""
    for capability in range(64):
        _libc.prctl(DROP_BOUND, capability, 0, 0, 0)
    if given["user"]:
        os.setgroups([])
        os.setresgid(given["user"], given["user"], given["user"])
        os.setresuid(given["user"], given["user"], given["user"])
    _libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    machine = platform.machine()
    if machine not in CALLS:
        raise OSError(0, f"no way is known to give privileges away on {machine}")
    head, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if _libc.syscall(CALLS[machine], head, nothing):
        raise OSError(ctypes.get_errno(), "privileges cannot be given away")


def main() -> None:
    given = json.loads(sys.argv[1])
    read, write = os.fdopen(os.dup(0), "r", encoding="utf-8"), os.fdopen(os.dup(1), "w", encoding="utf-8")
    try:
        if given["place"]:
            _build(given)
            _surrender(given)
        sys.path.insert(0, given["library"])  # the one that marks, whatever else is installed
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(nowhere, standard)
        import numpy  # noqa: F401  before the limits, and before the clock of the first cell

        import flatcube.classroom.problems  # noqa: F401
        from flatcube.grading.serve import serve

        _limit(given)
    except BaseException as error:
        write.write(json.dumps({"refused": f"{type(error).__name__}: {error}"}) + "\n")
        write.flush()
        os._exit(1)
    write.write('{"ready": true}\n')
    write.flush()
    serve(read, write)


if __name__ == "__main__":
    main()
