"""The race of the testers in a browser: after every move the page shows what the library computes."""

import re

import pytest

from flatcube.classroom.explorers import bundle, explorer
from flatcube.queries import explorer as race
from tests.browser.hand import IMPORT, MODEL, Hand


def control(on, kind, name):
    on.page.locator("details.fx-more").evaluate("(fold) => { fold.open = true; }")
    return on.page.get_by_role(kind, name=name, exact=True)


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_every_control(hand, from_file):
    on = hand(from_file=from_file)
    family, degree = control(on, "combobox", "Hidden function"), control(on, "slider", "Bits in a set")
    on.after(lambda: on.keys(degree, "ArrowLeft"), degree=2)
    on.after(lambda: on.drag(control(on, "slider", "Number of parities"), 1.0), terms=8)
    on.after(lambda: on.drag(control(on, "slider", "Variables n"), 0.0), n=8)
    on.after(lambda: on.keys(control(on, "combobox", "Noise in the answers"), "ArrowDown", "ArrowDown"), noise=0.1)
    on.after(lambda: on.keys(control(on, "combobox", "Tolerance of the tests"), "End"), tolerance=1)
    on.after(lambda: on.keys(control(on, "combobox", "Tolerance of the tests"), "ArrowUp"), tolerance=0.3)
    on.after(lambda: on.keys(control(on, "slider", "Trials until a test accepts"), "Home", "ArrowRight"), trials=2)
    on.after(lambda: on.keys(control(on, "slider", "Seed"), "ArrowRight"), seed=2)
    for name in race.QueriesExplorer.schema["family"].values[1:]:
        on.after(lambda: on.keys(family, "ArrowDown"), family=name)
    on.after(lambda: on.keys(family, "Home"), family="sparse", degree=3, terms=3)
    glass = control(on, "combobox", "Look closely at")
    on.after(lambda: on.keys(glass, "ArrowDown"), tester="axes")
    on.after(lambda: on.keys(glass, "ArrowDown"), tester="gf2")
    assert "reads signs only" in on.page.locator(".fx-glass").inner_text()


def test_the_clock_moves_query_by_query(hand):
    on = hand(family="subset", degree=2)
    clock = control(on, "slider", "Queries asked by each test")
    on.after(lambda: on.keys(clock, "Home"), clock=0)
    assert "No query yet" in on.page.locator(".fx-glass").inner_text()
    for query in range(1, 12):
        on.after(lambda: on.keys(clock, "ArrowRight"), clock=query)
    on.after(lambda: on.drag(clock, 0.5))
    on.after(lambda: on.keys(clock, "End"), clock=None)


# In the page itself: on a busy machine the race might be over before a click from here arrives.
STOP = """(button) => new Promise((stopped) => {
    const explorer = document.querySelector('.fc-explorer');
    const watch = setInterval(() => {
        const { clock } = JSON.parse(explorer.dataset.state);
        if (clock !== null && clock <= 5) return;
        clearInterval(watch);
        if (clock !== null) button.click();
        stopped();
    }, 5);
})"""


def test_the_race_runs_and_stops(hand):
    on = hand(family="conjunction", degree=2, trials=8)
    button = on.page.get_by_role("button", name=re.compile("^(Run the race|Stop)$"))
    button.click()
    assert button.inner_text() == "Stop"
    button.evaluate(STOP)
    assert button.inner_text() == "Run the race"
    stopped = on.state["clock"]
    assert stopped is not None and stopped > 5
    on.compare()
    on.page.wait_for_timeout(200)
    assert on.state["clock"] == stopped
    button.click()
    on.page.wait_for_function("JSON.parse(document.querySelector('.fc-explorer').dataset.state).clock === null")
    on.page.get_by_role("button", name="Run the race").wait_for()
    on.compare()


@pytest.mark.parametrize("family", race.QueriesExplorer.schema["family"].values)
def test_many_races_agree(hand, family):
    on = hand(family=family, trials=9, noise=0.01, tolerance=0.01)
    seed, size = control(on, "slider", "Seed"), control(on, "slider", "Variables n")
    for share in (0.2, 0.5, 0.8, 1.0):
        on.after(lambda share=share: on.drag(seed, share))
        on.after(lambda: on.keys(size, "ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowLeft"))


def test_verdicts_are_in_words(hand):
    on = hand(family="parity")
    said = on.page.locator(".fx-said").all_inner_texts()
    assert said[1:] == ["rejects even degree ≤ 6: right", "accepts degree ≤ 1: right modulo 2"]


def test_the_module_for_anywidget_goes_both_ways(workshop):
    figure = explorer("queries")
    with workshop() as visit:
        page = visit.page
        page.evaluate(IMPORT, [bundle("queries"), "module"])
        page.evaluate(MODEL, ["module", figure.state])
        on = Hand(page, type(figure))
        on.after(lambda: on.keys(control(on, "slider", "Seed"), "ArrowRight"), seed=2)
        assert page.evaluate("model.get('state')") == on.state
        assert page.evaluate("model.saved") == 1
        figure.state = {**figure.state, "family": "majority", "n": 9}
        on.after(lambda: page.evaluate("state => model.set('state', state)", figure.state), **figure.state)
        page.evaluate("model.set('state', { n: 99 })")  # refused: the last good picture stays
        on.compare()
        assert on.state == figure.state
        page.evaluate("state => { stop(); model.set('state', state); }", explorer("queries").state)
        assert on.state == figure.state
