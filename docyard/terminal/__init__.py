"""The terminal: its user, its output, and the exit codes.

authors.py  the person at the command line
console.py  tables, rendered Markdown and progress bars
exits.py    exit codes, errors and their fixes
"""
