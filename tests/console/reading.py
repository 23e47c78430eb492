"""A page as a reader and a checker see it: its text, links, forms and regions, and whether it is well-formed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_CLOSED_ALONE = {"rect", "circle", "path", "use"}


@dataclass
class Form:
    """One form: what it sends when nothing is changed."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: list[dict[str, str | None]] = field(default_factory=list)


class Page(HTMLParser):
    """One reply, parsed."""

    def __init__(self, status: int, url: str, headers: Any, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.status, self.url, self.headers, self.html = status, url, headers, html
        self.open: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.forms: list[Form] = []
        self.labelled: set[str] = set()
        self._select: str | None = None
        self._area: str | None = None
        self._words: list[str] = []
        self.feed(html)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    @classmethod
    def of(cls, reply: Any) -> Page:
        return cls(reply.status_code, str(reply.url), reply.headers, reply.text)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())

    @property
    def links(self) -> list[str]:
        return [href for tag, attrs in self.tags if tag == "a" and (href := attrs.get("href"))]

    def attributes(self, name: str) -> list[str]:
        return [value for _, attrs in self.tags if (value := attrs.get(name)) is not None]

    def form(self, action: str) -> dict[str, str]:
        """What the form with this action sends when nothing is changed."""
        found = [form for form in self.forms if form.action == action]
        assert found, f"no form for {action}; there are {[form.action for form in self.forms]}"
        return dict(found[0].fields)

    def has_form(self, action: str) -> bool:
        return any(form.action == action for form in self.forms)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if len(given) != len(attrs):
            self.faults.append(f"an attribute twice: {tag} {attrs}")
        self.tags.append((tag, given))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "form":
            if "form" in self.open[:-1]:
                self.faults.append("a form in a form")
            self.forms.append(Form(given.get("action") or "", given.get("method") or "get"))
        elif tag == "label" and given.get("for"):
            self.labelled.add(str(given["for"]))
        elif self.forms and "form" in self.open:
            self._control(tag, given)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _CLOSED_ALONE and tag not in VOID:
            self.faults.append(f"closed alone: {tag}")
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> while open: {self.open[-5:]}")
        if tag in self.open:
            while self.open.pop() != tag:
                pass
        if tag == "select":
            self._select = None
        elif tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        self._words.append(data)
        if self._area is not None:
            self.forms[-1].fields[self._area] += data

    def _control(self, tag: str, given: dict[str, str | None]) -> None:
        name, fields = given.get("name"), self.forms[-1].fields
        if tag == "button":
            self.forms[-1].buttons.append(given)
        elif tag == "select" and name:
            self._select = name
        elif tag == "option" and self._select and ("selected" in given or self._select not in fields):
            fields[self._select] = given.get("value") or ""
        elif tag == "textarea" and name:
            self._area, fields[name] = name, ""
        elif tag == "input" and name:
            kind = given.get("type") or "text"
            if kind not in {"radio", "checkbox"} or "checked" in given:
                fields[name] = given.get("value") or ""
