"""Reports: figures with their limits, tables, plots, and the page of docs.

figures.py     the rows of the report with measured values, and their limits in this run
page.py        benchmarks/RESULTS.md: the part between its two markers is written from stored results
plot.py        a plot of growth: four panels over the number of sections, reproducible as SVG
report.py      figures with their limits, as a table for a terminal
rows.py        the rows of the report: the value of each, the compared values, and the limits
yardsticks.py  speed of the machine, by which time limits are scaled
"""
