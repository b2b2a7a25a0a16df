"""The garbage collector rests while modules are imported, and never stays off."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from docyard.startup import ImportsKept


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.enable()


def test_it_rests_inside_and_works_afterwards() -> None:
    with ImportsKept():
        assert not gc.isenabled()
        with ImportsKept():
            assert not gc.isenabled()
        assert not gc.isenabled()
        assert gc.get_freeze_count() == 0
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0


def test_an_error_inside_does_not_leave_it_off() -> None:
    with pytest.raises(ImportError), ImportsKept():
        raise ImportError
    assert gc.isenabled()


def test_who_turned_it_off_keeps_it_off() -> None:
    gc.disable()
    with ImportsKept():
        pass
    assert not gc.isenabled()
