"""Findings as people and programs read them: a module a form, each with a function from a report to text."""
