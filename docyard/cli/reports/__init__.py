"""Reports of findings, for people and for programs.

formats.py  what a validation found, before it is written in some form
"""
