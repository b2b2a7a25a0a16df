"""Reports: rows of measured values with their limits, tables, plots, and RESULTS.md.

growth_report.py           measurements of increasing sizes: printed, stored and drawn
page.py                    benchmarks/RESULTS.md, whose part between two markers is generated
plot.py                    a plot of times and memory by the number of sections, as a reproducible SVG
reference_measurements.py  scaling of time limits by the speed of the machine
report.py                  tables of report rows with their limits, for a terminal
report_rows.py             the rows of the report with measured values, and their limits in this run
row_definitions.py         definitions of the rows of the report: readers of values, and limits
"""
