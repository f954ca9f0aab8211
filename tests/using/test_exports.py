"""Exported coefficients, run by the systems that they are for, decide as `predict` does."""

import json
import math
import shutil
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, InvalidInputError
from dnip.llm.prompting.label_bias import LogitBias, SequenceBias
from dnip.method.coefficients import Deferral, FitRecord
from dnip.using.exports import _JavaScript, _JsonBias, _Onnx, _PythonFile
from dnip.using.sql import DIALECTS, Sql
from processes import ran
from sql_engines import ENGINES, SQL

HOSTILE = [
    "it's", 'say "x"', "back\\slash\\", "'; DROP TABLE probabilities; --", "\\'", "`t`", "''", "$$",
    '"""', "\\u0027", "{x}", "%s", "<script>alert(1)</script>", "a\nb\r\n", "\x1b]0;x\x07",
    "\u202eright to left", "שלום", "👩\u200d👩\u200d👧 family", "a\u2028b", "-- x", "/* x",
    "x" * 10_000, "*/ x", "${1}", "${env:HOME}", "`${1}`", "__proto__", "\\N",
]  # fmt: skip


def run_python(coefficients, p, function="predict"):
    names = {}
    exec(_PythonFile().render(coefficients), names)
    return [names[function](row) for row in p.tolist()]


def run_onnx(coefficients, p):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    pytest.importorskip("onnx", reason="onnx is not installed")
    session = runtime.InferenceSession(_Onnx().render(coefficients))
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    [indices] = session.run(None, {"probabilities": p.astype(np.float64)})
    return [classes[n] for n in indices]


def run_javascript(coefficients, p, function="predict"):
    node = shutil.which("node") or pytest.skip("node is not installed")
    asked = f"console.log(JSON.stringify({json.dumps(p.tolist())}.map({function})));"
    given = {"input": f"{_JavaScript().render(coefficients)}\n{asked}"}
    done = ran(node, "--input-type=module", "-", **given)
    if done.returncode:
        raise ValueError(done.stderr)
    return json.loads(done.stdout)


def run_sql(dialect, coefficients, p):
    columns = [f"p{n}" for n in range(p.shape[1])]
    return ENGINES[dialect](columns, p.tolist(), Sql(dialect).render(coefficients))


RUNNERS = [
    *(run_python, run_javascript, run_onnx),
    *(pytest.param(partial(run_sql, *p.values), marks=p.marks, id=p.values[0]) for p in SQL),
]
#: What they give last, where there are thresholds.
SCRIPTS = [partial(run_python, function="deferred"), partial(run_javascript, function="deferred")]
DEFERRING = [*SCRIPTS, *RUNNERS[3:]]


def expected(coefficients, p):
    return coefficients.predict(p).tolist()


def drawn(n_classes, scale, seed=0, classes=None):
    """Coefficients with random weights."""
    rng = np.random.default_rng(seed)
    names = classes or [f"class {n}" for n in range(n_classes)]
    if scale == "continuous":
        return Coefficients(names, [], scale, weights=10.0 ** rng.uniform(-300, 0, n_classes))
    size = int(scale.removeprefix("log:"))
    return Coefficients(names, rng.integers(1, size + 1, n_classes), scale)


def near_ties(coefficients, n_rows=400, seed=1):
    """Rows in which two products are equal, or next to equal, in double precision."""
    rng = np.random.default_rng(seed)
    weights = coefficients.multipliers
    p = np.full((n_rows, len(weights)), 5e-324)
    for row in p:
        i, j = rng.choice(len(weights), 2, replace=False)
        row[[i, j]] = np.array([weights[j], weights[i]]) / (weights[i] + weights[j])
        for _ in range(rng.integers(0, 3)):
            row[j] = np.nextafter(row[j], rng.integers(0, 2))
    return p


@pytest.mark.parametrize("run", RUNNERS)
@pytest.mark.parametrize("scale", ["30", "log:1000", "continuous"])
def test_near_ties_fall_to_the_same_class(run, scale):
    coefficients = drawn(4, scale)
    p = near_ties(coefficients)
    products = np.sort(p * coefficients.multipliers, axis=1)
    assert 20 < (products[:, -1] == products[:, -2]).sum() < len(p) - 20
    assert run(coefficients, p) == expected(coefficients, p)


@pytest.mark.parametrize("run", DEFERRING)
@pytest.mark.parametrize(("scale", "n_classes"), [("30", 3), ("log:1000", 40), ("continuous", 5)])
def test_the_same_rows_are_deferred(run, scale, n_classes):
    rng = np.random.default_rng(4)
    plain = drawn(n_classes, scale)
    drawn_rows = rng.dirichlet(np.full(n_classes, 0.5), 400)
    p = np.vstack([near_ties(plain, 100), drawn_rows / drawn_rows.sum(axis=1, keepdims=True)])
    q = plain.apply(p)
    sure = q.max(axis=1)
    thresholds = np.full(n_classes, 1e-300)
    for c, row in zip(q.argmax(axis=1), rng.permutation(500), strict=True):
        if q[row].argmax() == c:  # that of a row, or the next number
            thresholds[c] = np.nextafter(sure[row], rng.integers(0, 2)) if row % 2 else sure[row]
    coefficients = replace(plain, defer=Deferral(thresholds, 0.3))
    deferred = coefficients.deferred(p)
    assert 20 < deferred.sum() < 480
    assert (np.abs(sure - thresholds[q.argmax(axis=1)]) < 1e-15).any()
    found = [{"t": True, "f": False}.get(each, each) for each in run(coefficients, p)]
    assert found == deferred.tolist()


@pytest.mark.parametrize("form", [_JsonBias(), _Onnx(), LogitBias(), SequenceBias()])
def test_what_cannot_hold_thresholds_refuses_them(form):
    coefficients = Coefficients(["no", "yes"], [15, 30], 30, defer=Deferral([0.5, 0.5], 0.3))
    with pytest.raises(InvalidInputError, match=r"thresholds.*--to python, javascript or sql"):
        form.render(coefficients)


def in_logarithms(coefficients, p):
    """The decisions without a product, so that none can vanish."""
    with np.errstate(divide="ignore"):
        scores = np.log(p.astype(np.longdouble)) + np.log(coefficients.weights)
    return [coefficients.classes[n] for n in scores.argmax(axis=1)]


def run_bias(coefficients, p):
    """Add the bias of every class in single precision, as servers do."""
    bias = json.loads(_JsonBias().render(coefficients))["bias"]
    with np.errstate(divide="ignore"):
        scores = np.log(p.astype(np.float32)) + np.float32([*bias.values()])
    return [coefficients.classes[n] for n in scores.argmax(axis=1)]


def run_predict(coefficients, p):
    applied = np.array(coefficients.classes)[coefficients.apply(p).argmax(axis=1)]
    assert applied.tolist() == expected(coefficients, p)
    return applied.tolist()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("run", [run_predict, run_bias, *RUNNERS])
def test_no_weight_and_no_probability_is_too_small(run, kind):
    rng = np.random.default_rng(5)
    weights = np.exp([0.0, -60.0, -60.0, -140.0, -200.0, -200.0])
    coefficients = Coefficients([*"abcdef"], [], "continuous", weights=weights)
    p = np.exp(rng.choice([-80.0, -20.0, 0.0], (300, 6)) + rng.uniform(0, 1, (300, 6)))
    p *= rng.random((300, 6)) < 0.5
    p = p[p.max(axis=1) > 0.5]
    p = (p / p.sum(axis=1, keepdims=True)).astype(kind)
    decisions = in_logarithms(coefficients, p)
    assert {*decisions} == {*"abcdef"}
    assert run(coefficients, p) == decisions


@pytest.mark.parametrize("run", RUNNERS)
def test_many_classes(run):
    coefficients = drawn(301, "log:1000")
    p = np.random.default_rng(2).dirichlet(np.full(301, 0.2), 50)
    assert run(coefficients, p) == expected(coefficients, p)


@pytest.mark.parametrize("run", RUNNERS)
def test_hostile_class_names_come_out_as_they_are(run):
    coefficients = Coefficients(HOSTILE, [1] * len(HOSTILE), 30)
    assert run(coefficients, np.eye(len(HOSTILE))) == HOSTILE


@pytest.mark.parametrize("form", [_PythonFile(), _JavaScript(), *map(Sql, DIALECTS)])
def test_hostile_class_names_cannot_hide_in_the_text(form):
    content = form.render(Coefficients(HOSTILE, [1] * len(HOSTILE), 30))
    assert all(line.isprintable() for line in content.removesuffix("\n").split("\n"))


@cases(
    ("duckdb", "'a' || CHR(92) || 'b' || CHR(39) || 'c\"`' || CHR(36) || '' || CHR(10) || ''"),
    ("sqlite", "'a' || CHAR(92) || 'b' || CHAR(39) || 'c\"`' || CHAR(36) || '' || CHAR(10) || ''"),
    ("spark", r"""'a\U0000005cb\U00000027c"`\U00000024\U0000000a'"""),
)
def test_texts_are_quoted_in_two_ways(dialect, text):
    same = {"duckdb": ("postgresql", "snowflake"), "spark": ("bigquery",)}
    for name in (dialect, *same.get(dialect, ())):
        assert DIALECTS[name].text("a\\b'c\"`$\n") == text


def test_identifiers_are_quoted_in_two_ways():
    for name, dialect in DIALECTS.items():
        backticks = name in ("spark", "bigquery")
        assert dialect.identifier("it's") == ("`it's`" if backticks else '"it\'s"')
        if not backticks:
            assert dialect.identifier('a\\b"`') == r'''"a\b""`"'''


def test_spark_finds_no_variable_to_replace():
    """Spark replaces ${NAME} anywhere in a query, also within quotes."""
    names = ["${1}", "$", "a${env:HOME}b"]
    query = Sql("spark").render(Coefficients(names, [1, 2, 3], 30))
    assert "$" not in query


def test_a_table_has_the_name_that_is_given():
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    query = Sql(table_name='main.my "table"').render(Coefficients(["no", "yes"], [15, 30], 30))
    with duckdb.connect() as database:
        database.execute('CREATE TABLE "my ""table""" (p0 DOUBLE, p1 DOUBLE)')
        database.execute('INSERT INTO "my ""table""" VALUES (0.6, 0.4), (0.7, 0.3)')
        assert [row[-1] for row in database.execute(query).fetchall()] == ["yes", "no"]


@pytest.mark.parametrize("dialect", SQL)
def test_a_column_that_is_missing_is_an_error(dialect):
    query = Sql(dialect, columns="cat,dgo").render(Coefficients(["cat", "dog"], [15, 30], 30))
    with pytest.raises(Exception, match="dgo"):
        ENGINES[dialect](["cat", "dog"], [[0.5, 0.5]], query)


@cases(
    (["cat", "dog"], ["cat", "dog"]),
    (['it\'s "`1`"', "a.b; --"], ['it\'s "`1`"', "a.b; --"]),
    (["1", "2"], ["p_1", "p_2"]),
    (["label", "other"], ["p_label", "p_other"]),
)
@pytest.mark.parametrize("dialect", SQL)
def test_columns_are_those_of_the_table_of_the_fit(dialect, classes, columns):
    rows = [[0.4, 0.6], [0.8, 0.2]]
    coefficients = Coefficients(classes, [15, 30], 30, fit={"data": {"source": "opt.csv"}})
    query = Sql(dialect).render(coefficients)
    assert ENGINES[dialect](columns, rows, query) == [classes[1], classes[0]]


@cases(
    ({"table_name": ""}, "'' is not a name for a table"),
    ({"table_name": "a\nb"}, "is not a name for a table"),
    ({"columns": "a"}, "--columns must be 2 different names; got 'a'"),
    ({"columns": "a,oid", "dialect": "sqlite"}, "'oid' is not a name"),
    ({"columns": "a,rowid"}, "'rowid' is not a name"),
    ({"columns": "a,a"}, "--columns must be 2 different names; got 'a,a'"),
    ({"columns": "a,\u202eb"}, "is not a name for a table or a column"),
    ({"columns": "a,`b", "dialect": "bigquery"}, "is not a name for a table or a column"),
    ({"columns": "a,${b}", "dialect": "spark"}, "is not a name for a table or a column"),
)
def test_names_that_cannot_be_written_are_refused(options, told):
    with pytest.raises(InvalidInputError, match=told):
        Sql(**options).render(Coefficients(["no", "yes"], [15, 30], 30))


@pytest.mark.parametrize("dialect", SQL)
def test_a_null_has_no_prediction_and_no_column_has_that_name(dialect):
    classes = ["no", "yes"]
    columns = ['say "no"', "it's `a,b`", "row"]
    rows = [[0.6, None, 1.0], [None, 0.4, 2.0], [0.6, 0.4, 3.0], [0.7, 0.3, 4.0]]
    names = Sql(dialect, columns='"say ""no""", "it\'s `a,b`"')
    query = names.render(Coefficients(classes, [15, 30], 30))
    assert ENGINES[dialect](columns, rows, query) == [None, None, "yes", "no"]
    for taken in ["prediction", *["dnip_largest"] * (dialect == "duckdb")]:
        with pytest.raises(Exception, match=r"(?i)ambiguous"):
            ENGINES[dialect]([*columns[:2], taken], rows, query)
    deferring = Coefficients(classes, [15, 30], 30, defer=Deferral([0.55, 0.55], 0.3))
    query = names.render(deferring)  # 4/7 for yes, 7/13 for no
    found = ENGINES[dialect](columns, [*rows, [0.0, 0.0, 5.0]], query)
    assert [{"t": 1, "f": 0}.get(each, each) for each in found] == [None, None, 0, 1, None]


@pytest.mark.parametrize("n_classes", [3, 301])
@pytest.mark.parametrize("dialect", SQL)
def test_a_row_that_does_not_sum_to_one_has_none_where_those_of_the_fit_did(dialect, n_classes):
    p = np.random.default_rng(6).dirichlet(np.ones(n_classes), 40)
    p[1] *= 0.9985  # a class that the coefficients do not know
    p[2] *= 1.0015
    p[3] = p[3].round(5) if n_classes == 3 else p[3]
    rows = [*p.tolist(), [None, *p[0, 1:].tolist()]]
    for is_whole in (True, False, None):
        fit = {"data": {"source": "opt.csv", "sums_to_one": is_whole}}
        plain = replace(drawn(n_classes, "log:1000"), fit=FitRecord.from_dict(fit, n_classes))
        deferring = replace(plain, defer=Deferral([0.5] * n_classes, 0.3))
        for coefficients in (plain, deferring):
            q = p / p.sum(axis=1, keepdims=True)
            expected = (
                coefficients.predict(q) if coefficients.defer is None else coefficients.deferred(q)
            )
            expected = [*expected.tolist(), None]
            if is_whole:
                expected[1] = expected[2] = None
            columns = ",".join(f"p{n}" for n in range(n_classes))
            query = Sql(dialect, columns=columns).render(coefficients)
            assert ("do not sum to 1" in query) is bool(is_whole)
            found = ENGINES[dialect](columns.split(","), rows, query)
            assert [{"t": 1, "f": 0}.get(each, each) for each in found] == expected


@pytest.mark.parametrize("row", [[0.5], [math.nan, 1], [-0.1, 1.1], [math.inf, 0], [0, 0.0]])
@pytest.mark.parametrize("run", [run_python, run_javascript])
def test_a_script_refuses_what_are_no_probabilities(run, row):
    with pytest.raises(ValueError, match="probabilities"):
        run(Coefficients(["no", "yes"], [15, 30], 30), np.array([row]))


def test_a_bias_that_servers_do_not_take_is_refused(monkeypatch):
    monkeypatch.setattr(LogitBias, "token_bias", lambda *_: {5: 0.0, 7: -140.0})
    with pytest.raises(InvalidInputError, match=r"a bias would be -140.*--only-labels"):
        LogitBias().render(Coefficients(["a", "b"], [1, 1], 1))


def test_a_bias_has_the_effect_of_the_weight():
    coefficients = drawn(4, "log:1000")
    content = json.loads(_JsonBias().render(coefficients))
    p = np.random.default_rng(3).dirichlet(np.ones(4), 500)
    scores = np.log(p) / content["temperature"] + list(content["bias"].values())
    assert list(content["bias"]) == list(coefficients.classes)
    chosen = [coefficients.classes[n] for n in scores.argmax(axis=1)]
    assert chosen == coefficients.predict(p).tolist()
