"""The colours of pictures that stand without a page around them: the two values, and up to six series.

They serve on white paper, on the light page and on the dark page alike, with a contrast of at least 3:1 to each.
That leaves them little room in lightness, so the page's own colours (`--fc-…` in the theme) are spread wider.

What holds, as CIE76 differences between any two of them, for readers with normal colour vision and with full
protanopia, deuteranopia and tritanopia (Machado et al. 2009): at least 20 among the first four series, at least 15
among all six. In grey the first four are 5 or more units of L* apart, but all six only 2: a chart with five or six
series needs shapes, dashes or labels besides.
"""

from __future__ import annotations

__all__ = ["MINUS", "PLUS", "SERIES"]

MINUS, PLUS = "#1c63bb", "#b45829"  # the values −1 and +1; the light page, explorers and the logo use the same pair
SERIES = [MINUS, PLUS, "#39a271", "#ba61a5", "#a48702", "#5e6f6b"]
