"""The terminal: its user, its output, and the exit codes.

console.py             tables, rendered Markdown and progress bars
credentials.py         the person at the command line, whom a token identifies
exits.py               exit codes, errors and their fixes
pager.py               a pager for output that is longer than the terminal
styles.py              styles, each named by its meaning, and the help with styles
suggested_commands.py  suggested commands with the options of the current invocation
"""
