"""How Sphinx builds these pages: ``sphinx-build -W --keep-going -b html docs docs/_build``."""

from __future__ import annotations

import inspect
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import scutc

if TYPE_CHECKING:
    from types import ModuleType

    from docutils.nodes import math, math_block
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.writers.html5 import HTML5Translator

DOCS = Path(__file__).parent.resolve()
ROOT = DOCS.parent
# Folders elsewhere in the repository whose pages are shown here, and the folders of their copies, which git ignores.
COPIES = {ROOT / "tutorials": DOCS / "tutorials", ROOT / "benchmarks" / "results": DOCS / "results"}
# Other pages of the repository, and the page here that shows them.
SHOWN_BY = {
    ROOT / "README.md": DOCS / "index.md",
    ROOT / "CHANGELOG.md": DOCS / "changelog.md",
    ROOT / "CONTRIBUTING.md": DOCS / "contributing.md",
    ROOT / "tutorials": DOCS / "tutorials.md",
    ROOT / "benchmarks" / "results": DOCS / "measurements.md",
    ROOT / "scutc" / "tl" / "_utc.py": DOCS / "api" / "scutc.tl.utc.rst",
}

project = "scutc"
author = "the scutc developers"
copyright = "2026, the scutc developers"
release = version = scutc.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build", "jupyter_execute"]
templates_path = ["_templates"]

html_theme = "sphinx_book_theme"
html_title = "scutc"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_math_renderer = "mathml"
html_theme_options = {"show_toc_level": 2, "navbar_persistent": []}

nb_execution_mode = "off"  # the notebooks have their outputs, and .ci/run runs them
myst_heading_anchors = 3
# Formulas as GitHub writes them: $…$ and blocks of ```math.
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]

autosummary_generate = True
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
# Ours are sentences, and lists of the fields that are written, not names and types.
napoleon_custom_sections = ["Returns"]


def api_page() -> str:
    """Everything public, module by module, as ``__all__`` says."""
    public = {name: getattr(scutc, name) for name in scutc.__all__}
    modules = {name: value for name, value in public.items() if inspect.ismodule(value)}
    estimators = [name for name in public if name not in modules]
    sections = {f"`scutc.{name}`": _section(f"scutc.{name}", value) for name, value in modules.items()}
    sections["Estimator"] = "The same clustering on arrays, without AnnData.\n\n" + _table("scutc", estimators)
    first = [title for title in ("`scutc.tl`", "`scutc.pl`", "Estimator") if title in sections]
    titles = [*first, *(title for title in sections if title not in first)]
    page = "# API\n\nGenerated from the public modules: what is not here may change without notice.\n"
    return page + "".join(f"\n## {title}\n\n{sections[title]}" for title in titles)


def _section(name: str, module: ModuleType) -> str:
    names = sorted(module.__all__, key=lambda name: name != "utc")  # what the package is for comes first
    return (inspect.getdoc(module) or "").partition("\n\n")[0] + "\n\n" + _table(name, names)


def _table(module: str, names: list[str]) -> str:
    rows = "".join(f"   {module}.{name}\n" for name in names)
    return f"```{{eval-rst}}\n.. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{rows}```\n"


def _write_pages(app: Sphinx, config: Config) -> None:
    """Bring the pages into this folder that have their home elsewhere."""
    (DOCS / "api.md").write_text(api_page())
    for source, target in COPIES.items():
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        for pattern in ("*.ipynb", "*.md", "*.png"):
            for path in source.glob(pattern):
                shutil.copy2(path, target)


LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)")
INCLUDE = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)


def _mend_links(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let links that are right on the repository's pages be right here too.

    A page may include a file from elsewhere in the repository, whose links start from there, and links to a page may
    mean its home instead of its place in this folder.
    """
    page = Path(app.env.doc2path(docname))
    copied_from = {target: folder for folder, target in COPIES.items()}
    home = copied_from.get(page.parent, page.parent)

    def include(match: re.Match[str]) -> str:
        path = (page.parent / match[1]).resolve()
        app.env.note_dependency(str(path), docname=docname)
        return mend(path.read_text(), path.parent)

    def mend(text: str, folder: Path) -> str:
        return LINK.sub(lambda match: _link(match[1], folder, page.parent), text)

    source[0] = INCLUDE.sub(include, mend(source[0], home))


def _link(target: str, folder: Path, new_folder: Path) -> str:
    path = (folder / target).resolve()
    if not path.exists():  # no link to a file: in code, table[key](argument) looks like one
        return target
    if path in SHOWN_BY:
        path = SHOWN_BY[path]
    elif path.parent in COPIES:
        path = COPIES[path.parent] / path.name
    return os.path.relpath(path, new_folder)


def _keep_together(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let no line end inside ``0.10 ± 0.03`` or ``30 000``."""
    if Path(app.env.doc2path(docname)).suffix == ".md":
        source[0] = re.sub(r"(?<=\d) (?=\d{3}\b)|(?<=\d) (?=± \d)|(?<=\d ±) (?=\d)", "\N{NO-BREAK SPACE}", source[0])


def _skip_scikit_learn(app: Sphinx, what: str, name: str, member: object, skip: bool, options: object) -> bool | None:
    """Leave out what estimators inherit from scikit-learn."""
    return None if str(getattr(member, "__module__", "scutc")).startswith("scutc") else True


def _write_mathml(page: HTML5Translator, formula: math | math_block) -> None:
    """Write a formula in the form that browsers typeset by themselves: no script, no fonts, no network."""
    # Imported here, since a test reads this file where Sphinx may be missing.
    from docutils import nodes
    from docutils.utils.math import MathError
    from docutils.utils.math.latex2mathml import tex2mathml
    from sphinx.util.logging import getLogger

    try:
        page.body.append(tex2mathml(formula.astext(), as_block=isinstance(formula, nodes.math_block)))
    except MathError as error:
        getLogger(__name__).warning("%s in %r", error, formula.astext(), location=formula)
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Connect what is above."""
    app.add_html_math_renderer("mathml", (_write_mathml, None), (_write_mathml, None))
    app.connect("config-inited", _write_pages)  # before Sphinx looks which pages there are
    app.connect("source-read", _mend_links)
    app.connect("source-read", _keep_together)  # of included pages, too, so after them
    app.connect("autodoc-skip-member", _skip_scikit_learn)
