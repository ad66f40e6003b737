"""The cube in a browser: after every real drag, key and click the page shows what the library computes."""

import pytest


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control(hand, from_file):
    on = hand(from_file=from_file)
    page = on.page
    function, size = page.get_by_role("combobox", name="Function"), page.get_by_role("slider", name="Dimensions")
    on.after(lambda: on.keys(function, "ArrowDown"), name="parity")
    on.after(lambda: on.keys(function, "ArrowDown", "ArrowDown", "ArrowDown"), name="disjunction")
    on.after(lambda: on.keys(size, "ArrowRight"), n=4)
    on.after(lambda: on.drag(size, 1.0), n=5)
    on.after(lambda: on.drag(size, 0.34), n=3)
    variables = page.get_by_role("group", name="Variables in the subset S").get_by_role("button")
    on.after(lambda: variables.nth(2).click(), subset=[1, 3])
    on.after(lambda: on.keys(variables.nth(0), "Space"), subset=[3])
    corners = page.get_by_role("group", name="The corners of the cube").get_by_role("button")
    on.after(lambda: corners.nth(6).click(), name="custom", table="+-----+-")
    on.after(lambda: on.keys(corners.nth(0), "2", "Enter"), table="+-+---+-")
    on.after(lambda: on.keys(corners.nth(0), "ArrowRight", "End", "Space"), table="+-+---++")
    correlations = page.get_by_role("group", name="Correlation with each parity").get_by_role("button")
    on.after(lambda: correlations.nth(7).click(), subset=[1, 2, 3])
    on.after(lambda: on.keys(correlations.nth(0), "Space"), subset=[])
    on.after(lambda: on.keys(size, "ArrowRight"), n=4, table="+-+---++" * 2)
    on.after(lambda: on.keys(size, "Home"), n=2, table="+-+-")


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_all_functions_and_subsets(hand, n):
    on = hand(n=n, subset=[])
    for name in ("parity", "first", "conjunction", "disjunction"):
        on.after(lambda: on.keys(on.page.get_by_role("combobox", name="Function"), "ArrowDown"), name=name)
    bars = on.page.get_by_role("group", name="Correlation with each parity").get_by_role("button")
    for at in range(1, 2**n, 3):
        on.after(lambda at=at: bars.nth(at).press("Enter"))
