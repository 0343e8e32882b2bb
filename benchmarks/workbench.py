"""What the workbench costs the processor: a bound moved on the map, with 200 and with 500 candidates.

    python benchmarks/workbench.py [CANDIDATES ...]

Each line is one thing that a steward does, in milliseconds of the server's processor, the best of several after the
first time, with the time of the first. Targets: a moved bound with 200 candidates within 100 ms.

Figures of two cores of a shared machine (first time in brackets):

    200 candidates x 5 measures: results read 119 ms (117), Explore 29 (310), moved bound 26 (26), Compare 27 (191)
    500 candidates x 5 measures: results read 382 ms (454), Explore 66 (538), moved bound 61 (67), Compare 69 (154)

With the nine measures that a survey is judged by if none is named, a moved bound takes 50 ms and 90 ms.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import sfumato
from sfumato.compare.experiment import Experiment
from sfumato.project.plan import planned
from sfumato.project.record import STORE, Record
from sfumato.workbench.desk import Desk
from sfumato.workbench.draft import Draft
from sfumato.workbench.pages import Page, page_of
from sfumato.workbench.screens.explore import SCREEN as EXPLORE
from sfumato.workbench.screens.screen import Screen
from sfumato.workbench.screens.side_by_side import SCREEN as COMPARE

MEASURES = ("Reidentification", "RankInterval", "ExposedAmounts", "Suppressed", "InformationLoss")
BOUND = 0.6


def cost(do: Callable[[], object], times: int = 5) -> tuple[float, float]:
    """Return the milliseconds of the processor that the first time and the best of the others take."""
    taken = []
    for _ in range(times + 1):
        start = process_time()
        do()
        taken.append(1000 * (process_time() - start))
    return taken[0], min(taken[1:])


def measured(folder: Path, candidates: int) -> Desk:
    """Measure so many cheap candidates of a small survey, three draws of each, and lay the project on a desk."""
    data = sfumato.household_survey(40)
    sfumato.write(data, folder / "survey.csv")
    sfumato.write_schema(data, folder / "schema.toml")
    methods = [f"LocalSuppression(k={2 + i % 4}) + Noise(scale={0.01 + 0.001 * i:.4f})" for i in range(candidates)]
    plan = planned(
        folder / "survey.csv",
        folder / "schema.toml",
        methods=methods,
        measures=MEASURES,
        risk="Reidentification",
        utility="InformationLoss",
        at_most={"Reidentification": BOUND},
        seed=1,
        out=folder,
    )
    Record.of(plan).save(folder)
    experiment = Experiment(plan.data, methods=plan.methods, measures=plan.measures, replicates=3, seed=1)
    experiment.run(workers=2, store=folder / STORE, original=True)
    desk = Desk(folder)
    draft = Draft(
        source="survey.csv",
        schema=(folder / "schema.toml").read_text(),
        confirmed=True,
        own=tuple(methods),
        proposed=False,
        uses=MEASURES,
        at_most={"Reidentification": BOUND},
    )
    desk.change(lambda _: draft, screen="open", what="begun")
    return desk


def moved_bounds(candidates: int) -> None:
    """Print what looking at so many candidates costs, and choosing anew among them."""
    with TemporaryDirectory() as place:
        desk = measured(Path(place), candidates)
        now, bounds = desk.now(), iter(range(1, 100))

        def page(screen: Screen, **query: str) -> str:
            return page_of(desk, Page(screen, now, "", "/", query))

        record = Record.read(desk.folder)
        assert record is not None
        table = desk.table(now.draft)
        told = {
            "results read": cost(lambda: record.results(table, desk.folder)),
            "Explore": cost(lambda: page(EXPLORE)),
            "moved bound": cost(lambda: page(EXPLORE, part="answer", bound0=str(next(bounds)))),
            "Compare": cost(lambda: page(COMPARE)),
        }
    said = "; ".join(f"{what} {best:.0f} ms (first {first:.0f})" for what, (first, best) in told.items())
    print(f"{candidates} candidates x {len(MEASURES)} measures: {said}")


def main() -> None:
    for candidates in [int(word) for word in sys.argv[1:]] or [200, 500]:
        moved_bounds(candidates)


if __name__ == "__main__":
    main()
