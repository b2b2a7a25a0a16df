"""The evaluation of `docyard eval`: labelled cases, measures, reports and plots.

cases.py   cases, and the files that contain them
plot.py    a plot of quality and latency over runs
report.py  the report of a run in Markdown, compared with an earlier run
run.py     a run: the results of all cases, and their measures
"""
