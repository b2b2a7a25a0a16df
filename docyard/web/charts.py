"""Charts of bars as SVG. Colours and fonts come from a style sheet; the numbers also stand in a table.

The template `_chart.html` draws a chart on a page, and `chart.svg` as a file that stands alone. A page draws
more than 31 bars as a few paths without tooltips, which take a tenth of the bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from docyard.web.templates import render_template

WIDTH, HEIGHT = 720, 200
_LEFT, _BOTTOM, _TOP = 52, 24, 14
_GAP_SHARE = 0.25  # of the width of a bar
_MAX_BAR_WIDTH = 48
_TICK_STEPS = (1, 2, 5)
_MAX_TITLED_BARS = 31  # the days of a month
_MARK_HEIGHT = 3


class ChartValue(NamedTuple):
    """A bar from `low` to `value`, of which `part` is marked, with a line at `mark`.

    `label` names it, below the chart and in its tooltip. `tooltip` replaces the label and value there.
    """

    label: str
    value: float
    part: float = 0
    low: float = 0
    mark: float | None = None
    tooltip: str = ""


class Bar(NamedTuple):
    """A bar: its rectangle, the rectangle of the marked part at its bottom, and its line. In pixels."""

    x: float
    width: float
    y: float
    height: float
    part_y: float
    part_height: float
    mark_y: float | None
    tooltip: str


class Tick(NamedTuple):
    """A line at a value."""

    y: float
    label: str


class AxisLabel(NamedTuple):
    """A label below a bar."""

    x: float
    label: str
    anchor: str


class BarPath(NamedTuple):
    """The lines of all bars, marked parts or marks of a chart, as the data of an SVG path (SVG 2 §9.3)."""

    css_class: str
    data: str
    line_width: float


class Chart(NamedTuple):
    """The shapes of a chart. `name` makes the ids of its title and description unique."""

    name: str
    title: str
    description: str
    bars: Sequence[Bar]
    ticks: Sequence[Tick]
    labels: Sequence[AxisLabel]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT

    @property
    def has_titled_bars(self) -> bool:
        """Return True if a page draws each bar with a tooltip."""
        return len(self.bars) <= _MAX_TITLED_BARS

    @property
    def paths(self) -> Sequence[BarPath]:
        """The bars as paths; each bar is a line as wide as the bar."""
        drawn_bars = [bar for bar in self.bars if bar.height]
        parts = (bar._replace(y=bar.part_y, height=bar.part_height) for bar in drawn_bars if bar.part_height)
        width = self.bars[0].width if self.bars else 0
        paths = [
            BarPath("bar-all", _join_bars(bar for bar in drawn_bars if bar.mark_y is None), width),
            BarPath("bar-all range", _join_bars(bar for bar in drawn_bars if bar.mark_y is not None), width),
            BarPath("bar-part", _join_bars(parts), width),
            BarPath(
                "mark",
                "".join(
                    f"M{bar.x - 1:.1f} {bar.mark_y:.1f}h{bar.width + 2:.1f}"
                    for bar in self.bars
                    if bar.mark_y is not None
                ),
                _MARK_HEIGHT,
            ),
        ]
        return [path for path in paths if path.data]


def _join_bars(bars: Iterable[Bar]) -> str:
    """Return the data of a path with a line from the bottom to the top of each bar."""
    return "".join(f"M{bar.x + bar.width / 2:.1f} {bar.y + bar.height:.1f}V{bar.y:.1f}" for bar in bars)


def build_chart(
    name: str, title: str, description: str, values: Sequence[ChartValue], unit: str = ""
) -> Chart:
    """Return the chart of some values. `unit` follows the numbers of the axis."""
    top_value = _round_up(max((max(value.value, value.mark or 0) for value in values), default=0))
    plot_height = HEIGHT - _TOP - _BOTTOM
    scale = plot_height / top_value
    step = (WIDTH - _LEFT) / max(len(values), 1)
    width = min(step * (1 - _GAP_SHARE), _MAX_BAR_WIDTH)
    base = HEIGHT - _BOTTOM
    bars = [
        Bar(
            x=round(_LEFT + number * step + (step - width) / 2, 2),
            width=round(width, 2),
            y=round(base - value.value * scale, 2),
            height=round((value.value - value.low) * scale, 2),
            part_y=round(base - value.part * scale, 2),
            part_height=round(value.part * scale, 2),
            mark_y=None if value.mark is None else round(base - value.mark * scale, 2),
            tooltip=value.tooltip or f"{value.label}: {value.value:,}",
        )
        for number, value in enumerate(values)
    ]
    ticks = [
        Tick(round(base - share * plot_height, 2), f"{round(top_value * share):,}{unit}")
        for share in (0, 0.5, 1)
    ]
    return Chart(name, title, description, bars, ticks, _select_labels(values, step))


def render_svg_file(chart: Chart) -> bytes:
    """Return a chart as an SVG file that stands alone: with its title, in light and dark, without scripts."""
    return render_template("chart.svg", {"chart": chart}).encode("utf-8", "replace")


def _select_labels(values: Sequence[ChartValue], step: float) -> list[AxisLabel]:
    """Return the labels of the first, the middle and the last bar."""
    if not values:
        return []
    last = len(values) - 1
    positions = {0: "start", last // 2: "middle", last: "end"} if last >= 2 else {0: "start"}
    offsets = {"start": 0.0, "middle": 0.5, "end": 1.0}
    return [
        AxisLabel(round(_LEFT + (number + offsets[anchor]) * step, 2), values[number].label, anchor)
        for number, anchor in positions.items()
    ]


def _round_up(value: float) -> int:
    """Return the least even number of the form 2, 4, 10, 20, 40, 100 ... that is at least a value."""
    power = 1
    while True:
        for step in _TICK_STEPS:
            if step * power * 2 >= value:
                return step * power * 2
        power *= 10
