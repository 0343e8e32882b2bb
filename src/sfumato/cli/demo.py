"""``sfumato demo``: the whole way on a made-up survey."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Json, Workers, make_folder, read_measures, read_methods, say, workers_or_default

HOUSEHOLDS, SEED, REPLICATES = 850, 2001, 3
METHODS = (
    "Noise(scale=[0.02, 0.05, 0.1, 0.2, 0.4])",
    "RankSwapping(p=[0.01, 0.03, 0.05, 0.1, 0.15, 0.2])",
    "MDAV(k=[3, 5, 10, 20])",
    "IndividualRanking(k=[3, 5, 10, 20])",
    "ProjectionMicroaggregation(k=[3, 10])",
    "Resampling(t=[1, 3])",
    "DistributionDistortion()",
    "JPEG(quality=[30, 60, 90])",
)
MEASURES = ("InformationLoss", "DistanceLinkage", "ProbabilisticLinkage", "RankInterval")
BOUND = {"DistanceLinkage": 0.025}


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("sfumato-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Fixes every random draw.")] = SEED,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Run it all on a made-up household survey: about a minute, ending with a report.

    Example: `sfumato demo --out sfumato-demo`, then open sfumato-demo/report.html
    """
    from sfumato.cli.outcome import Plan, carry_out, finish
    from sfumato.data.files import read, write
    from sfumato.data.samples import household_survey
    from sfumato.data.schema_file import write_schema

    make_folder(out)
    survey, schema = out / "survey.csv", out / "schema.toml"
    made = household_survey(HOUSEHOLDS)
    write(made, survey)
    write_schema(made, schema)
    say(f"wrote {survey} ({len(made):,} made-up persons) and {schema}")
    plan = Plan(
        file=survey,
        data=read(survey, schema),
        methods=tuple(read_methods(METHODS)),
        measures=tuple(read_measures(MEASURES)),
        candidates={},
        replicates=REPLICATES,
        seed=seed,  # nothing to keep secret here: the survey is made up
        workers=workers_or_default(workers),
        risk="DistanceLinkage",
        utility="InformationLoss",
        at_most=BOUND,
        at_least={},
        out=out,
    )
    say(f"masking it in {len(plan.methods)} ways, {REPLICATES} draws of each random one, and measuring each …")
    finish(carry_out(plan), plan, json)
