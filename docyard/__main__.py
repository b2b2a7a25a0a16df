"""The entry point of `python -m docyard` and of the console script `docyard`."""

from __future__ import annotations

import sys
from os.path import dirname  # loaded at every start of Python, so no file of the user can shadow it

if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] != dirname(dirname(__file__)):
    # `python -m` puts the current directory first on the path, where a user's own `tools/` would hide
    # Docyard's package. The entry stays if the current directory is the source checkout that is running.
    del sys.path[0]


def main() -> int:
    """Run the command line. Return the exit code: 0 done, 1 problems found, 2 wrong usage, 3 cannot run."""
    from docyard.startup import UnsupportedPlatform, check_own_packages, check_platform

    try:
        check_platform()
    except UnsupportedPlatform as error:
        # The functions that print errors are in packages that cannot be imported here.
        sys.stderr.write(f"error: {error}\n  fix: {error.fix}\n")
        return 3
    check_own_packages()
    from docyard.cli.main import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
