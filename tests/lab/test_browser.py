"""The lab in a real browser: the main path of each page, by mouse and by keyboard, wide and narrow, light and dark."""

import re
from typing import Any

import pytest

from sparsehead.train.spec import preset

pytestmark = pytest.mark.browser
PAGES = ("learn", "data", "build", "law", "bound", "cover", "read", "probe", "check", "claims")
WAIT = 600_000  # only ends what would never end


class Visit:
    """A page of the lab, with everything that it complained about or asked for."""

    def __init__(self, browser, server, path="/", *, width=1200, dark=False):
        self.base = server.base
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if dark else "light",
            accept_downloads=True,
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(WAIT)
        self.problems: list[Any] = []
        self.requests: list[Any] = []
        self.page.on(
            "console", lambda m: self.problems.append(m.text) if m.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda e: self.problems.append(str(e)))
        self.page.on("request", lambda r: self.requests.append(r.url))
        self.page.goto(f"{server.base}{path}{'&' if '?' in path else '?'}token={server.token}")
        self.page.wait_for_selector("h1")

    def go(self, path):
        self.page.goto(self.base + path)
        self.page.wait_for_selector("h1")

    def text(self, selector):
        return self.page.inner_text(selector)

    def wait_text(self, selector, words):
        self.page.wait_for_function(
            "([s, w]) => document.querySelector(s)?.innerText.includes(w)", arg=[selector, words]
        )

    def close(self):
        """No complaint, and no request to anyone but this server."""
        assert self.problems == []
        assert {re.match(r"(https?://[^/]+|\w+:)", url)[0] for url in self.requests} <= {
            self.base,
            "blob:",
            "data:",
        }
        self.context.close()


@pytest.fixture
def visit(browser, server):
    open_visits = []

    def make(path="/", **how):
        open_visits.append(Visit(browser, server, path, **how))
        return open_visits[-1]

    yield make
    for one in open_visits:
        one.close()


def test_build_flips_a_bit_and_the_output_follows(visit):
    v = visit("/build?f=x2+%26+x5&T=9")
    v.wait_text("[data-predicts]", "0")
    assert "token" not in v.page.url
    v.page.click(".bit >> nth=2 >> button")
    assert v.text("[data-predicts]") == "0"
    v.page.click(".bit >> nth=5 >> button")
    v.wait_text("[data-predicts]", "1")
    assert "Exact" in v.text("main")
    v.page.wait_for_function("() => location.search.includes('ones=42')")
    again = visit(v.page.url.removeprefix(v.base))  # a link restores it
    again.wait_text("[data-predicts]", "1")
    with v.page.expect_download() as saved:
        v.page.click("text=Save model")
    assert saved.value.suggested_filename == "head.safetensors"
    v.page.click("summary >> text=figure")
    v.page.wait_for_selector(".plot[data-drawn] svg")


def test_build_works_with_the_keyboard_alone(visit):
    v = visit("/build?f=x0+%7C+x3&T=6")
    v.wait_text("[data-predicts]", "0")
    for _ in range(60):
        v.page.keyboard.press("Tab")
        if v.page.evaluate("document.activeElement.matches('.bit button')"):
            break
    v.page.keyboard.press("ArrowRight")
    v.page.keyboard.press("Space")
    assert v.text("[data-predicts]") == "0"  # x1 is irrelevant
    v.page.keyboard.press("End")
    v.page.keyboard.press("ArrowLeft")
    v.page.keyboard.press("ArrowLeft")
    v.page.keyboard.press("Space")
    v.wait_text("[data-predicts]", "1")


def test_a_long_input_is_a_canvas_and_a_flipped_bit_is_drawn_at_once(visit):
    v = visit("/build?f=x3+%26+x200&T=256")
    v.page.wait_for_selector("canvas.many")
    v.page.focus("canvas.many")
    # from the key to the canvas drawn again; the median of several, since the machine does other things too
    times = v.page.evaluate(
        """async () => {
            const canvas = document.querySelector("canvas.many"), times = [];
            for (let i = 0; i < 15; i += 1) {
                const before = canvas.dataset.drawn, start = performance.now();
                canvas.dispatchEvent(new KeyboardEvent("keydown", { key: " ", bubbles: true }));
                while (canvas.dataset.drawn === before) await new Promise((done) => setTimeout(done, 0));
                times.push(performance.now() - start);
            }
            return times.sort((a, b) => a - b);
        }"""
    )
    print(f"a flipped bit at T = 256: median {times[7]:.1f} ms, greatest {times[-1]:.1f} ms")
    assert v.page.get_attribute("canvas.many", "aria-valuetext").startswith(
        "position 3, read by the function: bit 1"
    )
    v.page.keyboard.press("ArrowRight")
    v.page.wait_for_function(
        "() => document.querySelector('canvas.many').getAttribute('aria-valuenow') === '4'"
    )


def test_bound_follows_its_sliders_and_a_dropped_model(visit, tmp_path):
    import sparsehead as sh

    v = visit("/bound?T=100")
    v.page.wait_for_selector(".shares")
    before = v.text(".stats")
    v.page.focus("input[type=range] >> nth=2")
    for _ in range(20):
        v.page.keyboard.press("ArrowRight")
    v.page.wait_for_function("before => document.querySelector('.stats').innerText !== before", arg=before)
    v.page.wait_for_function("() => location.search.includes('QK=')")
    sh.save(sh.build(sh.parse("x0 & x1", T=5)), tmp_path / "head.safetensors")
    v.page.set_input_files("input[type=file]", tmp_path / "head.safetensors")
    v.wait_text("main", "among 5 in 80 %")


def test_bound_says_why_there_is_no_floor_and_no_figure(visit):
    v = visit("/bound?T=2000000")
    v.wait_text(".halves .problem[role=alert]", "s < T <= 10^6; got s=3, T=2000000.")
    assert "computing" not in v.text(".halves")
    v.page.route("**/api/bound/chart", lambda r: r.fulfill(status=422, json={"error": "no figure of this."}))
    v.page.click("summary >> text=figure")
    v.wait_text("details .problem[role=alert]", "no figure of this.")
    v.page.unroute("**/api/bound/chart")
    v.page.get_by_label("T, context length, as a number").fill("100")
    v.page.wait_for_selector(".halves .stat")
    v.page.wait_for_selector(".plot[data-drawn] svg")
    assert v.page.locator(".problem").count() == 0
    v.problems = [text for text in v.problems if "422" not in text]  # the browser notes the refusal itself


def refused(v, box):
    """The sentence beside a box, None where its text is taken; a screen reader finds it from the box."""
    if box.get_attribute("aria-invalid") is None:
        assert v.page.locator(".refused").count() == 0
        return None
    assert box.get_attribute("aria-invalid") == "true"
    said = v.page.locator(".refused[role=alert]")
    assert said.get_attribute("id") in box.get_attribute("aria-describedby").split()
    return said.inner_text()


@pytest.mark.parametrize(
    ("path", "label", "wrong", "said", "right"),
    [
        ("/build?f=x0&T=16", "T, bits of the input", "5000", "1 to 4096", "17"),
        ("/build?f=x0&T=16", "T, bits of the input", "", "1 to 4096", "17"),
        ("/build?f=x0&T=16", "T, bits of the input", "2.5", "a whole number, 1 to 4096", "17"),
        ("/bound", "T, context length, as a number", "1", "2 to 1000000", "200"),
        ("/bound", "margin, as a number", "11", "0.01 to 10", "0.25"),
        ("/cover", "ε, as a number", "0", "a number above 0, such as 0.5 or 1/2", "1/4"),
        ("/cover", "ε, as a number", "wide", "a number above 0, such as 0.5 or 1/2", "0.050"),
    ],
)
def test_a_refused_number_stays_with_what_is_allowed_beside_it(visit, path, label, wrong, said, right):
    v = visit(path)
    box = v.page.get_by_label(label, exact=True)
    box.fill(wrong)
    v.page.wait_for_selector("[role=alert].refused")
    assert (refused(v, box), box.input_value()) == (said, wrong)
    box.fill(right)
    v.page.wait_for_function("() => !document.querySelector('.refused')")
    assert (refused(v, box), box.input_value()) == (None, right)


def test_a_decimal_can_be_typed_key_by_key_and_the_slider_follows(visit):
    v = visit("/bound")
    box = v.page.get_by_label("margin, as a number", exact=True)
    box.fill("")
    box.press_sequentially("1.05", delay=30)
    v.page.wait_for_function("() => location.search === '?margin=1.05'")
    assert (refused(v, box), box.input_value()) == (None, "1.05")
    box.fill("99")
    v.page.wait_for_selector(".refused")
    v.page.get_by_label("margin", exact=True).press("ArrowRight")  # a value from elsewhere takes its place
    v.page.wait_for_function("() => !document.querySelector('.refused')")
    assert 1.05 < float(box.input_value()) < 1.2


def test_a_job_does_not_start_with_other_numbers_than_the_page_shows(visit):
    v = visit("/learn?f=x1&T=4&m=20")
    v.page.get_by_label("T, bits", exact=True).fill("5000")
    v.page.wait_for_selector(".refused")
    v.page.click("button.main")
    v.wait_text(".problem", "T, bits: 5000 is not allowed.")
    assert "job=" not in v.page.url and not any(url.endswith("/api/jobs/learn") for url in v.requests)


def test_cover_counts_balls_as_points_are_added_moved_and_imported(visit, tmp_path):
    v = visit("/cover")
    v.page.wait_for_selector(".row.list button")
    edges = v.page.eval_on_selector_all(
        ".row.list button", "all => all.map((b) => b.getBoundingClientRect().left)"
    )
    assert len(set(edges)) == 1, "the examples stand below each other"
    v.wait_text("[data-size]", "1")
    v.page.click("text=set as first printed, eps = 0.05")
    v.wait_text("[data-size]", "3")
    v.page.fill("[aria-label='New point']", "9, 9")
    v.page.keyboard.press("Enter")
    v.wait_text("[data-size]", "4")
    v.page.click("[aria-label='remove point 3']")
    v.wait_text("[data-size]", "3")
    v.page.locator("svg.plane").click(position={"x": 8, "y": 8})
    v.wait_text("[data-size]", "4")
    (tmp_path / "p.csv").write_text("x,y\n0,0\n10,10\n")
    v.page.set_input_files("input[type=file]", tmp_path / "p.csv")
    v.wait_text("[data-size]", "2")


def test_read_gives_the_formula_back_and_refuses_other_files(visit, tmp_path):
    import sparsehead as sh

    v = visit("/read?f=x2+%26+!x5&T=8")
    v.wait_text("[data-formula]", "x2 & !x5")
    sh.save(sh.build(sh.parse("x1 ^ x4", T=6)), tmp_path / "head.safetensors")
    v.page.set_input_files("input[type=file]", tmp_path / "head.safetensors")
    v.wait_text("[data-formula]", "x1 ^ x4")
    (tmp_path / "bad.safetensors").write_bytes(b"nothing")
    v.page.set_input_files("input[type=file]", tmp_path / "bad.safetensors")
    v.wait_text(".problem", "safetensors")
    v.problems = [text for text in v.problems if "422" not in text]  # the browser notes the refusal itself


LEARN_FIELDS = {
    "heads": "H",
    "width of a head": "k",
    "steps": "n_steps",
    "restarts": "restarts",
    "learning rate": "learning_rate",
    "Encoding": "encoding",
    "steps between checks": "check_every",
}


def settings_shown(v):
    """The settings of the Learn page, under their names in a request."""
    texts = {n: v.page.get_by_label(label, exact=True).input_value() for label, n in LEARN_FIELDS.items()}
    return {name: text if name == "encoding" else float(text) for name, text in texts.items()}


def settings_sent(v):
    """What Train sends, and what the server says that it trains."""
    with v.page.expect_response("**/api/jobs/learn") as answer:
        v.page.click("button.main")
    sent, trained = answer.value.request.post_data_json, answer.value.json()["request"]
    assert {name: trained[name] for name in sent} == sent
    return {name: sent[name] for name in LEARN_FIELDS.values()}


def test_learn_trains_the_preset_that_is_chosen_and_what_is_shown(visit):
    best = preset("best", function="x1", T=4, m=20, seed=0)
    v = visit("/learn?f=x1&T=4&m=20&on=false")
    v.page.click("summary >> text=Settings")
    v.page.wait_for_selector("button.main:enabled")
    quick = {"H": 1, "k": 64, "n_steps": 500, "restarts": 1, "check_every": 2}
    assert settings_shown(v) == {**settings_shown(v), **quick}
    assert settings_sent(v) == settings_shown(v)
    v.page.wait_for_selector(".job[data-state=done]")

    v.page.get_by_label("Preset", exact=True).select_option("best")
    v.page.wait_for_function("() => location.search.includes('preset=best')")
    assert settings_shown(v) == {name: getattr(best, name) for name in LEARN_FIELDS.values()}
    v.page.get_by_label("steps", exact=True).fill("7")
    v.page.wait_for_function("() => location.search.includes('steps=7')")
    own = {name: getattr(best, name) for name in LEARN_FIELDS.values()} | {"n_steps": 7}
    assert settings_sent(v) == settings_shown(v) == own
    v.page.wait_for_selector(".job[data-state=done]")
    v.page.click("text=Undo what I set")
    v.page.wait_for_function("() => !location.search.includes('steps=7')")
    assert settings_shown(v)["n_steps"] == best.n_steps


@pytest.mark.slow
def test_a_training_job_from_start_to_formula_through_a_reload(visit):
    v = visit("/learn?f=x1+%26+x4&T=8&m=120&steps=300")
    v.page.click("button.main")
    v.page.wait_for_selector(".job")
    v.page.wait_for_function("() => location.search.includes('job=')")
    v.page.reload()
    v.wait_text("[data-formula]", "x1 & x4")
    v.page.wait_for_selector("canvas[aria-label^='attention over positions']")
    v.page.wait_for_selector(".plot[data-drawn] svg")


@pytest.mark.slow
def test_a_job_is_cancelled_and_resumed(visit):
    v = visit("/learn?f=x1+%5E+x7+%5E+x20&T=400&m=3000&steps=5000")  # far from solved for a long time
    v.page.click("button.main")
    v.page.wait_for_selector(".job[data-state=running]")
    v.page.click('button:text-is("Stop")')
    v.page.wait_for_selector(".job[data-state=cancelled]")
    v.page.click('button:text-is("Resume")')
    v.page.wait_for_selector(".job[data-state=running]")
    v.page.click('button:text-is("Stop")')
    v.page.wait_for_selector(".job[data-state=cancelled]")


@pytest.mark.slow
def test_claims_are_checked_while_one_waits(visit):
    v = visit("/claims?label=split-lemma")
    v.page.click("#claim-split-lemma button")
    v.page.wait_for_selector("#claim-split-lemma[data-verdict=holds]")
    v.page.click("text=Show all")
    v.page.fill("[type=search]", "cover")
    v.page.wait_for_function("() => document.querySelectorAll('.claim').length > 3")


@pytest.mark.slow
def test_law_starts_pauses_and_shows_what_the_store_holds(visit):
    v = visit("/law?f=and&s=1&T=6,12&learner=exhaustive&trials=12&start=6")
    v.page.click("button.main")
    v.page.wait_for_selector(".job[data-state=done]")
    v.page.wait_for_selector(".series input")
    v.wait_text(".series", "exhaustive")
    v.page.wait_for_selector("table")


@pytest.mark.slow
def test_probe_measures_a_model_and_shows_the_head_that_is_clicked(visit):
    v = visit("/probe?s=2")
    v.page.click("button.main")
    v.page.wait_for_selector(".job[data-state=done]")
    v.wait_text(".verdict", "1 layer of 1 head on 32 sequences")
    v.page.wait_for_selector(".plot[data-drawn] svg")
    v.page.locator(".plot .mark-rect path").first.click()
    v.page.wait_for_function("() => location.search.includes('head=0.0')")
    assert "random weights" in v.text(".details") and "vacuous" in v.text(".details")
    link = v.page.url.removeprefix(v.base)
    again = visit(link)  # a link restores the measurement and the head
    again.wait_text(".details", "Layer 0, head 0")
    assert again.text(".scroll table >> nth=-1") == v.text(".scroll table >> nth=-1")


@pytest.mark.slow
def test_the_page_and_the_command_write_one_word_for_a_vacuous_bound(visit):
    from sparsehead.cli.probe import vacuous

    bounds = [(False, None), (True, None), (True, 152.3), (True, 1.5e123), (True, 7.0)]
    rows = [{"vacuous": v, "vacuous_by": by, "proven": p} for v, by in bounds for p in (True, False)]
    script = (
        "async (rows) => { const parts = await import('/static/parts.js'); return rows.map(parts.vacuous); }"
    )
    found = visit("/probe").page.evaluate(script, [*rows, {}])
    assert found == [*map(vacuous, rows), "–"]


@pytest.mark.slow
def test_probe_takes_a_file_and_says_what_a_state_dict_lacks(visit, tmp_path):
    import numpy as np
    from safetensors.numpy import save_file

    state = {f"layers.{i}.{n}_proj.weight": np.eye(12, dtype=np.float32) for i in (0, 1) for n in "qkvo"}
    save_file(state, tmp_path / "state.safetensors")
    v = visit("/probe?heads=3")
    v.page.set_input_files("input[type=file]", tmp_path / "state.safetensors")
    v.wait_text(".verdict", "2 layers of 3 heads, weights only")
    v.page.click("button[aria-label='layer 1, head 2']")
    v.wait_text(".details", "Layer 1, head 2")


def test_probe_calls_a_file_by_its_own_name_as_text(visit, tmp_path):
    import sparsehead as sh

    own = tmp_path / "<b>mine & $& yours.safetensors"
    sh.save(sh.build(sh.parse("x0 & x1", T=5)), own)
    v = visit("/probe")
    v.page.set_input_files("input[type=file]", own)
    v.wait_text(".verdict", "1 layer of 1 head")
    v.page.wait_for_selector(".plot[data-drawn] svg")
    assert v.text(".verdict").startswith(f"{own.name} (")
    assert v.text("figcaption").startswith(f"{own.name}: layer 0 head 0")
    assert "model.safetensors" not in v.text("main")
    assert v.page.locator(".verdict b, figcaption b").count() == 0


def test_no_page_is_blank_before_anything_was_run(visit):
    v = visit("/learn")
    v.wait_text("[data-formula]", "x5 & x20 & x30")
    v.page.wait_for_selector("canvas[aria-label^='attention over positions']")
    v.page.click("text=m = 14: not learned")
    v.page.wait_for_selector("[data-solved=false]")
    v.page.wait_for_function("() => location.search.includes('run=') && location.search.includes('m=14')")
    again = visit(v.page.url.removeprefix(v.base))  # a link restores it
    again.page.wait_for_selector("[data-solved=false]")
    for path, selector in {
        "/law": ".series input:checked",
        "/read": "[data-formula] >> text=x5 & x20 & x30",
        "/check": "[data-holds=true]",
    }.items():
        v.go(path)
        v.page.wait_for_selector(selector)


def test_files_dropped_anywhere_find_their_page(visit, tmp_path):
    import base64

    import sparsehead as sh

    path = sh.save(sh.build(sh.parse("x1 ^ x4", T=6)), tmp_path / "head.safetensors")
    drop = """([name, text]) => {
        const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File([bytes], name));
        const drop = new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true });
        document.querySelector("footer").dispatchEvent(drop);
    }"""
    v = visit("/build")
    v.page.evaluate(drop, ["head.safetensors", base64.b64encode(path.read_bytes()).decode()])
    v.page.wait_for_selector("[data-formula] >> text=x1 ^ x4")
    assert "/read" in v.page.url
    v.page.evaluate(drop, ["points.csv", base64.b64encode(b"0,0\n10,10\n").decode()])
    v.page.wait_for_function("() => location.pathname === '/cover' && location.search.includes('10')")
    v.page.evaluate(drop, ["notes.txt", ""])
    v.wait_text(".problem", "notes.txt is no file that a page takes")


def test_the_projector_size_is_remembered(visit):
    v = visit("/build")
    v.page.wait_for_selector(".bit")
    before = v.page.locator("h1").bounding_box()["height"]
    v.page.click("text=Large")
    assert v.page.locator("h1").bounding_box()["height"] > 1.2 * before
    v.go("/check")
    assert v.page.get_attribute("html", "class") == "large"


@pytest.mark.slow
def test_the_tour_goes_from_a_flipped_bit_to_a_checked_proof(visit):
    v = visit("/check")

    def next_step(words):
        v.page.wait_for_selector(".tour >> text=✓ seen")
        v.page.click(".tour >> text=Next")
        v.wait_text(".tour", words)

    v.page.click("text=Tour")
    v.wait_text(".tour", "Flip a bit")
    for t in (2, 5, 11):
        v.page.click(f".bit >> nth={t} >> button")
    next_step("Starve it")
    v.page.click("button.main:text-is('Train')")
    next_step("Watch it fail")
    next_step("Give it more")
    v.page.wait_for_selector("main button.main:text-is('Train')")
    v.page.click("main button.main:text-is('Train')")
    next_step("Read the formula")
    next_step("See the proof")
    v.page.click("text=Check its proof")
    next_step("Check it")
    v.wait_text(".tour", "7 of 7")
    v.page.wait_for_selector("[data-holds=true] >> text=On all 2^50 inputs")
    assert v.page.url.endswith("#tour=7") and "run=" in v.page.url
    v.page.click("text=Done")
    v.page.wait_for_selector(".tour", state="detached")


def test_the_next_step_of_the_tour_keeps_what_the_page_has_meanwhile_put_into_its_address(visit):
    v = visit("/learn")
    v.go("/learn?m=14#tour=2")
    v.wait_text(".tour", "Starve it")
    v.page.get_by_label("seed", exact=True).fill("5")
    v.page.wait_for_function("() => location.search.includes('seed=5')")
    v.page.click(".tour >> text=Next")
    v.wait_text(".tour", "Watch it fail")
    assert v.page.url.endswith("/learn?m=14&seed=5#tour=3")


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_a_telephone_in_the_dark(visit, path):
    v = visit(f"/{path}", width=400, dark=True)
    v.page.wait_for_selector(".card")
    assert v.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert v.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 26)"


def test_pages_are_reached_by_their_links_and_back(visit):
    v = visit("/build?f=x0+%26+x1&T=4")
    v.wait_text("[data-predicts]", "0")
    for name in (*(name for name in PAGES if name not in ("build", "bound")), "bound"):
        v.page.click(f"nav a[data-page={name}] >> nth=-1")
        v.page.wait_for_function("title => document.title.startsWith(title)", arg=f"{name.capitalize()} ·")
        v.page.wait_for_selector(f"nav li a[data-page={name}][aria-current=page]")
        v.page.wait_for_selector("main .card")
    for _ in range(len(PAGES) - 2):
        v.page.go_back()
    v.page.go_back()
    v.wait_text("h1", "Build")
    assert "f=x0" in v.page.url
    v.page.click("text=The paper's statement")
    v.wait_text(".claim", "sparse-representation")


def test_a_page_that_loads_slowly_finds_its_address_as_the_link_left_it(visit):
    v = visit("/build?f=x0+%26+x1&T=4")
    v.wait_text("[data-predicts]", "0")
    held = []
    v.page.route("**/pages/claims.js", lambda route: held.append(route))
    v.page.click("text=The paper's statement")
    v.page.wait_for_timeout(400)  # longer than a page waits before it writes its state into the address
    assert v.page.url.endswith("/claims?label=sparse-representation")
    held[0].continue_()
    v.wait_text(".claim", "sparse-representation")


@pytest.mark.slow
@pytest.mark.parametrize(("dark", "width"), [(False, 1280), (True, 400)], ids=["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing(visit, path, dark, width):
    from axe_core_python.sync_playwright import Axe

    v = visit(f"/{path}", dark=dark, width=width)
    v.page.wait_for_selector(".card")
    v.page.wait_for_load_state("networkidle")
    found = Axe().run(v.page)["violations"]
    v.requests.clear()  # axe is put into the page by the test
    assert [(one["id"], [n["html"][:120] for n in one["nodes"][:3]]) for one in found] == []
