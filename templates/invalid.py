"""The one error of this package."""

from __future__ import annotations


class InvalidTemplate(ValueError):
    """A document type that cannot be read; `field` says where, `message` what would be right."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
