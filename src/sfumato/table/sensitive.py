"""Columns that look as if they name a person: e-mail addresses, telephone and account numbers, names, free texts.

Both the name of a column and its values are looked at. Values decide where they have a form of their own: a check
digit, an ``@``, a scheme. Where many harmless texts have the same form, as names and streets do, both must agree or
nearly all values must.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sfumato.table.dates import date_formats, parsed
from sfumato.table.microdata import Microdata

Content = Literal[
    "e-mail addresses",
    "telephone numbers",
    "account numbers (IBAN)",
    "card numbers",
    "national numbers",
    "web addresses",
    "IP addresses",
    "names of persons",
    "postal addresses",
    "dates of birth as text",
    "coordinates",
    "free text",
    "text that nearly every record has for itself",
]

DIRECT: frozenset[Content] = frozenset(  # what names one person, whatever the column is for
    {
        "e-mail addresses",
        "telephone numbers",
        "account numbers (IBAN)",
        "card numbers",
        "national numbers",
        "web addresses",
        "IP addresses",
        "names of persons",
    }
)
MIN_RECORDS = 20  # records with a value from which on it says something that nearly all differ
MIN_VALUES = 5  # different values from which on a form is no accident
MAX_TEXTS_READ = 2_000  # different texts of a column
SHARE_NEARLY_ALL, SHARE_MOST, SHARE_MANY, SHARE_SOME = 0.9, 0.6, 0.3, 0.05  # shares of the different values

# where it is looked for inside a text it begins where a word does, or a long word would be tried from every letter on
_EMAIL = re.compile(r"(?<![^\s@,;<>])[^\s@,;<>]+@[^\s@,;<>]+\.[a-z]{2,}", re.IGNORECASE)
_URL = re.compile(r"(https?|ftp)://\S+|www\.[^\s.]+\.\S+", re.IGNORECASE)
_IPV4 = re.compile(r"(25[0-5]|2[0-4]\d|1?\d?\d)(\.(25[0-5]|2[0-4]\d|1?\d?\d)){3}")
_IPV6 = re.compile(r"(?=.*::|([0-9a-f]{1,4}:){7})[0-9a-f:]{4,39}", re.IGNORECASE)
_IBAN = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}")
_PHONE = re.compile(r"(\+|00|\()?\d[\d\s()/.\-]{5,20}\d")
_PHONE_INSIDE = re.compile(
    r"(?<![\w.,])(\+\d{1,3}[\s/.-]?|0)\d{1,4}[\s/.()-]{0,2}\d{2,4}[\s/.-]?\d{2,4}[\s/.-]?\d{0,4}(?!\w)"
)
_PAIR = re.compile(r"[(\[]?\s*-?\d{1,2}\.\d{2,}\s*[,; ]\s*-?\d{1,3}\.\d{2,}\s*[)\]]?")
_NUMBER = re.compile(r"\s*[+-]?[\d.,' \u00a0\u202f]*\d([eE][+-]?\d+)?\s*%?\s*")
_STREET = re.compile(
    r"(?<![^\W\d_])(\w*(stra(ss|ß)e|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan|gracht|plein|gatan|vägen|vagen)"
    r"|rue|avenue|ave\.?|av\.|bd\.?|boulevard|chemin|impasse|calle|c/|plaza|paseo|via|viale|piazza|corso|rua|travessa"
    r"|praça|ulica|ul\.|aleja|al\.|sokak|sokağı|sok\.|cadde(si)?|cad\.|mahallesi|mah\."
    r"|street|st\.?|road|rd\.?|lane|ln\.?|drive|dr\.?|court|ct\.?|square|terrace|way)(?![^\W\d_])",
    re.IGNORECASE,
)

# words in the names of columns, without accents; those of six letters and more are found inside other words too
_OF_EMAIL = "email mail emailaddress epost eposta courriel correo"
_OF_PHONE = (
    "phone telephone telefon telefono telefone telefoon tel tlf mobile mobil handy cell cellphone cellular celular "
    "gsm fax rufnummer handynummer telefonnummer portable"
)
_OF_GIVEN_NAMES = (
    "firstname forename givenname middlename vorname rufname prenom nombredepila primernombre primeironome voornaam "
    "imie fornamn lastname surname familyname nachname familienname zuname patronyme apellido apellidos cognome "
    "sobrenome apelido achternaam nazwisko soyad soyadi soyisim efternamn fullname maidenname geburtsname nickname "
    "username"
)
_OF_NAMES = "name names nom nome nombre naam namn ad adi isim nazwa"
_OF_ADDRESS = (
    "street streetname address addr strasse anschrift adresse rue calle direccion domicilio indirizzo morada "
    "endereco rua straat adres ulica sokak cadde gata gatuadress adress"
)
_OF_BIRTH = (
    "dob birthdate dateofbirth birthday birth born geburtsdatum geburtstag gebdat geburt naissance nacimiento nascita "
    "nascimento geboortedatum geboorte urodzenia dogum dogumtarihi fodelsedatum fodelse"
)
_OF_LATITUDE = "lat latitude breitengrad breite latitud latitudine breddgrad enlem szerokosc"
_OF_LONGITUDE = "lon lng long longitude laengengrad langengrad laenge longitud longitudine boylam dlugosc"
_OF_ACCOUNT = "iban account konto kontonummer rekening rekeningnummer compte cuenta conto conta hesap bankaccount"
_OF_NATIONAL = (
    "ssn socialsecurity nationalid passport reisepass passeport pasaporte passaporto passaporte paspoort paszport "
    "pasaport svnr sozialversicherungsnummer steuerid nir dni nie codicefiscale nif cpf bsn pesel tckn tckimlik "
    "personnummer nino rijksregisternummer insee"
)

_FIRST_NAMES = (
    "aaron adam adrian agnieszka ahmet aisha alberto alejandro alessandra alessandro alex alexander alexandra alice "
    "alicja ali amanda amelia ana anders andrea andreas andrew andrzej angela ann anna anne annika anton antonia "
    "antonio arthur astrid aylin ayse barbara barbora beatrice beatriz benjamin bernd bernard birgit brian bruno "
    "burak camille can carla carlos carmen carol caroline catherine celine cem charles chiara chris christian "
    "christina christine christopher claire clara claudia cristina cynthia dagmar daniel daniela david deborah denise "
    "dennis diego dieter dirk dominik donald dorota dorothy edward eduardo elena elif elisabeth elizabeth emily emine "
    "emma emre eric erik ernst eva fabian fatma federica felix fernanda fernando filip florian francesca francesco "
    "francisco francois frank franz frederic friedrich gabriel gabriela gary george gerhard giorgio giovanni giulia "
    "gokhan grace greta grzegorz gunnar gustav hakan hannah hans harald hasan heather heike heinz helen helena helga "
    "helmut henri henrik henry hugo huseyin ibrahim ines inga ingrid irene isabel isabella iwona jack jacob jakob "
    "jakub james jan jana jane janet javier jean jeffrey jennifer jens jessica joan joanna joao johan johann johanna "
    "john jonas jorge jose josef joseph joshua juan judith jules julia julian julie jurgen juergen kaan karen karin "
    "karl karol katarina katarzyna kathleen katharina kathrin kemal kenneth kevin klaus krzysztof kurt lars laura lea "
    "lena leon leonie linda lisa louis louise luca lucas lucia lucie luis luisa lukas maciej magdalena malgorzata "
    "manfred manuel marcin marco marcos marek margaret maria marie mario mark markus marta martin martina mary "
    "mateusz mats matteo matthew matthias max maximilian mehmet melissa merve mia michael michal michel michele "
    "michelle miguel monica monika muhammad murat mustafa nancy natalia natalie nicolas nicole niklas nils nina noah "
    "nuno olga olivia oliver olivier omar omer oscar ozge pablo pamela paola paolo patricia patrick paul paula paulo "
    "pedro per peter petra philipp philippe pierre piotr rachel rafael rainer ralf raquel rebecca renate ricardo "
    "richard rita robert roberto roger roman ronald rosa rui ruth ryan sabine samuel sandra sara sarah scott "
    "sebastian selin serkan sergio sharon silvia simon simone sofia sophie stefan stefania stephan stephanie stephen "
    "steven susan susana susanne sven svenja swen sylvia tatiana teresa thomas thorsten tiago tim timothy tobias "
    "tomas tomasz torsten ulrich ulrike ursula uwe valentina vera veronica veronika victor vincent virginia walter "
    "werner wiktoria wilhelm william wojciech wolfgang yasemin yusuf zeynep zofia"
)
_COMMON = frozenset(_FIRST_NAMES.split())


@dataclass(frozen=True)
class Sensitive:
    """A column that looks as if it names a person: what it holds, and how that shows."""

    name: str
    content: Content
    why: str

    @property
    def sentence(self) -> str:
        """What it looks like, with the evidence.

        >>> Sensitive("mail", "e-mail addresses", "all values have an @").sentence
        'looks like e-mail addresses (all values have an @)'
        """
        return f"looks like {self.content} ({self.why})"


def sensitive(data: Microdata) -> tuple[Sensitive, ...]:
    """Return the columns that look as if they name a person, in the order of the table.

    >>> import pyarrow as pa
    >>> people = [f"anna.{i}@example.org" for i in range(30)]
    >>> data = Microdata.from_frame(pa.table({"contact": people, "age": [20 + i % 40 for i in range(30)]}))
    >>> [(one.name, one.content) for one in sensitive(data)]
    [('contact', 'e-mail addresses')]
    """
    apart = set(data.schema.special().values())
    pair = _coordinates(data)
    found = []
    for name in data.names:
        if name in apart:
            continue
        one = pair.get(name) or (_of_numbers if data.schema[name].kind == "numeric" else _of_text)(data, name)
        if one is not None:
            found.append(one)
    return tuple(found)


def words_of(name: str) -> tuple[str, ...]:
    """Split the name of a column into words of small letters without accents.

    >>> words_of("Größe_imHaushalt2"), words_of("DATE-OF-BIRTH")
    (('grosse', 'im', 'haushalt'), ('date', 'of', 'birth'))
    """
    apart = re.sub(r"(?<=[^\W\d_A-ZÄÖÜ])(?=[A-ZÄÖÜ])", " ", name)
    return tuple(re.findall(r"[^\W\d_]+", folded(apart)))


def folded(text: str) -> str:
    """Return a text in small letters without accents.

    >>> folded("Żółć"), folded("IBAN Çağrı")
    ('zolc', 'iban cagri')
    """
    plain = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(sign for sign in plain if not unicodedata.combining(sign))


_LETTERS = str.maketrans({"ł": "l", "ı": "i", "ø": "o", "æ": "ae", "đ": "d", "ß": "ss"})


def has_word(name: str, words: str) -> bool:
    """Tell whether the name of a column has one of some words; those of six letters and more count inside others too.

    >>> has_word("householdIncome", "income age"), has_word("average", "income age"), has_word("age_1", "income age")
    (True, False, True)
    """
    own = words_of(name)
    joined = "".join(own)
    return any(word in own or word == joined or (len(word) >= 6 and word in joined) for word in words.split())


def valid_iban(text: str) -> bool:
    """Tell whether a text is an IBAN: its digits, letters as 10 to 35, the first four last, leave 1 when divided by 97.

    >>> valid_iban("GB82 WEST 1234 5698 7654 32"), valid_iban("GB82 WEST 1234 5698 7654 33")
    (True, False)
    """
    plain = re.sub(r"[\s-]", "", text).upper()
    if not _IBAN.fullmatch(plain):
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def luhn(digits: str) -> bool:
    """Tell whether a number ends in the check digit of Luhn, as card numbers do.

    >>> luhn("4539578763621486"), luhn("4539578763621487")
    (True, False)
    """
    doubled = [int(sign) for sign in digits[-2::-2]]
    rest = sum(int(sign) for sign in digits[-1::-2])
    return (rest + sum(2 * one - 9 * (one > 4) for one in doubled)) % 10 == 0


def _weighed(digits: str, weights: Sequence[int]) -> int:
    return sum(int(sign) * weight for sign, weight in zip(digits, weights, strict=False))


def _pesel(text: str) -> bool:
    return _digits(text, 11) and (_weighed(text, (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1))) % 10 == 0 and text[4:6] != "00"


def _tckn(text: str) -> bool:
    if not _digits(text, 11) or text[0] == "0":
        return False
    one = [int(sign) for sign in text]
    return (7 * sum(one[0:9:2]) - sum(one[1:8:2])) % 10 == one[9] and sum(one[:10]) % 10 == one[10]


def _bsn(text: str) -> bool:
    return _digits(text, 9) and len(set(text)) > 1 and _weighed(text, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _nif(text: str) -> bool:
    return _digits(text, 9) and text[0] in "123568" and _check_of_11(text[:8], range(9, 1, -1)) == int(text[8])


def _cpf(text: str) -> bool:
    plain = re.sub(r"[.-]", "", text)
    return (
        _digits(plain, 11)
        and len(set(plain)) > 1
        and _check_of_11(plain[:9], range(10, 1, -1)) == int(plain[9])
        and _check_of_11(plain[:10], range(11, 1, -1)) == int(plain[10])
    )


def _check_of_11(digits: str, weights: Iterable[int]) -> int:
    left = _weighed(digits, tuple(weights)) % 11
    return 0 if left < 2 else 11 - left


def _dni(text: str) -> bool:
    plain = re.sub(r"[\s.-]", "", text).upper()
    if not re.fullmatch(r"[XYZ\d]\d{7}[A-Z]", plain):
        return False
    number = plain[:-1].translate(str.maketrans("XYZ", "012"))
    return plain[-1] == "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23]


def _nir(text: str) -> bool:
    plain = re.sub(r"\s", "", text).upper().replace("2A", "19").replace("2B", "18")
    return _digits(plain, 15) and plain[0] in "1278" and 97 - int(plain[:13]) % 97 == int(plain[13:])


def _steuer_id(text: str) -> bool:
    if not _digits(text, 11) or text[0] == "0":
        return False
    product = 10
    for sign in text[:10]:
        product = ((int(sign) + product) % 10 or 10) * 2 % 11
    return (11 - product) % 10 == int(text[10])


def _rijksregister(text: str) -> bool:
    plain = re.sub(r"[\s.-]", "", text)
    if not _digits(plain, 11):
        return False
    return any(97 - int(before + plain[:9]) % 97 == int(plain[9:]) for before in ("", "2"))


def _personnummer(text: str) -> bool:
    found = re.fullmatch(r"(?:\d{2})?(\d{2})(\d{2})(\d{2})[-+]?(\d{4})", text)
    return found is not None and "01" <= found[2] <= "12" and "01" <= found[3] <= "31" and luhn("".join(found.groups()))


def _digits(text: str, number: int) -> bool:
    return len(text) == number and text.isascii() and text.isdigit()


def _like(pattern: str) -> Callable[[str], bool]:
    form = re.compile(pattern)
    return lambda text: form.fullmatch(text) is not None


_NATIONAL: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("social security numbers of the United States", _like(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}")),
    ("insurance numbers of the United Kingdom", _like(r"[A-CEGHJ-PR-TW-Z]{2}\s?\d{2}\s?\d{2}\s?\d{2}\s?[A-D]")),
    ("Italian tax codes", _like(r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]")),
    ("Spanish identity numbers", _dni),
    ("French social security numbers", _nir),
    ("PESEL numbers of Poland", _pesel),
    ("Turkish identity numbers", _tckn),
    ("citizen service numbers of the Netherlands", _bsn),
    ("Swedish personal numbers", _personnummer),
    ("Portuguese tax numbers", _nif),
    ("Brazilian CPF numbers", _cpf),
    ("German tax numbers", _steuer_id),
    ("Belgian national numbers", _rijksregister),
)


def _share(texts: Sequence[str], holds: Callable[[str], Any]) -> float:
    return sum(bool(holds(text)) for text in texts) / max(len(texts), 1)


def _of(share: float) -> str:
    return f"{share:.0%} of the different values" if share < 1 else "all values"


def _of_numbers(data: Microdata, name: str) -> Sensitive | None:
    """Look at whole numbers: cards and national numbers by their check digits, telephone numbers by name and length."""
    column = data.columns[name]
    values = np.unique(column[~np.isnan(column)])
    if len(values) < MIN_VALUES or values[0] < 0 or values[-1] < 1e6 or not np.array_equal(values, np.round(values)):
        return None
    texts = [f"{value:.0f}" for value in _some(values)]
    if (found := _numbered(name, texts)) is not None:
        return found
    long = _share(texts, lambda text: 7 <= len(text) <= 15)
    if has_word(name, _OF_PHONE) and long >= SHARE_NEARLY_ALL:
        return Sensitive(name, "telephone numbers", "its name says so, and the numbers have 7 to 15 digits")
    if has_word(name, _OF_NATIONAL) and long >= SHARE_NEARLY_ALL:
        return Sensitive(name, "national numbers", "its name says so, and the numbers have 7 to 15 digits")
    if has_word(name, _OF_ACCOUNT) and long >= SHARE_NEARLY_ALL and _own(data, name, len(values)):
        return Sensitive(name, "account numbers (IBAN)", "its name says so, and the numbers have 7 digits or more")
    return None


def _numbered(name: str, texts: Sequence[str]) -> Sensitive | None:
    """Tell numbers by their check digits; by chance one in ten would have the right one."""
    plain = [re.sub(r"[\s-]", "", text) for text in texts]
    if (
        len(texts) >= MIN_VALUES
        and _share(plain, lambda t: t.isdigit() and 13 <= len(t) <= 19 and luhn(t)) >= SHARE_NEARLY_ALL
    ):
        return Sensitive(name, "card numbers", "13 to 19 digits, the last one a check digit")
    for words, holds in _NATIONAL:
        checks = [texts, [text.zfill(9) for text in texts], [text.zfill(11) for text in texts]]
        if len(texts) >= MIN_VALUES and any(_share(some, holds) >= SHARE_NEARLY_ALL for some in checks):
            return Sensitive(name, "national numbers", f"of the form of {words}")
    return None


def _of_text(data: Microdata, name: str) -> Sensitive | None:
    variable, column = data.schema[name], data.columns[name]
    if variable.quantitative:
        return None
    codes, counts = np.unique(column[column >= 0], return_counts=True)
    texts = [str(variable.categories[code]).strip() for code in _some(codes)]
    if not texts or all(isinstance(variable.categories[code], bool) for code in codes[:2]):
        return None
    weights = dict(zip((str(variable.categories[code]).strip() for code in codes), counts.tolist(), strict=True))
    own = _own(data, name, len(codes))
    return (
        _marked(name, texts)
        or (_numbered(name, texts) if len(texts) >= MIN_VALUES else None)
        or _telephone(name, texts)
        or _birth(name, texts)
        or _address(name, texts)
        or _named(name, texts, weights, own=own)
        or _of_its_own(name, texts, own=own)
    )


def _some(values: Any) -> Any:
    """Return at most so many values, spread over all of them."""
    return values if len(values) <= MAX_TEXTS_READ else values[:: -(-len(values) // MAX_TEXTS_READ)]


def _own(data: Microdata, name: str, distinct: int) -> bool:
    """Tell whether nearly every record has a value of its own."""
    present = int(np.count_nonzero(~data.missing(name)))
    return present >= MIN_RECORDS and distinct >= SHARE_NEARLY_ALL * present


def _marked(name: str, texts: Sequence[str]) -> Sensitive | None:
    """Tell what has a mark of its own: e-mail, web, account and IP."""
    share = _share(texts, _EMAIL.fullmatch)
    if share >= SHARE_MANY or (has_word(name, _OF_EMAIL) and share > 0):
        return Sensitive(name, "e-mail addresses", f"{_of(share)} have the form of one")
    share = _share(texts, valid_iban)
    if share >= SHARE_MANY or (
        has_word(name, "iban") and _share(texts, lambda t: re.match(r"[A-Z]{2}\d\d", t)) >= SHARE_MOST
    ):
        return Sensitive(name, "account numbers (IBAN)", f"{_of(share)} have the right check digits")
    share = _share(texts, _URL.match)
    if share >= SHARE_MANY:
        return Sensitive(name, "web addresses", f"{_of(share)} begin like one")
    share = _share(texts, lambda text: _IPV4.fullmatch(text) or _IPV6.fullmatch(text))
    if share >= SHARE_MOST:
        return Sensitive(name, "IP addresses", f"{_of(share)} have the form of one")
    share = _share(texts, _PAIR.fullmatch)
    if share >= SHARE_MOST:
        return Sensitive(name, "coordinates", f"{_of(share)} are two numbers such as 48.137, 11.575")
    return None


def _telephone(name: str, texts: Sequence[str]) -> Sensitive | None:
    def like(text: str) -> bool:
        number = sum(sign.isdigit() for sign in text)
        return 7 <= number <= 15 and _PHONE.fullmatch(text) is not None

    if date_formats(list(texts[:MIN_RECORDS])):
        return None
    share = _share(texts, like)
    said = has_word(name, _OF_PHONE)
    if said and share >= SHARE_MANY:
        return Sensitive(name, "telephone numbers", f"its name says so, and {_of(share)} have the form of one")
    dialled = _share(texts, lambda text: like(text) and (text[0] in "+0(" and re.search(r"\D\d|^0|^\+", text)))
    if len(texts) >= MIN_VALUES and share >= SHARE_NEARLY_ALL and dialled >= SHARE_MOST:
        return Sensitive(name, "telephone numbers", f"{_of(share)} have the form of one")
    return None


def _birth(name: str, texts: Sequence[str]) -> Sensitive | None:
    forms = date_formats(list(texts[:MIN_RECORDS])) and date_formats(list(texts))
    if not forms or len(texts) < MIN_VALUES:
        return None
    if has_word(name, _OF_BIRTH):
        return Sensitive(name, "dates of birth as text", "its name says so, and all values are dates")
    import pyarrow as pa

    days = parsed("", pa.array(texts), forms[0])[0] / 365.25
    days = days[~np.isnan(days)]
    # dates of interviews, entries and orders lie within a few years of each other; those of birth within a life
    if days.size >= MIN_RECORDS and float(np.quantile(days, 0.9) - np.quantile(days, 0.1)) >= 25:
        return Sensitive(name, "dates of birth as text", "all values are dates, and they are spread over a life")
    return None


def _address(name: str, texts: Sequence[str]) -> Sensitive | None:
    wordy = _share(texts, lambda text: re.search(r"[^\W\d_]{3}", text))
    share = _share(texts, lambda text: len(text) <= 100 and re.search(r"\d", text) and _STREET.search(text))
    long = sorted(len(text.split()) for text in texts)[len(texts) // 2]
    if share >= SHARE_MANY and len(texts) >= MIN_VALUES and long <= 10:
        return Sensitive(name, "postal addresses", f"{_of(share)} have a street and a number")
    if has_word(name, _OF_ADDRESS) and wordy >= SHARE_MOST and len(texts) >= MIN_VALUES:
        return Sensitive(name, "postal addresses", "its name says so")
    return None


def _named(name: str, texts: Sequence[str], weights: dict[str, int], *, own: bool) -> Sensitive | None:
    worded = _share(texts, lambda text: re.fullmatch(r"[^\W\d_][^\d_@/:;()]{0,60}", text)) >= SHARE_NEARLY_ALL
    if not worded or len(texts) < MIN_VALUES:
        return None
    if has_word(name, _OF_GIVEN_NAMES):
        return Sensitive(name, "names of persons", "its name says so")
    known = sum(weights[text] for text in texts if _is_first_name(text)) / sum(weights[text] for text in texts)
    if known >= SHARE_NEARLY_ALL or (known >= SHARE_MOST / 2 and len(texts) >= 2 * MIN_VALUES):
        return Sensitive(name, "names of persons", f"{known:.0%} of the records have a common first name in it")
    if own and set(words_of(name)) & set(_OF_NAMES.split()):
        return Sensitive(name, "names of persons", "its name says so, and nearly every record has its own")
    return None


def _is_first_name(text: str) -> bool:
    words = words_of(text)
    return 0 < len(words) <= 4 and (words[0] in _COMMON or words[-1] in _COMMON)


def _of_its_own(name: str, texts: Sequence[str], *, own: bool) -> Sensitive | None:
    """Tell free text, and text that nearly every record has for itself; numbers as text are neither."""
    if _share(texts, _NUMBER.fullmatch) >= SHARE_NEARLY_ALL:
        return None
    lengths = sorted(len(text.split()) for text in texts)
    wordy = lengths[len(lengths) // 2] >= 4 and sum(map(len, texts)) >= 25 * len(texts)
    inside = {
        "telephone numbers": _share(texts, _PHONE_INSIDE.search),
        "e-mail addresses": _share(texts, _EMAIL.search),
        "web addresses": _share(texts, _URL.search),
    }
    held = [what for what, share in inside.items() if share >= SHARE_SOME]
    if (wordy and own) or (held and len(texts) >= MIN_RECORDS and lengths[len(lengths) // 2] > 1):
        also = f", in which there are {' and '.join(held)}" if held else ""
        return Sensitive(name, "free text", f"{lengths[len(lengths) // 2]} words in the middle one{also}")
    if own:
        return Sensitive(name, "text that nearly every record has for itself", "it may name the record")
    return None


def _coordinates(data: Microdata) -> dict[str, Sensitive]:
    """Find latitude and longitude by their names and their range: numbers that are not whole, and many of them."""
    found = {}
    for words, most in ((_OF_LATITUDE, 90.0), (_OF_LONGITUDE, 180.0)):
        for name in data.schema.analysed("numeric"):
            column = data.columns[name]
            values = np.unique(column[~np.isnan(column)])
            fine = len(values) >= MIN_RECORDS and not np.array_equal(values, np.round(values))
            if fine and np.abs(values).max() <= most and has_word(name, words):
                found[most] = name
                break
    if len(found) < 2:
        return {}
    why = "two columns are named as latitude and longitude, and lie in their range"
    return {name: Sensitive(name, "coordinates", why) for name in found.values()}
