"""Proposals for the schema, each a question with its answers: what a look at the table tells of its variables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sfumato.auditing.proposals import Proposals, Proposed, proposals
from sfumato.errors import SchemaError
from sfumato.table.describe import MIN_RECORDS, Finding, Suggestion, describe
from sfumato.table.households import sizes
from sfumato.table.microdata import Microdata
from sfumato.table.roles import ProposedRole, proposed_roles
from sfumato.table.schema import Schema, Special
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.screens.variable_wishes import Wish

MIN_SHARE_OF_UNIQUE_TEXTS = 0.5  # of the texts of a variable are the only one of their kind: a name, an address?
CALLED: dict[Special, str] = {"weight": "survey weight", "household": "household", "id": "id of the records"}
NAME_ALONE = "its name alone says so"


@dataclass(frozen=True)
class Answer:
    """One answer to a proposal, and what it says of the variable."""

    words: str
    wish: Wish


@dataclass(frozen=True)
class Card:
    """A proposal; one without answers is only to be known."""

    key: str  # names it, so that it can be dismissed for good
    name: str
    question: str
    why: str = ""
    answers: tuple[Answer, ...] = ()
    at_once: bool = True  # whether it may be taken together with others, without a look at each


@dataclass(frozen=True)
class Look:
    """What a closer look at the table found, which takes its time, and what it was of."""

    source: str
    form: str
    found: Proposals


def findings(desk: Desk, draft: Draft) -> tuple[Finding, ...]:
    """Describe the variables; anew only if the columns change, not if roles do."""
    return desk.kept("findings", desk.form(draft), lambda: tuple(describe(_bare(desk.table(draft)))))


def look(desk: Desk, draft: Draft) -> Look:
    """Look for copies, sums, weights and households in the table as it is now."""
    form = desk.form(draft)
    made = desk.kept("look", form, lambda: Look(str(desk.source(draft)), form, proposals(_bare(desk.table(draft)))))
    desk.older["look"] = made
    return made


def latest_look(desk: Desk, draft: Draft) -> Look | None:
    """Return the latest look at the file, of now or of before the last changes of kinds; None if there was none."""
    if desk.is_kept("look", desk.form(draft)):
        return look(desk, draft)
    made: Look | None = desk.older.get("look")
    return made if made is not None and made.source == str(desk.source(draft)) else None


def _bare(data: Microdata) -> Microdata:
    """Return a table without what is said of its variables beside their columns."""
    bare = (replace(variable, role="other", level=None, linked=(), declared=False) for variable in data.schema)
    return replace(data, schema=replace(data.schema, variables=tuple(bare), scenarios=()))


def unconfirmed(desk: Desk, draft: Draft) -> dict[str, ProposedRole]:
    """Return the roles that nobody has confirmed, by variable: as schema.toml lists them, or as the table proposes."""
    data = desk.table(draft)
    looked = desk.kept("roles", desk.form(draft), lambda: proposed_roles(_bare(data)))
    special = set(data.schema.special().values())
    found = {}
    for one in looked:
        variable = data.schema[one.name]
        if variable.declared or one.name in special:
            continue
        listed = variable.role not in ("other", one.role)  # as inspect, or a hand, wrote it
        found[one.name] = ProposedRole(one.name, variable.role, "schema.toml proposes it") if listed else one
    return found


def cards(desk: Desk, draft: Draft, seen: Look | None = None) -> list[Card]:
    """Return the proposals that are still open: those that are told at once, and those of a closer look."""
    data = desk.table(draft)
    schema = data.schema
    settled = {*schema.special().values(), *(v.name for v in schema if v.role == "identifier")}
    counted = desk.kept("sizes", desk.form(draft), lambda: sizes(_bare(data)))
    made = [*_specials(desk, draft, seen), *_of_columns(desk, draft, len(data)), *_sizes(schema, counted)]
    if seen is not None:
        made += _links(schema, seen.found)
    order = {name: place for place, name in enumerate(schema.names)}
    kept = [card for card in made if card.name not in settled and card.key not in draft.dismissed]
    first = [card for card in kept if card.key.split()[0] in CALLED]
    return first + sorted((card for card in kept if card not in first), key=lambda card: order[card.name])


def foremost(open_cards: list[Card]) -> list[str]:
    """Return the keys of the likeliest weight, household and id, where there are several to be taken at once."""
    firsts: dict[str, str] = {}
    for card in open_cards:
        word = card.key.split()[0]
        if word in CALLED and card.at_once:
            firsts.setdefault(word, card.key)
    return list(firsts.values()) if len(firsts) > 1 else []


def _specials(desk: Desk, draft: Draft, seen: Look | None) -> Iterator[Card]:
    """Yield what may be weight, household or id: by name at once, by behaviour after a closer look."""
    taken = desk.stated(draft).special()
    if seen is not None:
        found = [one for one in seen.found.specials if one.special not in taken]
        for one in found:
            yield _special(one, [other for other in found if other.special == one.special and other is not one])
        return
    words: dict[str, Special] = {"weight": "weight", "household": "household", "identifier": "id"}
    for finding in findings(desk, draft):
        doubt = finding.suggestion.doubt if finding.suggestion is not None else ""
        if doubt in words and words[doubt] not in taken:
            why = "every value occurs once" if doubt == "identifier" else "its name says so; its values are looked at"
            yield _special(Proposed(finding.name, words[doubt], by_name=False, by_behaviour=False, why=why))


def _special(one: Proposed, rivals: Sequence[Proposed] = ()) -> Card:
    """Propose a weight, a household's number or an id: with the reason, and with what else may be it."""
    why = _evidence(one)
    if one.special == "weight" and rivals:
        why += "".join(f". Or it is {other.name}: {_evidence(other)}" for other in rivals[:3])
    answers = [Answer(f"Yes, it is the {one.special}", Wish(one.name, special=one.special))]
    if one.special == "id":
        answers.append(Answer("An identifier: leave it out", Wish(one.name, role="identifier")))
    question = f"{one.name} is the {CALLED[one.special]}?"
    sure = one.special != "weight" or (one.by_name and one.by_behaviour)
    return Card(f"{one.special} {one.name}", one.name, question, why, tuple(answers), at_once=sure)


def _evidence(one: Proposed) -> str:
    """Say what speaks for a proposal: its name, its values, or both."""
    why = one.why.partition("?")[0] if one.why.endswith("at the top") else one.why
    if one.special != "weight" or not one.by_name:
        return why
    return f"its name says so; {why}" if one.by_behaviour else f"{NAME_ALONE}, its values do not: {why}"


def _of_columns(desk: Desk, draft: Draft, records: int) -> Iterator[Card]:
    """Yield what the values of single variables look like."""
    schema = desk.table(draft).schema
    for finding in findings(desk, draft):
        suggestion = finding.suggestion
        if suggestion is not None and (card := _card(suggestion, schema)) is not None:
            yield card
        present = records - finding.missing
        own = (
            finding.kind == "nominal"
            and present >= MIN_RECORDS
            and finding.distinct > MIN_SHARE_OF_UNIQUE_TEXTS * present
        )
        if own and suggestion is None:
            why = f"{finding.distinct:,} different texts in {present:,} records"
            leave = Answer("An identifier: leave it out", Wish(finding.name, role="identifier"))
            yield Card(f"names {finding.name}", finding.name, f"{finding.name} names persons or places?", why, (leave,))


def _card(one: Suggestion, schema: Schema) -> Card | None:
    name = one.name
    missing = (*schema[name].missing, *one.codes)
    codes = ", ".join(map(str, one.codes))
    nominal, ordinal = (
        Answer("Without order: nominal", Wish(name, kind="nominal")),
        Answer("With an order: ordinal", Wish(name, kind="ordinal")),
    )
    answers: tuple[Answer, ...]
    if one.doubt == "identifier" and schema.id is not None:
        question, why = f"{name} names the records?", "every value occurs once"
        answers = (Answer("An identifier: leave it out", Wish(name, role="identifier")),)
    elif one.doubt in ("codes", "labelled codes"):
        question = f"The numbers of {name} are codes?"
        why = "every value has a label" if one.doubt == "labelled codes" else f"{one.distinct} distinct whole numbers"
        answers = (nominal, *([] if one.distinct == 2 else [ordinal]))
    elif one.doubt == "dates":
        question, why = f"{name} holds dates?", "" if len(one.forms) < 2 else "no day is above 12: which is first?"
        spelled = {form: form.replace("%d", "day").replace("%m", "month").replace("%Y", "year") for form in one.forms}
        answers = tuple(
            Answer(f"Dates: {said}", Wish(name, kind="date", format="" if "%Y-%m-%d" in form else form))
            for form, said in spelled.items()
        )
    elif one.doubt == "missing codes":
        question, why = f"{codes} in {name}: missing values?", "nothing else is below zero"
        answers = (Answer("Yes, they are missing", Wish(name, missing=missing)),)
    elif one.doubt == "nearly numbers":
        question, why = f"{name} holds numbers, but for {codes}?", f"{one.cells:,} cells hold text"
        answers = (Answer("Numbers; these are missing", Wish(name, kind="numeric", missing=missing)),)
    elif one.doubt in ("thousands", "all missing", "one value"):
        question, why, answers = f"{name}: {one.sentence}", "", ()
    else:  # weight, household and id have cards of their own; what households share is told in the row
        return None
    return Card(f"{one.doubt} {name}", name, question, why, answers)


def _links(schema: Schema, found: Proposals) -> Iterator[Card]:
    for one in found.links.found:
        if schema[one.name].sources or not set(schema.special().values()).isdisjoint(one.sources):
            continue
        try:
            schema.replace(replace(schema[one.name], linked=one.sources))
        except SchemaError:  # a circle with what is linked already
            continue
        to = " and ".join(one.sources)
        question = f"{one.name} is a copy of {to}: link it?" if one.copy else f"{one.name} follows from {to}: link it?"
        why = one.sentence if one.formula else one.sentence.replace(" it ", f" {one.name} ", 1)
        answer = Answer(f"Link it to {'these' if len(one.sources) > 1 else to}", Wish(one.name, linked=one.sources))
        yield Card(f"link {one.name} {' '.join(one.sources)}", one.name, question, why, (answer,))


def _sizes(schema: Schema, names: tuple[str, ...]) -> Iterator[Card]:
    for name in names:
        if schema[name].role != "key" and schema.household is not None:
            why = (
                f"An intruder knows how many live together, and whoever has the numbers of {schema.household} can "
                "count them, whatever is done to this variable."
            )
            answer = Answer("Make it a key", Wish(name, role="key"))
            yield Card(f"size {name}", name, f"{name} is counted from {schema.household}: a key?", why, (answer,))
