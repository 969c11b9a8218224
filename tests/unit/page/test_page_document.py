"""The document: what is put in stays text, and only the script that is in it may run."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dtstat.core.errors import InputError
from dtstat.core.tables import Table
from dtstat.page.document import Page, Section, numbers_of, write_page

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><!--<script>",
    "]]> --> <!--",
    "a\"b'c onfocus=alert(1)",
    "{{script}} {{numbers}} {{policy}} {{nonsense}} {0} %s \\1 \\g<0>",
    "&lt;b&gt; &amp; & co",
    "\u2028\u2029\u202e項目\x01\x7f",
    "back\\slash \\u003c /script",
    "line\nbreak\r\ttab",
)


class Reader(HTMLParser):
    """Elements with attributes, and the text of some of them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts = [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.append([tag, ""])

    def handle_data(self, data):
        if self.texts:
            self.texts[-1][1] += data

    def all(self, tag):
        return [about for name, about in self.elements if name == tag]

    def text(self, tag):
        return [text for name, text in self.texts if name == tag]


def a_page(text="plain", numbers=None):
    table = Table(text, (text,), ((text,),), "l", (text,))
    section = Section(
        "one", text, (text,), ((text, text),), True, (table,), (table,), ((text, text),)
    )
    other = Section("two", text)
    return Page(text, text, (section, other), numbers or {text: [text, {text: 1.5}]})


def numbers_in(document):
    found = re.search(
        r'<script type="application/json" id="numbers">(.*?)</script>', document, re.S
    )
    return found[1]


FLAT = {  # titles and cells of tables are one line, with nothing in them that cannot be seen
    "\u2028\u2029\u202e項目\x01\x7f": r" \u202e項目\x01\x7f",
    "line\nbreak\r\ttab": "line break tab",
}


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_stay_texts_everywhere(text):
    plain, read = Reader(a_page().to_html()), Reader(a_page(text).to_html())
    assert [tag for tag, _ in read.elements] == [tag for tag, _ in plain.elements]
    keys = [sorted(about) for _, about in read.elements]
    assert keys == [sorted(about) for _, about in plain.elements]
    for tag in ("title", "h1", "dt", "dd", "h2", "h3", "pre"):
        found = read.text(tag)
        assert found
        assert {one.strip("\n") for one in found} == {text.strip("\n")}, tag
    flat = FLAT.get(text, text)
    assert [about.get("aria-label") for about in read.all("table")] == [None, flat]
    for tag in ("caption", "summary", "th", "p"):
        assert {flat, text.strip("\n")} >= {one.strip("\n") for one in read.text(tag)}, tag
    assert [about["aria-label"] for about in read.all("pre")] == [text]


@pytest.mark.parametrize("text", HOSTILE)
def test_numbers_are_what_was_given(text):
    written = numbers_in(a_page(text).to_html())
    assert json.loads(written) == {text: [text, {text: 1.5}]}
    assert not re.search(r"[<>&]", written)


@pytest.mark.parametrize("text", ["plain", HOSTILE[0], HOSTILE[4]])
def test_the_policy_names_the_script_that_is_in_the_file(text, tmp_path):
    document = write_page(a_page(text), tmp_path / "page.html").read_bytes()
    scripts = re.findall(rb"<script>(.*?)</script>", document, re.S)
    assert len(scripts) == 1
    assert b"use strict" in scripts[0]
    digest = base64.b64encode(hashlib.sha256(scripts[0]).digest()).decode()
    policies = [
        about["content"]
        for about in Reader(document.decode()).all("meta")
        if about.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in policies[0].split(";"))
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"


def test_nothing_is_asked_of_the_network_and_no_place_is_left_open():
    document = a_page().to_html()
    read = Reader(document)
    assert "{{" not in document
    assert not {"src", "href", "action"} & {name for _, about in read.elements for name in about}
    assert "@import" not in document
    assert not re.search(r"url\((?!['\"]?(data:|#))", document)
    assert not any(name.startswith("on") for _, about in read.elements for name in about)


def test_the_end_of_a_script_is_not_in_the_script():
    scripts = Reader(a_page().to_html()).text("script")
    assert len(scripts) == 2
    assert not re.search("</script|<!--", scripts[1], re.I)


def test_tabs_and_panels_belong_together():
    read = Reader(a_page().to_html())
    tabs = [about for about in read.all("button") if about.get("role") == "tab"]
    panels = [about for about in read.all("section") if about["role"] == "tabpanel"]
    assert [tab["aria-controls"] for tab in tabs] == [panel["id"] for panel in panels]
    assert [panel["aria-labelledby"] for panel in panels] == [tab["id"] for tab in tabs]
    assert [tab["aria-selected"] for tab in tabs] == ["true", "false"]
    assert [tab["tabindex"] for tab in tabs] == ["0", "-1"]
    assert [about["id"] for about in read.all("div") if "id" in about] == ["level", "one"]


def test_tables_have_heads_labels_and_true_minus_signs():
    table = Table("T", ("item", "r", "about"), (("-1", "-0.50", "-2 to 3"),), "lrl", ("note",))
    read = Reader(Page("t", "", (Section("one", "one", tables=(table,)),), {}).to_html())
    assert read.text("th") == ["item", "r", "about", "-1"]  # names stay names
    assert read.text("td") == ["\u22120.50", "-2 to 3"]
    assert [about["data-label"] for about in read.all("td")] == ["r", "about"]
    heads = [about["scope"] for about in read.all("th")]
    assert heads == ["col", "col", "col", "row"]


def test_numbers_that_do_not_exist_are_null():
    values = numbers_of([1.5, np.nan, np.inf, -np.inf, 0.0, -2.0])
    assert values == [1.5, None, None, None, 0.0, -2.0]
    html = a_page(numbers={"a": np.nan, "b": [1.5, np.inf]}).to_html()
    assert '"a":null' in html.replace(" ", "")
    assert '"b":[1.5,null]' in html.replace(" ", "")


def test_half_a_character_does_not_keep_the_page_from_being_written(tmp_path):
    file = write_page(a_page("half \ud800 of one"), tmp_path / "page.html")
    assert file == tmp_path / "page.html"
    assert Reader(file.read_text(encoding="utf-8")).text("h1")[0].strip() == "half ? of one"


def test_lines_end_alike_on_every_system(tmp_path):
    file = write_page(a_page(), tmp_path / "page.html")
    assert file.read_bytes() == a_page().to_html().encode()


@pytest.mark.parametrize("name", ["absent/page.html", ".", "x" * 300])
def test_files_that_cannot_be_written(tmp_path, name):
    with pytest.raises(InputError, match="Cannot write") as caught:
        write_page(a_page(), tmp_path / name)
    assert caught.value.argument == "path"
