"""Texts that name protected values of their own record: an alarm, repaired by leaving them out; others are none."""

import numpy as np
import pandas as pd
import pytest

from sfumato.auditing import routes as module
from sfumato.auditing.audit import audit
from sfumato.auditing.repairs import prepare
from sfumato.auditing.routes import _days, _named, _numbers, answers, texts_of
from sfumato.auditing.targets import Target, Values
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Schema, Variable

RECORDS = 300
TOWNS = ["Aix", "Bonn", "Cork", "Dole", "New Ross"]


def people(seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "town": rng.choice(TOWNS, RECORDS),
            "pay": np.round(rng.lognormal(8, 0.6, RECORDS), 2),
            "born": pd.to_datetime("1950-01-01") + pd.to_timedelta(rng.integers(0, 18_000, RECORDS), unit="D"),
            "children": rng.integers(0, 4, RECORDS),
        }
    )


def table(frame: pd.DataFrame) -> Microdata:
    shown = Variable("remark", "nominal", reason="what the interviewers noted")
    schema = Schema((Variable("town", "nominal", "key"), Variable("pay", role="confidential"), shown))
    return Microdata.from_frame(frame, schema)


def masked(frame: pd.DataFrame, seed: int = 4) -> pd.DataFrame:
    """Blank a third of the towns, move every amount and every birth to another record."""
    rng = np.random.default_rng(seed)
    out = frame.copy()
    out["pay"] = rng.permutation(frame["pay"])
    out["born"] = rng.permutation(frame["born"])
    out.loc[rng.random(RECORDS) < 1 / 3, "town"] = None
    return out


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("pay", lambda one: f"Has {one.children} children and earns {one.pay:,.2f} before tax"),
        ("pay", lambda one: f"Flat of 4 rooms; {one.pay} a month, he said"),
        ("town", lambda one: f"Lives in {one.town} since long"),
        ("born", lambda one: f"Came in 3 minutes late, born {one.born:%d.%m.%Y}"),
    ],
)
def test_what_a_remark_says_of_its_record_is_an_alarm_and_goes(variable: str, said: object) -> None:
    frame = people()
    frame["remark"] = [said(one) for one in frame.itertuples()]  # type: ignore[operator]
    found = audit(table(frame), table(masked(frame)))
    route = found["text"]
    # the plain attack: read what stands there; it is the true value in every record
    assert route.alarm and route.worst is not None and route.worst.variable == variable
    assert route.worst.restored == 1.0 and route.worst.columns == ("remark",)
    assert not found.passed and any("leave the text out" in repair for repair in found.repairs)
    ready = prepare(table(frame), table(masked(frame)), seed=1)
    assert ready.checked.passed and audit(table(frame), ready.table, order=ready.order)["text"].alarm is False
    if variable == "town":  # where it is blank the remark is blank as well
        gone = ready.table.missing("town")
        assert ready.table.missing("remark")[gone].all() and not ready.table.missing("remark")[~gone].any()
    else:
        assert "remark" not in ready.table.names and "remark" in ready.checked.left_out
        assert any("remark is left out" in line for line in ready.checked.done)


def test_remarks_of_something_else_raise_no_alarm() -> None:
    for seed in range(10):
        frame, rng = people(seed), np.random.default_rng(seed)
        frame["remark"] = [
            f"Room {rng.integers(1, 99)}, met {rng.choice(TOWNS)} people, waited {rng.integers(1, 9_000)} minutes"
            for _ in range(RECORDS)
        ]
        assert not audit(table(frame), table(masked(frame)))["text"].alarm


def test_a_file_without_texts_says_that_none_was_tried() -> None:
    frame = people()
    frame["remark"] = [f"K{i % 40}" for i in range(RECORDS)]
    assert audit(table(frame), table(masked(frame)))["text"].untried == "the file has no text of several words"


def test_numbers_and_days_are_read_as_people_write_them() -> None:
    assert _numbers("1.234.567 or 12,75 and -3") == [("", 1234567.0), ("or", 12.75), ("and", -3.0)]
    assert _numbers("no number here, A17") == []
    assert _days("on 13/02/1970 or 1970-13-45") == [("on", 43.0)]  # 31 days of January and 12 of February
    assert _days("12/31/1970")[0][1] == 364.0  # no month 31: the month stands first


def test_of_several_categories_in_a_text_the_rarest_counts() -> None:
    from sfumato.auditing.targets import targets_of

    frame = pd.DataFrame({"town": ["Bonn"] * 5 + ["New Ross"] * 2, "x": range(7)})
    original = Microdata.from_frame(frame)
    aim = next(
        targets_of(
            original,
            Microdata.from_frame(frame.assign(town=pd.Series([*["Bonn"] * 5, "New Ross", None], dtype="object"))),
            0.01,
        )
    )
    found = _named(aim, ["From New Ross to Bonn", "Bonn only", "Rossbonn"])
    assert [str(aim.truth.levels[code]) if code >= 0 else "" for code in found] == ["New Ross", "Bonn", ""]


def aim_for(number: bool, names: list[str]) -> Target:
    levels = np.arange(3.0) if number else np.array(names, dtype=object)
    values = Values(np.arange(len(levels)), levels)
    rows = np.arange(len(levels))
    return Target("x", "as published", number, values, values, rows * 0, rows, True)


def test_numbers_of_a_text_by_their_place_and_by_the_word_before() -> None:
    """Four numbers are read each by its place; of five the last one, too."""

    def places(*texts: str) -> dict[str, list[float]]:
        codes = np.append(np.arange(len(texts)), -1)
        return {where: found.tolist() for found, where in answers(aim_for(True, []), list(texts), codes)}

    four = places("a 1 a 2 a 3 a 4", "a 5")
    assert list(four) == ["number 1", "number 2", "number 3", "number 4", "number behind 'a'"]
    np.testing.assert_array_equal(four["number 1"], [1, 5, np.nan])  # a blank remark says nothing
    np.testing.assert_array_equal(four["number 2"], [2, np.nan, np.nan])
    np.testing.assert_array_equal(four["number behind 'a'"], [1, 5, np.nan])
    five = places("a 1 a 2 a 3 a 4 a 5", "a 6")
    assert [where for where in five if where.startswith("last")] == ["last number"]
    assert "number 5" not in five
    np.testing.assert_array_equal(five["last number"], [5, 6, np.nan])
    assert list(places("a 7", "b 8")) == ["number 1"]  # with one number in each the word before tells nothing more
    days = places("on 02.01.1970 and 1970-01-04", "on 01.01.1970")
    np.testing.assert_array_equal(days["day 2"], [3, np.nan, np.nan])
    np.testing.assert_array_equal(days["day behind 'on'"], [1, 0, np.nan])


def test_the_commonest_words_before_a_number_are_tried() -> None:
    """Five words stand before numbers, of which four are tried, each once for a text that has it twice."""
    texts = ["a 1 b 2", "a 3 b 4", "c 5 d 6", "c 7 d 8", "e 9 e 9 e 9"]
    found = {where for _, where in answers(aim_for(True, []), texts, np.arange(5)) if "behind" in where}
    assert found == {f"number behind {word!r}" for word in "abcd"}


def test_names_of_up_to_four_words_are_looked_for() -> None:
    names = ["Bonn", "A", "Stow on the Wold", "Ashby de la Zouch Road", "5"]
    aim = aim_for(False, names)
    said = ["near Stow on the Wold", "at Ashby de la Zouch Road", "A or 5", "BONN!", "stow-on-the wold"]
    # five words, and one letter or figure, are not looked for; capitals and signs do not count
    assert _named(aim, said).tolist() == [2, -1, -1, 0, 2]
    found = list(answers(aim, said, np.array([3, 0, -1])))
    assert [(read.tolist(), where) for read, where in found] == [([0, 2, -1], "words")]
    assert list(answers(aim, ["nothing here", "nor there"], np.array([0, 1]))) == []


def test_texts_have_a_word_and_a_half_on_average() -> None:
    def held(*texts: str) -> list[str]:
        return texts_of(Microdata.from_frame(pd.DataFrame({"t": list(texts)})), "t")

    assert held("one", "two words") == ["one", "two words"]  # three words in two texts
    assert held("one", "two words", "three") == []  # four in three
    assert texts_of(Microdata.from_frame(pd.DataFrame({"t": [1.0, 2.0]})), "t") == []


def test_a_text_of_twenty_thousand_dates_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    days = 20_000
    text = " ".join(
        f"visit{i % 3} {day}" for i, day in enumerate(pd.date_range("1950-01-01", periods=days).astype(str))
    )
    looked_at = 0

    class Counted:
        """Words of a text, and how many characters were looked at for them."""

        def finditer(self, said: str) -> object:
            nonlocal looked_at
            looked_at += len(said)
            return word.finditer(said)

    word = module._WORD
    monkeypatch.setattr(module, "_WORD", Counted())
    found = _days(text)
    assert looked_at == len(text)
    assert [value for _, value in found] == list(range(-7305, days - 7305))  # 20 years of 365 days and 5 leap days
    assert [before for before, _ in found[:4]] == ["visit0", "visit1", "visit2", "visit0"]
    looked_at = 0
    assert len(_numbers(text)) >= days and looked_at == len(text)


@pytest.mark.parametrize("text", ["a 1 b_2 c-3 4,5 d", "born 1.2.1970, 3.2.1970 and_1970-01-02 or 1970-01-04", "7", ""])
def test_the_word_before_is_the_last_of_what_stands_before(text: str) -> None:
    for pattern in (module._DIGITS, module._DAY):
        before = [module._WORD.findall(text[: match.start()]) for match in pattern.finditer(text)]
        found = [word for word, _ in module._after_words(pattern, text)]
        assert found == [words[-1].casefold() if words else "" for words in before]
