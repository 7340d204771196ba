"""The checker in JavaScript says of every pair of files what the one in Python says, in the same words."""

import base64
import hashlib
import json

import pytest

from sparsehead._base.rng import stream
from sparsehead.certify.certificate_file import certificate_content
from sparsehead.construct import build
from sparsehead.functions import parse
from sparsehead.heads.model_file import packed
from sparsehead.lab.pages import assets

from .tampering import attacks, changed_once
from .test_check import BUILDS
from .test_check_attacks import CONTENT, RAW, verdict

pytestmark = pytest.mark.browser
SCRIPT = """async ([module, pairs]) => {
    const { verdict } = await import(module);
    const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return pairs.map(([model, certificate]) => verdict(bytes(model), bytes(certificate)).sentence);
}"""


def module_address():
    text = base64.b64encode(assets()["/static/checker.js"].content).decode()
    return f"data:text/javascript;base64,{text}"


def in_javascript(browser, pairs):
    """What static/checker.js says of each pair of model file and certificate, in one page."""
    page = browser.new_page()
    given = [[base64.b64encode(each).decode() for each in pair] for pair in pairs]
    found = page.evaluate(SCRIPT, [module_address(), given])
    page.context.close()
    return found


def built(text, T, settings):
    f = parse(text, T=T)
    raw = packed(build(f, **settings))
    return raw, json.dumps(certificate_content(raw, f)).encode()


def test_the_two_checkers_agree(browser):
    """On good certificates, malformed files, and certificates and models with one number changed."""
    rng = stream(0, "check", "agree")
    pairs = {f"{text} {T} {more}": built(text, T, more) for text, T, more in BUILDS} | attacks(RAW, CONTENT)
    for i, (raw, text) in enumerate(list(pairs.values())[: len(BUILDS)]):
        pairs |= {f"changed {i} {j}": changed_once(raw, json.loads(text), rng)[:2] for j in range(6)}
    said = dict(zip(pairs, in_javascript(browser, pairs.values()), strict=True))
    wanted = {name: verdict(*pair) for name, pair in pairs.items()}
    reason = {name: text.startswith("cannot be read: ") for name, text in wanted.items()}
    assert {name: text[:15] if reason[name] else text for name, text in said.items()} == {
        name: text[:15] if reason[name] else text for name, text in wanted.items()
    }
    kinds = [text.partition(":")[0] for text in wanted.values()]
    assert kinds.count("holds") >= len(BUILDS) and kinds.count("does not hold") > 80


def test_the_hash_is_sha256_at_every_length(browser):
    """Around the ends of blocks of 64 bytes."""
    contents = [
        bytes(range(256))[:n] for n in (0, 1, 54, 55, 56, 57, 62, 63, 64, 65, 118, 119, 120, 128, 200)
    ]
    script = """async ([module, all]) => {
        const { sha256 } = await import(module);
        return all.map((each) => sha256(Uint8Array.from(each)));
    }"""
    page = browser.new_page()
    found = page.evaluate(script, [module_address(), [list(each) for each in contents]])
    page.context.close()
    assert found == [hashlib.sha256(each).hexdigest() for each in contents]


def test_every_way_of_writing_a_number_is_read_alike(browser):
    """Claimed errors of all sizes, shown in three digits."""
    rng = stream(0, "check", "digits")
    errors = [float(x).hex() for x in 10.0 ** rng.uniform(-15, 300, 60)]
    errors += ["0x1.0p+0", "0x1.3fcp+3", "0x1.f4p+9", "0x0.8p+3", "0x1.8p+9999", "0x1.8p-9999", "-0x1.0p-3"]
    pairs = [(RAW, json.dumps({**CONTENT, "max_error": error}).encode()) for error in errors]
    assert in_javascript(browser, pairs) == [verdict(*pair) for pair in pairs]
