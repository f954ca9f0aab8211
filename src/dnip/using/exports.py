"""Coefficients in the formats of other systems. Adding one: a class here, an entry in `FORMATS`.

SQL has a file of its own; `dnip.llm.prompting.label_bias` has the formats that need a tokenizer.
"""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import ClassVar

from dnip.base.errors import InvalidInputError, load_optional
from dnip.method.coefficients import Coefficients, CoefficientsLike, as_coefficients, refuse_defer

#: When a format that multiplies in double precision decides as `dnip apply` does.
EXACT = "Decisions equal those of dnip apply for rows of doubles that sum to 1 within 0.001"

# Old enough for runtimes of 2022: ONNX Runtime 1.12 and newer.
_OPSET, _IR = 17, 8


@dataclass(frozen=True)
class Export(ABC):
    """A format to export coefficients to. The fields of a subclass are its options.

    Attributes
    ----------
    promise : str
        One sentence, without a stop: when its decisions equal those of `Coefficients.predict`.
    suffixes : tuple of str
        How the names of such files end.
    """

    promise: ClassVar[str] = EXACT
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def render(self, coefficients: CoefficientsLike) -> str | bytes:
        """Return the content of the exported file; text ends in a line end.

        Raises
        ------
        InvalidInputError
            If these coefficients, or the options, do not fit the format.
        """
        return self._render(as_coefficients(coefficients))

    @abstractmethod
    def _render(self, coefficients: Coefficients) -> str | bytes:
        """Return the content for coefficients that are read."""


def split_names(text: str, classes: Sequence[str], option: str) -> list[str]:
    """Return comma-separated names, one per class. Quotes protect a comma.

    Parameters
    ----------
    text : str
    classes : sequence of str
    option : str
        How the user knows the names, for messages.

    Raises
    ------
    InvalidInputError
        For another number of names, an empty one, or one given twice.

    Examples
    --------
    >>> split_names('a, "b,c"', ["cat", "dog"], "--labels")
    ['a', 'b,c']
    """
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if len(names) != len(classes) or not all(names) or len(set(names)) < len(names):
        raise InvalidInputError(
            f"{option} must be {len(classes)} different names; got {text!r:.200}",
            hint="Give one name per class, in the order of the classes, separated by commas",
        )
    return names


@dataclass(frozen=True)
class _JsonBias(Export):
    """The bias ln ω of every option, to be added to its log-probability.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> print(_JsonBias().render(Coefficients(["no", "yes"], [30, 15], 30)), end="")
    {"temperature": 1.0, "bias": {"no": 0.0, "yes": -0.6931471805599453}}
    """

    promise: ClassVar[str] = (
        "Logarithms are rounded: two classes whose products differ by less than about 1e-15 of "
        "their size may change places"
    )

    def _render(self, coefficients: Coefficients) -> str:
        """Return the JSON text, in ASCII."""
        refuse_defer(coefficients.defer, "json-bias")
        return json.dumps({"temperature": 1.0, "bias": coefficients.logit_bias()}) + "\n"


@dataclass(frozen=True)
class _Onnx(Export):
    """A model from ``probabilities``, float64 of shape (M, N), to ``prediction``, int64 (M,).

    The metadata entry ``classes`` holds the class names as a JSON array.
    """

    suffixes = (".onnx",)

    def _render(self, coefficients: Coefficients) -> bytes:
        """Return the serialized model.

        Raises
        ------
        MissingDependencyError
            If onnx is not installed.
        """
        refuse_defer(coefficients.defer, "onnx")
        onnx = load_optional("onnx", purpose="export to ONNX", extra="onnx")
        make, kind = onnx.helper, onnx.TensorProto
        n_classes = len(coefficients.classes)
        graph = make.make_graph(
            [
                make.make_node("Mul", ["probabilities", "weights"], ["scores"]),
                # the first of equal products, as everywhere
                make.make_node(
                    "ArgMax", ["scores"], ["prediction"], axis=1, keepdims=0, select_last_index=0
                ),
            ],
            "dnip",
            [make.make_tensor_value_info("probabilities", kind.DOUBLE, ["rows", n_classes])],
            [make.make_tensor_value_info("prediction", kind.INT64, ["rows"])],
            [onnx.numpy_helper.from_array(coefficients.multipliers, "weights")],
        )
        model = make.make_model(
            graph, opset_imports=[make.make_opsetid("", _OPSET)], ir_version=_IR
        )
        make.set_model_props(model, {"classes": json.dumps(coefficients.classes)})
        onnx.checker.check_model(model)
        return bytes(model.SerializeToString())


class _Script(Export):
    """A file of code, from templates: what all have, and what is added for thresholds."""

    templates: ClassVar[tuple[str, str]]
    literal: ClassVar[staticmethod[[str], str]]  # writes a text in ASCII

    def _render(self, coefficients: Coefficients) -> str:
        """Return the file, in ASCII."""
        thresholds = coefficients.defer and coefficients.defer.thresholds.tolist()
        values = {
            "classes": map(self.literal, coefficients.classes),
            "weights": map(repr, coefficients.multipliers.tolist()),
            "thresholds": map(repr, thresholds or ()),
        }
        lines = {
            name: "\n".join(f"    {text}," for text in cells) for name, cells in values.items()
        }
        folder = files("dnip.using") / "templates"
        names = self.templates if thresholds else self.templates[:1]
        template = "".join((folder / name).read_text("utf-8") for name in names)
        return template % {"promise": EXACT, **lines}


class _PythonFile(_Script):
    """A file with one function, for Python 3 alone; with thresholds, with ``deferred``, too.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> names = {}
    >>> exec(_PythonFile().render(Coefficients(["no", "yes"], [15, 30], 30)), names)
    >>> names["predict"]([0.6, 0.4])
    'yes'
    """

    templates, literal = ("decide.py.txt", "deferred.py.txt"), staticmethod(ascii)
    suffixes = (".py",)


class _JavaScript(_Script):
    """An ES module with one function; with thresholds, with ``deferred``, too.

    TypeScript reads its types from the comments.

    Examples
    --------
    >>> from dnip import Coefficients
    >>> print(_JavaScript().render(Coefficients(["no", "yes"], [15, 30], 30)).splitlines()[4])
        "no",
    """

    templates, literal = ("decide.js", "deferred.js"), staticmethod(json.dumps)
    suffixes = (".js", ".mjs")


#: By the name that users type.
FORMATS: dict[str, type[Export]] = {
    "json-bias": _JsonBias,
    "onnx": _Onnx,
    "python": _PythonFile,
    "javascript": _JavaScript,
}
