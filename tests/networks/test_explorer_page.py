"""Looks inside networks in a browser: every matrix, head, stage and input shows what the library computes."""

import pytest

from flatcube import handmade, networks, parity
from flatcube import sparse_variables as sv
from flatcube.classroom import explorers
from tests.browser.hand import IMPORT, Hand

# One network of each chapter, a trained kind with everything an encoder can have, and one without parts.
NETWORKS = {
    "handmade": lambda: handmade.build([((1, 2), 1.5), ((2, 4, 5), 0.8), ((3,), -1.0)], 5),
    "sparse_variables": lambda: sv.represent(sv.Selector(6, (2, 5), "bag", "each"), [1.0, -1.0, 0.5, 2.0]),
    "parity": lambda: parity.layer_norm_network(),
    "encoder": lambda: networks.Encoder(networks.Config(n=4, width=8, norm="pre", causal=True, cls=True), seed=2),
    "perceptron": lambda: networks.Perceptron(3, 4),
}
WIDGET = """([name, state, content]) => {
  const data = { state, content }, calls = new Set();
  window.model = {
    get: key => data[key],
    set: (key, value) => { data[key] = value; calls.forEach(call => call()); },
    on: (event, call) => event === "change:state" && calls.add(call),
    off: (event, call) => calls.delete(call),
    save_changes() {},
  };
  const el = document.createElement("div");
  el.className = "fc-explorer";
  document.querySelector("main").append(el);
  window.stop = window[name].default.render({ model, el });
}"""


def menu(on, name):
    return on.page.get_by_role("combobox", name=name)


def sweep(on, name, key):
    """Go through a menu with the keys; after every step the page agrees with the library."""
    options, place = [*on.kind.options()[key]], menu(on, name)
    place.focus()
    place.press("Home")
    seen = [on.state[key]]
    on.compare()
    for _ in options[1:]:
        place.press("ArrowDown")
        on.compare()
        seen.append(on.state[key])
    assert seen == options


class Inside(Hand):
    """A hand on a look inside."""

    def view(self, name):
        menu(self, "Show").select_option(name)
        self.compare()
        assert self.state["view"] == name


@pytest.mark.parametrize("name", NETWORKS)
def test_every_choice_shows_what_the_library_computes(workshop, name):
    figure = networks.show(NETWORKS[name]())
    with workshop(figure) as visit:
        on = Inside(visit.page, type(figure))
        if figure.content["program"] is None:
            return sweep(on, "Matrix", "matrix")
        for view, label, key in (
            ("weights", "Matrix", "matrix"), ("attention", "Head", "head"), ("stream", "Stage", "stage")
        ):  # fmt: skip
            on.view(view)
            sweep(on, label, key)
        symbols = visit.page.get_by_role("group", name="The input").get_by_role("button")
        for at in range(symbols.count()):
            before = on.state["symbols"]
            on.after(symbols.nth(at).click)
            assert [j for j, s in enumerate(on.state["symbols"]) if s != before[j]] == [at]
        on.after(lambda: on.keys(symbols.nth(0), "End", "Enter"))
        visit.page.get_by_role("button", name="Start again").click()
        assert on.state == figure.state
    return None


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
@pytest.mark.parametrize("width", [390, 1200])
def test_it_fits_every_screen(workshop, from_file, width):
    for name in ("handmade", "parity", "encoder"):
        figure = networks.show(NETWORKS[name]())
        with workshop(figure, from_file=from_file, width=width) as visit:
            on = Inside(visit.page, type(figure))
            for view in ("weights", "attention", "stream", "wiring"):
                on.view(view)
                assert visit.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0


def test_given_inputs_are_offered_and_the_address_leads_to_them(workshop):
    figure = networks.show(parity.layer_norm_network(), [[1, 0, 1], [1, 1, 1]], view="stream", stage="layers.0.sum")
    with workshop(figure) as visit:
        on = Inside(visit.page, type(figure))
        on.after(lambda: menu(on, "Input").select_option("1 1 1"), symbols=[1, 1, 1])
        address = visit.page.get_by_role("link", name="Copy link to this state").evaluate("link => link.href")
        visit.page.goto("about:blank")
        visit.page.goto(address)
        visit.page.wait_for_function("document.querySelector('.fc-explorer').dataset.state?.includes('[1,1,1]')")
        on.compare()
        assert on.state["stage"] == "layers.0.sum"
        for wrong in ("symbols=[1,1]", "symbols=[2,2,2]", "matrix=W9", "view=inside", "stage=nowhere", "symbols=a"):
            visit.page.goto(f"{address.partition('?')[0]}?{wrong}")
            visit.page.get_by_text("The address asks for a state that does not exist here").wait_for()
            on.compare()
            assert on.state["symbols"] == [1, 1, 1]


def test_the_table_is_one_stop_and_says_its_cells(workshop):
    figure = networks.show(NETWORKS["handmade"](), view="weights", matrix="W1")
    with workshop(figure) as visit:
        page = visit.page
        assert page.locator("td[tabindex='0']").count() == 1
        page.locator("td[tabindex='0']").focus()
        page.keyboard.press("ArrowRight")
        said = page.locator(".fx-readout").inner_text()
        beta = handmade.matrices(NETWORKS["handmade"]())["W1"][0, 1].item()
        assert said == f"From 1 to 2: {beta:.4f}"


def test_what_has_no_effect_is_marked(workshop):
    with workshop(networks.show(NETWORKS["handmade"](), view="weights", matrix="E")) as visit:
        names = visit.page.locator("thead th span").all_inner_texts()
        assert sum(name.endswith("✕") for name in names) == 8
        assert "A ReLU with a ✕ has no effect." in visit.page.locator(".fx-sentence").inner_text()


def test_the_mask_is_seen_where_it_closes(workshop):
    figure = networks.show(NETWORKS["handmade"](), view="attention", head="layers.1.attention.0")
    with workshop(figure) as visit:
        closed = visit.page.locator("td[data-look=closed]")
        assert closed.count() == 4
        assert closed.first.get_attribute("aria-label") == "Position out may not look at 3"


def test_the_module_for_anywidget_gets_the_network_from_python(workshop):
    figure = networks.show(NETWORKS["sparse_variables"](), view="stream")
    with workshop() as visit:
        visit.page.evaluate(IMPORT, [explorers.bundle("networks"), "module"])
        visit.page.evaluate(WIDGET, ["module", figure.state, figure.content])
        on = Inside(visit.page, type(figure))
        on.view("attention")
        assert visit.page.evaluate("model.get('state').view") == "attention"
        visit.page.evaluate("model.set('state', { view: 'nowhere' })")  # refused: the last good picture stays
        on.compare()
        assert on.state["view"] == "attention"
