"""MCP hosts: their configuration for a user, and the files of a project that a team commits.

configurations.py   the description of each host, and its configuration as text
instructions.py     the section about Docyard in the instructions for agents (AGENTS.md, CLAUDE.md)
jsonc.py            insertion of a member into JSON with comments
project_files.py    the files of a project: planned from the existing files, then written
"""
