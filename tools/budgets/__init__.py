"""Budgets of answers: no answer has more tokens than its call allows.

limits.py  the limit of a call, from its arguments, its URL and the operator
shrink.py  shortens the texts and lists in an answer's data
fit.py     runs a tool until its answer fits
"""
