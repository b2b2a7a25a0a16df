"""Validation reports, for people and for programs.

formats.py  the report and its formats: text, JSON, GitHub annotations, and SARIF
"""
