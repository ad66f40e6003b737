"""The colours of pictures that stand without a page around them: the two values, the cast, two roles, other series.

They serve on white paper, on the light page and on the dark page alike, with a contrast of at least 3:1 to each.
That leaves them little room in lightness, so the page's own colours (`--fc-…` in the theme) are spread wider; `themed`
says which of them stands for which of these.

Two families of six share the colours of −1 and +1: the two values and the cast, the two values and the other series. In
each, as CIE76 differences between any two colours, for readers with normal colour vision and with full protanopia,
deuteranopia and tritanopia (Machado et al. 2009), there are at least 20 among the cast, 16 among the first four series
and 14 in all. In grey the cast and the first four series are 4 or more units of L* apart, all six series only 2:
a chart with several series needs shapes, dashes or labels besides, and the cast has them (`charts.cast_look`).
"""

from __future__ import annotations

import re

from flatcube import cast

__all__ = ["MINUS", "PLUS", "SERIES", "OURS", "PAPER", "MUTED", "themed"]

MINUS, PLUS = "#1c63bb", "#b45829"  # the values −1 and +1; the light page, explorers and the logo use the same pair
SERIES = [MINUS, PLUS, "#089f9d", "#dc5089", "#60974d", "#6f685c"]  # for what is neither a value nor of the cast
OURS, PAPER = SERIES[3], SERIES[5]  # what this book found, and what a paper says
MUTED = "#767676"  # text, rules and wires that only accompany: legible on white and on black
_VARIABLES = {
    MUTED: "muted",
    **{colour: f"cat-{at}" for at, colour in enumerate(SERIES, start=1)},
    **{colour: name.lower() for name, colour in cast.COLOURS.items()},
}


def themed(text: str) -> str:
    """The text with each colour of a picture replaced by that of the page, which knows whether it is dark.

    >>> themed("fill: #9d59a4")
    'fill: var(--fc-parity)'
    """
    return re.sub("|".join(_VARIABLES), lambda found: f"var(--fc-{_VARIABLES[found[0]]})", text)
