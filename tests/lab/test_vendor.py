"""What is not ours in the front end is unchanged, has its licence beside it, and nothing is fetched from elsewhere."""

import hashlib
import re

from sparsehead.lab.pages import PAGES, assets

# htm/preact/standalone.module.js of the npm package htm 3.1.1
PREACT_HTM = "72284e8e9079c87817145df1110f74e8a2aa040b2fc384922e18dfcb46fc1fd7"


def test_the_vendored_file_is_the_one_of_the_package_and_has_its_licences():
    found = assets()
    assert hashlib.sha256(found["/static/vendor/preact-htm.js"].content).hexdigest() == PREACT_HTM
    licence = found["/static/vendor/preact-htm.LICENSE.txt"].content.decode()
    assert "Apache License" in licence and "The MIT License" in licence


def test_no_file_of_the_front_end_names_another_host_or_inline_code():
    for path, asset in assets().items():
        text = asset.content.decode()
        if "vendor" in path:
            continue
        for address in re.findall(r"https?://[^\s\"'`)]+", text):
            assert address.startswith("http://www.w3.org/"), (path, address)
        assert not re.search(r"\beval\(|new Function|innerHTML|document\.write|dangerouslySet", text), path
        if path.endswith(".html"):
            assert (
                " style=" not in text
                and not re.search(r"<script(?![^>]*src=)", text)
                and "onclick" not in text
            )


def test_every_page_has_its_module():
    assert {f"/static/pages/{name}.js" for name in PAGES} <= set(assets())
