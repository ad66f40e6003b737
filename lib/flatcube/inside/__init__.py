"""Is the hand-built circuit what training finds? Small networks that can hold it, opened.

A ``Minimal`` network has one attention, one number per position, one wave for all of them and a weighted sum (SP Sec.
2.4). ``mass`` says how much of a row of attention lies on a component, ``trapezoid`` how much the learned wave is like
the hand-built one; ``ablated``, ``patched`` and ``swapped`` are experiments on the network itself: a part that is used
makes a difference when it is changed, and ``shares`` says how much each position brings. ``star`` is a circuit that
training finds and nobody had planned: one row for all components that share all bits but one. The modules
``minimal``, ``by_component`` and ``circuits`` hold the experiments of the chapter.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "models": ["shapes", "drawn", "Minimal", "to_text", "from_text"],
        "readings": [
            "mass", "clear_rows", "even", "explained", "turns", "trapezoid", "triangle", "shares", "ablated", "patched",
            "swapped",
        ],
        "stars": ["star", "assembled"],
    },
)
