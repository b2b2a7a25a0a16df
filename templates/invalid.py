"""The error for an invalid document type."""

from __future__ import annotations


class InvalidTemplate(ValueError):
    """A document type is invalid. `field` is the invalid file or key; `message` is the reason."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message
