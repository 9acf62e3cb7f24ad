"""A scene as SVG for pages, in a frame that says everything in words."""

from __future__ import annotations

from html import escape

from analysis.report.content import Figure
from analysis.report.figures import scene
from analysis.report.figures.draw import DRAWINGS
from analysis.report.figures.palette import SIGNS, STYLE

_STANDALONE = (
    "svg{color:#1c2024;background:#fff}"
    "@media (prefers-color-scheme:dark){svg{color:#ebe9e4;background:#1c1f22}}" + STYLE
)


def figure_svg(
    figure: Figure, key: str, *, standalone: bool = False, sheet: scene.Sheet = scene.PAGE
) -> str:
    """The figure as SVG; ``key`` (letters, digits, hyphens) makes its ids unique on a page.

    A ``standalone`` one has a size and brings its colours along. Raises KeyError for a drawing
    that is not known.
    """
    laid_out = DRAWINGS[figure.drawing](figure, sheet)
    width, height = (round(edge, 1) for edge in (laid_out.width, laid_out.height))
    wide = width > sheet.width
    size = f' width="{2 * width:g}" height="{2 * height:g}"' if standalone else ""
    if wide and not standalone:
        size = f' width="{width:g}" height="{height:g}"'
    style = f"<style>{_STANDALONE}</style>" if standalone else ""
    kind = "plot plot-wide" if wide else "plot"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}"{size}'
        f' class="{kind}" role="img" aria-labelledby="{key}-title {key}-told">'
        f'<title id="{key}-title">{clean(figure.title)}</title>'
        f'<desc id="{key}-told">{clean(laid_out.description)}</desc>{style}'
        f"{''.join(map(render_mark, laid_out.marks))}</svg>"
    )


def is_wide(svg: str) -> bool:
    """Whether the drawing is wider than a phone's screen, so that its place must scroll."""
    return f'viewBox="0 0 {scene.WIDTH} ' not in svg[:200]


def render_mark(mark: scene.Mark) -> str:
    """One mark as SVG."""
    match mark:
        case scene.Group():
            return _group(mark)
        case scene.Text():
            return _text(mark)
        case scene.Path():
            return _path(mark)
        case scene.Rect():
            corner = f' rx="{mark.corner:g}"' if mark.corner else ""
            fill = f' fill="{mark.fill}"' if mark.fill else ""
            edge = "" if mark.edge is None else _ink(mark.edge)
            return (
                f'<rect{_class(mark.name)} x="{mark.x:g}" y="{mark.y:g}" width="{mark.width:g}"'
                f' height="{mark.height:g}"{corner}{fill}{edge}/>'
            )
        case scene.Circle():
            place = f'cx="{mark.x:g}" cy="{mark.y:g}" r="{mark.radius:g}"'
            return f'<circle{_class(mark.name)} {place} fill="currentColor"/>'
        case scene.Sign():
            return _sign(mark)


def clean(words: str) -> str:
    """Escaped text without the control characters that XML forbids."""
    return escape(scene.plain(words))


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def _ink(opacity: float) -> str:
    return f' stroke="currentColor" stroke-opacity="{opacity:g}"'


def _group(group: scene.Group) -> str:
    series = "" if group.color is None else f"series-{group.color + 1}"
    title = "" if group.title is None else f"<title>{clean(group.title)}</title>"
    name = " ".join(filter(None, (group.name, series)))
    key = f' data-key="{clean(group.key)}"' if group.key else ""
    return f"<g{_class(name)}{key}>{title}{''.join(map(render_mark, group.marks))}</g>"


def _text(text: scene.Text) -> str:
    place = f'x="{text.x:g}" y="{text.y:g}"'
    if text.turn:
        place = f'transform="translate({text.x:g} {text.y:g}) rotate({text.turn:g})"'
    anchor = f' text-anchor="{text.anchor}"' if text.anchor else ""
    mark = f' <tspan class="plot-mark">{clean(text.mark)}</tspan>' if text.mark else ""
    return (
        f'<text{_class(text.name)} {place} font-size="{text.size:g}"{anchor}'
        f' fill="{text.ink or "currentColor"}">'
        f"{clean(scene.isolate_direction(text.words))}{mark}</text>"
    )


def _path(path: scene.Path) -> str:
    head = f'<path{_class(path.name)} d="{path.data}"'
    if path.fill is not None:
        return f'{head} fill="currentColor" fill-opacity="{path.fill:g}"/>'
    ink = ' stroke="currentColor"' if path.opacity is None else _ink(path.opacity)
    width = "" if path.width is None else f' stroke-width="{path.width:g}"'
    dashes = f' stroke-dasharray="{path.dashes}"' if path.dashes else ""
    return f'{head} fill="none"{ink}{width}{dashes}/>'


def _sign(sign: scene.Sign) -> str:
    fill = "" if sign.filled else ' fill-opacity="0.14"'
    width = 0 if sign.filled else 1.2 / sign.size
    return (
        f'<path class="plot-sign" d="{SIGNS[sign.number % len(SIGNS)]}"'
        f' transform="translate({sign.x:g} {sign.y:g}) scale({sign.size:g})"'
        f' fill="currentColor"{fill} stroke="currentColor" stroke-width="{width:.3g}"/>'
    )
