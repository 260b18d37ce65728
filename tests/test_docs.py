from __future__ import annotations

import doctest
import inspect
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from PIL import Image

import scutc

ROOT = Path(__file__).parent.parent
MODULES = {name: value for name in scutc.__all__ if inspect.ismodule(value := getattr(scutc, name))}


def public_objects() -> dict[str, object]:
    """Everything in ``__all__`` but modules, by its public name."""
    objects = {f"scutc.{name}": getattr(scutc, name) for name in scutc.__all__ if name not in MODULES}
    for module, value in MODULES.items():
        objects |= {f"scutc.{module}.{name}": getattr(value, name) for name in value.__all__}
    return objects


def public_methods() -> dict[str, object]:
    """Public methods of public classes, except those that come from elsewhere."""
    return {
        f"{name}.{method}": function
        for name, value in public_objects().items()
        if inspect.isclass(value)
        for method, function in inspect.getmembers(value, inspect.isfunction)
        if not method.startswith("_") and function.__module__.startswith("scutc")
    }


DOCUMENTED = public_objects() | public_methods()


def sections(doc: str) -> dict[str, str]:
    """The text of each section of a numpydoc docstring, by its title."""
    parts = re.split(r"^([A-Z][A-Za-z ]*)\n-{3,}$", doc, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


SECTIONS = ("Parameters", "Other Parameters")


def options_of(function: object, annotation: str) -> list[str]:
    """The names in the TypedDict that a function's keywords are annotated with."""
    return list(function.__globals__[annotation.removeprefix("Unpack[").removesuffix("]")].__annotations__)


def faults(value: object) -> list[str]:
    """What a docstring lacks."""
    doc = inspect.getdoc(value) or ""
    found = sections(doc)
    parameters = [each for each in inspect.signature(value).parameters.values() if each.name != "self"]
    # Typed keyword options are described one by one, in a section of their own.
    options = [each for each in parameters if str(each.annotation).startswith("Unpack[")]
    in_signature = [each.name for each in parameters if each not in options]
    in_signature += [name for each in options for name in options_of(value, each.annotation)]
    described = re.findall(r"^(\w+)$", "\n".join(map(found.get, SECTIONS, ("", ""))), flags=re.MULTILINE)
    result = []
    if not re.match(r"\S.*[.:]$", doc.partition("\n")[0]):
        result.append("no summary in its first line")
    if described != in_signature:
        result.append(f"parameters {described} are described, the signature has {in_signature}")
    if ">>> " not in found.get("Examples", ""):
        result.append("no example")
    return result


def good(first, *, second=1):
    """Has everything.

    Parameters
    ----------
    first
        Described.
    second
        Described, in the order of the signature.

    Examples
    --------
    >>> 1 + 1
    2
    """


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_describes_all_parameters_and_has_an_example(name):
    assert faults(DOCUMENTED[name]) == []


@pytest.mark.parametrize(
    ("there", "instead"),
    [
        ("Has everything.", ""),
        ("second\n", "third\n"),
        ("first\n    Described.\n", ""),
        ("Examples", "Notes"),
        (">>> ", ""),
        ("Parameters\n---", "Parameters"),
    ],
)
def test_incomplete_docstrings_are_found(there, instead):
    assert faults(good) == []

    def bad(first, *, second=1): ...

    complete = inspect.getdoc(good)  # from Python 3.13 on docstrings are without their indentation
    assert there in complete
    bad.__doc__ = complete.replace(there, instead)
    assert faults(bad) != []


@pytest.mark.parametrize("name", {value: name for name, value in DOCUMENTED.items()}.values())  # inherited ones once
def test_examples_run_without_names_of_the_module(name):
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(DOCUMENTED[name]), {}, name, None, None)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    runner.run(test, out=(report := []).append)
    plt.close("all")
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


def test_functions_and_methods_are_found():
    assert {"scutc.UTC", "scutc.tl.utc", "scutc.UTC.cut", "scutc.baselines.CAN.fit"} <= DOCUMENTED.keys()


def test_modules_name_all_that_is_theirs():
    """A public function that is not in ``__all__`` would be on no page."""
    for module, value in MODULES.items():
        own = {
            name
            for name, member in vars(value).items()
            if not name.startswith("_")
            and (inspect.isfunction(member) or inspect.isclass(member))
            and member.__module__.startswith(f"scutc.{module}")
        }
        assert own == set(value.__all__)


def listed(page: str) -> set[str]:
    return set(re.findall(r"^ +(scutc\.[\w.]+)$", page, flags=re.MULTILINE))


def test_api_page_lists_everything_public(monkeypatch):
    api_page = runpy.run_path(str(ROOT / "docs" / "conf.py"))["api_page"]
    assert listed(api_page()) == public_objects().keys()
    monkeypatch.setattr(scutc.tl, "__all__", [*scutc.tl.__all__, "another"])
    assert "scutc.tl.another" in listed(api_page())


@pytest.mark.parametrize("page", ["README.md", "docs/usage.md", "docs/whats_new.md"])
def test_code_of_the_page_runs(page):
    namespace: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for code in blocks:
        exec(code, namespace)
    plt.close("all")


def test_settings_page_has_all_settings_and_no_others():
    """Of ``tl.utc`` all that can be chosen; ``adata`` is the data itself."""
    page = (ROOT / "docs" / "settings.md").read_text()
    utc, transfer = (set(inspect.signature(each).parameters) for each in (scutc.tl.utc, scutc.tl.transfer))
    utc = utc - {"adata", "options"} | set(options_of(scutc.tl.utc, "Unpack[Options]"))
    assert utc - set(re.findall(r"`(\w+)(?:=[^`]*)?`", page)) == set()
    assert set(re.findall(r"`(\w+)=", page)) - utc - transfer == set()


def test_picture_was_made_by_the_code_in_the_readme():
    code, picture = runpy.run_path(str(ROOT / "docs" / "make_readme_picture.py"))["read_example"]()
    hint = "Run python docs/make_readme_picture.py."
    assert Image.open(picture).text["Source"] == code, hint
    assert f"]({picture.relative_to(ROOT)})" in (ROOT / "README.md").read_text()


def test_links_lead_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    links = [
        page.parent / target
        for page in pages
        for target in re.findall(r"\]\((?![a-z]+:|#)([^)\s#]+)", page.read_text())
    ]
    assert ROOT / "docs" / "usage.md" in links
    assert [link for link in links if not link.exists()] == []


def formulas(page: str) -> list[str]:
    """What stands between dollars, outside of code."""
    return re.findall(r"\$([^$]+)\$", re.sub(r"```.*?```|`[^`\n]*`", "", page, flags=re.DOTALL))


def spoilt_by_github(formula: str) -> bool:
    """Whether it takes backslashes before punctuation away, ends a cell of a table, or sees no formula at all."""
    return re.search(r"\\[^a-zA-Z]|\|", formula) is not None or formula != formula.strip()


@pytest.mark.parametrize("formula", [r"\{1\}", r"a\,b", "|a|", " a", "a "])
def test_formulas_that_github_spoils_are_found(formula):
    assert formulas(f"`$no` ${formula}$ and $b$") == [formula, "b"]
    assert spoilt_by_github(formula)


def test_formulas_look_right_on_github_too():
    """Sphinx itself says what it cannot read; longer formulas are blocks of ```math, which GitHub leaves alone."""
    found = {page.name: formulas(page.read_text()) for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]}
    assert r"d_{ij}" in found["method.md"]
    assert [(page, each) for page, inside in found.items() for each in inside if spoilt_by_github(each)] == []


def test_versions_agree():
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), flags=re.MULTILINE)
    changes = re.search(r"^## \[(\S+)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    ecosystem = re.search(r"^version: v(\S+)$", (ROOT / "docs" / "ecosystem-meta.yaml").read_text(), flags=re.MULTILINE)
    assert [found and found[1] for found in (citation, changes, ecosystem)] == [scutc.__version__] * 3
