"""``sfumato demo``: the whole way on a made-up survey."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Json, Workers, say
from sfumato.project.settle import make_folder, remembered_seed
from sfumato.project.tell import unheard

HOUSEHOLDS, SEED = 850, 2001
BOUNDS = ("Reidentification=5%", "ExposedAmounts=0%")


def demo(
    *,
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("sfumato-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Fixes every random draw.")] = SEED,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Run it all on a made-up household survey: a minute or so, ending with a verdict and a report.

    Two intruders are feared: one who holds a register of all residents, and an acquaintance who knows that a person
    took part. At most 5 % of the persons may be found by either, and no extreme amount may stand as it was.

    Example: `sfumato demo --out sfumato-demo`, then open sfumato-demo/report.html
    """
    from dataclasses import replace

    from sfumato.cli.sweep import sweep
    from sfumato.data.files import write
    from sfumato.data.samples import household_survey
    from sfumato.data.schema import Scenario
    from sfumato.data.schema_file import write_schema

    make_folder(out)
    survey, schema = out / "survey.csv", out / "schema.toml"
    made = household_survey(HOUSEHOLDS)
    intruders = (
        Scenario("register", keys=("region", "sex", "age", "marital"), k=3, knows_membership=False),
        Scenario("acquaintance", keys=("sex", "age", "education", "occupation"), k=5),
    )
    made = replace(made, schema=replace(made.schema, scenarios=intruders))
    remembered_seed(out, seed, unheard)  # from here on it is a sweep's folder, which may hold its survey too
    write(made, survey)
    write_schema(made, schema)
    said = " ".join(f'--at-most "{bound}"' for bound in BOUNDS)
    say(f"wrote {survey} ({len(made):,} made-up persons) and {schema}, which names two intruders; now:")
    say(f"sfumato sweep {survey} --schema {schema} {said} --out {out}")
    # the seed need not be secret here: the survey is made up
    sweep(survey, schema=schema, at_most=list(BOUNDS), seed=seed, workers=workers, out=out, json=json)
    if not json:
        say("next: read the report, then docs/tutorial.md; with a file of yours begin with `sfumato inspect FILE`")
