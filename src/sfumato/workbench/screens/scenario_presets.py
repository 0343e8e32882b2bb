"""Intruders to begin with: who they are, and which variables of a table they are likely to know."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from sfumato.data.schema import Scenario, Schema, Variable

# words of names and labels, by what they speak of; each is the beginning of a word, as in "age", "agegroup", "age_head"
WORDS = {
    "sex": "sex gender geschlecht sexe sexo genre",
    "age": "age birth born yob dob alter geburt edad naissance nacimiento",
    "place": "region town city county district municip province state zip postal postcode postcod plz urban rural "
    "village commune gemeinde kreis ort comuna department canton area country land",
    "family": "marital married civil relation hhsize size children child kids family famil kinder menage hogar",
    "origin": "nation citizen ethnic race origin birthplace migra religion language herkunft",
    "schooling": "edu school degree diploma qualif bildung schul etude",
    "work": "occup job profession industry isco nace sector employ work labour labor beruf branche metier",
    "money": "income earn wage salar pay rent turnover expend spend wealth einkommen lohn revenu ingreso",
    "home": "tenure owner dwelling house home rooms car vehicle wohn",
}
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True)
class Preset:
    """An intruder in plain words, and what such a person is likely to know."""

    name: str
    about: str
    topics: tuple[str, ...]  # none: whatever has the role key
    roughly: tuple[str, ...] = ()  # numbers known about, but not exactly
    knows_membership: bool = True


PRESETS = {
    "register": Preset(
        "register match",
        "has a register of the whole population and matches it with the file; does not know who took part",
        ("sex", "age", "place", "family", "origin"),
        knows_membership=False,
    ),
    "neighbour": Preset(
        "neighbour or colleague",
        "recognises a person by what one sees and hears of them; knows amounts only about",
        ("sex", "age", "place", "family", "schooling", "work", "home", "money"),
        roughly=("money",),
    ),
    "took part": Preset(
        "knows who took part",
        "knows that a person is in the file, and all that your keys say of that person",
        (),
    ),
    "firm": Preset(
        "firm with customer data",
        "has addresses, ages and means of its customers, but does not know which of them took part",
        ("sex", "age", "place", "family", "home", "money"),
        roughly=("money",),
        knows_membership=False,
    ),
}


def proposed(preset: Preset, schema: Schema) -> Scenario | None:
    """Return the intruder with the keys such a person is likely to know; None where nothing could be a key at all.

    Variables are told by the words of their names and labels; where these tell nothing, the keys by role are taken.
    What is confidential is only known about, if at all.

    >>> schema = Schema((Variable("Sex", "nominal", "key"), Variable("region", "nominal", "key"), Variable("income")))
    >>> proposed(PRESETS["register"], schema).keys
    ('Sex', 'region')
    """
    usable = [schema[name] for name in schema.analysed()]
    keys = [variable for variable in usable if variable.role == "key"]
    known = _speaking_of(keys, preset.topics)
    known += _speaking_of((v for v in usable if v not in keys and v.role != "confidential"), preset.topics)
    known += _speaking_of((v for v in usable if v.role == "confidential"), preset.roughly)
    chosen = known or keys or [v for v in usable if not v.quantitative][:1] or usable[:1]
    names = [name for name in schema.names if any(variable.name == name for variable in chosen)]
    if not names:
        return None
    roughly = {v.name for v in _speaking_of(usable, preset.roughly) if v.quantitative}
    about = tuple(name for name in names if name in roughly)
    return Scenario(preset.name, tuple(names), about=about, knows_membership=preset.knows_membership)


def _speaking_of(variables: Iterable[Variable], topics: tuple[str, ...]) -> list[Variable]:
    begins = tuple(word for topic in topics for word in WORDS[topic].split())
    return [variable for variable in variables if begins and any(word.startswith(begins) for word in _words(variable))]


def _words(variable: Variable) -> list[str]:
    """Return the words of a name and a label, in small letters."""
    told = CAMEL.sub(" ", f"{variable.name} {variable.label}").lower()
    return re.findall(r"[^\W\d_]+", told)
