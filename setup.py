"""Everything is in pyproject.toml, but that an installation has the stored data inside the package."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithData(build_py):
    """Copies data/ beside the modules; an editable installation reads the repository's own."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self.copy_tree("data", str(Path(self.build_lib) / "flatcube" / "data"))


setup(cmdclass={"build_py": WithData})
