"""Chat completions: what is corrected, what passes, and on the way through the sidecar."""

import json
import math

import numpy as np
import pytest

import dnip
from cases import cases
from dnip import Coefficients, InvalidInputError, ProbabilityTable
from dnip.llm.questions import Question, chat_question
from dnip.llm.serving.chat import PassedError, choose, correct_chat
from dnip.llm.serving.recording import Recorder
from dnip.llm.sources import read_answers, write_import
from dnip.tables.origin import QUESTION
from processes import wait_for
from sidecars import ask, completion, numbers, reply, serving

CLASSES = ["World", "Sports", "Café"]
FITTED = Coefficients(CLASSES, [1, 4, 2], 4)
TOP = {"World": 0.5, "Sports": 0.3, "Caf": 0.1, "the": 0.05}
QUOTED = ('{"', {'{"': 1.0}), ("topic", {"topic": 1.0}), ('":', {'":': 1.0}), (' "', {' "': 1.0})
END = ('"}', {'"}': 1.0})
SYSTEM = [{"role": "system", "content": "Name the topic."}]
MESSAGES = [*SYSTEM, {"role": "user", "content": "A goal."}]


ASKED = {"messages": MESSAGES}
JSON = {"response_format": {"type": "json_object"}}


PATH = "/v1/chat/completions"


def text_of(body):
    return body["choices"][0]["message"]["content"]


@cases(
    (completion("World", ("World", TOP)), "Sports"),
    (
        completion(
            " world\n", (" world", {" world": 0.4, "Sports": 0.2, " Café": 0.1}), ("\n", {"\n": 1})
        ),
        " sports\n",
    ),
    (
        completion('{"topic": "Café"}', *QUOTED, ("Caf", TOP), ("é", {"é": 1}), END),
        '{"topic": "Sports"}',
    ),
    (
        completion(
            "It is World.",
            ("It is", {"It is": 1}),
            (" World", {" World": 0.5, " Sports": 0.3}),
            (".", {".": 1}),
        ),
        "It is Sports.",
    ),
)
def test_a_label_is_corrected_where_the_answer_is_one_or_json_with_one(body, expected):
    new, found = correct_chat(body, FITTED)
    assert text_of(new) == expected
    assert new["dnip_corrected_by"] == {"chat": FITTED.digest}
    assert new["choices"][0]["logprobs"] is None  # its tokens spell the old label
    table, _ = read_answers([body], CLASSES)
    np.testing.assert_array_equal(found.before.probabilities, table.probabilities[0])
    np.testing.assert_array_equal(found.after.probabilities, FITTED.apply(table.probabilities)[0])
    with pytest.raises(InvalidInputError, match="corrected already"):
        read_answers([new], CLASSES)
    with pytest.raises(PassedError, match="corrected already"):
        correct_chat(new, FITTED)


def test_other_kinds_of_json_values_keep_their_kind():
    top = {"true": 0.6, "false": 0.35}
    body = completion('{"topic":true}', *QUOTED[:3], ("true", top), ("}", {"}": 1}))
    new, _ = correct_chat(body, Coefficients(["false", "true"], [2, 1], 2))
    assert text_of(new) == '{"topic":false}'


def without(body, **changes):
    return {**body, "choices": [{**body["choices"][0], **changes}]}


LABEL = completion("World", ("World", TOP))
NAN = json.loads(json.dumps(LABEL).replace(str(math.log(0.3)), "NaN"))
BROKEN = {"content": [{**LABEL["choices"][0]["logprobs"]["content"][0], "bytes": [999]}]}


@cases(
    (completion("The Cup", ("The", {"The": 1})), "label"),
    (completion("The World Cup", ("The", {"The": 1})), "label"),
    (completion("World, Sports.", ("World", TOP)), "several"),
    (completion("Monde", ("Monde", {"Monde": 0.5, "World": 0.3})), "label"),
    (completion('{"a": "World", "b": "Sports"}'), "several"),
    (completion('{"a": "World", "a": "Sports"}'), "several"),
    (completion("[" * 100_000), "label"),
    (completion(None), "label"),
    ({"choices": "World"}, "n"),
    ({"choices": LABEL["choices"] * 2}, "n"),
    (without(LABEL, message={"content": "World", "refusal": "no"}), "refusal"),
    (without(LABEL, message={"content": None, "tool_calls": [{}]}), "tools"),
    (without(LABEL, logprobs=None), "logprobs"),
    (completion("World"), "logprobs"),
    (without(LABEL, logprobs=BROKEN), "tokens"),
    (without(LABEL, logprobs={"content": [7]}), "tokens"),
    (completion("World", ("x", {"x": 1})), "tokens"),
    (
        completion("World", ("World", {"World": 1, **{f"t{n}": 1e-9 for n in range(10_000)}})),
        "tokens",
    ),
    (NAN, "tokens"),
    (completion("World", ("World", {"World": 1})), "logprobs"),
    (completion("is World", ("is World", TOP | {"is World": 0.01})), "tokens"),
    (completion("Football\nTopic: World", ("Football", {"Football": 1})), "tokens"),
)
def test_everything_else_passes_with_a_reason(body, reason):
    with pytest.raises(PassedError) as told:
        correct_chat(body, FITTED)
    assert told.value.reason == reason


def test_a_token_twice_counts_as_import_counts_it():
    body = completion("World", ("World", TOP))
    top = body["choices"][0]["logprobs"]["content"][0]["top_logprobs"]
    top += [dict(top[1]), {**top[1], "logprob": -5.0}]
    table, _ = read_answers([body], CLASSES)
    found = correct_chat(body, FITTED)[1]
    np.testing.assert_array_equal(found.before.probabilities, table.probabilities[0])


def test_megabytes_of_hostile_tokens_are_passed():
    many = [("x" * 40, {"x" * 40: 1.0})] * 20_000
    body = completion("x" * 800_000 + "World", *many, ("World", TOP))
    with pytest.raises(PassedError):
        correct_chat(body, FITTED)


def fitted_on(model="m", messages=SYSTEM, indices=(1, 4, 2), answer=None):
    """Coefficients with the fingerprint of a question; those of old know no form of its answer."""
    fixed = [[one["role"], one["content"]] for one in messages]
    question = Question.of(model, "chat", CLASSES, fixed, answer)
    fit = {"data": {"origin": {QUESTION: question.to_dict()}}}
    return Coefficients(CLASSES, indices, 4, fit=fit)


@cases("World", None, [], [LABEL], 7)
def test_what_is_no_completion_is_refused(given):
    with pytest.raises(InvalidInputError, match=r"no answer to a chat.*client library") as told:
        dnip.correct(given, coefficients=FITTED)
    assert repr(given)[:20] in str(told.value)


def test_in_ones_own_process(tmp_path):
    FITTED.save(tmp_path / "c.json")
    assert text_of(dnip.correct(LABEL, coefficients=tmp_path / "c.json")) == "Sports"
    refused = without(LABEL, finish_reason="content_filter")
    assert dnip.correct(refused, coefficients=FITTED) is refused
    with pytest.raises(InvalidInputError, match="logprobs=True"):
        dnip.correct(completion("World"), coefficients=FITTED)
    known = [fitted_on(), fitted_on(messages=[])]
    assert text_of(dnip.correct(LABEL, coefficients=known, request=ASKED)) == "Sports"
    with pytest.raises(InvalidInputError, match="the model: m at the fit, n now"):
        dnip.correct({**LABEL, "model": "n"}, coefficients=known[0])
    longer = {**LABEL, "model": "m-2026"}
    asked = {**ASKED, "model": "m"}
    assert text_of(dnip.correct(longer, coefficients=known[0], request=asked)) == "Sports"
    with pytest.raises(InvalidInputError, match="wording of the question"):
        dnip.correct(LABEL, coefficients=known[0], request={"messages": MESSAGES[1:]})
    with pytest.raises(InvalidInputError, match="form of the answer: text at the fit, json now"):
        dnip.correct(LABEL, coefficients=known[0], request={**ASKED, **JSON})
    with pytest.raises(InvalidInputError, match="fingerprint of its own"):
        dnip.correct(LABEL, coefficients=[FITTED, known[0]])


def test_a_completion_of_the_package_openai_stays_one():
    chat = pytest.importorskip("openai.types.chat")
    new = dnip.correct(chat.ChatCompletion.model_validate(LABEL), coefficients=FITTED)
    assert isinstance(new, chat.ChatCompletion)
    assert (new.choices[0].message.content, new.choices[0].message.role) == ("Sports", "assistant")
    assert (new.model, new.dnip_corrected_by) == (
        f"m+dnip-{FITTED.digest}",
        {"chat": FITTED.digest},
    )


# --- through the sidecar ---
@pytest.fixture
def serve(start, upstream, tmp_path):
    """A function that starts the sidecar with these coefficients, and one that asks it."""

    def run(*fits, **settings):
        paths = [tmp_path / f"chat{number}.json" for number in range(len(fits))]
        for one, path in zip(fits, paths, strict=True):
            one.save(path)
        port = start(chats={f"chat{n or ''}": path for n, path in enumerate(paths)}, **settings)

        def asked(answer=LABEL, path="/v1/chat/completions", **more):
            upstream.answer = answer if not isinstance(answer, dict) else reply(answer)
            body = {"model": "m", "messages": MESSAGES, **more}
            status, content, headers = ask(port, path, body=json.dumps(body).encode())
            return status, json.loads(content), headers

        return port, asked

    return run


def test_the_sidecar_corrects_a_chat_and_sends_log_probabilities_to_those_who_asked(
    serve, upstream
):
    port, asked = serve(FITTED)
    status, body, headers = asked()
    assert (status, text_of(body), body["choices"][0]["logprobs"]) == (200, "Sports", None)
    assert headers["DNIP-Corrected-By"] == f"chat={FITTED.digest}"
    sent = json.loads(upstream.requests[-1][2])
    assert (sent["logprobs"], sent["top_logprobs"], sent["messages"]) == (True, 20, MESSAGES)
    sure = completion("World", ("World", {"World": 0.95, "Sports": 0.02, "Café": 0.01}))
    [token] = asked(sure, logprobs=True, top_logprobs=2)[1]["choices"][0]["logprobs"]["content"]
    assert [one["token"] for one in token["top_logprobs"]] == ["World", "Sports"]
    [token] = asked(sure, logprobs=True)[1]["choices"][0]["logprobs"]["content"]
    assert token["top_logprobs"] == []
    changed = asked(logprobs=True, top_logprobs=2)[1]["choices"][0]
    assert changed["logprobs"] is None  # its tokens spell the old label
    assert numbers(port)['dnip_changed_total{question="chat"}'] == 2


def test_what_cannot_be_corrected_passes_and_is_counted(serve, upstream):
    port, asked = serve(FITTED)
    cases = [
        *[(LABEL, more) for more in ({"stream": True}, {"n": 2}, {"tools": [{"type": "x"}]})],
        (completion("No idea", ("No", {"No": 1})), {}),
        (completion("World"), {}),
        (without(LABEL, finish_reason="content_filter"), {}),
    ]
    for body, more in cases:
        status, found, headers = asked(body, **more)
        assert (status, text_of(found)) == (200, text_of(body))
        assert "DNIP-Corrected-By" not in headers
    assert "logprobs" not in json.loads(upstream.requests[0][2])
    found = {key: n for key, n in numbers(port).items() if key.startswith("dnip_missed_total")}
    told = [f'dnip_missed_total{{question="chat",reason="{word}"}}' for word in
            ("stream", "n", "tools", "label", "logprobs", "refusal")]  # fmt: skip
    assert found == dict.fromkeys(told, 1)


def test_an_upstream_without_log_probabilities_is_asked_again_without(serve, upstream):
    def answer(body):
        if b"logprobs" in body:
            return reply({"error": "logprobs are not supported"}, "400 Bad Request")
        return reply(LABEL)

    port, asked = serve(FITTED)
    status, body, _ = asked(answer)
    assert (status, body) == (200, LABEL)
    assert ["logprobs" in json.loads(sent) for *_, sent in upstream.requests] == [True, False]
    assert numbers(port)['dnip_missed_total{question="chat",reason="logprobs"}'] == 1


def test_an_upstream_that_refuses_the_request_itself_is_not_said_to_lack_log_probabilities(
    serve, caplog
):
    port, asked = serve(FITTED)
    refusal = {"error": "no such model"}
    assert asked(lambda _: reply(refusal, "400 Bad Request"))[:2] == (400, refusal)
    assert numbers(port).get('dnip_missed_total{question="chat",reason="logprobs"}', 0) == 0
    assert "log-probabilities" not in caplog.text


@cases(
    (fitted_on(), {}, True),
    (fitted_on(), {"response_format": {"type": "text"}}, True),
    (fitted_on(), JSON, False),
    (FITTED, JSON, False),  # without a fingerprint
    (fitted_on(answer="json"), JSON, True),
    (fitted_on(answer="json"), {}, False),
    (fitted_on(answer="text"), {"logit_bias": {"7": -1}}, False),
)
def test_another_form_of_the_answer_is_another_question(fitted, more, corrected):
    asked = chat_question({**ASKED, **more}, (), "m")
    if corrected:
        assert choose({"chat": fitted}, asked) == "chat"
    else:
        with pytest.raises(PassedError, match="form of the answer") as passed:
            choose({"chat": fitted}, asked)
        assert (passed.value.reason, passed.value.name) == ("question", "chat")


def test_an_alias_that_moves_to_another_model_is_told_under_the_name_of_the_question(
    upstream, tmp_path, caplog
):
    fitted_on("m-2026-01").save(tmp_path / "topic.json")
    with serving(upstream.url, tmp_path / "topic.json") as (_, port):
        for model, expected in (("m-2026-01", "Sports"), ("m-2026-06", "World")):
            upstream.answer = reply({**LABEL, "model": model})
            for _ in range(2):
                body = json.dumps({"model": "m", **ASKED}).encode()
                assert text_of(json.loads(ask(port, PATH, body=body)[1])) == expected
        assert numbers(port)['dnip_missed_total{question="topic",reason="question"}'] == 2
    [line] = caplog.messages
    assert "the model: m-2026-01 at the fit, m-2026-06 now" in line


def test_another_question_is_refused_where_the_operator_says_so(serve, upstream):
    _, asked = serve(fitted_on(), on_mismatch="refuse")
    assert asked()[0] == 200
    n = len(upstream.requests)
    status, body, _ = asked(messages=MESSAGES[1:])
    assert (status, len(upstream.requests)) == (422, n)
    assert "wording of the question" in body["error"]["message"]
    assert asked({**LABEL, "model": "n"}, model="n")[0] == 422
    assert asked({**LABEL, "model": "m-2026"})[0] == 200


def test_chats_are_recorded_by_name_and_new_files_are_taken(serve, tmp_path):
    fitted, name = fitted_on(answer="text"), "chat"
    asked_at_fit = Question.read(fitted.fit.data.origin[QUESTION])
    recorder = Recorder(tmp_path / "r", ["topic", name])
    port, asked = serve(fitted, recorder=recorder)
    headers = [asked()[2] for _ in range(3)]  # all with the same id of the upstream
    wait_for(lambda: numbers(port)[f'dnip_recorded_total{{question="{name}"}}'] == 3)
    table = ProbabilityTable.read(tmp_path / "r" / name)
    assert table.ids.tolist() == [one["X-Request-Id"] for one in headers]
    same, _ = read_answers([LABEL], CLASSES)
    np.testing.assert_array_equal(table.probabilities, same.probabilities.repeat(3, 0))
    row = json.loads(next((tmp_path / "r" / name).iterdir()).read_text().splitlines()[0])
    assert Question.read(json.loads(row[QUESTION])) == asked_at_fit
    assert (row["model"], row["form"]) == ("m", "text")
    mass = sum(TOP[token] for token in ("World", "Sports", "Caf"))
    np.testing.assert_allclose(table.mass, [mass] * 3)
    found = numbers(port)
    assert found[f'dnip_mass_count{{question="{name}"}}'] == 3
    assert found[f'dnip_mass_sum{{question="{name}"}}'] == pytest.approx(3 * mass)
    fitted_on(indices=[4, 1, 1]).save(tmp_path / "chat0.json")
    assert text_of(asked()[1]) == "World"


def test_coefficients_that_were_fitted_on_chats_correct_chats_under_their_name(
    upstream, tmp_path, caplog
):
    fitted_on().save(tmp_path / "topic.json")
    upstream.answer = reply(LABEL)
    with serving(upstream.url, tmp_path / "topic.json") as (_, port):
        body = json.dumps({"model": "m", "messages": MESSAGES}).encode()
        _, content, headers = ask(port, "/v1/chat/completions", body=body)
        upstream.answer = reply({"answers": {}})
        assert ask(port)[0] == 200
        assert numbers(port)['dnip_changed_total{question="topic"}'] == 1
    assert text_of(json.loads(content)) == "Sports"
    assert headers["DNIP-Corrected-By"] == f"topic={fitted_on().digest}"
    assert caplog.messages == ["a decision passed on as it is: all coefficients are for chats"]


def test_coefficients_for_decisions_are_refused_for_chats(tmp_path):
    pytest.importorskip("aiohttp")
    from dnip.llm.serving.application import make_app

    for form in ("decision", "plain"):
        question = Question.of("m", form, CLASSES)
        fit = {"data": {"origin": {QUESTION: question.to_dict()}}}
        Coefficients(CLASSES, [1, 1, 1], 1, fit=fit).save(tmp_path / f"{form}.json")
    with pytest.raises(InvalidInputError, match="was fitted on decisions, not on chats"):
        make_app("http://h", {}, {"topic": tmp_path / "decision.json"})
    for files in ({"topic": tmp_path / "plain.json"}, {}), ({}, {"topic": tmp_path / "plain.json"}):
        with pytest.raises(InvalidInputError, match=r"nor chats. .* --endpoint chat"):
            make_app("http://h", *files)
    FITTED.save(tmp_path / "d.json")
    with pytest.raises(InvalidInputError, match="'topic' is given twice"):
        make_app("http://h", {"topic": tmp_path / "d.json"}, {"topic": tmp_path / "d.json"})


# --- collecting ---
def test_answers_are_collected_before_there_are_coefficients_and_stay_as_they_are(
    start, upstream, tmp_path
):
    recorder = Recorder(tmp_path / "r", ["topic", "mood"], texts=True)
    port = start(collect=("mood", CLASSES), recorder=recorder)
    # said with less probability than another label, as happens at a temperature
    said = completion("Sports", ("Sports", TOP))

    def asked(number, answer, **more):
        upstream.answer = reply({**answer, "id": f"chat-{number}"})
        body = json.dumps({"model": "m", **ASKED, **more}).encode()
        status, content, headers = ask(port, PATH, body=body)
        assert (status, "DNIP-Corrected-By" in headers) == (200, False)
        return json.loads(content), headers["X-Request-Id"]

    for number, (answer, more) in enumerate([(said, {}), (LABEL, JSON)]):
        found, name = asked(number, answer, **more)
        assert found == {**without(answer, logprobs=None), "id": f"chat-{number}"}
        assert name == f"chat-{number}"
        assert json.loads(upstream.requests[-1][2])["top_logprobs"] == 20
    assert asked(2, LABEL, stream=True) == ({**LABEL, "id": "chat-2"}, None)
    wait_for(lambda: numbers(port)['dnip_recorded_total{question="mood"}'] == 2)
    found = numbers(port)
    assert found['dnip_missed_total{question="mood",reason="stream"}'] == 1
    assert found['dnip_changed_total{question="mood"}'] == 0
    [path] = (tmp_path / "r" / "mood").iterdir()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(row["form"], row["input"]) for row in rows] == [
        ("text", "A goal."),
        ("json", "A goal."),
    ]


def test_what_was_collected_and_labelled_is_the_table_of_a_fit(start, upstream, tmp_path):
    recorder = Recorder(tmp_path / "r", ["topic", "mood"])
    port = start(collect=("mood", CLASSES), recorder=recorder)
    rng = np.random.default_rng(0)
    p = rng.dirichlet([4, 1, 1], 90) * 0.8
    truth = rng.integers(3, size=90)
    for number, row in enumerate(p):
        top = dict(zip(CLASSES, row, strict=True))
        upstream.answer = reply(completion(CLASSES[row.argmax()], (CLASSES[row.argmax()], top)))
        body = json.dumps({"model": "m", **ASKED}).encode()
        assert ask(port, PATH, body=body, headers={"X-Request-Id": f"r{number}"})[0] == 200
    wait_for(lambda: numbers(port)['dnip_recorded_total{question="mood"}'] == 90)
    labels = [f"r{number},{CLASSES[k]}\n" for number, k in enumerate(truth)]
    (tmp_path / "labels.csv").write_text("id,label\n" + "".join(labels))
    table, summary = read_answers([tmp_path / "r" / "mood"], None, gold=tmp_path / "labels.csv")
    assert (table.classes, table.labels.tolist()) == (tuple(CLASSES), truth.tolist())
    np.testing.assert_allclose(table.probabilities, p / 0.8)
    np.testing.assert_allclose(table.mass, 0.8)
    fixed = [["system", "Name the topic."]]
    assert Question.read(summary.asked) == Question.of("m", "chat", CLASSES, fixed, "text")


def test_one_chat_is_collected_at_a_time(tmp_path):
    pytest.importorskip("aiohttp")
    from dnip.llm.serving.application import make_app

    FITTED.save(tmp_path / "c.json")
    with pytest.raises(InvalidInputError, match="cannot be distinguished"):
        make_app("http://h", {}, {"a": tmp_path / "c.json"}, collect=("b", CLASSES))
    with pytest.raises(InvalidInputError, match="at least 2 classes"):
        make_app("http://h", {}, collect=("b", ["x"]))


def test_names_that_import_was_given_are_read_and_written_in_production_too(tmp_path):
    names = {"World": "1", "Sports": "2", "Café": "3"}
    top = {"1": 0.5, "2": 0.3, "3": 0.1}
    body = completion("Answer: 1. Not 2", ("Answer: ", {"Answer: ": 1.0}), ("1", top))
    rows = [{"id": n, "label": CLASSES[n % 3], "response": {"body": body}} for n in range(30)]
    write_import(read_answers(rows, CLASSES, names=names), tmp_path / "opt.csv")
    fitted = dnip.fit(tmp_path / "opt.csv", evidence=False).coefficients
    turned = Coefficients(CLASSES, [1, 30, 1], 30, fit=fitted.fit)
    new, found = correct_chat(body, turned)
    assert (found.before.choice, found.after.choice) == ("World", "Sports")
    assert new["choices"][0]["message"]["content"] == "Answer: 2. Not 2"
    own = completion("Sports", ("Sports", TOP))
    assert correct_chat(own, turned)[1].before.choice == "Sports"


def test_a_key_that_import_was_given_is_read_in_production_too(tmp_path):
    places = ('{"', "first", '": "', "Sports", '", "', "second", '": "')
    end = ('"}', {'"}': 1.0})
    tokens = [(text, {text: 1.0}) for text in places]
    body = completion('{"first": "Sports", "second": "World"}', *tokens, ("World", TOP), end)
    rows = [{"id": n, "label": CLASSES[n % 3], "response": {"body": body}} for n in range(30)]
    with pytest.raises(InvalidInputError, match="several labels are stated: 30"):
        read_answers(rows, CLASSES)
    imported = read_answers(rows, CLASSES, key="second")
    write_import(imported, tmp_path / "opt.csv")
    fitted = dnip.fit(tmp_path / "opt.csv", evidence=False).coefficients
    before = correct_chat(body, fitted)[1].before
    np.testing.assert_array_equal(before.probabilities, imported.table.probabilities[0])
    with pytest.raises(PassedError, match="several labels"):
        correct_chat(body, FITTED)
