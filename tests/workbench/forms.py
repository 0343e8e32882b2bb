"""What a browser would send of a form as it stands on a page."""

from html.parser import HTMLParser


class _Forms(HTMLParser):
    """Collects the controls of one form, by the start of its action."""

    def __init__(self, action: str) -> None:
        super().__init__()
        self.action, self.inside = action, False
        self.pairs: list[tuple[str, str]] = []
        self.select: str | None = None
        self.options: list[tuple[str | None, bool]] = []
        self.area: str | None = None
        self.text = ""
        self.found = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if tag == "form":
            self.inside = (given.get("action") or "").startswith(self.action)
            self.found += self.inside
        if not self.inside:
            return
        name = given.get("name")
        if tag == "input" and name and given.get("type") not in ("submit", "file", "search"):
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                self.pairs.append((name, given.get("value") or ""))
        elif tag == "select" and name:
            self.select, self.options = name, []
        elif tag == "option" and self.select:
            self.options.append((given.get("value"), "selected" in given))
            self.text = ""
        elif tag == "textarea" and name:
            self.area, self.text = name, ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        elif tag == "option" and self.select and self.options:
            value, chosen = self.options[-1]
            self.options[-1] = (self.text if value is None else value, chosen)
        elif tag == "select" and self.select:
            values = [value for value, is_chosen in self.options if is_chosen] or [self.options[0][0]]
            self.pairs.append((self.select, values[0] or ""))
            self.select = None
        elif tag == "textarea" and self.area:
            self.pairs.append((self.area, self.text))
            self.area = None


def filled(page: str, action: str) -> dict[str, str]:
    """Return what a browser sends of the one form with this action; every line end becomes two characters."""
    read = _Forms(action)
    read.feed(page)
    assert read.found == 1, f"{read.found} forms with the action {action}"
    return {name: value.replace("\n", "\r\n") for name, value in read.pairs}
