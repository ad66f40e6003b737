"""Proofs in a browser: stages that open one after the other, by mouse and by keys, kept in the reader's browser."""

import re

import pytest

from tests import rooms
from tests.browser.fixtures import settle
from tests.browser.test_elements import QUICK
from tests.browser.test_pages import findings
from tests.classroom.test_proofs import ARRANGE, PARSEVAL, STEPS

THEME = rooms.ROOT / "lib/flatcube/press/theme/flatcube.css"
TEXTS = [text.replace("<sup>2</sup>", "2").replace("<sub>S</sub>", "S") for text in STEPS]


class Reader:
    """A reader of one proof."""

    def __init__(self, page):
        self.page = page
        self.stages = page.locator(".fx-stage")

    def heard(self, at: int) -> str:
        return self.stages.nth(at).locator(".fx-feedback").inner_text()

    def check(self, at: int) -> str:
        self.stages.nth(at).get_by_role("button", name="Check").click()
        return self.heard(at)

    def choose(self, text: str) -> str:
        self.stages.nth(0).get_by_label(text).click()
        return self.check(0)

    def order(self) -> list[str]:
        return self.stages.nth(1).locator("li > span").all_inner_texts()

    def arrange(self, wanted: list[str]) -> str:
        """Bring the steps into an order with the keyboard alone."""
        for place, text in enumerate(wanted):
            button = self.stages.nth(1).get_by_role("button", name=f"Move up: {text}", exact=True)
            while self.order().index(text) > place:
                button.press("Enter")
        assert self.order() == wanted
        return self.check(1)

    def spot(self, text: str) -> str:
        self.stages.nth(2).get_by_role("button", name=text, exact=True).click()
        return self.heard(2)


@pytest.fixture
def reader(workshop, request):
    """Someone before the proof, on a page of their own."""
    with workshop(PARSEVAL, QUICK, name=f"{request.node.name}.html") as visit:
        yield Reader(visit.page)


def test_a_stage_opens_when_the_one_before_is_right(reader):
    page, stages = reader.page, reader.stages
    assert not page.locator(".fc-fallback").first.is_visible()
    assert page.get_by_role("region", name="Proof").count() == 1
    assert stages.count() == 1
    assert reader.check(0) == "Choose an answer first."
    assert reader.choose("Divide by n.") == "✗ Not yet. There is no n."
    assert reader.choose("Bound it.") == "◐ True, but weaker. Equality holds."
    assert stages.count() == 1
    assert reader.choose("Take the mean.") == "✓ Right. Then cross terms vanish."
    assert stages.nth(0).get_by_role("radio", disabled=True).count() == 3
    assert stages.count() == 2
    assert page.get_by_role("group", name="Stage 2 of 3 Put the steps in order.").count() == 1

    early = "✗ Not yet. Step 1 comes too early: “Cross terms vanish.” It uses the means, and that E χS = 0."
    assert reader.arrange([TEXTS[3], *TEXTS[:3]]) == early
    assert stages.nth(1).locator("[data-early]").inner_text().startswith("Cross terms vanish.")
    assert stages.count() == 2
    another = [TEXTS[2], TEXTS[0], TEXTS[1], TEXTS[3]]
    assert reader.arrange(another) == "✓ Right. Every step uses only what stands above it."
    assert stages.nth(1).locator("[data-early]").count() == 0
    assert stages.nth(1).get_by_role("button", disabled=True).count() == 9

    assert reader.spot("E f2 = 1") == "✗ Not yet. f is ±1, so this holds."
    assert page.get_by_text("The whole proof").locator("visible=true").count() == 0
    assert reader.spot("E f = 0") == "✓ Right. Only if f is balanced: this line is false."
    assert page.locator(".fx-whole li").all_inner_texts() == ["Expand.", "Take means."]


def test_steps_move_by_keys_and_say_where_they_are(reader):
    reader.choose("Take the mean.")
    assert reader.order() != TEXTS
    first = reader.order()[0]
    reader.stages.nth(1).get_by_role("button", name=f"Move down: {first}", exact=True).focus()
    for place in (2, 3, 4):
        reader.page.keyboard.press("Enter")
        assert reader.order().index(first) == place - 1
        assert reader.heard(1) == f"Now step {place} of 4."
    focused = reader.page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == f"Move up: {first}"  # at the end it cannot go further down
    assert reader.stages.nth(1).get_by_role("button", disabled=True).count() == 2


def test_stages_that_are_passed_stay_and_can_be_cleared(reader):
    page, panel = reader.page, reader.page.get_by_role("region", name="Your answers")
    reader.choose("Take the mean.")
    reader.arrange(TEXTS)
    assert "answered 1 of 2 questions" in panel.inner_text()
    kept = page.evaluate("Object.values(JSON.parse(localStorage.getItem('flatcube.answers')))[0]")
    assert kept == {"parseval": {"kind": "proof", "answer": "2 of 3", "right": False}}
    page.reload()
    settle(page)
    assert reader.stages.count() == 3
    assert reader.heard(0) == "✓ Right. Then cross terms vanish."
    assert reader.order() == TEXTS and reader.heard(1).startswith("✓ Right.")
    assert reader.heard(2) == ""
    reader.spot("E f = 0")
    page.reload()
    settle(page)
    assert page.locator(".fx-whole li").count() == 2
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Clear all answers?").click()
    assert reader.stages.count() == 1 and reader.heard(0) == ""
    assert page.locator(".fx-whole").count() == 0


@pytest.mark.parametrize("kept", ["-1", "many", "7 of 3", ""])
def test_a_strange_memory_does_no_harm(workshop, kept):
    answer = f'{{"strange": {{"parseval": {{"kind": "proof", "answer": "{kept}", "right": false}}}}}}'
    with workshop(f"<script>localStorage.setItem('flatcube.answers', '{answer}');</script>", PARSEVAL,
                  name="strange.html") as visit:  # fmt: skip
        assert visit.page.locator(".fx-stage").count() == (3 if kept.startswith("7") else 1)


@pytest.mark.parametrize("width", [320, 390])
def test_a_proof_fits_on_a_phone(workshop, width):
    with workshop(PARSEVAL, width=width) as visit:
        reader = Reader(visit.page)
        reader.choose("Take the mean.")
        assert len(ARRANGE["steps"]) == visit.page.locator(".fx-steps > li").count()
        assert visit.page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
        heights = visit.page.locator(".fx-steps .fx-button").evaluate_all("all => all.map(e => e.offsetHeight)")
        assert min(heights) >= 40  # a thumb


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("far", [False, True], ids=["second", "third"])
def test_axe_finds_nothing_in_a_proof_that_is_under_way(workshop, scheme, far):
    colours = re.sub(r"@font-face\s*\{[^}]*\}", "", THEME.read_text(encoding="utf-8"))
    dark = f"<script>document.documentElement.dataset.theme = '{scheme}';</script>"
    with workshop(f"<style>{colours}</style>", dark, "<h1>Proof</h1>", PARSEVAL) as visit:
        reader = Reader(visit.page)
        reader.choose("Take the mean.")
        reader.check(1)  # in a wrong order
        if far:
            reader.arrange(TEXTS)
            reader.spot("E f2 = 1")
        assert findings(visit.page) == []
