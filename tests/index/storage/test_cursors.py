"""Signed cursors: packed digits, and cursors of earlier versions."""

from __future__ import annotations

import base64
import json

import pytest

from index.cursors import InvalidCursor, _compute_mac, sign_token, verify_token
from tests.loops import loop_over

KEY = b"k" * 32
VALUES = ["search", "4:" + "0a" * 20, "ff" * 8, 10]


@loop_over(
    "values",
    [VALUES, ["list", None, "abc", "deadbeef"], ["a", "0" * 500, "é\u0080", -1], ["", "", "", "f" * 7]],
)
def test_signed_values_are_verified(values: list[object]) -> None:
    assert verify_token([KEY], sign_token(KEY, values), 4) == values


def test_packed_cursor_is_short() -> None:
    assert len(sign_token(KEY, VALUES)) < 100


def test_cursor_of_earlier_version_is_valid() -> None:
    body = json.dumps(VALUES, separators=(",", ":")).encode()
    token = base64.urlsafe_b64encode(_compute_mac(KEY, body) + body).decode().rstrip("=")
    assert verify_token([KEY], token, 4) == VALUES


def test_token_of_an_old_key_is_valid_until_the_key_is_removed() -> None:
    old_key, new_key = b"o" * 32, b"n" * 32
    token = sign_token(old_key, VALUES)
    assert verify_token([new_key, old_key], token, 4) == VALUES
    for keys in ([new_key], []):
        with pytest.raises(InvalidCursor):
            verify_token(keys, token, 4)
