"""Values of front matter: what a caller's JSON means there, and whether two values are the same."""

from __future__ import annotations

from datetime import date


def meant(known: object, given: object) -> object:
    """What a JSON value means in place of a known one.

    JSON has neither dates nor keys other than text: text that reads as a date is one where a date stood, and
    a key is the known one that is written so.
    """
    from workspace.frontmatter.reading import word
    from workspace.plain_yaml import NotPlain

    if isinstance(given, str):
        if isinstance(known, date):
            try:
                value = word(given) if given else given
            except NotPlain:
                return given
            return value if isinstance(value, date) else given
        return given
    if isinstance(given, list):
        items = known if isinstance(known, list) else []
        kept = next((item for item in items if isinstance(item, date)), None)
        return [meant(items[i] if i < len(items) else kept, item) for i, item in enumerate(given)]
    if isinstance(given, dict):
        before = known if isinstance(known, dict) else {}
        names = {str(key): key for key in before}
        return {
            names.get(key, key): meant(before.get(names.get(key, key)), value) for key, value in given.items()
        }
    return given


def are_same(one: object, other: object) -> bool:
    """Whether two values are equal and of one type, all the way down: `1`, `1.0` and `true` are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        keys = {(type(key), key) for key in other}
        return len(one) == len(other) and all(
            (type(key), key) in keys and are_same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(are_same, one, other))
    # A float that is no number is not equal to itself.
    return one == other or (one != one and other != other)
