"""The commands that report numbers over time, one module each, imported on demand.

report.py  `docyard report`: documents, tasks, review times and searches as tables and charts
"""
