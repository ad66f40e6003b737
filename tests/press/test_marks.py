"""Which claims are quiet marks, and which are words that their sentence needs."""

import re

import pytest

from flatcube.press import marks


def settled(text: str) -> str:
    """The rule on a text with * for a role, [**] for a mark."""
    done = marks.settled(text.replace("*", marks.ROLE))
    return done.replace(marks.ROLE, "*").replace(marks.OPEN, "[").replace(marks.CLOSE, "]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It grows (*). So", "It grows.[*] So"),
        ("It grows\n(*, *), and", "It grows,[**] and"),
        ("It grows (*) twice.", "It grows[*] twice."),
        ("It grows *.", "It grows.[*]"),
        ("It grows*.", "It grows.[*]"),
        ("It grows *, *; it", "It grows;[**] it"),
        ("It grows.*", "It grows.[*]"),
        ("It grows. * Then", "It grows.[*] Then"),
        ("It grows *", "It grows[*]"),
        ("(HR's Lemma 8, *)", "(HR's Lemma 8[*])"),
        ("(they mean V; *, *.)", "(they mean V.[**])"),
        ("(*)", "[*]"),
    ],
)
def test_what_closes_a_statement_is_one_mark_behind_its_sign(text, expected):
    assert settled(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "These are * and *.",
        "The chain over all layers is *.",
        "Together they\ngive *, where print lacks a factor",
        "An id such as * names one statement.",
        "It follows. * says more.",
        "* says it.",
        "by *, then",
        "Only the gap matters: *.",
        "(*; there N stands for 1/N)",
        "See *.",
        "Theorem * holds.",
    ],
)
def test_what_a_sentence_needs_stays_in_it(text):
    assert settled(text) == text


def test_every_word_and_every_role_is_still_there():
    text = "One (*), two * and *. These are *; three. * Then (four, *). (*)"
    assert re.findall(r"\w+|\*", settled(text)) == re.findall(r"\w+|\*", text.replace("* and *.", "* *."))
    assert settled(text).count("[") == 5
