"""The formats that need no tokenizer; `dnip.prompting.label_bias` has those that do."""

from __future__ import annotations

from dnip.deploying.exports.base import Export
from dnip.deploying.exports.json_bias import JsonBias
from dnip.deploying.exports.onnx import Onnx
from dnip.deploying.exports.python import PythonFile
from dnip.deploying.exports.sql import Sql

#: By the name that users type.
FORMATS: dict[str, type[Export]] = {
    "json-bias": JsonBias,
    "onnx": Onnx,
    "python": PythonFile,
    "sql": Sql,
}
