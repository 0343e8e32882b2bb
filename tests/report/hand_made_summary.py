"""A small summary made by hand, with names that try to break out of the page."""

from sfumato.compare.examine.findings import CorrelationChange, Moments, RecordRisk, VariableDetail
from sfumato.compare.figures import Figure
from sfumato.outcome import Reason, Status
from sfumato.report.summary import (
    Bound,
    CandidateLine,
    Change,
    Detail,
    MeasureLine,
    Run,
    Summary,
    VariableLine,
    Verdict,
)

HOSTILE = "</script><script>alert('x')</script>&\"<b>"


def _candidate(label: str, family: str, rank: int, risk: float, loss: float, **place: object) -> CandidateLine:
    figures = {
        "DistanceLinkage()": Figure(risk, f"{100 * risk:.1f} % ± 0.5", 0.005),
        "InformationLoss()": Figure(loss, f"{loss:.1f}", 0.4),
        "Score()": Figure(loss / 2 + 50 * risk, f"{loss / 2 + 50 * risk:.1f}"),
    }
    parts = {"InformationLoss": loss / 2, "DistanceLinkage": 50 * risk}
    return CandidateLine(label, family, rank, figures, score_parts=parts, seconds=0.1, **place)  # type: ignore[arg-type]


def hand_made_summary() -> Summary:
    """Return five candidates, one of them chosen and one without figures."""
    measures = (
        MeasureLine(
            "DistanceLinkage()",
            "DistanceLinkage",
            "records correctly linked",
            "risk",
            "lower",
            "share",
            meaning="How many records an intruder finds again.",
            source="A paper, 2001.",
            caveat="Sees only pairs.",
        ),
        MeasureLine("InformationLoss()", "InformationLoss", "information loss", "utility", "lower", "percent"),
        MeasureLine(
            "Score()",
            "Score",
            "score",
            "risk",
            "lower",
            "percent",
            recipe="Score = 0.5 InformationLoss + 50 DistanceLinkage",
        ),
    )
    candidates = (
        _candidate("RankSwapping(p=0.1)", "RankSwapping", 1, 0.03, 21.0, on_frontier=True, feasible=True, chosen=True),
        _candidate("MDAV(k=5)", "MDAV", 2, 0.04, 30.0, dominated_by=("RankSwapping(p=0.1)",), feasible=True, tied=True),
        _candidate("Noise(scale=0.1)", "Noise", 3, 0.2, 9.0, on_frontier=True, feasible=False),
        _candidate("RankSwapping(p=0.3)", "RankSwapping", 4, 0.01, 44.0, on_frontier=True, feasible=True, unsure=True),
        CandidateLine(
            "JPEG(quality=80)",
            "JPEG",
            5,
            {},
            reasons={"DistanceLinkage()": Reason(Status.NOT_APPLICABLE, "too few records", who="JPEG")},
            feasible=False,
        ),
    )
    detail = Detail(
        candidate="RankSwapping(p=0.1)",
        notes=("swapped ranks of 2 variables",),
        variables=(
            VariableDetail(
                HOSTILE,
                "numeric",
                0.9,
                before=Moments(10.0, 2.0, 0.0, 9.0, 30.0, 1),
                after=Moments(10.0, 2.1, 0.0, 9.1, 29.0, 1),
                figures={"InformationLoss()": Figure(3.0, "3.00")},
                edges=(0.0, 10.0, 20.0, 30.0),
                shares_before=(0.5, 0.3, 0.2),
                shares_after=(0.4, 0.4, 0.2),
                clipped=True,
            ),
            VariableDetail(
                "region.of[x]",
                "nominal",
                0.1,
                categories=("north", HOSTILE),
                shares_before=(0.5, 0.5),
                shares_after=(0.6, 0.4),
            ),
            VariableDetail(
                "sex", "nominal", 0.0, categories=("f", "m"), shares_before=(0.5, 0.5), shares_after=(0.5, 0.5)
            ),
            VariableDetail("age", "numeric", None, gone=True),
        ),
        by_variable=("InformationLoss()",),
        correlations=(CorrelationChange(HOSTILE, "age", 0.5, 0.3),),
        records=(
            RecordRisk(
                17,
                {"DistanceLinkage()": Figure(1.0, "100 %"), "Score()": Figure(0.0, "0")},
                keys={"age": "93", HOSTILE: HOSTILE},
                alone_by=("age", HOSTILE),
                by="DistanceLinkage()",
                scenario="neighbour",
            ),
        ),
        parts={"DistanceLinkage()": {"1 variable": Figure(0.01, "1.0 %")}},
    )
    return Summary(
        kind="sweep",
        title=f"Protecting {HOSTILE}.csv",
        verdict=Verdict(
            publish=True,
            words=f"Publish: {HOSTILE}",
            done=f"The ranks of {HOSTILE} are swapped.",
            found="Expected re-identifications: 432 of 1,080 records before, 32 after.",
            price=("no value made blank", f"values changed: {HOSTILE}"),
            warnings=(f"The bound on {HOSTILE} asks for nothing.",),
            changes=(
                Change("records correctly linked", "40 %", "3 %", "at most 5 %", kept=True),
                Change("largest chance of a record", "100 %", "100 %", part=True),
                Change(HOSTILE, "0", "21"),
            ),
        ),
        file=f"{HOSTILE}.csv",
        records=1080,
        question="Which candidate?",
        sentence="RankSwapping(p=0.1) loses least with at most 5 % of records linked.",
        headline=(
            ("3.0 %", "records correctly linked"),
            ("21.0", "information loss"),
            ("3 of 5", "candidates keep the bound"),
        ),
        variables=(VariableLine(HOSTILE, "", "numeric", "key", 1, 900, "0 to 30"),),
        measures=measures,
        candidates=candidates,
        run=Run(
            command="sfumato sweep x.csv",
            created="2026-01-01",
            versions={"sfumato": "0.1.0", "numpy": "2.0"},
            fingerprint="abc",
            schema="[weight]",
        ),
        risk="DistanceLinkage()",
        utility="InformationLoss()",
        score="Score()",
        bounds=(Bound("DistanceLinkage()", "DistanceLinkage", 0.05, "at most 5 %"),),
        detail=detail,
        notes=("2 variables have missing values",),
    )
