"""Chapter 18's figures: what its charts with inputs must show, and its explorer, in a browser."""

from tests.browser.figure_tests import FigureTests


class TestFigures(FigureTests):
    room = "inside"
    charts = {}
