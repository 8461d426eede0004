"""Draws bars as SVG, legible on light and on dark pages."""

import collections
import html
import math

# `kind` is ours, peer or limit. Figures that there are not are NaN.
Bar = collections.namedtuple("Bar", "label kind value least most")
Panel = collections.namedtuple("Panel", "title subtitle scale axis bars")  # the same scale: comparable

WIDTH, MARGIN, GAP = 920, 24, 36
COLUMNS = 2
LABEL = 138  # room for the names of the bars
VALUE = 64  # room for the figure behind the longest bar
BAR, STEP = 18, 27
HEAD, FOOT = 34, 44  # of a panel: its title, its axis
SUBTITLE = 17
TITLE = 62
LOGARITHMIC_FROM = 25  # where the greatest is so many times the least

STYLE = """
  svg { --back: #ffffff; --edge: #d1d9e0; --text: #1f2328; --soft: #59636e; --grid: #e4e8ec;
        --ours: #0969da; --peer: #8c959f; --limit: #ffffff; --limit-edge: #59636e; }
  @media (prefers-color-scheme: dark) {
    svg { --back: #0d1117; --edge: #3d444d; --text: #f0f6fc; --soft: #9198a1; --grid: #262c36;
          --ours: #4493f8; --peer: #6e7681; --limit: #0d1117; --limit-edge: #9198a1; }
  }
  text { font: 13px -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
         fill: var(--text); }
  .title { font-size: 19px; font-weight: 600; }
  .panel { font-size: 14px; font-weight: 600; }
  .soft { font-size: 11.5px; fill: var(--soft); }
  .bold { font-weight: 600; }
  .back { fill: var(--back); stroke: var(--edge); }
  .grid { stroke: var(--grid); }
  .spread { stroke: var(--text); stroke-width: 1.5; }
  .ours { fill: var(--ours); }
  .peer { fill: var(--peer); }
  .limit { fill: var(--limit); stroke: var(--limit-edge); stroke-dasharray: 3 2; }
"""


def short(value):
    """A figure in few characters."""
    if math.isnan(value):
        return "no figure: see the table"
    if value >= 999_500:
        return f"{value / 1e6:.3g} M"
    if value >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def text(x, y, content, css="", anchor="start"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
            f'{f" class={chr(34)}{css}{chr(34)}" if css else ""}>{html.escape(content)}</text>')


class Scale:
    """From figures to places on the axis."""

    def __init__(self, panels, width):
        bars = [bar for panel in panels for bar in panel.bars if not math.isnan(bar.value)]
        least = min((bar.value for bar in bars if bar.value > 0), default=1)
        most = max(bar.most for bar in bars)
        self.width = width
        self.logarithmic = most > LOGARITHMIC_FROM * least
        if self.logarithmic:
            self.start = 10 ** math.floor(math.log10(least) - 0.3)
            self.end = most * 1.05
            self.ticks = [10.0 ** i for i in range(round(math.log10(self.start)),
                                                   math.floor(math.log10(self.end)) + 1)]
        else:
            self.start, self.end = 0, (most or 1) * 1.02
            step = 10 ** math.floor(math.log10(self.end))
            step *= next(part for part in (0.1, 0.2, 0.5, 1, 2) if self.end / (step * part) <= 5.5)
            self.ticks = [i * step for i in range(int(self.end / step) + 1)]

    def at(self, value):
        if not self.logarithmic:
            return self.width * value / self.end
        part = math.log(max(value, self.start) / self.start) / math.log(self.end / self.start)
        return self.width * part


def draw_bar(bar, scale, x, y):
    center = y + BAR / 2
    bold = "bold" if bar.kind == "ours" else ""
    yield text(x - 10, center + 4.5, bar.label, bold, "end")
    if math.isnan(bar.value):
        yield text(x + 7, center + 4.5, short(bar.value), "soft")
        return
    length = max(scale.at(bar.value), 2)
    yield f'<rect class="{bar.kind}" x="{x}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"/>'
    end = length
    if bar.most > bar.least:
        low, end = scale.at(bar.least), max(length, scale.at(bar.most))
        yield (f'<path class="spread" d="M{x + low:.1f} {center}H{x + scale.at(bar.most):.1f}'
               f'M{x + low:.1f} {center - 4}v8M{x + scale.at(bar.most):.1f} {center - 4}v8"/>')
    yield text(x + end + 7, center + 4.5, short(bar.value), bold)


def head(panel):
    return HEAD + (SUBTITLE if panel.subtitle else 0)


def draw_panel(panel, scale, x, y):
    left, top = x + LABEL, y + head(panel)
    bottom = top + len(panel.bars) * STEP
    yield text(x, y + 14, panel.title, "panel")
    if panel.subtitle:
        yield text(x, y + 31, panel.subtitle, "soft")
    for tick in scale.ticks:
        at = left + scale.at(tick)
        yield f'<path class="grid" d="M{at:.1f} {top - 6}V{bottom}"/>'
        yield text(at, bottom + 14, short(tick), "soft", "middle")
    axis = panel.axis + (" (logarithmic)" if scale.logarithmic else "")
    yield text(left + scale.width / 2, bottom + 31, axis, "soft", "middle")
    for i, bar in enumerate(panel.bars):
        yield from draw_bar(bar, scale, left, top + i * STEP)


def describe(panels):
    """All that the picture shows, in words."""
    return " ".join(", ".join(filter(None, (panel.title, panel.subtitle, panel.axis))) + ": "
                    + ", ".join(f"{bar.label} {short(bar.value)}" for bar in panel.bars) + "."
                    for panel in panels)


def legend(panels, y):
    kinds = {bar.kind for panel in panels for bar in panel.bars}
    x = MARGIN
    for kind, label in (("ours", "Baton"), ("peer", "what else there is"), ("limit", "a limit")):
        if kind in kinds and len(kinds) > 1:
            yield f'<rect class="{kind}" x="{x}" y="{y - 10}" width="12" height="12" rx="2"/>'
            yield text(x + 18, y, label, "soft")
            x += 36 + 6.2 * len(label)
    if any(bar.most > bar.least for panel in panels for bar in panel.bars):
        yield f'<path class="spread" d="M{x} {y - 4}h14m-14 -4v8m14 -8v8"/>'
        yield text(x + 21, y, "least and most of the rounds", "soft")


def draw(title, panels):
    """The whole picture."""
    columns = min(COLUMNS, len(panels))
    width = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns
    scales = {name: Scale([panel for panel in panels if panel.scale == name], width - LABEL - VALUE)
              for name in {panel.scale for panel in panels}}
    parts, y = [], TITLE + 16
    for first in range(0, len(panels), columns):
        row = panels[first:first + columns]
        for i, panel in enumerate(row):
            parts += draw_panel(panel, scales[panel.scale], MARGIN + i * (width + GAP), y)
        y += max(head(panel) + len(panel.bars) * STEP for panel in row) + FOOT + 14
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}"'
        ' role="img" aria-labelledby="title description">',
        f'<title id="title">{html.escape(title)}</title>',
        f'<desc id="description">{html.escape(describe(panels))}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="back" x="0.5" y="0.5" width="{WIDTH - 1}" height="{y - 1}" rx="8"/>',
        text(MARGIN, 34, title, "title"), *legend(panels, 56), *parts, "</svg>", ""])
