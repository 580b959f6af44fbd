"""The floor plan as a drawing: `python docs/floor_plan.py` writes images/floor_plan.svg.

Rooms and imports are read from the test that enforces them, so the drawing cannot say anything
else. A storey is the longest way down to the ground; what a room imports lies below it.
"""

from __future__ import annotations

import ast
from html import escape
from pathlib import Path

HERE = Path(__file__).parent
BOX, GAP, RISE = (92, 26), 10, 62  # width and height of a room, space beside it, height of a storey
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1b2733; text-anchor: middle; }
rect { fill: #e8eef4; stroke: #7b8ea3; }
rect.inner { fill: #f6f7f8; stroke-dasharray: 3 2; }
path { fill: none; stroke: #9fb0c2; stroke-width: 1; }
@media (prefers-color-scheme: dark) {
  text { fill: #e5ebf1; } rect { fill: #24323f; stroke: #71869b; } rect.inner { fill: #1a242d; }
  path { stroke: #53677b; } }
"""
Plan = dict[str, tuple[str, ...]]


def read_plan() -> Plan:
    """The plan, as `tests/test_structure.py` has it."""
    source = (HERE.parent / "tests" / "test_structure.py").read_text(encoding="utf-8")
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == "PLAN":
            assert statement.value is not None
            plan: Plan = ast.literal_eval(statement.value)
            return plan
    raise LookupError("tests/test_structure.py has no PLAN")


def storeys(plan: Plan) -> list[list[str]]:
    """Rooms from the ground up; each as low as what it imports allows."""
    height: dict[str, int] = {}
    for room, below in plan.items():  # the order of the plan is from the ground up
        height[room] = max((height[other] + 1 for other in below), default=0)
    floors: list[list[str]] = [[] for _ in range(max(height.values()) + 1)]
    for room, level in height.items():
        floors[level].append(room)
    return floors


def direct(plan: Plan) -> set[tuple[str, str]]:
    """Imports that no other import already implies."""
    reach: dict[str, set[str]] = {}
    for room, below in plan.items():
        reach[room] = set(below).union(*(reach[other] for other in below))
    return {
        (room, other)
        for room, below in plan.items()
        for other in below
        if not any(other in reach[third] for third in below)
    }


def places(plan: Plan) -> dict[str, tuple[float, float]]:
    """The middle of every room; rooms stand near what they import, from left to right."""
    floors = storeys(plan)
    width = max(map(len, floors)) * (BOX[0] + GAP)
    middle: dict[str, tuple[float, float]] = {}
    for level, rooms in enumerate(floors):
        near = {
            room: sum(middle[other][0] for other in plan[room]) / max(1, len(plan[room]))
            for room in rooms
        }
        ordered = sorted(rooms, key=lambda room: near[room]) if level else rooms
        step = width / len(ordered)
        top = (len(floors) - level - 0.5) * RISE
        middle |= {room: ((k + 0.5) * step, top) for k, room in enumerate(ordered)}
    return middle


def drawing(plan: Plan) -> str:
    """The drawing as SVG."""
    middle = places(plan)
    width = max(x for x, _ in middle.values()) + BOX[0] / 2 + GAP
    height = max(y for _, y in middle.values()) + RISE / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'role="img" aria-label="Rooms of the library, and what each may import">',
        f"<style>{STYLE}</style>",
    ]
    for room, other in sorted(direct(plan)):
        (x1, y1), (x2, y2) = middle[room], middle[other]
        top, bottom = y1 + BOX[1] / 2, y2 - BOX[1] / 2
        bend = (bottom - top) / 2
        parts.append(
            f'<path d="M{x1:.0f} {top:.0f} C{x1:.0f} {top + bend:.0f} '
            f'{x2:.0f} {bottom - bend:.0f} {x2:.0f} {bottom:.0f}"/>'
        )
    for room, (x, y) in middle.items():
        kind = ' class="inner"' if room.startswith("_") else ""
        parts.append(
            f'<rect{kind} x="{x - BOX[0] / 2:.0f}" y="{y - BOX[1] / 2:.0f}" '
            f'width="{BOX[0]}" height="{BOX[1]}" rx="4"/>'
            f'<text x="{x:.0f}" y="{y + 4:.0f}">{escape(room)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (HERE / "images" / "floor_plan.svg").write_text(drawing(read_plan()), encoding="utf-8")
