"""The pages of administrators, and the changes that their forms make.

A form contains the version of its object, so a change by another administrator is never overwritten unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, RedirectResponse, Response

from docyard.organizations.administration import Administration, ChangeConflict
from docyard.organizations.audit import list_organization_entries
from docyard.organizations.authority import Administrator, Places
from docyard.organizations.objects import (
    Fields,
    Kind,
    ObjectKey,
    ObjectNotFound,
    State,
    compute_version,
)
from docyard.organizations.plan import format_value
from docyard.web.administration.object_forms import (
    PAGE_PATH,
    SETTINGS_PART,
    FormField,
    format_fields,
    format_object_url,
    format_title,
    list_fields,
    list_key_fields,
    parse_fields,
    parse_key,
)
from docyard.web.errors import get_status
from docyard.web.servers import Pages
from docyard.web.templates import render_template
from workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from docyard.caller import Caller
    from docyard.database.database import Database

KINDS_BY_PATH = {f"{kind}s": kind for kind in Kind if kind is not Kind.ORGANIZATION}
_SHOWN_ENTRIES = 20
_HIDDEN_FIELDS = frozenset({"act", "version", "new_name", "confirmed"})


class AdministrationAccess(NamedTuple):
    """The database, the places that administrators may name, and the administrator that a caller is.

    `find_administrator` is called with the slug of the requested organization, which can be empty. It returns
    None for a caller who administers nothing. `pages` are the main pages of the server.
    """

    database: Database
    places: Places
    find_administrator: Callable[[Caller, str], Administrator | None]
    pages: Pages = (("Administration", PAGE_PATH),)


class AdministrationPage:
    """The pages of one administrator. An unknown object raises HTTPException with 404."""

    def __init__(self, access: AdministrationAccess, caller: Caller, administrator: Administrator) -> None:
        self._access = access
        self._caller = caller
        self._administrator = administrator
        self._administration = Administration(access.database, administrator, access.places)

    @property
    def _is_operator(self) -> bool:
        return self._administrator.organization is None

    def render_organizations(self) -> Response:
        """Return the list of organizations; an administrator of one is redirected to its page."""
        if self._administrator.organization is not None:
            return _redirect(ObjectKey(self._administrator.organization))
        return self._render_list(self._administration.read_state())

    def render_organization(self, slug: str) -> Response:
        """Return the page of an organization."""
        return self._render_organization(ObjectKey(slug), self._administration.read_state())

    def render_new_object(self, slug: str, kind: Kind) -> Response:
        """Return the form of a new object of an organization."""
        state = self._administration.read_state()
        _find(state, ObjectKey(slug))
        return self._render_object(state, slug, kind, None, {})

    def render_object(self, key: ObjectKey) -> Response:
        """Return the form of an object."""
        state = self._administration.read_state()
        return self._render_object(state, key.organization, key.kind, key, format_fields(_find(state, key)))

    def add(self, slug: str, kind: Kind, form: Mapping[str, str]) -> Response:
        """Add the object that a form describes, and redirect to its page."""
        state = self._administration.read_state()
        if kind is not Kind.ORGANIZATION:
            _find(state, ObjectKey(slug))
        key = parse_key(slug, kind, form)
        try:
            self._administration.add(key, parse_fields(self._list_fields(state, slug, kind), form))
        except WorkspaceError as error:
            return self._render_object(state, slug, kind, None, form, error)
        return _redirect(key)

    def change(self, key: ObjectKey, form: Mapping[str, str]) -> Response:
        """Save, rename or remove an object, as the button of the form says."""
        state = self._administration.read_state()
        _find(state, key)
        version = form.get("version", "")
        try:
            match form.get("act"):
                case "rename":
                    new_name = form.get("new_name", "").strip()
                    return _redirect(self._administration.rename(key, new_name, expected=version))
                case "remove":
                    if "confirmed" not in form:
                        raise RemovalNotConfirmed(
                            "the removal is not confirmed", fix="Check the box next to the button."
                        )
                    self._administration.remove(key, expected=version)
                    is_organization = key.kind is Kind.ORGANIZATION
                    return (
                        RedirectResponse(PAGE_PATH, 303)
                        if is_organization
                        else _redirect(ObjectKey(key.organization))
                    )
                case _:
                    fields = parse_fields(self._list_fields(state, key.organization, key.kind), form)
                    self._administration.change(key, fields, expected=version)
                    return _redirect(key)
        except ObjectNotFound:
            raise HTTPException(404) from None
        except WorkspaceError as error:
            state = self._administration.read_state()
            values = form if form.get("act") == "save" else format_fields(_find(state, key))
            return self._render_object(state, key.organization, key.kind, key, values, error)

    def render_error(self, error: WorkspaceError) -> Response:
        """Return the page of an error that belongs to no form."""
        return self._render("admin_frame.html", get_status(error), error=error)

    def _list_fields(self, state: State, slug: str, kind: Kind) -> list[FormField]:
        namespaces = sorted(
            key.name for key in state if key.organization == slug and key.kind is Kind.NAMESPACE
        )
        return list_fields(kind, namespaces, is_operator=self._is_operator)

    def _render_list(self, state: State) -> Response:
        organizations = sorted(key for key in state if key.kind is Kind.ORGANIZATION)
        counts = {
            key: {
                kind: sum(other.organization == key.organization and other.kind is kind for other in state)
                for kind in KINDS_BY_PATH.values()
            }
            for key in organizations
        }
        return self._render(
            "admin_organizations.html", organizations=organizations, counts=counts, state=state
        )

    def _render_organization(self, key: ObjectKey, state: State) -> Response:
        fields = _find(state, key)
        objects = {
            path: [other for other in sorted(state) if other[:2] == (key.organization, kind)]
            for path, kind in KINDS_BY_PATH.items()
        }
        with self._access.database.connect() as connection:
            entries = list_organization_entries(connection, key.organization, _SHOWN_ENTRIES)
        return self._render(
            "admin_organization.html",
            key=key,
            fields=fields,
            state=state,
            objects=objects,
            entries=entries,
            format_value=format_value,
        )

    def _render_object(
        self,
        state: State,
        slug: str,
        kind: Kind,
        key: ObjectKey | None,
        form: Mapping[str, str],
        error: WorkspaceError | None = None,
    ) -> Response:
        """Return the form of an object; of a new one if `key` is None."""
        current: Fields = {} if key is None else _find(state, key)
        values = {name: value for name, value in form.items() if name not in _HIDDEN_FIELDS}
        return self._render(
            "admin_object.html",
            200 if error is None else get_status(error),
            error=error,
            key=key,
            kind=kind,
            organization=ObjectKey(slug),
            key_fields=list_key_fields(kind) if key is None else (),
            form_fields=self._list_fields(state, slug, kind),
            values=values,
            version=compute_version(current),
            current=current if isinstance(error, ChangeConflict) else None,
            may_rename=key is not None
            and kind is not Kind.RULE
            and (self._is_operator or kind is not Kind.ORGANIZATION),
            may_remove=key is not None and (self._is_operator or kind is not Kind.ORGANIZATION),
            format_value=format_value,
        )

    def _render(self, template: str, status: int = 200, **values: Any) -> Response:
        variables = {
            "caller": self._caller,
            "csrf": self._caller.csrf,  # in a macro, Jinja gives `caller` another meaning
            "is_operator": self._is_operator,
            "error": None,
            "object_url": format_object_url,
            "object_title": format_title,
            "page_path": PAGE_PATH,
            "pages": self._access.pages,
            "has_sign_in": False,
            "settings_part": SETTINGS_PART,
            **values,
        }
        return HTMLResponse(render_template(template, variables).encode("utf-8", "replace"), status)


class RemovalNotConfirmed(WorkspaceError):
    """The box that confirms a removal is not checked."""

    code: ClassVar[str] = "NOT_CONFIRMED"


def _find(state: State, key: ObjectKey) -> Fields:
    """Return the fields of an object; an unknown one is answered like an unknown page."""
    if key not in state:
        raise HTTPException(404)
    return state[key]


def _redirect(key: ObjectKey) -> Response:
    return RedirectResponse(format_object_url(key), 303)
