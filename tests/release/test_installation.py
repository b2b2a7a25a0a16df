"""The versions with which a wheel is installed."""

from __future__ import annotations

from pathlib import Path

from release.installation import read_versions


def test_versions_have_markers_and_no_hashes(tmp_path: Path) -> None:
    lock_file = tmp_path / "requirements.lock"
    lock_file.write_text(
        "# generated\nanyio==4.16.0 \\\n    --hash=sha256:59bb \\\n    --hash=sha256:c66a\n"
        "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:0869\n"
    )
    assert read_versions(lock_file) == ["anyio==4.16.0", "colorama==0.4.6 ; sys_platform == 'win32'"]
