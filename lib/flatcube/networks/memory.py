"""Memory that work in many equal steps asks for again and again."""

import ctypes

__all__ = ["keep_memory"]


def keep_memory() -> None:
    """Let this process keep freed memory for its next step instead of returning it to the system (glibc only).

    Training allocates the same large blocks at every step; asking the system for them anew costs up to a third of it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library
        return
    no_maps, no_trim = -4, -1
    mallopt(no_maps, 0)
    mallopt(no_trim, 2**31 - 1)
