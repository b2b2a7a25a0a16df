"""The versions of the documentation site: a folder for each, `latest`, and a page that lists them.

python -m release.site_versions FOLDER    FOLDER has one folder for each version, as `make site` builds them

Zensical builds one version of a site. The versions are siblings, so a static host serves them as they are.
"""

from __future__ import annotations

import re
import shutil
import sys
from html import escape
from pathlib import Path

LATEST = "latest"
_VERSION_PATTERN = re.compile(r"(\d+)\.(\d+)\.(\d+)((?:a|b|rc)\d+)?")
_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Versions of Docyard's documentation</title>
</head>
<body>
<h1>Versions of Docyard's documentation</h1>
<ul>
{items}
</ul>
</body>
</html>
"""


def list_versions(folder: Path) -> list[str]:
    """Return the versions whose sites are in a folder, the newest first, a release before its candidates."""
    versions = [
        path.name for path in folder.iterdir() if path.is_dir() and _VERSION_PATTERN.fullmatch(path.name)
    ]
    return sorted(versions, key=_order, reverse=True)


def find_latest(versions: list[str]) -> str | None:
    """Return the newest release, else the newest pre-release; None if there is no version."""
    releases = [version for version in versions if not _is_prerelease(version)]
    return next(iter(releases or versions), None)


def publish_versions(folder: Path) -> list[str]:
    """Write `latest` and the page of versions, and return all versions. Raises ValueError without any."""
    versions = list_versions(folder)
    latest = find_latest(versions)
    if latest is None:
        raise ValueError(f"{folder} has no folder of a version, such as 1.0.0")
    shutil.rmtree(folder / LATEST, ignore_errors=True)
    shutil.copytree(folder / latest, folder / LATEST)
    items = [f'<li><a href="{LATEST}/index.html">latest</a> ({escape(latest)})</li>']
    items += [f'<li><a href="{escape(name)}/index.html">{escape(name)}</a></li>' for name in versions]
    (folder / "index.html").write_text(_PAGE.format(items="\n".join(items)), encoding="utf-8")
    return versions


def _order(version: str) -> tuple[int, int, int, bool, str, int]:
    match = _VERSION_PATTERN.fullmatch(version)
    assert match is not None
    kind, _, number = re.sub(r"(\D+)(\d+)", r"\1 \2", match[4] or "").partition(" ")
    return int(match[1]), int(match[2]), int(match[3]), match[4] is None, kind, int(number or 0)


def _is_prerelease(version: str) -> bool:
    match = _VERSION_PATTERN.fullmatch(version)
    return match is not None and match[4] is not None


def main() -> int:
    """Publish the versions in the folder that the command line names. Return the exit code."""
    [folder] = sys.argv[1:]
    try:
        versions = publish_versions(Path(folder))
    except (OSError, ValueError) as error:
        print(f"error: {error}\n  fix: Run `make site`.", file=sys.stderr)
        return 3
    print(f"{folder}/index.html lists {', '.join(versions)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
