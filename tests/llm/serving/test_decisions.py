"""Answers of decision servers: both shapes, as their documentation and source show them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from cases import cases
from dnip import Coefficients, CoefficientsFormatError, InvalidInputError
from dnip.llm.decisions import correct, read_decisions
from dnip.method.coefficients import Deferral
from strategies import random_probabilities

TEAM = {"billing": 0.6, "shipping": 0.1, "security": 0.3}
TONE, LEVELS = {"0": 0.7, "1": 0.2, "2": 0.1}, {"0": "calm", "1": "annoyed", "2": "furious"}
CHOSEN = {"type": "choice", "choice": "billing", "confidence": 0.4}
SCORED = {"type": "score", "score": 0.4, "confidence": 0.4}
SYSTEM_ONE = {
    "model": "m",
    "answers": {
        "team": {**CHOSEN, "probabilities": TEAM},
        "urgent": {"type": "noul", "noul": 0.4},
        "tone": {**SCORED, "legend": LEVELS, "probabilities": TONE},
    },
    "usage": {"input_tokens": 142, "output_tokens": 3},
}
LISTED = [{"value": name, "probability": p} for name, p in TEAM.items()]
STEPS = [{"value": int(n), "label": LEVELS[n], "probability": p} for n, p in TONE.items()]
OPENAI = {
    "model": "m",
    "answers": [
        {**CHOSEN, "name": "team", "probabilities": LISTED},
        {"type": "predicate", "name": "urgent", "probability": 0.4},
        {**SCORED, "name": "tone", "probabilities": STEPS},
        {"type": "refusal", "name": "secret"},
    ],
}
FITTED = {
    "team": Coefficients(["security", "billing", "shipping"], [30, 12, 30], 30),
    "urgent": Coefficients(["no", "yes"], [1, 2], 2),
    "tone": Coefficients(["calm", "annoyed", "furious"], [1, 10, 5], 10),
    "secret": Coefficients(["a", "b"], [1, 2], 2),
    "absent": Coefficients(["a", "b"], [1, 2], 2),
}


def answers(body):
    """The answers by question, in either shape."""
    given = body["answers"]
    return given if isinstance(given, dict) else {answer["name"]: answer for answer in given}


def listed_probabilities(answer):
    given = answer["probabilities"]
    return list(given.values()) if isinstance(given, dict) else [e["probability"] for e in given]


@pytest.mark.parametrize("body", [SYSTEM_ONE, OPENAI], ids=["system one", "openai"])
class TestBothShapes:
    def test_all_kinds_are_read(self, body):
        team, urgent, tone, *refused = read_decisions(body)
        assert (team.question, team.options) == ("team", ("billing", "shipping", "security"))
        assert (urgent.options, tone.options) == (("false", "true"), ("0", "1", "2"))
        assert [d.choice for d in (team, urgent, tone)] == ["billing", "false", "0"]
        np.testing.assert_allclose(team.probabilities, [0.6, 0.1, 0.3])
        np.testing.assert_allclose(urgent.probabilities, [0.6, 0.4])
        np.testing.assert_allclose(tone.probabilities, [0.7, 0.2, 0.1])
        assert all(decision.refused for decision in refused)
        assert not team.refused

    def test_the_correction_is_that_of_coefficients(self, body):
        before = json.dumps(body)
        new, corrections = correct(body, FITTED)
        assert json.dumps(body) == before
        team, urgent, tone = (answers(new)[name] for name in ("team", "urgent", "tone"))
        weighted = np.array([0.6 * 12, 0.1 * 30, 0.3 * 30]) / (0.6 * 12 + 0.1 * 30 + 0.3 * 30)
        np.testing.assert_allclose(listed_probabilities(team), weighted)
        assert team["choice"] == "security"
        np.testing.assert_allclose(team["confidence"], (weighted[2] - 1 / 3) / (2 / 3))
        yes = urgent["probability" if body is OPENAI else "noul"]
        np.testing.assert_allclose(yes, 0.8 / 1.4)
        np.testing.assert_allclose(listed_probabilities(tone), np.array([7, 20, 5]) / 32)
        np.testing.assert_allclose(tone["score"], 30 / 32)
        # one less the mean distance from level 1, over that of three equal levels
        np.testing.assert_allclose(tone["confidence"], 1 - (12 / 32) / (2 / 3))
        changed = [c.before.question for c in corrections if c.changed]
        assert changed == ["team", "urgent", "tone"]

    def test_other_questions_and_entries_stay(self, body):
        new, corrections = correct(body, {"absent": FITTED["absent"]})
        assert new == body
        assert not corrections
        new, _ = correct(body, {"urgent": FITTED["urgent"]})
        assert answers(new)["team"] == answers(body)["team"]
        assert new.get("usage") == body.get("usage")

    def test_coefficients_of_other_options_are_refused(self, body):
        other = Coefficients(["billing", "shipping", "sales"], [1, 2, 3], 3)
        with pytest.raises(CoefficientsFormatError, match=r"'team'.*security.*sales"):
            correct(body, {"team": other})


def test_a_tie_goes_to_the_lowest_class_whatever_the_order_of_options():
    answer = {"type": "choice", "choice": "a", "probabilities": {"a": 0.5, "b": 0.25, "c": 0.25}}
    tied = Coefficients(["c", "b", "a"], [2, 2, 1], 2)
    new, _ = correct({"answers": {"q": answer}}, {"q": tied})
    assert new["answers"]["q"]["choice"] == "c"


@pytest.mark.parametrize("kind", ["mixed", "tied"])
def test_answers_say_whether_they_are_deferred_as_apply_does(kind):
    p = random_probabilities(np.random.default_rng(0), 60, 3, kind)
    fitted = Coefficients(["a", "b", "c"], [30, 12, 7], 30, defer=Deferral([0.7, 0.5, 0.4], 0.3))
    told = []
    for a, b, c in p.tolist():
        answer = {"type": "choice", "choice": "a", "probabilities": {"c": c, "a": a, "b": b}}
        body = {"answers": {"topic": answer, "tone": {"type": "noul", "noul": 0.4}}}
        new, corrections = correct(body, {"topic": fitted, "tone": FITTED["urgent"]})
        without = {"topic": replace(fitted, defer=None), "tone": FITTED["urgent"]}
        plain, _ = correct(body, without)
        told.append(new["answers"]["topic"].pop("deferred"))
        assert new == plain  # also of the question without thresholds
        assert [one.deferred for one in corrections] == [told[-1], None]
    assert told == fitted.deferred(p).tolist()
    assert 0 < sum(told) < 60


def test_boolean_options_stay_booleans():
    entries = [{"value": True, "probability": 0.6}, {"value": False, "probability": 0.4}]
    answer = {"type": "choice", "name": None, "choice": True, "probabilities": entries}
    fitted = Coefficients(["false", "true"], [2, 1], 2)
    new, [correction] = correct({"answers": [answer]}, {"0": fitted})
    assert new["answers"][0]["choice"] is False
    assert correction.before.choice == "true"


def test_vllm_reports_the_mass_and_its_share_of_the_vocabulary():
    answer = {"type": "noul", "noul": 0.4, "probabilities": {"yes": 0.4, "no": 0.6}}
    mass = {"urgent": {"label_mass": 0.5, "argmax_is_label": True}}
    body = {"answers": {"urgent": {**answer, "confidence": 0.3}}, "diagnostics": mass}
    new, [correction] = correct(body, FITTED)
    assert correction.before.mass == correction.after.mass == 0.5
    answer = new["answers"]["urgent"]
    assert answer["probabilities"] == pytest.approx({"yes": 0.8 / 1.4, "no": 0.6 / 1.4})
    assert answer["confidence"] == pytest.approx(0.5 * 0.8 / 1.4)


def test_sglang_puts_the_mass_and_yes_no_answers_into_the_answer():
    answer = {"type": "yes_no", "probabilities": {"yes": 0.4, "no": 0.6}, "label_mass": 0.9}
    new, [correction] = correct({"answers": {"urgent": answer}}, FITTED)
    assert correction.before.mass == 0.9
    assert new["answers"]["urgent"]["probabilities"]["yes"] == pytest.approx(0.8 / 1.4)


def choosing(probabilities):
    answer = {"type": "choice", "choice": "a", "probabilities": probabilities}
    return {"answers": {"q": answer}}


@cases(
    ([], "'answers'"),
    ({"choices": []}, "'answers'"),
    ({"answers": {"q": "yes"}}, "'q': the answer is not an object"),
    ({"answers": {"q": {"type": "box"}}}, "'q': the answer has the type 'box'"),
    ({"answers": {"q": {"type": ["choice"]}}}, "'q': the answer has the type"),
    ({"answers": {"q": {"type": "choice", "choice": "a"}}}, "'q': 'probabilities' is None"),
    ({"answers": {"q": {"type": "noul", "noul": None}}}, "'q', noul: None is not a number"),
    ({"answers": {"q": {"type": "noul", "noul": 1.5}}}, "'q', false.*negative"),
    ({"answers": {"q": {"type": "noul", "noul": 10**400}}}, "'q', noul.*too large"),
    ({"answers": [{"type": "predicate", "probability": "1"}]}, "'0', probability: '1'"),
    ({"answers": {"q": {"type": "yes_no", "probabilities": {"y": 1}}}}, "'q'.*yes and no"),
    (choosing({"a": 0.5, "b": None}), "'q', b: None"),
    (choosing({"a": 0.5, "b": float("nan")}), "'q', b: the number is missing"),
    (choosing({"a": 0, "b": 0}), "'q'.*all class probabilities are 0"),
    (choosing({"b": 0.5, "c": 0.5}), "'q': the choice 'a' is not among the options b, c"),
    (choosing([{"value": "a", "probability": p} for p in (1, 0)]), "same name"),
    (choosing([{"probability": 1}, {"value": "a", "probability": 0}]), "named None"),
)
def test_damaged_answers_name_the_question_and_the_option(body, message):
    with pytest.raises(InvalidInputError, match=message):
        read_decisions(body)


def test_only_the_questions_asked_for_are_read():
    body = {"answers": {"region": {"type": "box"}, **SYSTEM_ONE["answers"]}}
    assert [d.question for d in read_decisions(body, {"tone", "team"})] == ["team", "tone"]


class Counted(str):
    """A name that counts how often it is compared."""

    compared = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)


def test_options_are_found_by_name_however_many_there_are():
    names = [f"c{n}" for n in range(1000)]
    given = dict.fromkeys(map(Counted, reversed(names)), 0.001)
    answer = {"type": "choice", "choice": "c0", "probabilities": given}
    fitted = Coefficients(names, range(1, 1001), 1000)
    new, _ = correct({"answers": {"topic": answer}}, {"topic": fitted})
    assert new["answers"]["topic"]["choice"] == "c999"
    assert Counted.compared < 20 * len(names)
