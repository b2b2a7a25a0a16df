"""What is kept, and what goes."""

from __future__ import annotations

from workspace.kept import Kept


def test_the_oldest_goes_first_by_weight() -> None:
    kept: Kept[int, str] = Kept(4, len)
    first, second = kept.get(1, lambda: "".join("ab")), kept.get(2, lambda: "cd")
    assert kept.get(1, lambda: "new") is first
    kept.get(3, lambda: "ef")
    assert kept.get(2, lambda: "new") != second
    assert kept.get(4, lambda: "too large") == "too large"
    assert kept.get(4, lambda: "again") == "again"


def test_the_oldest_goes_first_by_number() -> None:
    kept: Kept[int, int] = Kept(2)
    for key in (1, 2, 1, 3):
        kept.get(key, lambda key=key: key)  # type: ignore[misc]
    assert [kept.get(key, lambda: -1) for key in (1, 3, 2)] == [1, 3, -1]
