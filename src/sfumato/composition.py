"""Methods made of methods: one after the other (``Chain``), or inside each block of records (``Within``)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from zlib import crc32

import numpy as np

from sfumato import parameters
from sfumato.about import MethodAbout
from sfumato.core import Method
from sfumato.display import MAX_DETAIL, Phrase, shortened
from sfumato.errors import NotApplicable, ParameterError
from sfumato.pair import Half, Masking
from sfumato.pair.blocks import BlocksAlong, blocks_along, mask_blocks, told_of_blocks
from sfumato.pair.keys import strata_in_parts
from sfumato.speaking import refuse_special, speaking
from sfumato.table.draws import Draws
from sfumato.table.households import household_level
from sfumato.table.keys import Strata, strata
from sfumato.table.microdata import Microdata
from sfumato.table.parts import TableInParts
from sfumato.table.present import joined
from sfumato.table.schema import Schema


def runs(steps: Iterable[Method], *, short: bool) -> Iterator[tuple[Method, ...]]:
    """Put steps together that follow each other and are told together."""
    run: list[Method] = []
    for step in steps:
        if run and not step.told_with(run[-1], short=short):
            yield tuple(run)
            run = []
        run.append(step)
    if run:
        yield tuple(run)


def clauses(steps: Iterable[Method], schema: Schema | None = None) -> tuple[str, ...]:
    """Say what each step does, those that are told together at once; variables are named once.

    >>> from sfumato import Noise, Rounding
    >>> clauses([Noise(0.1, variables=("pay", "rent")), Rounding(5, variables=("pay", "rent"))])[1]
    'these are rounded to multiples of 5'
    """
    clauses_of_runs: list[str] = []
    before: tuple[str, ...] | None = None
    for run in runs(steps, short=False):
        step, subject = run[0], run[0].subject()
        words = type(step).run_in_words(run, schema)
        if subject:
            again = len(step.variables or ()) > 1 and step.variables == before
            clauses_of_runs.append(words.replace(subject, "these", 1) if again else words)
            before = step.variables
        else:
            clauses_of_runs.append(words)
    return tuple(clauses_of_runs)


def in_short(steps: Iterable[Method]) -> Phrase:
    """Say in a few words what steps do."""
    phrases = [type(run[0]).run_in_short(run) for run in runs(steps, short=True)]
    words, brief = (
        " · ".join(filter(None, several)) for several in zip(*((p.words, p.brief) for p in phrases), strict=True)
    )
    return Phrase(words, brief, " ".join(p.detail for p in phrases if p.detail))


@dataclass(frozen=True, repr=False)
class Chain(Method):
    """Methods one after the other, each on what the one before returned; itself a method."""

    steps: tuple[Method, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", tuple(self.steps))
        if self.variables is not None:
            raise parameters.refuse(self, "each step names its own variables")
        if len(self.steps) < 2 or not all(isinstance(s, Method) and not isinstance(s, Chain) for s in self.steps):
            raise ParameterError(f"a chain needs two methods or more, as in Rounding(10) + Noise(0.1); got {self!r}")

    def __repr__(self) -> str:
        return " + ".join(map(repr, self.steps))

    @property
    def family(self) -> str:
        """The names of the steps."""
        return " + ".join(step.family for step in self.steps)

    @cached_property
    def about(self) -> MethodAbout:  # type: ignore[override]
        """What is known of the steps, taken together."""
        abouts = [step.about for step in self.steps]
        return MethodAbout(
            title=", then ".join(about.title for about in abouts),
            source="; ".join(dict.fromkeys(about.source for about in abouts)),
            missing="; then ".join(dict.fromkeys(about.missing for about in abouts)),
            kinds=tuple(dict.fromkeys(kind for about in abouts for kind in about.kinds)),
            weights=any(about.weights for about in abouts),
            column_order=any(about.column_order for about in abouts),
            caveat="; ".join(dict.fromkeys(about.caveat for about in abouts if about.caveat)),
            random=any(about.random for about in abouts),
            keeps_records=all(about.keeps_records for about in abouts),
            draws=True,  # if one does, and each step sees to it
            households="whole",  # each step sees to it
        )

    @property
    def innermost(self) -> tuple[Method, ...]:
        """Those of all steps."""
        return tuple(method for step in self.steps for method in step.innermost)

    def in_words(self, schema: Schema | None = None) -> str:
        """Say what each step does."""
        return "; ".join(filter(None, clauses(self.steps, schema)))

    def short(self) -> Phrase:
        """Say it of all steps."""
        return in_short(self.steps)

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables that any step masks, as far as it can be told from the table before the first step."""
        named: dict[str, None] = {}
        for step in self.steps:
            try:
                with speaking(step):
                    named.update(dict.fromkeys(step.masked(data)))
            except NotApplicable:  # of a variable that only an earlier step makes fit for this one
                if step is self.steps[0]:
                    raise
                named.update(dict.fromkeys(name for name in step.variables or () if name in data.schema))
        return tuple(named)

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Do one step after the other."""
        for step, stream in zip(self.steps, rng.spawn(len(self.steps)), strict=True):
            with speaking(step):
                data = step.applied(data, stream)
        return data


@dataclass(frozen=True, repr=False)
class Within(Method):
    """A method done separately inside each category of one or more variables; itself a method.

    The records with the same values of ``by`` are a block, a missing value being a value like any other. Each block is
    protected as if it were the whole table, without the variables that make the blocks: these stay as they are. Means,
    ranks, spreads and counts are therefore those of the block. A block of fewer than ``least`` records is refused, and
    so is one that the method refuses, because it would go out as it is. Each block draws from a stream of its own name,
    so that a further block changes no other.

    ``blocks=20_000`` makes blocks without a variable, for tables of which a method that compares all records would take
    too long: records in the order of the first principal component of the standardised variables that are masked, a
    missing value at the mean, cut into blocks of 20,000 to 39,999 records. That is an approximation: records near a cut
    find none of their neighbours beyond it. MDAV(3) loses 1.25 % of the sum of squares of a made file of 100,000 x 6,
    1.57 % in blocks of 20,000 and 1.93 % in blocks of 5,000; of the Census file of 1,080 x 13 it loses 5.69 %, and
    6.51 % in blocks of 360 (``benchmarks/blocks.py``).
    """

    method: Method
    by: tuple[str, ...]
    least: int = field(default=2, kw_only=True)
    blocks: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.method, Method):
            raise parameters.refuse(self, f"a method is needed, as in MDAV(3).within('region'); got {self.method!r}")
        if self.variables is not None:
            raise parameters.refuse(self, "the method inside names its own variables")
        parameters.whole(self, "least")
        if self.blocks is not None:
            parameters.whole(self, "blocks", least=2)
            if self.by:
                raise parameters.refuse(self, "blocks are made of variables or of neighbours, not of both")
            return
        parameters.names(self, "by")
        both = [name for name in self.by if name in (self.method.variables or ())]
        if both:
            raise parameters.refuse(self, f"{both[0]!r} makes the blocks, so it cannot be masked within them")

    def __repr__(self) -> str:
        inner = f"({self.method!r})" if isinstance(self.method, Chain) else repr(self.method)
        arguments = [*map(repr, self.by), *([f"blocks={self.blocks}"] if self.blocks is not None else [])]
        return f"{inner}.within({', '.join([*arguments, *([] if self.least == 2 else [f'least={self.least}'])])})"

    @property
    def inside(self) -> str:
        """What the blocks are, in words."""
        return f"block of {self.blocks:,} records or more" if self.blocks is not None else " and ".join(self.by)

    @property
    def family(self) -> str:
        """The name of the method inside, and the variables."""
        return f"{self.method.family} within {self.inside}"

    @property
    def innermost(self) -> tuple[Method, ...]:
        """Those of what is done in each block."""
        return self.method.innermost

    def in_words(self, schema: Schema | None = None) -> str:
        """Say what is done in each block, and what the blocks are."""
        return f"{'; '.join(clauses(self.method.steps))}, within each {self.inside} by itself"

    def short(self) -> Phrase:
        """Put the words of the steps together, and name the blocks."""
        inside, by = in_short(self.method.steps), shortened(", ".join(self.by) or self.inside, MAX_DETAIL)
        return Phrase(f"by {by}: {inside.words}", f"by {by}: {inside.brief}".rstrip(), inside.detail)

    @cached_property
    def about(self) -> MethodAbout:  # type: ignore[override]
        """What is known of the method inside."""
        inner = self.method.about
        return replace(inner, title=f"{inner.title}, within each {self.inside}", grid={}, neutral=None)

    def masked(self, data: Microdata) -> tuple[str, ...]:
        """Name the variables that the method inside masks."""
        refuse_special(self.by, data.schema)
        with speaking(self.method):
            return self.method.masked(data.without(self.by))

    def only(self, names: tuple[str, ...], data: Microdata) -> Method:
        """Return the method inside for these variables alone, within the same variables."""
        return replace(self, method=self.method.only(names, data))

    def applied(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Apply it so that the members of a household keep in common what they had, though they are in other blocks."""
        whole = self.about.households in ("whole", "apart")
        if data.schema.household is not None and self.about.keeps_records and whole:
            self._refuse_apart(household_level(data), self.masked(data))
        return super().applied(data, rng)

    @property
    def heeds_households(self) -> bool:
        """Blocks may part the members of a household, whatever is done inside them."""
        return True

    def check_level(self, half: Half, level: tuple[str, ...], masked: tuple[str, ...]) -> None:
        """Refuse blocks that part the members of a household who share what is masked, and what each step refuses."""
        if self.about.households in ("whole", "apart"):
            self._refuse_apart(level, masked)
        inner = Half.of(TableInParts(tuple(half.parts)).only([n for n in half.schema.names if n not in self.by]))
        for step in self.method.steps:
            with speaking(step):
                step.check_level(inner, level, masked)

    def _refuse_apart(self, level: tuple[str, ...], names: tuple[str, ...]) -> None:
        apart = [name for name in self.by if name not in level]
        shared = [name for name in names if name in level]
        if apart and shared:
            raise NotApplicable(
                f"the members of a household share {shared[0]!r} but not {apart[0]!r}, so it would be masked in "
                "several ways within one household; make blocks of what members share, or name other variables"
            )

    def apply(self, data: Microdata, rng: np.random.Generator) -> Microdata:
        """Protect block by block, and put the blocks together again."""
        blocks = self._blocks(data)
        rows = np.split(np.argsort(blocks.codes, kind="stable"), np.cumsum(np.bincount(blocks.codes))[:-1])
        root, inner = int(rng.integers(2**63)), data.without(self.by)
        parts = [self._block(blocks, (root,), block, inner.take(records)) for block, records in enumerate(rows)]
        with speaking(self.method):
            together = joined(data, rows, parts, self.by)
        notes = [part.notes[len(data.notes) :] for part in parts]
        notes_of_blocks = told_of_blocks(blocks, [len(records) for records in rows], notes)
        return replace(together, notes=(*data.notes, f"{self!r}: {notes_of_blocks[0]}", *notes_of_blocks[1:]))

    def learn(self, half: Half, draws: Draws) -> Masking:
        """Gather each block from all parts and mask it in memory, as in a table that is there whole."""
        refuse_special(self.by, half.schema)
        found_blocks = self._along(half) if self.blocks is not None else strata_in_parts(half, self.by, "block")
        blocks = Strata(np.empty(0, dtype=np.int64), found_blocks.values)
        seed = (draws.seed, *([draws.number] if draws.number else []))
        masking, became = mask_blocks(
            half,
            found_blocks.of_numbered,
            found_blocks.sizes,
            self.by,
            lambda block, table: self._block(blocks, seed, block, table),
        )
        notes = told_of_blocks(blocks, found_blocks.sizes.tolist(), [one.notes for one in became])
        return replace(masking, said="; ".join(notes))

    def _block(self, blocks: Strata, seed: tuple[int, ...], block: int, table: Microdata) -> Microdata:
        """Protect one block, by a stream of its own name."""
        stream = np.random.default_rng([seed[0], crc32(repr(blocks.values[block]).encode()), *seed[1:]])
        try:
            with speaking(self.method):
                if len(table) < self.least:
                    raise NotApplicable(f"it has fewer records than least={self.least}")
                return self.method.apply(table, stream)
        except NotApplicable as refusal:
            where = f"{' and '.join(self.by)} = {blocks.spelled(block)}" if self.by else blocks.spelled(block)
            advice = "make larger blocks, of a coarser variable or with GlobalRecoding before"
            text = f"block {where}, records {len(table)}: {refusal.text}; {advice}"
            raise NotApplicable(text, who=refusal.who) from None

    def _blocks(self, data: Microdata) -> Strata:
        with speaking(self):
            refuse_special(self.by, data.schema)
            if self.blocks is None:
                return strata(data, self.by, "block")
            along = self._along(Half.of(data))
            return Strata(along.of_numbered(data, 0), along.values)

    def _along(self, half: Half) -> BlocksAlong:
        with speaking(self.method):
            names = self.method.masked(half.parts[0])
        return blocks_along(half, tuple(name for name in names if half.schema[name].quantitative), self.blocks or 0)
