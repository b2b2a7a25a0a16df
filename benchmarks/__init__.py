"""Measurements and checks over folders of real Markdown."""
