from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import scutc
from scutc import UTC
from scutc._cli import _parser
from scutc._parameters import check_names, check_parameters, describe, described_in, estimator, parameter, words_of
from scutc._validation import OneOf, PositiveInteger


@estimator
class Animal:
    """A kind.

    Attributes
    ----------
    name_
        What it is called.
    """

    legs: int = parameter(PositiveInteger(), "How many legs. Spiders have eight.", default=4, kw_only=False)


@estimator
class Bird(Animal):
    """Another kind.

    Attributes
    ----------
    song_
        What it sings.

    Examples
    --------
    >>> 1
    1
    """

    color: str = parameter(OneOf(("brown", "green")), "Its colour, of which there are two.", default="brown")


def test_parameters_become_the_signature_and_the_documentation():
    assert str(inspect.signature(Bird)) == "(legs: 'int' = 4, *, color: 'str' = 'brown') -> None"
    assert described_in(Bird.__doc__) == {
        "legs": "How many legs. Spiders have eight.",
        "color": "Its colour, of which there are two.",
    }
    assert re.findall(r"^(.+)\n---", Bird.__doc__, flags=re.MULTILINE) == ["Parameters", "Attributes", "Examples"]
    assert list(described_in(Bird.__doc__, "Attributes")) == ["name_", "song_"]


def test_the_first_bad_parameter_is_named():
    check_parameters(Bird(2, color="green"))
    with pytest.raises(ValueError, match=r"color='red' is unknown\. Valid: 'brown', 'green'"):
        check_parameters(Bird(color="red"))
    with pytest.raises(ValueError, match="legs=0 is not a positive integer"):
        check_parameters(Bird(0, color="red"))


def test_a_function_describes_its_own_and_takes_the_rest():
    @describe(words_of(Bird), options=["color"])
    def buy(shop, legs=4, **options):
        """Buy one.

        Parameters
        ----------
        shop
            Where.

        Returns
        -------
        Nothing.
        """

    assert described_in(buy.__doc__, "Parameters") == {"shop": "Where.", "legs": words_of(Bird)["legs"]}
    assert described_in(buy.__doc__, "Other Parameters") == {"color": words_of(Bird)["color"]}
    assert buy.__doc__.index("Other Parameters") < buy.__doc__.index("Returns")


def test_a_parameter_without_words_is_not_forgotten():
    with pytest.raises(KeyError, match="price"):

        @describe({}, options=[])
        def buy(price):
            """Buy one."""


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("n_neighbours", "Did you mean 'n_neighbors'"),
        ("sharpnes", "Did you mean 'sharpness'"),
        ("zzz", "Valid: 'adata'"),
    ],
)
def test_an_unknown_option_is_a_type_error_with_the_nearest_name(adata, name, hint):
    with pytest.raises(TypeError, match=rf"utc\(\) got an unexpected keyword argument '{name}'\. {hint}"):
        scutc.tl.utc(adata, 3, **{name: 1})
    with pytest.raises(TypeError, match="got an unexpected keyword argument"):
        check_names([name], described_in(scutc.tl.utc.__doc__), "utc")


def test_an_unknown_option_is_told_names_that_may_be_given(adata):
    with pytest.raises(TypeError, match="Valid: ") as error:
        scutc.tl.utc(adata, 3, zzz=1)
    assert "'sharpness'" in str(error.value)
    assert "'options'" not in str(error.value)


def test_one_description_serves_estimator_tool_and_command_line():
    words = words_of(UTC)
    of_tool = described_in(scutc.tl.utc.__doc__)
    own = {"n_clusters", "n_jobs"}  # which the tool takes in another way
    shared = set(words) & set(of_tool) - own
    assert shared == set(words) - own - {"verbose", "progress"}
    assert {name: of_tool[name] for name in shared} == {name: words[name] for name in shared}
    help_of_run = " ".join(next(iter(_parser(["run"])._subparsers._group_actions)).choices["run"].format_help().split())
    for name in shared:
        first_words = words[name].replace("``", "").split(".")[0].split()[1:4]
        assert f"--{name.replace('_', '-')} " in help_of_run, name
        assert " ".join(first_words) in help_of_run, name


@pytest.mark.parametrize("name", ["baselines", "datasets", "metrics", "pl", "tl"])
def test_modules_are_imported_when_they_are_asked_for(name):
    before = f"import sys, scutc; assert '{name}' in dir(scutc); assert 'scutc.{name}' not in sys.modules"
    subprocess.run([sys.executable, "-c", f"{before}; scutc.{name}; assert 'scutc.{name}' in sys.modules"], check=True)


def test_what_there_is_not_is_said_as_python_does():
    with pytest.raises(AttributeError, match="module 'scutc' has no attribute 'rivals'"):
        scutc.rivals  # noqa: B018
