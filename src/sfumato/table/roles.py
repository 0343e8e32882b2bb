"""Which role each column probably has: from its name in the languages of surveys, and from what it holds.

A proposal decides nothing: it stands in ``schema.toml`` under ``[proposed]`` until a person confirms it, and nothing is
published as long as a column that would go out has no role that a person gave it (``undeclared``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.table import toml_text
from sfumato.table.describe import Finding, describe
from sfumato.table.microdata import Microdata
from sfumato.table.schema import Role, Variable
from sfumato.table.sensitive import DIRECT, Sensitive, folded, has_word, sensitive, words_of

_NUMBERS = frozenset(["id", "nr", "no", "number", "code", "key", "uuid"])  # of records, if they end a name
NAMED = 12  # variables that a sentence names

# By topic: words in names and labels, without accents (English, German, French, Spanish, Italian, Portuguese, Dutch,
# Polish, Turkish, Swedish), and codes of well-known surveys (ESS, EU-SILC, EU-LFS, PUMS, IPUMS, DHS), matched whole.
_KEYS: tuple[tuple[str, str, str], ...] = (
    (
        "sex",
        "sex sexe sexo sesso geschlecht gender genre genero genere geslacht plec cinsiyet kon",
        "male female gndr rb090 pb150 v151 hv104",
    ),
    (
        "age",
        "age ages alter edad eta idade leeftijd wiek yas alder agegroup ageband agegrp altersgruppe altersklasse",
        "agea agep rx010 px020 v012 hv105",
    ),
    (
        "birth",
        "birth birthyear birthdate yearofbirth yob dob born geburt geburtsjahr gebjahr naissance nacimiento nascita "
        "nascimento geboorte geboortejaar urodzenia dogum dogumyili fodelse fodelsear",
        "yrbrn yrbrt rb080 pb140 v010 birthyr",
    ),
    (
        "region",
        "region regions state province county canton kanton bundesland landkreis bezirk kreis provincia departement "
        "departamento comunidad regione regiao distrito distretto regio provincie gewest wojewodztwo powiat bolge "
        "district landsdel nuts governorate prefecture urban rural urbanity urbanisation urbanization",
        "db040 db100 statefip puma v024 v025 hv024 hv025 degurba domicil",
    ),
    (
        "place of living or work",
        "municipality commune gemeinde municipio comune gemeente gmina belediye kommun city town village ville stadt "
        "wohnort ciudad citta cidade woonplaats miasto sehir ilce plaats zip zipcode postcode postalcode postleitzahl "
        "plz postnummer codepostal codigopostal postakodu neighbourhood neighborhood quartier barrio ward",
        "",
    ),
    (
        "occupation or employer's branch",
        "occupation job beruf profession profesion ocupacion professione profissao beroep zawod meslek yrke branche "
        "industry workclass employer isco nace sic soc stellung erwerbsstatus employment employed",
        "pl051 pl111 isco08 isco88 isco3d nace08 nacer2 occp indp occ ind pl031 v717 mnactic emplrel",
    ),
    (
        "nationality or origin",
        "nationality citizenship citizen staatsangehorigkeit staatsangehoerigkeit staatsburgerschaft nationalitat "
        "nationalite nacionalidad nazionalita cittadinanza nacionalidade nationaliteit obywatelstwo uyruk "
        "medborgarskap ethnicity ethnic race etnia ethnie etnisk migration migrant immigrant immigrants native "
        "birthplace countryofbirth geburtsland",
        "ctzcntr cntbrth rac1p pb210 pb220a rb280 rb290 v131 hisp national countryb",
    ),
    (
        "education",
        "education educ edu schooling bildung schulabschluss ausbildung diplome etudes educacion estudios istruzione "
        "titolodistudio educacao escolaridade opleiding onderwijs wyksztalcenie egitim utbildning degree isced school",
        "edulvla edulvlb eisced eduyrs pe040 pe041 hatlevel hatlev1d schl v106 v149",
    ),
    (
        "marital status",
        "marital maritalstatus married marriage familienstand zivilstand etatcivil matrimoniale matrimonial "
        "estadocivil statocivile burgerlijkestaat cywilny medeni civilstand divorced widowed",
        "maritl marsts marst marstat pb190 v501 partnership",
    ),
    (
        "size or make-up of the household",
        "householdsize hhsize famsize familysize haushaltsgrosse haushaltsgroesse personnesmenage tamanohogar nchild "
        "children kids kinder enfants hijos figli filhos kinderen dzieci cocuk cocuksayisi barn household_size",
        "hhmmb hx040 hh_size hhnum v136 hv009 np relationship",
    ),
    ("language", "language sprache langue idioma lingua taal jezyk dil sprak", "lnghom1"),
)
_CONFIDENTIAL: tuple[tuple[str, str, str], ...] = (
    (
        "religion",
        "religion religious relig konfession confession religione religiao godsdienst wyznanie denomination",
        "rlgdnm rlgblg v130",
    ),
    (
        "income, wealth or debt",
        "income einkommen revenu revenus ingreso ingresos reddito rendimento renda inkomen dochod gelir inkomst "
        "earnings earning verdienst salary salaries wage wages lohn gehalt salaire salario stipendio loon salaris "
        "wynagrodzenie maas pay tax taxes steuer steuern impot impuesto imposta imposto belasting podatek vergi skatt "
        "wealth vermogen vermoegen patrimoine patrimonio majatek servet formogenhet assets debt debts schulden dette "
        "deuda debito divida dlug borc pension pensions benefits benefit savings turnover umsatz revenue sales "
        "profit profits gewinn capital loan credit expenditure expenses ausgaben depenses gasto gastos spesa",
        "hinctnta hinctnt hy020 hy010 hx090 py010g py010n pincp wagp hincp inctot incwage ftotinc v190",
    ),
    (
        "health",
        "diagnosis diagnose diagnostic diagnostico diagnosi rozpoznanie icd disease krankheit maladie enfermedad "
        "malattia doenca ziekte choroba hastalik sjukdom hiv aids cancer krebs tumor disability disabled behinderung "
        "handicap invalidez health gesundheit sante salud salute saude gezondheid zdrowie saglik halsa bmi depression "
        "pregnant pregnancy abortion medication drug drugs smoker smoking alcohol blood glucose insulin cholesterol "
        "death died mental suicide",
        "hlthhmp ph010 ph020 ph030",
    ),
    (
        "opinion, vote or offence",
        "vote voted voting party partei wahl wahlabsicht voto partido partito parti stem partia oy rost politics crime "
        "arrest arrested conviction convicted criminal prison offence offense straftat delit delito union gewerkschaft "
        "syndicat sindicato sindacato sexualorientation orientation affairs affair",
        "prtvt lrscale",
    ),
)
_SEXES = ({"male", "female"}, {"m", "f"}, {"man", "woman"}, {"men", "women"}, {"mann", "frau"}, {"m", "w"},
          {"homme", "femme"}, {"h", "f"}, {"hombre", "mujer"}, {"h", "m"}, {"uomo", "donna"}, {"maschio", "femmina"},
          {"homem", "mulher"}, {"masculino", "feminino"}, {"masculino", "femenino"}, {"vrouw", "man"},
          {"mezczyzna", "kobieta"}, {"k", "m"}, {"erkek", "kadin"}, {"e", "k"}, {"man", "kvinna"},
          {"mannlich", "weiblich"}, {"maennlich", "weiblich"})  # fmt: skip


@dataclass(frozen=True)
class ProposedRole:
    """The role that a column probably has, and why."""

    name: str
    role: Role
    why: str


def proposed_roles(data: Microdata, findings: Sequence[Finding] | None = None) -> tuple[ProposedRole, ...]:
    """Propose a role for every column whose role nobody has declared; weight, household and id have none.

    What names a person by its content is an identifier, whatever it is called. Then the name decides, then the label,
    then the values.

    >>> import pyarrow as pa
    >>> table = pa.table({"Geschlecht": ["m", "w"] * 15, "Einkommen": [1.5, 2.5] * 15, "x": [1, 2, 3] * 10})
    >>> [(one.name, one.role) for one in proposed_roles(Microdata.from_frame(table))]
    [('Geschlecht', 'key'), ('Einkommen', 'confidential'), ('x', 'other')]
    """
    special = set(data.schema.special().values())
    found = {one.name: one for one in sensitive(data)}
    described = {one.name: one for one in (describe(data) if findings is None else findings)}
    proposed = []
    for variable in data.schema:
        if variable.declared or variable.name in special:
            continue
        if variable.name in found:
            proposed.append(ProposedRole(variable.name, "identifier", found[variable.name].sentence))
        else:
            proposed.append(_proposed(variable, described.get(variable.name)))
    return tuple(proposed)


def _proposed(variable: Variable, finding: Finding | None) -> ProposedRole:
    doubt = "" if finding is None or finding.suggestion is None else finding.suggestion.doubt
    named = _by_words(variable.name)
    if doubt == "identifier" and (named is None or _NUMBERS.intersection(words_of(variable.name)[-1:])):
        return ProposedRole(variable.name, "identifier", "every record has a value of its own")
    if doubt == "household":
        return ProposedRole(variable.name, "identifier", "it may number households: name it at the top if it does")
    if doubt == "weight":
        return ProposedRole(variable.name, "other", "it may be the survey weight: name it at the top if it is")
    for text, told in ((variable.name, "its name"), (variable.label, "its label")):
        if text and (named := _by_words(text)) is not None:
            role, topic = named
            return ProposedRole(variable.name, role, f"{told} says {topic}")
    words = {folded(str(category)) for category in variable.categories}
    if len(words) == 2 and words in _SEXES:
        return ProposedRole(variable.name, "key", "its values say sex")
    return ProposedRole(variable.name, "other", "neither its name nor its values say more")


def _by_words(text: str) -> tuple[Role, str] | None:
    """Return the role and the topic that a text speaks of; of a confidential topic and a key the first is meant.

    >>> _by_words("age_group"), _by_words("earnings"), _by_words("marital-status"), _by_words("RB090"), _by_words("q12")
    (('key', 'age'), ('confidential', 'income, wealth or debt'), ('key', 'marital status'), ('key', 'sex'), None)
    """
    whole = text.casefold().strip()
    for role, topics in (("key", _KEYS), ("confidential", _CONFIDENTIAL)):
        for topic, _, codes in topics:
            if whole in codes.split():
                return role, topic  # type: ignore[return-value]
    if len(words_of(text)) > 12:  # a question, in which any word may stand
        return None
    for role, topics in (("confidential", _CONFIDENTIAL), ("key", _KEYS)):
        for topic, words, _ in topics:
            if has_word(text, words):
                return role, topic  # type: ignore[return-value]
    return None


def with_proposed_roles(data: Microdata, proposed: Sequence[ProposedRole]) -> Microdata:
    """Return a table under the roles that are proposed; they stay undeclared."""
    by_name = {one.name: one.role for one in proposed}
    changed = (replace(v, role=by_name[v.name]) for v in data.schema if v.name in by_name)
    return replace(data, schema=data.schema.replace(*changed))


@dataclass(frozen=True)
class Undeclared:
    """The columns that would go out without a person's word.

    ``silent`` are those of which nobody has said the role: they are in no schema, or their role is a proposal.
    ``looks`` are those that look as if they name a person, and are silent too or declared without a reason: as "other",
    or, what is no key and no answer of anybody, such as e-mail addresses, as anything but an identifier.
    """

    silent: tuple[str, ...] = ()
    looks: tuple[Sensitive, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All of them, each once: what looks as if it named a person first."""
        return tuple(dict.fromkeys((*(one.name for one in self.looks), *self.silent)))

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say which they are: one by one where they look as if they named a person."""
        said = [f"{one.name} {one.sentence}." for one in self.looks]
        rest = self.names[len(self.looks) :]
        if rest:
            more = f" and {len(rest) - NAMED:,} more" if len(rest) > NAMED else ""
            said.append(
                f"Nobody has declared {len(rest):,} variable{'s' if len(rest) > 1 else ''} that would go out: "
                f"{', '.join(rest[:NAMED])}{more}."
            )
        return tuple(said)

    def advice(self, file: str) -> tuple[str, ...]:
        """Say what to write, or to do, so that a person has said what goes out."""
        said = []
        if self.looks:
            said.append(
                f"Under [variables.{toml_text.key(self.looks[0].name)}] of the schema write "
                'role = "identifier" to leave it out, or another role and reason = "..." to publish it all the same.'
            )
        if self.silent:
            said.append(
                f"`sfumato inspect {file}` proposes a role for each variable in schema.toml: correct it, delete what "
                "is right from [proposed], and say --schema schema.toml."
            )
        said.append(
            "Or leave all of these out with --on-undeclared leave-out, or publish them as they are with accept."
        )
        return tuple(said)


def undeclared(data: Microdata) -> Undeclared:
    """Return the columns of a table that would go out without a person's word.

    Weight, household and id are declared by being named as such. An identifier does not go out, whoever proposed it.

    >>> import pyarrow as pa
    >>> from sfumato.table.schema import Schema
    >>> table = pa.table({"mail": [f"a{i}@b.org" for i in range(30)], "age": list(range(30)), "x": [1, 2, 3] * 10})
    >>> schema = Schema((Variable("mail", "nominal"), Variable("age", role="key")))
    >>> undeclared(Microdata.from_frame(table, schema)).names
    ('mail', 'x')
    """
    special = set(data.schema.special().values())
    going = {v.name: v for v in data.schema if v.name not in special and v.role != "identifier"}
    silent = tuple(name for name, variable in going.items() if not variable.declared)
    looks = tuple(
        one
        for one in sensitive(data)
        if one.name in going
        and (one.name in silent or (_to_explain(going[one.name].role, one) and not going[one.name].reason))
    )
    return Undeclared(silent, looks)


def _to_explain(role: Role, one: Sensitive) -> bool:
    """Tell whether a reason is asked for what looks as if it named a person; an address or a remark may be a key."""
    return role == "other" or one.content in DIRECT
