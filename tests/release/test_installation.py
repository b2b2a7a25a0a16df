"""The versions with which a wheel is installed, and the limit of its size."""

from __future__ import annotations

from pathlib import Path

import pytest

from release.installation import MAX_INSTALLED_MB, check_size, measure_size, read_versions
from release.programs import ProgramError


def test_versions_have_markers_and_no_hashes(tmp_path: Path) -> None:
    lock_file = tmp_path / "requirements.lock"
    lock_file.write_text(
        "# generated\nanyio==4.16.0 \\\n    --hash=sha256:59bb \\\n    --hash=sha256:c66a\n"
        "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:0869\n"
    )
    assert read_versions(lock_file) == ["anyio==4.16.0", "colorama==0.4.6 ; sys_platform == 'win32'"]


def install(venv: Path, package: str, size_mb: int) -> None:
    """Write a package of a size, as one file whose blocks are allocated."""
    folder = venv / "lib/python3.11/site-packages" / package
    folder.mkdir(parents=True)
    with (folder / "data.bin").open("wb") as stream:
        for _ in range(size_mb):
            stream.write(b"\1" * 2**20)


def test_size_is_that_of_the_blocks_on_the_disk(tmp_path: Path) -> None:
    install(tmp_path, "small", 2)
    assert 2 * 2**20 <= measure_size(tmp_path) < 3 * 2**20
    assert check_size(tmp_path) == "2 MB installed (small 2)"


def test_installation_above_the_limit_is_refused_with_its_largest_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("release.installation.MAX_INSTALLED_MB", 4)
    install(tmp_path, "small", 1)
    install(tmp_path, "large", 4)
    with pytest.raises(ProgramError, match=r"5 MB installed \(large 4, small 1\), and the limit is 4 MB"):
        check_size(tmp_path)
    assert MAX_INSTALLED_MB == 160
