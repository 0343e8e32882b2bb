"""The desk under many hands: pages that ask while a change is written, and what is kept in memory."""

from pathlib import Path
from threading import Thread

import pytest
from tiny import people

from sfumato.errors import DataError
from sfumato.workbench.desk import MAX_TABLES, Desk
from sfumato.workbench.draft import Draft


def test_what_another_page_is_just_writing_is_no_edit_from_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = people(tmp_path / "project")
    desk, write, asking = bench.desk, bench.desk.write_schema, []

    def written(draft: Draft) -> None:
        """Write the file a while after the journal; meanwhile another tab asks for what holds."""
        asking.append(Thread(target=desk.now))
        asking[-1].start()
        asking[-1].join(0.3)
        write(draft)

    monkeypatch.setattr(desk, "write_schema", written)
    said = bench.draft.schema.replace('kind = "nominal"', 'kind = "nominal"\nlabel = "where"', 1)
    desk.change(lambda old: old.but(schema=said), screen="variables", what="a label")
    desk.undo()
    for thread in asking:
        thread.join()
    assert len(asking) == 2
    assert not [event.what for event in desk.journal.events() if "outside" in event.what]
    assert [event.what for event in desk.journal.events(2)] == ["undone: a label", "a label"]


def test_tables_of_earlier_schemas_are_not_held_in_memory(tmp_path: Path) -> None:
    desk = people(tmp_path / "project").desk
    draft = desk.now().draft
    codes = range(10, 10 + MAX_TABLES + 3)  # each another code for missing, so that the file is read anew
    drafts = [
        draft.but(schema=draft.schema.replace('role = "other"', f'role = "other"\nmissing = [{c}]', 1)) for c in codes
    ]
    tables = [desk.table(one) for one in drafts]
    kept = [id(made) for (name, _), made in desk._kept.items() if name == "table and schema"]
    assert kept == [id(one) for one in tables[-MAX_TABLES:]]
    assert sum(name == "table" for name, _ in desk._kept) == MAX_TABLES


def test_what_cannot_be_made_leaves_nothing_behind_and_is_tried_again(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "project")

    def refuse() -> str:
        raise DataError("not now")

    with pytest.raises(DataError):
        desk.kept("answer", "of this", refuse)
    assert not desk._making
    assert desk.kept("answer", "of this", lambda: "made") == "made"
