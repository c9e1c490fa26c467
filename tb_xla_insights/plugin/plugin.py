"""The plugin's interface to TensorBoard: its name, whether it is active, its routes."""

from __future__ import annotations

from tensorboard.plugins import base_plugin
from werkzeug import Request, Response

from tb_xla_insights.logdir.listing import Listing
from tb_xla_insights.logdir.sessions import roots
from tb_xla_insights.logdir.store import Store, default_budget, session_opener
from tb_xla_insights.page.folder import page_folder
from tb_xla_insights.plugin.allowed_hosts import AllowedHosts, parse_names
from tb_xla_insights.plugin.assets import Assets
from tb_xla_insights.plugin.capture import Captures
from tb_xla_insights.plugin.imports import after_imports, import_ahead
from tb_xla_insights.plugin.respond import Application, application, get, not_found, post
from tb_xla_insights.routes.handlers import Handlers
from tb_xla_insights.system.memory import use_single_heap

# TensorBoard polls every plugin at each of its reloads; a bucket need not be listed that often.
_REFRESH_SECONDS = 10.0


class XlaInsightsPlugin(base_plugin.TBPlugin):
    """Serves the page and its data; see `routes` for the data. No method waits for the logdir."""

    plugin_name = "xla_insights"

    def __init__(self, context: base_plugin.TBContext) -> None:
        use_single_heap()  # before request threads start
        flags = context.flags
        spec = getattr(flags, "logdir_spec", "") or ""
        memory = getattr(flags, "xla_insights_memory_mb", 0) or 0
        catalog = getattr(flags, "xla_insights_catalog", "") or None
        logdirs = roots(context.logdir or "", spec)
        self._listing = Listing(logdirs)
        self._captures = Captures(self._listing, logdirs[0].path if logdirs else None)
        self._may_capture = getattr(flags, "xla_insights_capture", "on") == "on"
        names = parse_names(getattr(flags, "xla_insights_hosts", "") or "")
        self._hosts = AllowedHosts(names, getattr(flags, "host", None), getattr(flags, "bind_all", False))
        scheduler = getattr(flags, "xla_insights_scheduler", "") or None
        budget = memory * 10**6 or default_budget()
        self._store = Store(self._listing, session_opener(catalog, scheduler, budget), budget)
        self._assets = Assets(page_folder())
        self._active = False
        self._listing.refresh()

    def get_plugin_apps(self) -> dict[str, Application]:
        captures, hosts = self._captures, self._hosts
        routes = Handlers(self._listing, self._store, captures.logdir if self._may_capture else None)
        off_message = "capturing is off; TensorBoard was started with --xla_insights_capture=off"
        refusal_of_captures = None if self._may_capture else off_message
        gets, posts = routes.gets() | captures.gets(), routes.posts()
        return {
            **{
                f"/data/{name}": get(f"data/{name}", after_imports(handler), hosts)
                for name, handler in gets.items()
            },
            **{
                f"/data/{name}": post(f"data/{name}", after_imports(handler), hosts)
                for name, handler in posts.items()
            },
            **{
                f"/data/{name}": post(f"data/{name}", handler, hosts, refusal_of_captures)
                for name, handler in captures.posts().items()
            },
            "/static/*": application(self._static),
            "/*": application(not_found),
        }

    def _static(self, request: Request) -> Response:
        import_ahead()
        return self._assets.serve(request)

    def is_active(self) -> bool:
        """Whether a session was found. Returns the last listing's result without waiting, and starts refreshes until
        there is a session."""
        if not self._active:
            self._active = bool(self._listing.refresh(wait=0, max_age=_REFRESH_SECONDS))
        return self._active

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        # TensorBoard's reload does not affect a page in a frame; this page checks for new sessions itself.
        return base_plugin.FrontendMetadata(
            es_module_path=self._assets.entry_url(),
            tab_name="XLA Insights",
            disable_reload=True,
        )
