"""``sfumato demo``: the whole way on a made-up survey."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import Json, Workers, make_folder, read_measures, read_methods, say, workers_or_default

HOUSEHOLDS, SEED, REPLICATES = 850, 2001, 3
METHODS = (
    "Rounding(scale=[0.1, 0.5])",
    "TopBottomCoding(share=[0.01, 0.05])",
    "RankSwapping(p=[0.02, 0.05, 0.1, 0.2])",
    "MDAV(k=[3, 5, 10])",
    "IndividualRanking(k=[5, 20])",
    "Shuffling()",
    "GlobalRecoding(groups=[3, 5, 10], rare=0.05)",
    "PRAM(retention=[0.9, 0.7], invariant=True)",
    "RecordSwapping(share=[0.05, 0.2])",
    "LocalSuppression(k=[2, 3])",
    "GlobalRecoding(groups=[3, 5], rare=0.05) + LocalSuppression(k=3)",
    "GlobalRecoding(groups=[3, 5], rare=0.05) + LocalSuppression(k=3) + RankSwapping(p=0.05)",
    "GlobalRecoding(groups=5, rare=0.05) + PRAM(retention=[0.9, 0.7], invariant=True)",
    "GlobalRecoding(groups=5, rare=0.05) + PRAM(retention=0.8, invariant=True) + RankSwapping(p=0.05)",
)
RISK, UTILITY = "DistanceLinkage(distance='gower')", "GlobalDataUtility()"
MEASURES = (RISK, UTILITY, "KAnonymity", "IndividualRisk", "DiSCO")
BOUND = {RISK: 0.05}


def demo(
    *,
    out: Annotated[Path, typer.Option(help="The folder to write to.")] = Path("sfumato-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Fixes every random draw.")] = SEED,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Run it all on a made-up household survey: a minute or two, ending with a report.

    Numbers are changed, swapped and averaged, keys recoded, suppressed and randomised, alone and in chains; the risk is
    that an intruder who knows the keys finds somebody again.

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
        risk=RISK,
        utility=UTILITY,
        at_most=BOUND,
        at_least={},
        out=out,
    )
    say(f"masking it in {len(plan.methods)} ways, {REPLICATES} draws of each random one, and measuring each …")
    finish(carry_out(plan), plan, json=json)
    if not json:
        say("next: read the report, then docs/tutorial.md; with a file of yours begin with `sfumato inspect FILE`")
