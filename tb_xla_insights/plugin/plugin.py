"""The plugin as TensorBoard sees it: its name, whether it has something to show, its routes."""

from __future__ import annotations

from tensorboard.plugins import base_plugin
from werkzeug import Request, Response

from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import roots
from tb_xla_insights.logdir.store import Store, default_budget, session_opener
from tb_xla_insights.memory import keep_one_heap
from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.plugin.allowed_hosts import Names, parse_names
from tb_xla_insights.plugin.assets import Assets
from tb_xla_insights.plugin.capture import Captures
from tb_xla_insights.plugin.imports import after_imports, import_ahead
from tb_xla_insights.plugin.respond import Application, application, get, not_found, post
from tb_xla_insights.plugin.routes import Routes

# TensorBoard asks every plugin at each of its reloads; a bucket need not be listed that often.
_LOOK_AGAIN_SECONDS = 10.0


class XlaInsightsPlugin(base_plugin.TBPlugin):
    """Serves the page and its data; see `routes` for the latter. Nothing here waits for a disk."""

    plugin_name = "xla_insights"

    def __init__(self, context: base_plugin.TBContext) -> None:
        keep_one_heap()  # before there are threads that answer
        flags = context.flags
        spec = getattr(flags, "logdir_spec", "") or ""
        memory = getattr(flags, "xla_insights_memory_mb", 0) or 0
        catalog = getattr(flags, "xla_insights_catalog", "") or None
        places = roots(context.logdir or "", spec)
        self._listing = Listing(places)
        self._captures = Captures(self._listing, places[0].path if places else None)
        self._capture = getattr(flags, "xla_insights_capture", "on") == "on"
        listed = parse_names(getattr(flags, "xla_insights_hosts", "") or "")
        self._names = Names(listed, getattr(flags, "host", None), getattr(flags, "bind_all", False))
        scheduler = getattr(flags, "xla_insights_scheduler", "") or None
        budget = memory * 10**6 or default_budget()
        self._store = Store(self._listing, session_opener(catalog, scheduler, budget), budget)
        self._assets = Assets(page_folder())
        self._active = False
        self._listing.refresh()

    def get_plugin_apps(self) -> dict[str, Application]:
        captures, names = self._captures, self._names
        routes = Routes(self._listing, self._store, captures.logdir if self._capture else None)
        why = "capturing is off; TensorBoard was started with --xla_insights_capture=off"
        off = None if self._capture else why
        reads, acts = routes.gets() | captures.gets(), routes.posts()
        return {
            **{
                f"/data/{name}": get(f"data/{name}", after_imports(handler), names)
                for name, handler in reads.items()
            },
            **{f"/data/{name}": post(f"data/{name}", handler, names) for name, handler in acts.items()},
            **{
                f"/data/{name}": post(f"data/{name}", handler, names, off)
                for name, handler in captures.posts().items()
            },
            "/static/*": application(self._static),
            "/*": application(not_found),
        }

    def _static(self, request: Request) -> Response:
        import_ahead()
        return self._assets.serve(request)

    def is_active(self) -> bool:
        """Whether a session was seen; answers at once from the last look, and starts another while there is none."""
        if not self._active:
            self._active = bool(self._listing.refresh(wait=0, max_age=_LOOK_AGAIN_SECONDS))
        return self._active

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        # TensorBoard's reload does nothing to a page in a frame; ours looks for new sessions itself.
        return base_plugin.FrontendMetadata(
            es_module_path=self._assets.entry(),
            tab_name="XLA Insights",
            disable_reload=True,
        )
