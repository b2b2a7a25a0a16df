"""The terminal: who is at it, what people see, and the exit codes.

authors.py  who is at the command line
console.py  what people see
exits.py    how a command ends
"""
