# SPDX-License-Identifier: GPL-2.0-or-later
"""A page's layout as SVG: where each panel is, what it is called and what it draws. Shapes are
made up; there are no data in these pictures.
"""
import math
from html import escape

COLUMN, LINE, GAP, TOP = 50, 26, 4, 64
COLORS = ["#73bf69", "#5794f2", "#ff9830", "#b877d9", "#f2495c", "#fade2a"]
BACK, PANEL, EDGE, TEXT, DIM = "#111217", "#181b1f", "#2c3235", "#d8d9da", "#8e9196"


def words(x, y, text, size=12, color=TEXT, room=None, anchor="start", bold=False):
    if room is not None:
        most = max(1, int(room / (size * 0.6)))
        text = text if len(text) <= most else text[:most - 1] + "…"
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{color}" '
            f'text-anchor="{anchor}"{" font-weight=" + chr(34) + "bold" + chr(34) if bold else ""}'
            f'>{escape(text)}</text>')


def box(x, y, w, h, fill, edge=None):
    line = f' stroke="{edge}"' if edge else ""
    return (f'<rect x="{x:.0f}" y="{y:.0f}" width="{max(w, 1):.0f}" height="{max(h, 1):.0f}" '
            f'fill="{fill}"{line} rx="2"/>')


def names(p):
    """What its series, columns or numbers are called."""
    found = []
    for t in p.get("targets", []):
        if "columns" in t:
            hidden = {o["matcher"]["options"] for o in p["fieldConfig"]["overrides"]
                      if any(q["id"] == "custom.hidden" for q in o["properties"])}
            found += [c["text"] for c in t["columns"] if c["text"] not in hidden]
        elif t.get("legendFormat", "__auto") != "__auto":
            found.append(t["legendFormat"].replace("{{", "").replace("}}", "").strip())
    kept = []
    for n in found:  # of the emissions' columns one is shown
        n = "CO2e" if n.startswith("CO2e ") else n
        if n not in kept:
            kept.append(n)
    return kept


def draw_series(p, x, y, w, h):
    out, legend = [], names(p)
    stacked = "stacking" in p["fieldConfig"]["defaults"].get("custom", {})
    floor, high = y + h - 18, h - 26
    for i in range(len(legend) - 1, -1, -1):
        points = []
        for k in range(41):
            j = 0 if stacked else i
            v = 0.5 + 0.28 * math.sin(k / (4.5 + j) + 1.7 * j) + 0.08 * math.sin(k / 1.3 + j)
            v *= (i + 1) / len(legend) if stacked else 0.55 + 0.45 / (i + 1)
            points.append((x + w * k / 40, floor - high * min(v, 0.98)))
        line = " ".join(f"{a:.0f},{b:.0f}" for a, b in points)
        c = COLORS[i % len(COLORS)]
        if stacked:
            out.append(f'<polygon points="{x:.0f},{floor:.0f} {line} {x + w:.0f},{floor:.0f}" '
                       f'fill="{PANEL}"/>')
            out.append(f'<polygon points="{x:.0f},{floor:.0f} {line} {x + w:.0f},{floor:.0f}" '
                       f'fill="{c}" fill-opacity="0.45"/>')
        out.append(f'<polyline points="{line}" fill="none" stroke="{c}" stroke-width="1.4"/>')
    out.append(f'<path d="M{x:.0f} {floor:.0f}h{w:.0f}" stroke="{EDGE}"/>')
    at = x
    for i, n in enumerate(legend):
        need = min(len(n) * 5.6 + 22, w)
        if at + need > x + w + 4:
            break
        out.append(box(at, y + h - 9, 10, 3, COLORS[i % len(COLORS)]))
        out.append(words(at + 13, y + h - 4, n, 9, DIM, x + w - at - 13))
        at += need
    return out


def draw_stat(p, x, y, w, h):
    out, legend = [], names(p) or ["value"]
    side = w > 60 * len(legend)
    for i, n in enumerate(legend):
        cx = x + w * (i + 0.5) / len(legend) if side else x + w / 2
        cy = y + h / 2 if side else y + h * (i + 0.5) / len(legend)
        out.append(words(cx, cy + 4, "··", min(24, h / (1 if side else len(legend)) * 0.6),
                         COLORS[0], None, "middle", True))
        out.append(words(cx, cy + 18 if side else cy + 13, n, 9, DIM,
                         w / len(legend) if side else w, "middle"))
    return out


def draw_table(p, x, y, w, h):
    legend = names(p) or ["label", "value"]
    out = [box(x, y, w, 15, "#22252b")]
    for i, n in enumerate(legend):
        each = w / len(legend)
        out.append(words(x + i * each + 3, y + 11, n, 9, "#6e9fff", each - 3))
        for r in range(int((h - 20) / 15)):
            wide = each * (0.35 + 0.4 * abs(math.sin(3.1 * r + 1.3 * i)))
            out.append(box(x + i * each + 3, y + 21 + 15 * r, min(wide, each - 8), 6, EDGE))
    return out


def draw_bars(p, x, y, w, h):
    legend, n, out = names(p)[1:] or ["value"], 14, []
    for k in range(n):
        bottom = y + h - 16
        for i, _ in enumerate(legend):
            v = (h - 24) * (0.3 + 0.3 * abs(math.sin(k / 2.1 + i))) / len(legend) * 1.4
            bottom -= v
            out.append(box(x + w * k / n + 2, bottom, w / n - 4, v, COLORS[i % len(COLORS)]))
    for i, name in enumerate(legend):
        out.append(box(x + 90 * i, y + h - 8, 10, 3, COLORS[i % len(COLORS)]))
        out.append(words(x + 90 * i + 13, y + h - 4, name, 9, DIM, 75))
    return out


def draw_gauge(p, x, y, w, h):
    out = []
    for r in range(4):
        v = 0.9 - 0.2 * r
        at = y + h * r / 4
        out += [words(x, at + h / 8 + 3, names(p)[0], 9, DIM, w * 0.22),
                box(x + w * 0.25, at + 3, w * 0.75, h / 4 - 6, EDGE),
                box(x + w * 0.25, at + 3, w * 0.75 * v, h / 4 - 6,
                    COLORS[0] if v > 0.6 else COLORS[2])]
    return out


def draw_pie(p, x, y, w, h):
    out, r = [], min(w * 0.6, h) / 2 - 4
    cx, cy, at = x + r + 6, y + h / 2, 0.0
    for i, v in enumerate((0.42, 0.27, 0.19, 0.12)):
        a, b = 2 * math.pi * at, 2 * math.pi * (at + v)
        at += v
        out.append(f'<path d="M{cx:.0f} {cy:.0f}L{cx + r * math.sin(a):.0f} '
                   f'{cy - r * math.cos(a):.0f}A{r:.0f} {r:.0f} 0 0 1 {cx + r * math.sin(b):.0f} '
                   f'{cy - r * math.cos(b):.0f}Z" fill="{COLORS[i]}" fill-opacity="0.8"/>')
        out.append(box(cx + r + 14, cy - 30 + 18 * i, 10, 4, COLORS[i]))
        out.append(box(cx + r + 30, cy - 30 + 18 * i, 40 + 9 * ((i * 7) % 4), 5, EDGE))
    out.append(f'<circle cx="{cx:.0f}" cy="{cy:.0f}" r="{r * 0.55:.0f}" fill="{PANEL}"/>')
    return out


def draw_flame(p, x, y, w, h):
    out, spans = [], [(0.0, 1.0)]
    for level in range(int(h / 20)):
        below = []
        for k, (a, b) in enumerate(spans):
            out.append(box(x + w * a, y + 20 * level, w * (b - a) - 2, 18,
                           COLORS[(2 * level + k) % 3 + 2]))
            cut = a + (b - a) * (0.45 + 0.2 * math.sin(level + 2 * k))
            below += [(a, cut), (cut, b - (b - a) * 0.08)]
        spans = [s for s in below if s[1] - s[0] > 0.02]
    return out


def draw_text(p, x, y, w, h):
    return [words(x, y + 8, p["options"]["content"], 11, DIM, w)]


DRAW = {"timeseries": draw_series, "stat": draw_stat, "table": draw_table, "barchart": draw_bars,
        "bargauge": draw_gauge, "piechart": draw_pie, "flamegraph": draw_flame, "text": draw_text}


def svg(page):
    """page: as it is kept."""
    panels = [q for p in page["panels"] for q in [p] + p.get("panels", [])]
    lines = max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in panels)
    wide, high = 24 * COLUMN + 2 * GAP, TOP + lines * LINE + 2 * GAP
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" '
           'font-family="DejaVu Sans, sans-serif">', box(0, 0, wide, high, BACK),
           words(12, 24, page["title"], 17, bold=True),
           words(wide - 12, 24, "layout only, made up shapes, no data", 11, DIM, None, "end")]
    at = 12
    for v in page["templating"]["list"]:
        if v.get("hide"):
            continue
        label = v["label"] + " ▾"
        out += [box(at, 34, len(label) * 7 + 14, 20, PANEL, EDGE), words(at + 7, 48, label, 11)]
        at += len(label) * 7 + 22
    for p in panels:
        g = p["gridPos"]
        x, y = GAP + g["x"] * COLUMN, TOP + g["y"] * LINE
        w, h = g["w"] * COLUMN - GAP, g["h"] * LINE - GAP
        if p["type"] == "row":
            closed = " (closed until somebody opens it)" if p["collapsed"] else ""
            out.append(words(x + 4, y + 18, "▾ " + p["title"] + closed, 13, bold=True))
            continue
        if p["type"] != "text":
            out += [box(x, y, w, h, PANEL, EDGE), words(x + 8, y + 17, p["title"], 12,
                                                        room=w - 12, bold=True)]
            if "No data yet here" in p["description"]:
                out.append(words(x + w - 6, y + 17, "later", 10, COLORS[2], None, "end"))
        down = 26 if p["type"] != "text" else 6
        out += DRAW[p["type"]](p, x + 8, y + down, w - 16, h - down - 6)
    return "\n".join(out + ["</svg>"]) + "\n"
