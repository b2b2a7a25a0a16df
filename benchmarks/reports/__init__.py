"""Reports: figures with their limits, tables, plots, and RESULTS.md.

figures.py                 the rows of the report with measured values, and their limits in this run
page.py                    benchmarks/RESULTS.md, whose part between two markers is generated
plot.py                    a plot of growth: four panels over the number of sections, reproducible as SVG
reference_measurements.py  scaling of time limits by the speed of the machine
report.py                  tables of figures with their limits, for a terminal
rows.py                    the rows of the report: values, values of other engines, and limits
"""
