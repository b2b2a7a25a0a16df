"""Docyard: a Git-native workspace in which agents write Markdown and people review it."""

__version__ = "0.1.0"
