import json
import math
from pathlib import Path

import pyarrow as pa

from sfumato import MDAV, Microdata
from sfumato.report.study_page import write_study
from sfumato.studies.study import Figure, Finding, Line, Sample, Study


def test_the_page_shows_ours_beside_print_and_what_holds(tmp_path: Path) -> None:
    table = pa.table({"x": [1.0, 2.0, 3.0, 5.0], "y": [2.0, 1.0, 4.0, 4.5]})
    original = Microdata.from_frame(table)
    study = Study(
        name="toy",
        title="A toy & its <table>",
        source="Nobody (2001)",
        setting=("Four records.",),
        columns=("IL", "DLD"),
        lines=(
            Line(
                "Mic02",
                "Mic",
                "MDAV(k=2)",
                {"IL": Figure(3.25, 0.5, 3.0, bold=True), "DLD": Figure(50.0, 0.0, math.nan)},
            ),
            Line("Mic03", "Mic", "MDAV(k=3)", {"IL": Figure(math.nan, math.nan, 4.0)}),
        ),
        findings=(Finding("IL is as printed", True, "to 0.25"), Finding("DLD is", None, ""), Finding("No", False, "")),
        reasons={"Mic": "because of the groups", "DLD": "not printed"},
        samples=(Sample("four records", original, {"Mic": MDAV(2).protect(original)}),),
        seed=1,
        replicates=1,
        seconds=0.5,
        versions={"sfumato": "0"},
        fingerprint="made up",
    )
    page = write_study(study, tmp_path / "study", "sfumato study toy").read_text()
    assert "A toy &amp; its &lt;table&gt;" in page
    assert "1 of 2 statements" in page
    assert "3.00 (+0.250)" in page  # print, and 3.25 - 3.00
    assert "<strong>3.25</strong>" in page and "<strong>50.00</strong>" not in page
    assert "because of the groups" in page
    assert "not printed" in page
    assert (tmp_path / "study" / "plots" / "figure-il.png").is_file()
    assert not (tmp_path / "study" / "plots" / "figure-dld.png").exists()  # nothing to compare
    assert json.loads((tmp_path / "study" / "results.json").read_text())["lines"][1]["figures"]["IL"]["ours"] is None
    assert (tmp_path / "study" / "plots" / "data-four-records.png").is_file()
