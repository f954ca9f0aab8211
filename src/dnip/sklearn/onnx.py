"""`DNIPClassifier` for skl2onnx, which turns scikit-learn's models into ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnip.base.errors import InvalidInputError
from dnip.base.optional import load_optional
from dnip.method.defer import refuse_defer
from dnip.sklearn.classifier import DNIPClassifier

_NAME = "DNIPClassifier"


def register_converter() -> None:
    """Teach skl2onnx to convert `DNIPClassifier`; call it once before ``to_onnx``.

    skl2onnx converts the estimator inside. Its probabilities are multiplied and compared in
    float64, and the first class wins a tie. The outputs are the labels, and an array of what
    ``predict_proba`` returns; there is no ZipMap.

    Decisions are those of the classifier for the probabilities that the converted estimator gives.
    With input of type double these are the estimator's own but for the last digits; with float
    they are rounded.

    Raises
    ------
    MissingDependencyError
        If skl2onnx is not installed. An estimator without ``predict_proba`` is not converted.

    Examples
    --------
    ::

        register_converter()
        model = skl2onnx.to_onnx(classifier, X[:1].astype(np.float64))
    """
    skl2onnx = load_optional("skl2onnx", purpose="convert a classifier to ONNX", extra="onnx")
    skl2onnx.update_registered_converter(
        DNIPClassifier,
        _NAME,
        skl2onnx.common.shape_calculator.calculate_linear_classifier_output_shapes,
        _convert,
        parser=_parse,
        # pipelines set zipmap for the classifiers in them
        options={"zipmap": [True, False, "columns"], "nocl": [True, False]},
    )


def _parse(scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None) -> list[Any]:
    """Declare the estimator and, after it, the classifier that takes its probabilities."""
    from skl2onnx._parse import _parse_sklearn  # noqa: PLC0415
    from skl2onnx.common.data_types import Int64TensorType, guess_tensor_type  # noqa: PLC0415

    refuse_defer(model.coefficients_.defer, "ONNX")
    if model.estimator_ is not None:
        if not hasattr(model.estimator_, "predict_proba"):  # converters' scores are of many kinds
            raise InvalidInputError(
                f"an estimator without predict_proba is not converted: {model.estimator_!r}",
                hint="Give one with it, such as CalibratedClassifierCV around this one",
            )
        scope.add_options(id(model.estimator_), {"zipmap": False})
        inputs = _parse_sklearn(scope, model.estimator_, inputs, custom_parsers)[1:]
    operator = scope.declare_local_operator(_NAME, model)
    operator.inputs = inputs
    # the shape calculator puts in the type of the classes
    kinds = {"label": Int64TensorType(), "probabilities": guess_tensor_type(inputs[0].type)}
    for name, kind in kinds.items():
        operator.outputs.append(scope.declare_local_variable(name, kind))
    return list(operator.outputs)


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of the classifier to a graph."""
    from skl2onnx.algebra import onnx_ops as nodes  # noqa: PLC0415
    from skl2onnx.common.data_types import guess_proto_type  # noqa: PLC0415
    from skl2onnx.proto import onnx_proto  # noqa: PLC0415

    classifier, version = operator.raw_operator, {"op_version": container.target_opset}
    labels, reweighted = operator.outputs
    classes = classifier.classes_
    if scope.get_options(classifier, {"nocl": False})["nocl"]:  # positions instead of labels
        classes = np.arange(len(classes))
    if classes.dtype.kind != "U":
        classes = classes.astype(np.int64)
    p = nodes.OnnxCast(operator.inputs[0], to=onnx_proto.TensorProto.DOUBLE, **version)
    scores = nodes.OnnxMul(p, classifier.coefficients_.multipliers, **version)
    total = nodes.OnnxReduceSum(scores, np.array([1]), keepdims=1, **version)
    nodes.OnnxGather(
        classes,
        nodes.OnnxArgMax(scores, axis=1, keepdims=0, **version),
        output_names=[labels.full_name],
        **version,
    ).add_to(scope, container)
    nodes.OnnxCast(
        nodes.OnnxDiv(scores, total, **version),
        to=guess_proto_type(reweighted.type),
        output_names=[reweighted.full_name],
        **version,
    ).add_to(scope, container)
