"""Tests with a certified identity provider, which `make identity` installs."""
