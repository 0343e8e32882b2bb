"""What looks as if it names a person: check digits from published examples, forms by hand, and no alarm on a survey."""

from collections.abc import Sequence
from time import process_time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato
from sfumato.table import sensitive as module
from sfumato.table.microdata import Microdata
from sfumato.table.sensitive import luhn, sensitive, valid_iban

RECORDS = 60


def looks(**columns: Sequence[object]) -> dict[str, str]:
    found = sensitive(Microdata.from_frame(pa.table(columns)))
    return {one.name: one.content for one in found}


def iban(country: str, account: str) -> str:
    """Compute the check digits as ISO 13616 says: 98 minus the rest of the rearranged number divided by 97."""
    number = "".join(str(int(sign, 36)) for sign in f"{account}{country}00")
    return f"{country}{98 - int(number) % 97:02d}{account}"


@pytest.mark.parametrize(
    "text",
    [
        "GB82 WEST 1234 5698 7654 32",
        "DE89370400440532013000",
        "FR1420041010050500013M02606",
        "TR330006100519786457841326",
    ],
)
def test_the_examples_that_registers_print_are_account_numbers(text: str) -> None:
    assert valid_iban(text)
    last = "1" if text[-1] == "0" else "0"
    assert not valid_iban(text[:-1] + last)


@given(st.integers(0, 10**18 - 1), st.sampled_from(["DE", "PL", "PT"]))
def test_an_account_with_its_check_digits_is_one_and_with_others_none(account: int, country: str) -> None:
    text = iban(country, f"{account:018d}")
    wrong = f"{country}{(int(text[2:4]) + 1) % 100:02d}{text[4:]}"
    assert valid_iban(text) and not valid_iban(wrong)


def test_the_check_digit_of_cards() -> None:
    # the printed example: 3 + (2) + 7 + (16 - 9) + 9 + (6) + 7 + (4) + 9 + (18 - 9) + 7 = 70, every second one doubled
    assert luhn("79927398713") and not any(luhn(f"7992739871{last}") for last in "012456789")


def test_what_has_a_form_of_its_own_is_told_whatever_its_name() -> None:
    rng = np.random.default_rng(1)
    digits = [f"{number:09d}" for number in rng.choice(10**9, RECORDS, replace=False)]
    cards = [next(f"4539{d}00{c}" for c in range(10) if luhn(f"4539{d}00{c}")) for d in digits]
    found = looks(
        a=[f"user{d}@mail.example" for d in digits],
        b=[iban("DE", f"37040044{d}0") for d in digits],
        c=cards,
        d=[f"https://example.org/{d}" for d in digits],
        e=[f"192.168.{i}.{i + 1}" for i in range(RECORDS)],
        f=[f"+49 30 {d[:4]} {d[4:8]}" for d in digits],
        g=[f"Lindenstraße {i}" for i in range(RECORDS)],
        h=[f"{i + 1}, rue de la Paix" for i in range(RECORDS)],
        i=[f"48.{d[:4]}, 11.{d[4:8]}" for d in digits],
        j=[f"{d[:3]}-{d[3:5]}-{d[5:]}".replace("000-", "123-").replace("-00-", "-11-") for d in digits],
        k=[f"{1 + i % 28:02d}.{1 + i % 12:02d}.{1940 + i}" for i in range(RECORDS)],
        l=[f"called {d} twice and was told to come back on another day" for d in digits],
        m=["Anna", "Mehmet", "Jean", "Paolo", "Katarzyna", "Lars", "Maria", "John", "Sofia", "Peter"] * 6,
    )
    assert found == {
        "a": "e-mail addresses",
        "b": "account numbers (IBAN)",
        "c": "card numbers",
        "d": "web addresses",
        "e": "IP addresses",
        "f": "telephone numbers",
        "g": "postal addresses",
        "h": "postal addresses",
        "i": "coordinates",
        "j": "national numbers",
        "k": "dates of birth as text",
        "l": "free text",
        "m": "names of persons",
    }


@pytest.mark.parametrize(
    ("rule", "printed"),
    [
        ("_pesel", "44051401359"),
        ("_tckn", "10000000146"),
        ("_bsn", "111222333"),
        ("_dni", "12345678Z"),
        ("_dni", "X1234567L"),
        ("_personnummer", "811228-9874"),
        ("_cpf", "111.444.777-35"),
        ("_nif", "123456789"),
        ("_steuer_id", "86095742719"),
        ("_nir", "255081416802538"),
        ("_rijksregister", "85073003328"),
    ],
)
def test_national_numbers_that_registers_print_as_examples(rule: str, printed: str) -> None:
    holds = getattr(module, rule)
    assert holds(printed)
    figures = [place for place, sign in enumerate(printed) if sign.isdigit()]
    last = figures[-1]
    assert not holds(f"{printed[:last]}{(int(printed[last]) + 1) % 10}{printed[last + 1 :]}")


def test_a_column_of_national_numbers_needs_nine_in_ten_to_be_right() -> None:
    numbers = [f"{i:08d}{'TRWAGMYFPDXBNJZSQVHLCKE'[i % 23]}" for i in range(30_000_000, 30_000_040)]
    wrong = [f"{number[:-1]}{'B' if number[-1] == 'A' else 'A'}" for number in numbers]
    assert looks(x=numbers * 2)["x"] == "national numbers"
    assert "x" not in looks(x=[*numbers[:30], *wrong[30:]] * 2)


def test_names_of_columns_tell_where_values_have_no_form_of_their_own() -> None:
    found = looks(
        Vorname=["Uzo", "Ikenna", "Ngozi", "Ada", "Chidi", "Amaka"] * 10,
        soyadı=["Yıl", "Kay", "Dem", "Çel", "Ars", "Şah"] * 10,
        telefon=[f"{301000 + i}0" for i in range(RECORDS)],
        Geburtsdatum=["01.02.1990", "03.04.1991", "05.06.1992", "13.08.1993", "09.10.1994"] * 12,
        lat=[48 + i / 1000 for i in range(RECORDS)],
        lon=[11 + i / 1000 for i in range(RECORDS)],
    )
    assert found == {
        "Vorname": "names of persons",
        "soyadı": "names of persons",
        "telefon": "telephone numbers",
        "Geburtsdatum": "dates of birth as text",
        "lat": "coordinates",
        "lon": "coordinates",
    }


def test_ordinary_columns_of_surveys_raise_no_alarm() -> None:
    rng = np.random.default_rng(2)
    found = looks(
        region=[f"Region {i % 16}" for i in range(RECORDS)],
        postcode=[f"{i % 30:05d}" for i in range(RECORDS)],
        income=rng.lognormal(10, 1, RECORDS).tolist(),
        amount=[f"{number:,.2f}" for number in rng.lognormal(10, 1, RECORDS)],
        interview=[f"2021-03-{1 + i % 28:02d}" for i in range(RECORDS)],
        answer=["yes, often", "no, never", "only now and then"] * 20,
        occupation=["Mechanic", "Teacher", "Clerk in a bank"] * 20,
        number=list(range(100_000, 100_000 + RECORDS)),
        latent=rng.normal(size=RECORDS).tolist(),
    )
    assert found == {}
    assert sensitive(sfumato.household_survey(600)) == ()


@pytest.mark.parametrize("piece", ["x", "a@", "1-", "_"])
def test_long_words_are_looked_through_once(piece: str) -> None:
    """From each of 30,000 letters on the rest of the word would be tried as an address: 30,000 squared."""
    began = process_time()
    found = sensitive(Microdata.from_frame(pa.table({"note": [f"{piece * 30_000}{i}" for i in range(25)]})))
    assert [one.content for one in found] == ["text that nearly every record has for itself"]
    assert process_time() - began < 20


def test_an_address_inside_a_text_begins_after_a_word_or_a_mark() -> None:
    for before in ("write to ", "mail,", "<", "mailto:"):
        notes = [f"he was ill for {i} days, {before}anna{i}@example.org, and came back" for i in range(30)]
        (one,) = sensitive(Microdata.from_frame(pa.table({"note": notes})))
        assert one.content == "free text" and "e-mail addresses" in one.why
