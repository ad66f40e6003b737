"""What a chapter needs beside mathematics: charts, explorers, questions, exercises, numbers in the prose.

    from flatcube.classroom import check, explorer, figure, predict, quick
    from flatcube.classroom.glue import glue

Names load their module on first use, so that a chapter without charts does not wait for the chart library.
"""

from flatcube.doors import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "charts": ["figure"],
        "questions": ["quick", "predict"],
        "proofs": ["proof", "choose", "arrange", "spot"],
        "exercises": ["check", "score"],
        "explorers": ["explorer"],
    },
)
