"""Output of the command line: the terminal and the exit codes.

console.py  what people see
exits.py    how a command ends
"""
