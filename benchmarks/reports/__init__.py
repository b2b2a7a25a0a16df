"""Reports: figures with their limits, tables, plots, and the page of docs.

figures.py     figures: the rows of the report with what was measured, each with the limit that holds in …
page.py        docs/performance.md: what lies between its two marks is written from the runs that are kept
plot.py        growth as a picture: four panels over the number of sections, the same SVG for the same …
report.py      figures with their limits, as a table for a terminal
rows.py        the rows of the report: what each shows of all that was measured, beside what, and its limits
yardsticks.py  how fast the machine is today, by what others take on it
"""
