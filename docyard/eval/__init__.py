"""The evaluation of `docyard eval`: labelled cases in; measures, reports and plots out.

cases.py   cases
plot.py    A plot of quality and latency over runs
report.py  the report of a run in Markdown, with what changed since an earlier one
run.py     A run
"""
