"""Where things are, in a clone of the repository and in an installation.

A clone has the stored data once, in its folder `data`; an installation has its own copy inside the package.
The environment variable ``CHECKPOINTS`` names the folder in which training keeps how far it is, if nobody says another.
"""

from pathlib import Path

__all__ = ["LIBRARY", "INSTALLED", "DATA", "CHECKPOINTS"]

LIBRARY = Path(__file__).parent
INSTALLED = LIBRARY / "data"
DATA = INSTALLED if INSTALLED.is_dir() else LIBRARY.parents[1] / "data"
CHECKPOINTS = "FLATCUBE_CHECKPOINTS"
