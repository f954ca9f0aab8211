"""Coefficients in the formats of other systems. Adding one: a class here, a line in `FORMATS`."""

from dnip.deploying.exports.formats import Export, JsonBias, Onnx
from dnip.deploying.exports.scripts import JavaScript, PythonFile
from dnip.deploying.exports.sql import Sql

#: By the name that users type; `dnip.prompting.label_bias` has the formats that need a tokenizer.
FORMATS: dict[str, type[Export]] = {
    "json-bias": JsonBias,
    "onnx": Onnx,
    "python": PythonFile,
    "javascript": JavaScript,
    "sql": Sql,
}
