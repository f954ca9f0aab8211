"""An ONNX model that multiplies and takes the largest."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from dnip.base.optional import load_optional
from dnip.deploying.exports.base import EXACT, Export

if TYPE_CHECKING:
    from dnip.method.coefficients import Coefficients

# Old enough for runtimes of 2022: ONNX Runtime 1.12 and newer.
_OPSET, _IR = 17, 8


@dataclass(frozen=True)
class Onnx(Export):
    """A model from ``probabilities``, float64 of shape (M, N), to ``prediction``, int64 (M,).

    The metadata entry ``classes`` holds the class names as a JSON array.
    """

    promise: ClassVar[str] = EXACT

    def render(self, coefficients: Coefficients) -> bytes:
        """Return the serialized model.

        Raises
        ------
        MissingDependencyError
            If onnx is not installed.
        """
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
