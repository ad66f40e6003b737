"""The loader and the questions in a browser: charts that follow the theme, answers that stay, failures in words."""

import json

import altair as alt
import pandas as pd
import pytest

from flatcube.classroom import figure
from flatcube.classroom.explorers import explorer
from flatcube.classroom.questions import predict, quick
from tests.browser.workshop import html

QUICK = quick(
    "degree",
    "The degree of `cube.parity(5)`?",
    {"1": "That is FIRST.", "5": "All x<sub>i</sub> are multiplied."},
    answer="5",
)
SIGNS = {"yes": "Look again.", "no": "It hangs."}
PREDICT = predict("sign", "Is the bar positive?", SIGNS, answer="no", reveal="It is −1/2.")
NUMBER = predict("share", "Which share sits on degree 1?", answer=0.75, tolerance=0.1, reveal="It is 3/4.")


# ------------------------------------------------------------------------------------------------ questions


def status(page, at=0):
    return page.locator(".fx-feedback").nth(at).inner_text()


def test_a_quick_question_answers_in_words(workshop):
    with workshop(QUICK) as visit:
        page = visit.page
        assert page.get_by_role("group", name="Quick question The degree of cube.parity(5)?").count() == 1
        assert not page.locator(".fc-fallback").is_visible()
        check = page.get_by_role("button", name="Check")
        check.click()
        assert status(page) == "Choose an answer first."
        page.get_by_label("1").click()
        assert status(page) == ""
        check.click()
        assert status(page) == "✗ Not yet. That is FIRST."
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        assert status(page) == "✓ Right. All xi are multiplied."


def test_a_true_but_weaker_choice_has_its_own_verdict(workshop):
    bounds = {"at least 3": "More is true.", "at least 4": "By Huang.", "at least 5": "Too much."}
    huang = quick("huang", "How sensitive?", bounds, answer="at least 4", weaker="at least 3")
    with workshop(huang, name="weaker.html") as visit:
        page = visit.page
        shown = page.locator(".fx-choice").all_inner_texts()
        assert shown == [choice["text"] for choice in huang.payload["choices"]] != list(bounds)
        verdicts = {"at least 5": "✗ Not yet. Too much.", "at least 3": "◐ True, but weaker. More is true."}
        for text, verdict in verdicts.items():
            page.get_by_label(text).click()
            page.get_by_role("button", name="Check").click()
            assert status(page) == verdict
        assert page.locator(".fx-feedback").get_attribute("data-right") == "weaker"
        page.reload()
        page.evaluate("window.flatcube.ready")
        assert status(page) == "◐ True, but weaker. More is true."


def test_a_prediction_is_made_once_and_then_revealed(workshop):
    with workshop(PREDICT) as visit:
        page = visit.page
        assert page.locator(".fx-question").get_by_text("It is −1/2.").count() == 0
        page.get_by_label("yes").click()
        page.get_by_role("button", name="Commit").click()
        assert status(page) == "✗ Not what happens. Look again.\n\nIt is −1/2."
        assert page.get_by_role("radio", disabled=True).count() == 2
        assert page.get_by_role("button", name="Committed", disabled=True).count() == 1


@pytest.mark.parametrize(
    ("typed", "right"),
    [("0.75", True), ("3/4", True), ("0,8", True), (" .66 ", True), ("1/2", False), ("−0.75", False), ("0.86", False)],
)
def test_a_number_may_be_a_decimal_or_a_fraction(workshop, typed, right):
    with workshop(NUMBER) as visit:
        page = visit.page
        page.get_by_role("textbox", name="Your number").fill(typed)
        page.keyboard.press("Enter")
        assert status(page).startswith("✓ As you predicted." if right else "✗ Not what happens.")
        assert status(page).endswith("It is 3/4.")


@pytest.mark.parametrize("typed", ["", "many", "1/", "1/2/3", "1/0"])
def test_what_is_no_number_is_asked_for_again(workshop, typed):
    with workshop(NUMBER) as visit:
        visit.page.get_by_role("textbox", name="Your number").fill(typed)
        visit.page.keyboard.press("Enter")
        assert status(visit.page) == "Type a number, such as 0.75 or 3/4."
        assert visit.page.get_by_role("button", name="Commit").is_enabled()


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_answers_stay_can_be_exported_and_cleared(workshop, from_file, tmp_path):
    name = f"questions-{from_file}.html"
    with workshop(QUICK, PREDICT, NUMBER, from_file=from_file, name=name) as visit:
        page = visit.page
        panel = page.get_by_role("region", name="Your answers")
        assert "answered 0 of 3 questions on this page, 0 in the whole book" in panel.inner_text()
        assert page.get_by_role("button", name="Export").is_disabled()
        page.get_by_label("5").click()
        page.get_by_role("button", name="Check").click()
        page.get_by_role("textbox", name="Your number").fill("1/2")
        page.keyboard.press("Enter")
        assert "answered 2 of 3 questions" in panel.inner_text()

        page.reload()
        page.evaluate("window.flatcube.everything()")
        assert page.get_by_label("5").is_checked()
        assert status(page) == "✓ Right. All xi are multiplied."
        assert page.get_by_role("textbox", name="Your number").input_value() == "1/2"
        assert status(page, 2).startswith("✗ Not what happens.")

        with page.expect_download() as download:
            page.get_by_role("button", name="Export").click()
        download.value.save_as(tmp_path / "answers.json")
        exported = json.loads((tmp_path / "answers.json").read_text(encoding="utf-8"))
        assert exported["answers"] == {
            name.removesuffix(".html"): {
                "degree": {"kind": "quick", "answer": "5", "right": True},
                "share": {"kind": "predict", "answer": "1/2", "right": False},
            }
        }

        page.get_by_role("button", name="Clear").click()
        assert "answered 2 of 3" in panel.inner_text()
        page.get_by_role("button", name="Clear all answers?").click()
        assert "answered 0 of 3" in panel.inner_text()
        assert page.get_by_role("textbox", name="Your number").is_enabled()
        assert status(page) == ""
        page.reload()
        page.evaluate("window.flatcube.everything()")
        assert not page.get_by_label("5").is_checked()


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "file"])
def test_two_tabs_keep_the_answers_of_both(workshop, from_file):
    name = f"tabs-{from_file}.html"
    with workshop(QUICK, PREDICT, NUMBER, from_file=from_file, name=name) as visit:
        first, second = visit.page, visit.page.context.new_page()
        second.goto(first.url)
        second.evaluate("window.flatcube.everything()")
        first.get_by_label("yes").click()  # chosen, not committed: what happens elsewhere must leave it alone
        second.get_by_label("5").click()
        second.get_by_role("button", name="Check").click()
        first.locator(".fx-feedback", has_text="All xi are multiplied.").wait_for()
        assert first.get_by_label("5").is_checked()
        assert first.get_by_label("yes").is_checked()
        first.get_by_role("textbox", name="Your number").fill("1/2")
        first.keyboard.press("Enter")
        second.locator(".fx-answers", has_text="answered 2 of 3 questions").wait_for()
        assert second.get_by_role("textbox", name="Your number").is_disabled()
        second.reload()
        second.evaluate("window.flatcube.everything()")
        assert "answered 2 of 3 questions" in second.locator(".fx-answers").inner_text()

        second.get_by_role("button", name="Clear").click()
        second.get_by_role("button", name="Clear all answers?").click()
        first.locator(".fx-answers", has_text="answered 0 of 3 questions").wait_for()
        assert first.get_by_role("textbox", name="Your number").input_value() == ""
        assert not first.get_by_label("5").is_checked()


def test_an_answer_from_another_tab_survives_the_next_one(workshop):
    with workshop(QUICK, NUMBER, name="late.html") as visit:
        page = visit.page
        page.evaluate(  # as if the other tab wrote and its event had not arrived yet
            """localStorage.setItem("flatcube.answers", JSON.stringify(
            { late: { share: { kind: "predict", answer: "1", right: false } },
            other: { a: { kind: "quick", answer: "yes", right: true } } }))"""
        )
        page.get_by_label("5").click()
        page.get_by_role("button", name="Check").click()
        kept = page.evaluate("JSON.parse(localStorage.getItem('flatcube.answers'))")
        assert {name: sorted(answers) for name, answers in kept.items()} == {
            "late": ["degree", "share"],
            "other": ["a"],
        }


def test_without_storage_questions_still_answer(workshop):
    forbid = "<script>Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } });</script>"
    with workshop(forbid, QUICK) as visit:
        page = visit.page
        page.get_by_label("5").click()
        page.get_by_role("button", name="Check").click()
        assert status(page).startswith("✓ Right.")
        assert "export them before you leave" in page.get_by_role("region", name="Your answers").inner_text()


FULL = "<script>Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };</script>"


def test_a_full_storage_still_answers(workshop):
    with workshop(FULL, QUICK, NUMBER) as visit:
        page = visit.page
        page.get_by_label("5").click()
        page.get_by_role("button", name="Check").click()
        page.get_by_role("textbox", name="Your number").fill("3/4")
        page.keyboard.press("Enter")
        assert status(page).startswith("✓ Right.")
        assert status(page, 1).startswith("✓ As you predicted.")
        panel = page.get_by_role("region", name="Your answers").inner_text()
        assert "answered 2 of 2 questions" in panel
        assert "export them before you leave" in panel


WHOLE = {"kind": "predict", "answer": "1/2", "right": False}
DAMAGED = "Some of what it had kept was damaged and is ignored."


@pytest.mark.parametrize(
    ("kept", "whole"),
    [
        *((text, 0) for text in ('{"x":null}', "null", "5", '"text"', "true", "[]", "[null]", "{", "", "NaN", "\x00")),
        *((json.dumps({"x": page}), 0) for page in (1, "a", [], {"degree": None}, {"degree": 1}, {"degree": []})),
        *((json.dumps({"x": {"degree": WHOLE | part}}), 0) for part in ({"kind": 1}, {"answer": 1}, {"right": "no"})),
        (json.dumps({"damaged": {"degree": {}, "share": WHOLE}, "x": None}), 1),
        (json.dumps({"damaged": {"share": WHOLE}, "__proto__": None}), 1),
    ],
)
def test_damaged_storage_is_ignored_in_words(workshop, kept, whole):
    """What is whole is shown, what is not is said, and every element goes on working and keeping."""
    damage = f"<script>localStorage.setItem('flatcube.answers', {json.dumps(kept)});</script>"
    with workshop(damage, QUICK, PREDICT, NUMBER, name="damaged.html") as visit:
        page, panel = visit.page, visit.page.get_by_role("region", name="Your answers")
        assert page.locator("[data-mounted=true]").count() == 4
        assert f"answered {whole} of 3 questions on this page, {whole} in the whole book" in panel.inner_text()
        assert panel.inner_text().count(DAMAGED) == 1
        page.get_by_label("5").click()
        page.get_by_role("button", name="Check").click()
        page.get_by_label("yes").click()
        page.get_by_role("button", name="Commit").first.click()
        assert status(page).startswith("✓ Right.")
        assert status(page, 1).startswith("✗ Not what happens.")
        assert f"answered {2 + whole} of 3 questions" in panel.inner_text()
        again = page.evaluate("JSON.parse(localStorage.getItem('flatcube.answers'))")
        assert sorted(again["damaged"]) == ["degree", *["share"] * whole, "sign"]
        page.get_by_role("button", name="Clear").click()
        page.get_by_role("button", name="Clear all answers?").click()
        assert DAMAGED not in panel.inner_text()


def test_damage_from_elsewhere_does_not_take_the_answers_of_this_tab(workshop):
    with workshop(QUICK, NUMBER, name="spoilt.html") as visit:
        page = visit.page
        page.get_by_label("5").click()
        page.get_by_role("button", name="Check").click()
        assert DAMAGED not in page.locator(".fx-answers").inner_text()
        page.evaluate("localStorage.setItem('flatcube.answers', '{')")
        page.get_by_role("textbox", name="Your number").fill("3/4")
        page.keyboard.press("Enter")
        kept = page.evaluate("JSON.parse(localStorage.getItem('flatcube.answers'))")
        assert sorted(kept["spoilt"]) == ["degree", "share"]
        assert DAMAGED in page.locator(".fx-answers").inner_text()


# ------------------------------------------------------------------------------------------------ charts

THEME = """<style>
html { --fc-ink: #111111; --fc-muted: #444444; --fc-line: #cccccc; --fc-paper: #ffffff; --fc-accent: #770077;
  --fc-cat-1: #0000aa; --fc-cat-2: #aa5500; --fc-cat-3: #00aa00; --fc-cat-4: #aa00aa;
  --fc-cat-5: #aaaa00; --fc-cat-6: #555555; --fc-minus: #0000aa; --fc-plus: #aa5500; --fc-sans: sans-serif; }
html[data-theme="dark"] { --fc-ink: #eeeeee; --fc-cat-1: #aaaaff; }
</style>"""


def chart():
    data = pd.DataFrame({"x": range(10), "y": [k * k for k in range(10)], "half": ["low"] * 5 + ["high"] * 5})
    cut = alt.param(name="cut", value=3, bind=alt.binding_range(min=0, max=9, step=1, name="cut"))
    picked = alt.selection_point(name="picked", fields=["half"], bind="legend")
    drawn = alt.Chart(data, title="Squares grow").mark_bar().encode(x="x:O", y="y:Q", color="half:N")
    drawn = drawn.transform_filter("datum.x <= cut").add_params(cut, picked)
    return figure(drawn, alt="Ten bars, each the square of its place.")


VIEW = "[...window.flatcube.views.values()][0]"


def test_a_chart_is_one_named_picture_that_moves(workshop):
    with workshop(THEME, chart()) as visit:
        page = visit.page
        picture = page.locator(".fc-chart svg")
        assert picture.get_attribute("role") == "img"
        assert picture.get_attribute("aria-label") == "Ten bars, each the square of its place."
        assert page.locator(".fc-chart svg [role], .fc-chart svg [aria-label]").count() == 0
        bars = page.locator(".mark-rect.role-mark path")
        assert bars.count() == 4
        page.get_by_role("slider", name="cut").press("ArrowRight")
        assert page.evaluate(f"{VIEW}.signal('cut')") == 4
        assert bars.count() == 5


def test_a_chart_follows_the_theme_and_keeps_what_was_set(workshop):
    with workshop(THEME, chart()) as visit:
        page = visit.page
        colours = "[...document.querySelectorAll('.mark-rect.role-mark path')].map(e => e.getAttribute('fill'))"
        page.get_by_role("slider", name="cut").press("ArrowRight")
        page.locator(".role-legend-label text", has_text="low").click()
        before = page.evaluate(colours)
        assert page.evaluate(f"{VIEW}.data('picked_store').length") == 1
        page.evaluate("document.documentElement.dataset.theme = 'dark'")
        page.wait_for_function("document.querySelector('.role-title-text text')?.getAttribute('fill') === '#eeeeee'")
        page.wait_for_function(f"{VIEW}.signal('cut') === 4")
        assert page.evaluate(colours) != before
        assert page.evaluate(f"{VIEW}.data('picked_store').length") == 1
        assert page.get_by_role("slider", name="cut").input_value() == "4"
        assert page.locator(".fc-chart svg").count() == 1


def test_the_chart_library_is_loaded_only_where_a_chart_is(workshop):
    for elements, loaded in ([(explorer("cube"), QUICK), False], [(THEME, chart()), True]):
        with workshop(*elements) as visit:
            assert visit.page.evaluate("'vega' in window") is loaded


# ------------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (html(explorer("cube")).replace('"n":3', '"n":33'), "The cube explorer"),
        (html(explorer("cube")).replace('"name":"cube"', '"name":"sphere"'), "The cube explorer"),
        (html(explorer("cube")).replace('{"element"', '{{"element"'), "The cube explorer"),
        (html(QUICK).replace('"kind":"quick"', '"kind":"slow"'), "If you choose: 5"),
    ],
    ids=["state", "script", "json", "question"],
)
def test_what_fails_keeps_its_fallback_and_says_so(workshop, broken, words):
    with workshop(broken, explorer("fourier"), troubled=True) as visit:
        failed = visit.page.locator(".fc-explorer, .fc-question").first
        assert failed.get_attribute("data-mounted") == "false"
        assert failed.locator(".fc-fallback").is_visible()
        assert words in failed.inner_text()
        assert failed.inner_text().endswith("This part of the page could not be made interactive here.")
        assert visit.page.locator(".fc-explorer[data-mounted=true]").count() == 1  # the others are not harmed


def test_a_chart_that_fails_is_told_in_words(workshop):
    with workshop(THEME, html(chart()).replace('"mark"', '"remark"'), troubled=True) as visit:
        said = visit.page.locator(".fc-chart").inner_text()
        assert said == "This chart could not be drawn here. It shows: Ten bars, each the square of its place."


# ------------------------------------------------------------------------------------------------ when

FAR = '<div style="height: 30000px"></div>'
BUSY = "<script>window.requestIdleCallback = () => 0;</script>"  # a browser that never has time
MOUNTED = "[data-mounted=true]"


def test_what_is_far_away_is_mounted_when_it_comes_near(workshop):
    shown = [explorer("cube"), FAR, chart(), QUICK, explorer("fourier")]
    with workshop(BUSY, THEME, *shown, settled=False) as visit:
        page = visit.page
        page.evaluate("window.flatcube.ready")
        assert page.locator(f".fc-explorer{MOUNTED}, .fc-question{MOUNTED}").count() == 2
        assert page.locator(f"#fourier-explorer{MOUNTED}, .fc-chart{MOUNTED}").count() == 0
        assert page.evaluate("'vega' in window") is False
        kept = page.locator(".fc-chart").evaluate("e => e.offsetHeight")
        page.locator(".fc-chart").scroll_into_view_if_needed()
        page.locator(f".fc-chart{MOUNTED} svg").wait_for()
        page.locator(f"#fourier-explorer{MOUNTED}").wait_for()
        assert abs(page.locator(".fc-chart").evaluate("e => e.offsetHeight") - kept) < 30


def test_what_is_far_away_follows_when_there_is_time(workshop):
    with workshop(THEME, explorer("fourier", name="random", n=8), FAR, chart(), settled=False) as visit:
        visit.page.locator(f".fc-chart{MOUNTED}").wait_for(state="attached")
        assert visit.page.evaluate("scrollY") == 0


def test_what_is_folded_waits_for_its_width(workshop):
    fold = f"<details><summary>more</summary>{html(chart())}</details>"
    with workshop(THEME, fold, QUICK, explorer("cube"), settled=False) as visit:
        page = visit.page
        page.evaluate("window.flatcube.ready")
        page.evaluate("new Promise((resolve) => requestIdleCallback(() => requestIdleCallback(resolve)))")
        assert page.locator(f".fc-chart{MOUNTED}").count() == 0
        page.get_by_text("more").click()
        page.locator(f".fc-chart{MOUNTED} svg").wait_for()


@pytest.mark.parametrize("call", ["window.flatcube.everything()", "dispatchEvent(new Event('beforeprint'))"])
def test_everything_is_mounted_on_demand_and_for_paper(workshop, call):
    shown = [THEME, explorer("fourier", name="random", n=8), FAR, chart(), QUICK, explorer("cube")]
    with workshop(BUSY, *shown, settled=False) as visit:
        visit.page.evaluate(call)
        visit.page.wait_for_function(f"document.querySelectorAll('{MOUNTED}').length === 5")  # with the answers' panel
