"""ZIP archives with equal bytes for equal files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path


def write_archive(target: Path, files: Mapping[str, bytes], time: int) -> None:
    """Write files, by their names, to a ZIP archive in which each has the time `time`, in seconds."""
    moment = datetime.fromtimestamp(time, UTC).timetuple()[:6]
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, moment)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
