"""The style of the standalone page: the colours of the interface, and a layout that prints."""

from __future__ import annotations

import re

from tb_xla_insights.page.folder import page_folder

_ROOT = re.compile(r":root(\[data-theme=dark\])?\s*(\{[^}]*\})")
"""The colours in the interface's style sheet, of the light and of the dark theme."""

_LAYOUT = """
*{box-sizing:border-box}
body{margin:0 auto;padding:16px;max-width:1280px;background:var(--bg);color:var(--ink);
font-variant-numeric:tabular-nums;
font:12px/16px -apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans","DejaVu Sans Condensed",sans-serif}
h1,h2,h3,p,ol,dl,dd{margin:0;padding:0}
p,header,summary,.findings h3 span:last-child{overflow-wrap:anywhere}
h1{font-size:13px;font-weight:600}
h2{font-size:12px;font-weight:600;margin-bottom:7px}
h2 small{font-weight:400;font-size:11px;color:var(--ink-3)}
h2 small{margin-left:8px}
header{display:flex;flex-wrap:wrap;gap:4px 16px;align-items:baseline;margin-bottom:12px;color:var(--ink-2)}
header h1{color:var(--ink)}
.verdict{display:flex;flex-wrap:wrap;gap:12px 28px;align-items:center;margin-bottom:16px}
.verdict p{font-size:18px;line-height:25px;flex:1 1 480px}
.verdict .description{flex-basis:100%;font-size:12px;line-height:16px;color:var(--ink-2)}
.verdict dl{display:flex;flex-wrap:wrap;gap:12px 26px;text-align:right}
.verdict dl>div{display:flex;flex-direction:column-reverse}
.verdict dt{font-size:11px;color:var(--ink-3);white-space:nowrap}
.verdict dd{font-size:17px;line-height:22px;font-weight:600;white-space:nowrap}
main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,560px),1fr));gap:12px}
.card{background:var(--surface);border:1px solid var(--line);border-radius:6px;padding:9px 12px 10px;min-width:0;
break-inside:avoid}
.wide{grid-column:1/-1}
.card>*+*,details>*+*{margin-top:6px}
.indented{padding-left:16px}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%}
th,td{height:24px;padding:0 8px;text-align:left;white-space:nowrap;border-bottom:1px solid var(--line)}
th{height:22px;font-weight:400;font-size:11px;color:var(--ink-3)}
tbody:last-child tr:last-child td{border-bottom:0}
tfoot td{font-weight:600;border:0;border-top:1px solid var(--line-2)}
.num{text-align:right}
.text{white-space:normal;min-width:240px}
code{font:11.5px/16px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;overflow-wrap:anywhere}
h3{font-size:12px;line-height:17px;font-weight:600}
.group{display:flex;gap:8px;align-items:baseline;padding:6px 12px 4px;margin:0 -12px 8px;background:var(--surface-2);
border-bottom:1px solid var(--line)}
.group small,.gain small{font-weight:400;font-size:11px;color:var(--ink-2)}
.group .gain{margin-left:auto}
.findings{list-style:none;display:grid;gap:9px;margin-bottom:9px}
.findings li{display:grid;grid-template-columns:1fr auto;gap:3px 16px}
.findings li+li{border-top:1px solid var(--line);padding-top:9px}
.findings h3{display:flex;gap:6px}
.findings p{grid-column:1/-1;color:var(--ink-2);max-width:760px}
.findings .do{color:var(--ink)}
.findings .gain{text-align:right;line-height:17px}
.findings b{font-weight:600}
@media(max-width:520px){.findings li{display:block}.findings .gain{text-align:left}.group{flex-wrap:wrap}}
.tag{justify-self:start;align-self:start;height:17px;line-height:17px;padding:0 6px;border-radius:3px;
font-size:11px;color:var(--ink-2);background:var(--surface-2)}
.critical,.error{color:var(--critical);background:var(--critical-wash)}
.warning{color:var(--warning);background:var(--warning-wash)}
.info{color:var(--accent);background:var(--accent-wash)}
.tag:is(.fix,.pace,.note,.once){background:none;border:1px dashed var(--line-2);line-height:15px;font-weight:400}
.chip{display:inline-block;width:10px;height:10px;border-radius:2px;vertical-align:-1px;margin-right:4px}
.chip,.stack i{background-color:var(--k);border:1px solid color-mix(in oklab,var(--k),var(--edge) var(--edge-mix))}
.k-wait{background-image:repeating-linear-gradient(135deg,var(--hatch) 0 1px,transparent 1px 4px);
border-color:var(--hatch)!important}
.k-unrecorded{background-image:radial-gradient(var(--hatch) 22%,transparent 24%);background-size:4px 4px;
border:1px dashed var(--hatch)!important}
.stack{display:flex;gap:1px;height:18px;min-width:120px}
.stack i{min-width:2px;border-radius:1px}
.stack.thin{height:12px}
.bar{height:8px;width:84px;background:var(--line);border-radius:1px}
.bar i{display:block;height:8px;background:var(--dev)}
.legend{display:flex;flex-wrap:wrap;gap:3px 12px;font-size:11px;color:var(--ink-2)}
.chart{display:block;width:100%;height:auto}
.chart text{fill:var(--ink-3);font-size:11px}
.chart rect{stroke:var(--surface);stroke-width:.5}
.chart.thin rect{stroke:none}
.chart line{stroke:var(--line)}
.chart .busy{stroke:var(--ink);stroke-width:2}
details summary{cursor:pointer;color:var(--accent)}
@media print{body{max-width:none;padding:0;background:none;print-color-adjust:exact}.card{border-color:var(--line-2)}
.scroll{overflow:visible}th,td{padding:0 4px;white-space:normal}tr,summary{break-inside:avoid}
.long{overflow-wrap:anywhere;min-width:60px}.wide{break-inside:auto}.stack{min-width:60px}.text{min-width:0}
.verdict dt{white-space:normal}}
"""


def style() -> str:
    """The style sheet. Its colours are those of the interface, dark in the system's dark mode, and light on paper."""
    colours = {
        bool(dark): block for dark, block in _ROOT.findall((page_folder() / "styles.css").read_text("utf-8"))
    }
    return f":root{colours[False]}\n@media screen and (prefers-color-scheme:dark){{:root{colours[True]}}}{_LAYOUT}"
