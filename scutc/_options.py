"""The parameters of a tool as options of the command line, with its words, its checks and its defaults."""

from __future__ import annotations

import argparse
import re
from inspect import signature
from typing import TYPE_CHECKING, Any

from ._estimator import UTC
from ._fields import check_key
from ._parameters import checks_of, described_in
from ._validation import (
    OneOf,
    PositiveInteger,
    PositiveNumber,
    SubsetOf,
    TrueOrFalse,
    Weights,
    check_positive_integer,
    check_share,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


def add_options(parser: argparse.ArgumentParser, tool: Callable[..., Any]) -> None:
    """An option for each parameter that a tool's docstring describes; those not given are left to its defaults."""
    annotations = {each.name: each.annotation for each in signature(tool).parameters.values()}
    for name, words in described_in(tool.__doc__ or "").items():
        if name in NOT_IN_FILES:
            continue
        flags = ["-n", "--n-clusters"] if name == "n_clusters" else [f"--{name.replace('_', '-')}"]
        how = {"help": _first_sentence(words)} | _how_to_read(name, annotations.get(name, ""))
        if "action" not in how and "choices" not in how:
            how["type"] = _checked(name, how.get("type", str))
        parser.add_argument(*flags, **how)


def check_together(settings: Mapping[str, Any]) -> None:
    """Raise on options of ``tl.utc`` that are right by themselves and wrong together."""
    for first, second in EXCLUSIVE:
        if first in settings and second in settings:
            msg = f"argument --{second.replace('_', '-')}: not allowed with argument --{first.replace('_', '-')}"
            raise argparse.ArgumentError(None, msg)
    try:
        UTC(**{name: settings[name] for name in ("solver", "solver_params") if name in settings})._check_solver_params()
    except ValueError as error:
        msg = f"argument --solver-params: {error}"
        raise argparse.ArgumentError(None, msg) from error


def _first_sentence(words: str) -> str:
    plain = re.sub(r":\w+:`([^`]+)`", r"\1", words.replace("``", ""))
    sentence = re.split(r"(?<=[.])\s", plain, maxsplit=1)[0].rstrip(".")
    return (sentence[0].lower() + sentence[1:]).replace("%", "%%")


def _how_to_read(name: str, annotation: str) -> dict[str, Any]:
    """How argparse is to read an option, by what is allowed for the parameter, or else by its type."""
    if name in OWN_OPTIONS:
        return OWN_OPTIONS[name]
    match CHECKS.get(name):
        case OneOf(valid=valid):
            return {"choices": valid}
        case TrueOrFalse():
            return {"action": argparse.BooleanOptionalAction}
        case PositiveInteger(others=others):
            words = [word for word, value in WORDS.items() if value in others]
            return {"type": _integer_or(words), "metavar": "|".join(["N", *words])}
        case PositiveNumber():
            return {"type": _number, "metavar": "X"}
        case SubsetOf():
            return {"type": _integers, "metavar": "P[,P…]"}
        case Weights():
            return {"type": _weights, "metavar": "P=W[,P=W…]", "help": "weights of orders, for example 3=0.5; else 1"}
    return BY_TYPE.get(annotation.partition(" ")[0], {})


def _checked(name: str, read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Read a text, and raise as argparse expects it if the tool would not take the value."""

    def read_and_check(text: str) -> Any:
        value = read(text)
        try:
            CHECKS.get(name, _accept)(name, value)
        except (TypeError, ValueError) as error:
            raise argparse.ArgumentTypeError(str(error)) from error
        return value

    return read_and_check


def _accept(name: str, value: Any) -> None:
    """Raise on nothing: the tool itself will see."""


def _check_each(name: str, numbers: Iterable[int]) -> None:
    for number in numbers:
        check_positive_integer(name, number)


def _integer_or(words: Sequence[str]) -> Callable[[str], Any]:
    """Reads a whole number or one of these words."""

    def read(text: str) -> Any:
        if text in words:
            return WORDS[text]
        try:
            return int(text)
        except ValueError:
            msg = f"{text!r} is not a whole number{''.join(f' or {word!r}' for word in words)}"
            raise argparse.ArgumentTypeError(msg) from None

    return read


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        msg = f"{text!r} is not a number"
        raise argparse.ArgumentTypeError(msg) from None


def _integers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.replace(",", " ").split() or [text]]
    except ValueError:
        msg = f"{text!r} is neither a whole number nor several, such as 4,5,6"
        raise argparse.ArgumentTypeError(msg) from None


def _numbers(text: str) -> dict[str, float]:
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {name: int(value) if value.isdigit() else float(value) for name, value in pairs}
    except ValueError:
        msg = f"{text!r} is not of the form NAME=NUMBER,NAME=NUMBER"
        raise argparse.ArgumentTypeError(msg) from None


def _weights(text: str) -> dict[int, float]:
    numbers = _numbers(text)
    if not all(order.isdigit() for order in numbers):
        msg = f"{text!r} is not of the form ORDER=NUMBER,ORDER=NUMBER"
        raise argparse.ArgumentTypeError(msg)
    return {int(order): weight for order, weight in numbers.items()}


# Parameters of tools that make no sense here.
NOT_IN_FILES = ("adata", "adata_new", "adata_ref", "restrict_to", "copy", "rng")
# Of these pairs of parameters one chooses what the other would.
EXCLUSIVE = (("layer", "use_raw"), ("layer", "use_rep"), ("use_raw", "use_rep"), ("use_rep", "mask_var"))
# What is allowed for a parameter besides numbers, as a word.
WORDS = {"all": None, "auto": "auto"}
CHECKS: dict[str, Callable[[str, Any], None]] = checks_of(UTC) | {
    "n_clusters": _check_each,
    "key_added": lambda _, key: check_key(key),
    # Of tl.transfer, as far as it has them.
    **dict.fromkeys(("min_shared_genes", "min_confidence", "min_typicality"), check_share),
}
# By the first word of a parameter's annotation.
BY_TYPE: dict[str, dict[str, Any]] = {
    "bool": {"action": argparse.BooleanOptionalAction},
    "int": {"type": _integer_or(()), "metavar": "N"},
    "float": {"type": _number, "metavar": "X"},
}
# How those are read that a tool has besides UTC's, or takes differently, or that are read from their value alone.
OWN_OPTIONS: dict[str, dict[str, Any]] = {
    "n_clusters": {
        "type": _integers,
        "metavar": "K[,K…]",
        "help": "number of clusters, or several, as 4,5,6 or 4 5 6; estimated if left out",
    },
    "layer": {"metavar": "KEY"},
    "use_raw": {"action": "store_true"},
    "use_rep": {"metavar": "KEY"},
    "mask_var": {"metavar": "COLUMN", "help": "boolean column of adata.var: the genes to use"},
    "solver_params": {
        "type": _numbers,
        "metavar": "NAME=X[,NAME=X…]",
        "help": "parameters of the solver, for example max_iter=500",
    },
    "key": {"metavar": "KEY"},
    "labels": {"metavar": "COLUMN"},
    "key_added": {"metavar": "KEY"},
    "random_state": {"type": _integer_or(()), "metavar": "SEED"},
    "n_jobs": {
        "type": _integer_or(()),
        "metavar": "N",
        "default": -1,
        "help": "number of threads; all cores if left out",
    },
}
