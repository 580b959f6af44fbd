"""The floor plan, the front door and the sizes, read from the source itself."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest

import stakes
import stakes.adapters

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "stakes"

# Room → the rooms it may import; it may also import those that they may import. The order is that
# of the building, from the ground up, and the table in CONTRIBUTING.md says the same.
PLAN: dict[str, tuple[str, ...]] = {
    "errors": (),
    "_version": (),
    "_value": (),
    "_check": ("errors", "_value"),
    "_arithmetic": ("_check",),
    "_hashing": ("_check",),
    "_text": (),
    "_files": ("errors",),
    "_expression": ("errors",),
    "rows": ("_check",),
    "problem": ("_check", "_text", "_files", "_expression"),
    "tally": ("_check", "_text"),
    "_square": ("tally", "_arithmetic"),
    "decide": ("problem", "rows"),
    "measures": ("problem", "_square"),
    "agreement": ("measures",),
    "curve": ("_check",),
    "limits": ("decide", "curve", "_arithmetic"),
    "ranking": ("tally", "curve", "_arithmetic"),
    "scoring": ("rows", "tally", "problem", "ranking"),
    "conditions": ("ranking", "measures"),
    "thresholds": ("conditions", "ranking", "measures"),
    "curves": ("thresholds", "scoring", "limits"),
    "calibration": ("_hashing", "_files", "scoring", "curves", "decide"),
    "rule": ("calibration", "limits"),
    "inference": ("measures", "ranking"),
    "regions": ("thresholds", "inference"),
    "audit": ("regions", "agreement"),
    "simulate": ("problem", "tally", "decide"),
    "metrics": ("rows", "decide", "measures", "calibration", "inference"),
    "report": ("rows", "_version", "rule", "audit", "simulate", "metrics"),
    "evaluation": ("report",),
    "render": ("_files", "report", "curve"),
    "plot": ("report", "curve"),
    "adapters": ("_files", "tally", "evaluation"),
    "torch": ("evaluation",),
    "sklearn": ("evaluation",),
    "displays": ("plot", "adapters"),
    "cli": ("_expression", "evaluation", "render", "plot", "adapters"),
    "__main__": ("cli",),
}

# Folder → its files, from the ground up: each may import those before it.
FLOORS: dict[str, str] = {
    "_check": "kinds labels numbers groups",
    "adapters": (
        "engine_work data_files columns frame sources checked_columns duck lazy frame_tallies "
        "lazy_decisions lazy_models refits joint_decisions engine_evidence report_on"
    ),
    "audit": "utility_space suitability misranking",
    "calibration": "calibrator logistic crossfit step_maps affine reliability select",
    "cli": "output options audit calibrate decide evaluate diff problem commands",
    "displays": "display cost_displays capacity_displays reliability_display",
    "evaluation": (
        "cases predictions evidence limited_rules beliefs suspect_columns tally_rows flips "
        "information remade_decisions quality verdict_words verdict changes moved_limits caveats "
        "build_report evaluate_rows"
    ),
    "inference": (
        "estimate likelihood sampling schemes losses planning comparison paired_tests profile "
        "selection deployment contender_exits system_costs"
    ),
    "limits": "deployed_cases priced",
    "metrics": "row_costs metric_tables",
    "plot": "_style _figures",
    "problem": "_cost_table _limit _file _charged _problem",
    "regions": "axes sensitivity",
    "render": "json layout system_tables tables page page.data html text_formats",
    "report": "_systems _flips _report _consistency",
    "scoring": "rules table_scores",
    "sklearn": "responses bayes_classifier estimator_report",
    "tally": "base counts score_table loss_moments binned_scores",
    "torch": (
        "triton_kernels check_tensors triton_decisions triton_door device_scores device_cases "
        "modules"
    ),
}

# The only imports of our own rooms that may wait until a function is called: room, method, goal.
DEFERRED = (
    (r"report", r"Report\.(to_\w+|from_json|_repr_html_)", r"render"),
    (r"report", r"Report\.frame", r"adapters"),
    (r"decide", r"_bayes_column", r"adapters"),
    (r"rule", r"Rule\._column", r"adapters"),
    (r"tally", r"(Bins|Counts|ScoreTable|LossMoments)\.from_frame", r"adapters"),
    (r"metrics", r"MetricTable\.frame", r"adapters"),
    (r"adapters", r"_report_on|Columns\.guess|_files|_spark_files|_relation", r"adapters"),
)

# A room that says by file what others may import, so that each brings in its own foreign library.
DOORS = {"adapters": stakes.adapters.DOORS}

# Rooms that bring a foreign library in; all others live on numpy and scipy.
GUESTS = {"adapters", "render", "plot", "torch", "sklearn", "displays", "cli"}


# Reading the source ------------------------------------------------------------------------------

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Import:
    """One imported module, and the function that imports it ("" at the top of the file)."""

    module: str
    line: int
    function: str


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    return {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def room_of(module: str) -> str:
    """The room of ``stakes.measures`` is measures; the front door itself has no room."""
    return module.split(".")[1] if "." in module else ""


def rooms() -> list[str]:
    return sorted({room_of(name) for name in modules()} - {""})


@cache
def tree_of(module: str) -> ast.Module:
    return ast.parse(modules()[module].read_text(encoding="utf-8"))


def functions(module: str) -> Iterator[tuple[str, Function]]:
    """Qualified name and node of every function, nested ones included."""

    def visit(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, Function | ast.ClassDef):
                name = f"{prefix}.{child.name}".lstrip(".")
            if isinstance(child, Function):
                yield name, child
            yield from visit(child, name)

    yield from visit(tree_of(module), "")


@cache
def exported(package: str) -> frozenset[str]:
    return frozenset(getattr(importlib.import_module(package), "__all__", ()))


def targets(node: ast.Import | ast.ImportFrom, module: str) -> Iterator[str]:
    """What an import statement names: a file, unless the room exports something of its name."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    base = node.module or ""
    if node.level:
        is_folder = modules()[module].name == "__init__.py"
        parts = module.split(".")
        kept = parts[: len(parts) - node.level + is_folder]
        base = ".".join([*kept, base] if base else kept)
    for alias in node.names:
        below = f"{base}.{alias.name}"
        is_file = below in modules() and alias.name not in exported(base)
        yield below if is_file else base


@cache
def imports(module: str) -> tuple[Import, ...]:
    within: dict[ast.AST, str] = {}
    for name, function in functions(module):  # outer functions first, so the innermost name stays
        within.update(dict.fromkeys(ast.walk(function), name))
    return tuple(
        Import(target, node.lineno, within.get(node, ""))
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets(node, module)
    )


def own_imports(module: str) -> list[Import]:
    return [
        statement for statement in imports(module) if statement.module.split(".")[0] == "stakes"
    ]


def where(module: str, line: int) -> str:
    return f"{modules()[module].relative_to(ROOT)}:{line}"


# The floor plan ----------------------------------------------------------------------------------


@cache
def reachable(room: str) -> frozenset[str]:
    direct = PLAN[room]
    return frozenset(direct).union(*(reachable(other) for other in direct))


def is_deferred_by_plan(module: str, statement: Import) -> bool:
    return any(
        re.fullmatch(room, room_of(module))
        and re.fullmatch(method, statement.function)
        and re.fullmatch(goal, room_of(statement.module))
        for room, method, goal in DEFERRED
    )


def breach(module: str, statement: Import) -> str | None:
    """Say what is wrong with one import of our own, or nothing."""
    here, there = room_of(module), room_of(statement.module)
    if there == "":
        return "imports the front door; name the room that holds what you need"
    if is_deferred_by_plan(module, statement):
        return None
    if statement.function:
        return f"{statement.function} defers an import of {there}, which DEFERRED does not list"
    if here == there:
        return breach_inside(here, module, statement)
    if there not in reachable(here):
        return f"{here} may not import {there}"
    if statement.module.count(".") > 1 and there not in DOORS:
        return f"imports from {statement.module}; take from {there} what it exports"
    if any(part.startswith("_") for part in statement.module.split(".")[2:]):
        return f"imports {statement.module}, which is private to {there}"
    return None


def breach_inside(room: str, module: str, statement: Import) -> str | None:
    """Say what is wrong with an import of a file from the same room."""
    floors = FLOORS[room].split()
    inner, other = (
        name.removeprefix(f"stakes.{room}").lstrip(".") for name in (module, statement.module)
    )
    if not inner:
        return None
    if not other:
        return f"imports {room} itself; name the file that holds what you need"
    if other not in floors[: floors.index(inner)]:
        return f"{other} does not stand below {inner} in FLOORS"
    return None


def test_the_plan_points_one_way() -> None:
    order = list(TopologicalSorter(PLAN).static_order())  # raises on a cycle
    assert set(order) == set(PLAN), "the plan names a room that has no row"
    position = {room: place for place, room in enumerate(PLAN)}
    upward = [(r, o) for r, others in PLAN.items() for o in others if position[o] > position[r]]
    assert upward == [], "rows stand in the order of the building, from the ground up"


def test_every_room_is_on_the_plan() -> None:
    assert [room for room in rooms() if room not in PLAN] == []


def test_every_file_of_a_folder_is_on_the_plan() -> None:
    files = {name.removeprefix("stakes.") for name in modules() if name.count(".") > 1}
    planned = {f"{room}.{file}" for room, floors in FLOORS.items() for file in floors.split()}
    assert files == planned


@pytest.mark.parametrize("module", modules())
def test_a_name_that_a_room_does_not_export_is_not_imported_from_outside(module: str) -> None:
    foreign = [
        f"{where(module, node.lineno)}: {node.module}.{alias.name}"
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stakes.")
        if (room := room_of(node.module or "")) != room_of(module)
        for alias in node.names
        if alias.name not in offered(room, node.module or "")
    ]
    assert foreign == []


def offered(room: str, module: str) -> Collection[str]:
    """What other rooms may import from a module."""
    if room in DOORS:
        return DOORS[room].get(module.removeprefix(f"stakes.{room}").lstrip("."), ())
    return exported(f"stakes.{room}")


@pytest.mark.parametrize("room", DOORS)
def test_every_door_of_a_room_leads_from_another_room_into_it(room: str) -> None:
    used = {
        (node.module, alias.name)
        for module in modules()
        if room_of(module) != room
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    doors = {
        (f"stakes.{room}.{file}", name) for file, names in DOORS[room].items() for name in names
    }
    assert doors - used == set()


@pytest.mark.parametrize("room", rooms())
def test_a_room_imports_only_what_the_plan_allows(room: str) -> None:
    breaches = [
        f"{where(module, statement.line)}: {complaint}"
        for module in modules()
        if room_of(module) == room
        for statement in own_imports(module)
        if (complaint := breach(module, statement))
    ]
    assert breaches == []


def test_no_two_modules_import_each_other_at_any_distance() -> None:
    graph = {
        module: {statement.module for statement in own_imports(module) if not statement.function}
        for module in modules()
        if module != "stakes"
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which shows the cycle


@pytest.mark.parametrize("entry", DEFERRED)
def test_what_may_be_deferred_is_deferred_somewhere(entry: tuple[str, str, str]) -> None:
    room, method, goal = entry
    used = [
        statement
        for module in modules()
        if re.fullmatch(room, room_of(module))
        for statement in own_imports(module)
        if re.fullmatch(method, statement.function)
        and re.fullmatch(goal, room_of(statement.module))
    ]
    assert used


def test_a_deferred_import_serves_a_single_line() -> None:
    long_ones = []
    for module in modules():
        deferring = {f.function for f in own_imports(module) if is_deferred_by_plan(module, f)}
        for name, function in functions(module):
            body = [
                statement
                for statement in function.body[bool(ast.get_docstring(function)) :]
                if not isinstance(statement, ast.Import | ast.ImportFrom)
            ]
            if name in deferring and len(body) > 1:
                long_ones.append(where(module, function.lineno))
    assert long_ones == []


def test_contributing_shows_the_same_plan() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|$", text, flags=re.MULTILINE)
    shown = {room: tuple(re.findall(r"\w+", may)) for room, may in rows}
    assert shown == PLAN
    assert list(shown) == list(PLAN), "in the same order"


# What comes from outside -------------------------------------------------------------------------


@pytest.mark.parametrize("module", [name for name in modules() if room_of(name) not in GUESTS])
def test_core_modules_import_numpy_and_scipy_only(module: str) -> None:
    permitted = {"stakes", "numpy", "scipy"} | sys.stdlib_module_names
    foreign = [
        f"{where(module, statement.line)}: {statement.module}"
        for statement in imports(module)
        if statement.module.split(".")[0] not in permitted
    ]
    assert foreign == []


@pytest.mark.parametrize("module", [name for name in modules() if room_of(name) not in GUESTS])
def test_core_modules_load_scipy_only_where_it_is_used(module: str) -> None:
    heavy = [
        where(module, statement.line)
        for statement in imports(module)
        if statement.module.split(".")[0] == "scipy" and not statement.function
    ]
    assert heavy == []


def loaded_after(statement: str) -> set[str]:
    """Top-level packages that a fresh interpreter holds after one statement."""
    report = "import sys; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{statement}\n{report}"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stderr == ""
    return set(done.stdout.split())


HEAVY = {
    *("click", "duckdb", "jinja2", "matplotlib", "narwhals", "pandas", "polars"),
    *("pyarrow", "rich", "scipy", "sklearn"),
}


def test_importing_stakes_loads_numpy_and_nothing_heavier() -> None:
    third_party = loaded_after("import stakes") - loaded_after("import numpy")
    assert third_party - sys.stdlib_module_names == {"stakes"}
    assert third_party & HEAVY == set()


def test_importing_evaluate_loads_numpy_and_nothing_heavier() -> None:
    statement = "from stakes import Counts, Problem, bayes_decisions, evaluate, expected_cost"
    assert loaded_after(statement) & HEAVY == set()


# The front door ----------------------------------------------------------------------------------


def test_all_is_sorted_and_holds_no_name_twice() -> None:
    assert list(stakes.__all__) == sorted(set(stakes.__all__))


def test_every_name_of_all_resolves_and_is_listed_by_dir() -> None:
    missing = [name for name in stakes.__all__ if not hasattr(stakes, name)]
    assert missing == []
    assert set(stakes.__all__) - set(dir(stakes)) == set()


def test_every_name_that_the_front_door_offers_is_in_all() -> None:
    """What type checkers are told, what is loaded lazily and what dir() lists is one set."""
    stub = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    told = {
        alias.asname: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes = {name: f"stakes.{room}" for name, room in stakes._ROOM_OF.items()}
    rooms_told = dict.fromkeys(stakes._ROOMS, "stakes")
    assert told == {**homes, **rooms_told, "__version__": "stakes._version"}
    listed = {name for name in dir(stakes) if not name.startswith("_")}
    assert listed - set(stakes._ROOMS) == set(stakes.__all__)


def test_every_room_is_reachable_from_the_front_door() -> None:
    assert list(stakes._ROOMS) == [room for room in rooms() if not room.startswith("_")]
    reach = "import stakes; [getattr(stakes, room) for room in stakes._ROOMS]"
    assert "stakes" in loaded_after(reach)


def test_what_a_room_exports_is_listed_in_one_place() -> None:
    """In its one file, or in the folder's __init__."""
    breaches = [
        module
        for module, path in modules().items()
        if module.count(".") > 1 and path.name != "__init__.py"
        if any(
            isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            for node in tree_of(module).body
        )
    ]
    assert breaches == []


def test_no_public_name_is_the_name_of_a_room() -> None:
    """Importing the room would put the module where the name was."""
    assert set(stakes.__all__) & set(PLAN) == set()


# Commands of the command line are called as what they do: the room, or the function, of that name.
COMMANDS = {"audit", "decide", "evaluate", "problem"}


def test_no_two_modules_have_one_name() -> None:
    """A name tells a stranger what is inside, in the whole tree."""
    names = [
        name.rpartition(".")[2]
        for name in modules()
        if not (name.startswith("stakes.cli.") and name.rpartition(".")[2] in COMMANDS)
    ]
    assert {name for name in names if names.count(name) > 1} == set()


# Names that two modules share on purpose: what they are is one thing at two places.
SHARED_NAMES = {
    # Measures of tallies, and of rows in scikit-learn's convention.
    *("expected_cost", "normalized_cost", "utility_yield"),
    # Curves of posteriors alone, and of labelled cases.
    *("capacity_curve", "coverage_curve"),
    # Figures have the names of what they draw.
    *("cost_curves", "detection_error_tradeoff", "precision_recall", "reliability", "roc"),
    # Each room reads back what it wrote.
    "from_json",
    # `_check` reads a number, `_text` writes one.
    "number",
    # A command of the command line is called as the function that it calls.
    "evaluate",
}


def module_level_names(module: str) -> set[str]:
    """Public functions, classes and constants of a module; type variables have one letter."""
    names = set()
    for node in tree_of(module).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = [part for target in targets for part in ast.walk(target)]
            names |= {part.id for part in parts if isinstance(part, ast.Name)}
    return {name for name in names if not name.startswith("_") and len(name) > 1}


def test_no_two_classes_have_one_name() -> None:
    """Who reads a name in one room should not have to ask which of two things it is."""
    names = [
        node.name
        for module in modules()
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.ClassDef)
    ]
    assert {name for name in names if names.count(name) > 1} == set()


def test_no_two_modules_define_one_name() -> None:
    """Tensors are the exception: what is done to them has the name of what is done to arrays."""
    names = [
        name
        for module in modules()
        if room_of(module) != "torch"
        for name in module_level_names(module)
    ]
    assert {name for name in names if names.count(name) > 1} == SHARED_NAMES


ROW_LEVEL = {"calibration", "decide", "limits", "metrics", "scoring"}
TALLY_LEVEL = {
    *("agreement", "audit", "curves", "inference", "measures", "ranking", "regions", "thresholds"),
}


@pytest.mark.parametrize("room", sorted(ROW_LEVEL | TALLY_LEVEL))
def test_a_room_says_whether_it_takes_rows_or_tallies(room: str) -> None:
    docstring = importlib.import_module(f"stakes.{room}").__doc__ or ""
    assert ("Takes rows" in docstring) == (room in ROW_LEVEL)
    assert ("Takes tallies" in docstring) == (room in TALLY_LEVEL)


def test_star_import_brings_exactly_all() -> None:
    names: dict[str, object] = {}
    exec("from stakes import *", names)
    assert set(names) - {"__builtins__"} == set(stakes.__all__)


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(stakes, "no_" + "such_name")


def test_each_public_name_has_one_home_which_lists_it_too() -> None:
    homeless = [
        name
        for name in stakes.__all__
        if (home := getattr(getattr(stakes, name), "__module__", None)) is not None
        and name not in getattr(sys.modules[home], "__all__", [name])
    ]
    assert homeless == []


# Sizes and leftovers -----------------------------------------------------------------------------


def body_lines(function: Function) -> int:
    """Lines of a function without its signature and its docstring."""
    body = function.body[bool(ast.get_docstring(function)) :]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def lines_of_code(text: str) -> int:
    """Lines beside docstrings, comments and blank ones: what is explained well does not count."""
    documented, explained = (ast.Module, ast.ClassDef, ast.FunctionDef), set[int]()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, documented) and ast.get_docstring(node) is not None:
            explained |= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    lines = enumerate(text.splitlines(), start=1)
    bare = (line.strip() for number, line in lines if number not in explained)
    return sum(bool(line) and not line.startswith("#") for line in bare)


@pytest.mark.parametrize("module", modules())
def test_modules_stay_below_640_lines_of_code(module: str) -> None:
    assert lines_of_code(modules()[module].read_text(encoding="utf-8")) <= 640


def test_there_are_few_and_full_modules() -> None:
    assert len(modules()) <= 160


@pytest.mark.parametrize("module", modules())
def test_function_bodies_stay_below_45_lines(module: str) -> None:
    # A kernel of a GPU is one function: what it holds in registers cannot be handed over.
    sizes = {
        name: body_lines(node)
        for name, node in functions(module)
        if not any(ast.unparse(decorator) == "triton.jit" for decorator in node.decorator_list)
    }
    assert {name: size for name, size in sizes.items() if size > 45} == {}


@pytest.mark.parametrize("module", modules())
def test_nothing_is_left_for_later(module: str) -> None:
    text = modules()[module].read_text(encoding="utf-8")
    assert re.findall(r"\b(?:TODO|FIXME|XXX|NotImplementedError)\b", text) == []


@pytest.mark.parametrize("module", modules())
def test_what_may_be_a_number_is_typed_as_numbers(module: str) -> None:
    """Where a function unwraps what it returns, an array is not all that it may return."""
    typed_as_arrays = [
        where(module, node.lineno)
        for _, function in functions(module)
        if function.returns is None or ast.unparse(function.returns) != "Numbers"
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func) in ("unwrapped", "_check.unwrapped")
    ]
    assert typed_as_arrays == []


# The project file --------------------------------------------------------------------------------


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_lowest_versions_that_are_tested_are_the_lowest_that_are_declared() -> None:
    pins = [pin for pin in project()["dependency-groups"]["lowest"] if isinstance(pin, str)]
    tested = {pin.split("==")[0]: pin.split("==")[1] for pin in pins}
    declared = dict(bound.split(">=") for bound in project()["project"]["dependencies"])
    assert tested == {name: f"{version}.0" for name, version in declared.items()}


def test_the_package_says_that_it_is_typed() -> None:
    assert (SOURCE / "py.typed").exists()


def test_the_version_is_stated_once() -> None:
    assert "version" in project()["project"]["dynamic"]
    assert project()["tool"]["hatch"]["version"]["path"] == "src/stakes/_version.py"
    assert stakes.__version__ == importlib.import_module("stakes._version").__version__
