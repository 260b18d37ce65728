"""How parameters are declared: each once, with its default, its check and the words that describe it.

An estimator declares its parameters as fields of a class, the tools and the command line take them from there.
"""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
Function = TypeVar("Function", bound="Callable[..., Any]")

# Titles of numpydoc sections, as they stand in a docstring without indentation.
SECTION = re.compile(r"^([A-Z][A-Za-z ]*)\n-{3,}\n", re.MULTILINE)
PARAMETERS, OPTIONS, ATTRIBUTES = "Parameters", "Other Parameters", "Attributes"
# Of lines of words, without their indentation.
WIDTH = 108


def parameter(check: Callable[[str, Any], None], words: str, *, default: T, kw_only: bool = True) -> T:
    """A parameter of an estimator: a function of name and value that raises on a bad one, its words, and its default.

    The first sentence of the words is all that the command line shows.
    """
    described: T = field(default=default, kw_only=kw_only, metadata={"check": check, "words": words})
    return described


@dataclass_transform(kw_only_default=True, field_specifiers=(parameter,))
def estimator(cls: type[T]) -> type[T]:
    """Give a class of scikit-learn's kind the ``__init__`` for its parameters, and their description.

    The learned attributes that the classes before it describe are described in its docstring, too.
    """
    cls = dataclass(eq=False, repr=False)(cls)
    attributes: dict[str, str] = {}
    for each in reversed(cls.__mro__):
        if hasattr(each, "__dataclass_fields__"):
            attributes |= described_in(each.__doc__ or "", ATTRIBUTES)
    doc = _with_section(inspect.cleandoc(cls.__doc__ or ""), ATTRIBUTES, attributes)
    cls.__doc__ = _with_section(doc, PARAMETERS, words_of(cls))
    return cls


def words_of(cls: type) -> dict[str, str]:
    """The words for each parameter of an estimator."""
    return {each.name: each.metadata["words"] for each in fields(cls)}


def checks_of(cls: type) -> dict[str, Callable[[str, Any], None]]:
    """The check for each parameter of an estimator."""
    return {each.name: each.metadata["check"] for each in fields(cls)}


def check_parameters(model: Any) -> None:
    """Raise on the first bad parameter of an estimator."""
    for name, check in checks_of(type(model)).items():
        check(name, getattr(model, name))


def describe(shared: Mapping[str, str], options: Iterable[str]) -> Callable[[Function], Function]:
    """Complete the docstring of a function whose parameters are in part those of an estimator.

    The docstring describes what is the function's own; the rest are ``shared`` words. ``options`` are the names that
    it takes as ``**options``.
    """

    def complete(function: Function) -> Function:
        doc = inspect.cleandoc(function.__doc__ or "")
        words = dict(shared) | described_in(doc)
        signature = inspect.signature(function).parameters.values()
        named = [each.name for each in signature if each.kind is not each.VAR_KEYWORD]
        doc = _with_section(doc, PARAMETERS, {name: words[name] for name in named})
        function.__doc__ = _with_section(doc, OPTIONS, {name: words[name] for name in options})
        return function

    return complete


def described_in(doc: str, *titles: str) -> dict[str, str]:
    """The words for each name that these sections of a docstring describe, those of parameters if none is named."""
    sections = _sections(inspect.cleandoc(doc))
    text = "".join(sections.get(title, "") for title in titles or (PARAMETERS, OPTIONS))
    return {name: " ".join(words.split()) for name, words in re.findall(r"^(\w+)\n((?:[ ]{4}.*\n?|\n)+)", text, re.M)}


def check_names(options: Iterable[str], valid: Iterable[str], function: str) -> None:
    """Raise on an option that there is not, as Python does, and name the nearest that there is."""
    valid = list(valid)
    for name in options:
        if name not in valid:
            nearest = difflib.get_close_matches(name, valid, n=1)
            hint = f"Did you mean {nearest[0]!r}?" if nearest else f"Valid: {', '.join(map(repr, valid))}."
            msg = f"{function}() got an unexpected keyword argument {name!r}. {hint}"
            raise TypeError(msg)


def _sections(doc: str) -> dict[str, str]:
    """The text of each section of a docstring by its title; what comes before all of them has none."""
    parts = SECTION.split(doc)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def _with_section(doc: str, title: str, words: Mapping[str, str]) -> str:
    """A docstring with this section of names in its place, behind the text and the parameters."""
    sections = {name: text.strip() for name, text in _sections(doc).items()}
    sections[title] = "\n".join(f"{name}\n{textwrap.indent(_wrap(text), '    ')}" for name, text in words.items())
    leading = ("", PARAMETERS, OPTIONS, ATTRIBUTES)
    ordered = [name for name in leading if sections.get(name)] + [name for name in sections if name not in leading]
    return "\n\n".join(f"{name}\n{'-' * len(name)}\n{sections[name]}" if name else sections[name] for name in ordered)


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_on_hyphens=False, break_long_words=False)
