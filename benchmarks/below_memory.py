"""Tables that fit into memory: the CPU time of this source tree beside that of another one, run in turn.

Tables in parts must not cost those that need none of it. Each piece of work is run in a process of its own, first by
one tree and then by the other, as often as asked; compared are the smallest CPU times, which other programs on the
machine disturb least, and the spread of the ratios of neighbouring runs says how far they are to be trusted.

    git worktree add ../before COMMIT
    python benchmarks/below_memory.py ../before/src [--records 200000] [--rounds 5] [--only InformationLoss]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parents[1] / "src"
WORK = {
    "KAnonymity": "sfumato.KAnonymity(3).evaluate(data, masked)",
    "IndividualRisk": "sfumato.IndividualRisk().evaluate(data, masked)",
    "InformationLoss": "sfumato.InformationLoss().evaluate(data, masked)",
    "GlobalDataUtility": "sfumato.GlobalDataUtility().evaluate(data, masked)",
    "IntervalOverlap": "sfumato.IntervalOverlap('income ~ age + C(sex)').evaluate(data, masked)",
    "LDiversity": "sfumato.LDiversity().evaluate(data, masked)",
    "RankInterval": "sfumato.RankInterval().evaluate(data, masked)",
    "CDFMaximum": "sfumato.CDFMaximum(variables=('income',)).evaluate(data, masked)",
    "PropensityUtility": "sfumato.PropensityUtility(variables=('sex', 'age', 'income')).evaluate(data, masked)",
    "Noise": "sfumato.Noise(0.2).protect(data, rng=1)",
    "PRAM": "sfumato.PRAM(0.8).protect(data, rng=1)",
    "GlobalRecoding": "sfumato.GlobalRecoding(groups=4, rare=0.1).protect(data, rng=1)",
    "RankSwapping": "sfumato.RankSwapping(0.1).protect(data, rng=1)",
    "IndividualRanking": "sfumato.IndividualRanking(3).protect(data, rng=1)",
    "LocalSuppression": "sfumato.LocalSuppression(3).protect(data, rng=1)",
    "read and written": "sfumato.Microdata.from_frame(data.to_frame(), data.schema).to_frame()",
}
PROGRAM = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import sfumato
from sfumato.testing import persons
data = persons(int(sys.argv[1]))
masked = sfumato.Noise(0.2, variables=("income",)).protect(data, rng=1)
work = json.loads(sys.argv[2])
found = {}
for name, text in work.items():
    code = compile(text, name, "eval")
    eval(code)  # what has to be loaded and compiled
    least = 1e9
    for _ in range(int(sys.argv[3])):
        start = time.process_time()
        eval(code)
        least = min(least, time.process_time() - start)
    found[name] = least
print(json.dumps(found))
"""


def seconds(source: Path, records: int, repeats: int, work: dict[str, str]) -> dict[str, float]:
    """Return the CPU seconds of each piece of work with one source tree, in a process of its own."""
    command = [sys.executable, "-c", PROGRAM, str(records), json.dumps(work), str(repeats)]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    told = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    found: dict[str, float] = json.loads(told)
    return found


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("other", type=Path, help="the folder src of the other source tree")
    options.add_argument("--records", type=int, default=200_000)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--only", choices=WORK, action="append")
    asked = options.parse_args()
    work = {name: text for name, text in WORK.items() if not asked.only or name in asked.only}
    runs: list[tuple[dict[str, float], dict[str, float]]] = []
    for _ in range(asked.rounds):
        before = seconds(asked.other, asked.records, asked.repeats, work)
        runs.append((before, seconds(HERE, asked.records, asked.repeats, work)))
    print(f"{'':20} {'other s':>9} {'here s':>9} {'ratio':>7}   ratios of neighbouring runs")
    for name in work:
        least = [min(run[which][name] for run in runs) for which in (0, 1)]
        ratios = [here[name] / before[name] for before, here in runs]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}, median {statistics.median(ratios):.2f}"
        print(f"{name:20} {least[0]:>9.4f} {least[1]:>9.4f} {least[1] / least[0]:>7.3f}   {spread}")


if __name__ == "__main__":
    main()
