"""Reports: what the page says, number by number, that it asks for nothing from elsewhere, and how the command ends."""

import base64
import dataclasses
import html.parser
import math
import re
import xml.etree.ElementTree
from pathlib import Path

import numpy as np
import pytest

from lapnoise import LaplaceMechanism, _gaussian_noise, evaluate
from lapnoise.cli import main
from lapnoise.errors import OutputError
from lapnoise.evaluate import _matplotlib, reporting
from lapnoise.evaluate.auditing.bounds import epsilon_at_least
from lapnoise.evaluate.plots import _holes

SECTIONS = [
    *("release", "guarantee", "noise", "chain", "comparison", "distribution", "errors", "lattice"),
    *("audit", "verification", "reveals"),
]
HOSTILE = "</title><script>alert('x')</script> & \"quoted\""
VOID = {"meta", "img"}


class Page(html.parser.HTMLParser):
    """A page taken apart: tables by section and caption, text by section, pictures, and every tag closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.sections, self.tables, self.images, self.tags = [], [], {}, [], []
        self.words, self.rows, self.caption, self.title, self.ids = {"": ""}, None, "", "", []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append((tag, given))
        self.ids += [given["id"]] if "id" in given else []
        if tag == "section":
            self.sections.append(given["id"])
            self.words[given["id"]] = ""
        if tag == "img":
            self.images.append((self.sections[-1], given))
        if tag == "table":
            self.rows, self.caption = [], ""
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "table":
            self.tables[self.sections[-1], self.caption] = self.rows
            self.rows = None

    def handle_data(self, data):
        if "caption" in self.open:
            self.caption += data
        elif self.open[-1:] in (["td"], ["th"]):
            self.rows[-1][-1] += data
        if self.open[-1:] == ["title"]:
            self.title += data
        if "style" not in self.open:
            self.words[self.sections[-1] if "section" in self.open else ""] += data


@pytest.fixture(scope="module")
def found():
    """Return a report as it comes, of the Laplace mechanism."""
    return evaluate.report(epsilon="0.5", sensitivity=2, seed=1)


@pytest.fixture
def quick(monkeypatch, found):
    """Let reports be made without another verification and audit."""
    monkeypatch.setattr(reporting, "verify", lambda **given: found.verification)
    monkeypatch.setattr(reporting, "audit", lambda *given, **named: found.audit)


@pytest.fixture(scope="module")
def page(found):
    return Page(found.html())


def test_every_section_is_there(page):
    """The sections come in their order, each once, with words in it; the page has a language, a title and headings."""
    assert page.sections == SECTIONS
    assert page.ids == SECTIONS
    assert all(len(page.words[name].split()) > 5 for name in SECTIONS)
    assert page.title == "Release with the Laplace mechanism"
    tags = dict(page.tags)
    assert tags["html"] == {"lang": "en"}
    assert ("meta", {"charset": "utf-8"}) in page.tags
    assert [tag for tag, _ in page.tags if tag in ("h1", "h2")] == ["h1"] + ["h2"] * len(SECTIONS)


def test_it_is_html5(found):
    """The page begins as HTML5 does, and no character of it is a control."""
    text = found.html()
    assert text.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text)


def test_nothing_is_asked_of_others(found, page):
    """There is no script, no link and no address; pictures are data, and refer to nothing outside either."""
    text = found.html()
    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    assert not {"script", "link", "iframe", "object", "base", "form", "a"} & {tag for tag, _ in page.tags}
    assert len(page.images) == 5
    for _, given in page.images:
        kind, data = given["src"].split(",")
        assert kind == "data:image/svg+xml;base64"
        drawing = xml.etree.ElementTree.fromstring(base64.b64decode(data))
        for element in drawing.iter():
            for name, value in element.attrib.items():
                if name.endswith("href"):
                    assert value.startswith("#")
                assert not re.search(r"url\((?!#)", value)


def test_pictures_are_described(page):
    """Each picture has words for who does not see it, and stands in its section."""
    assert [section for section, _ in page.images] == ["chain", "distribution", "distribution", "errors", "lattice"]
    assert all(len(given["alt"].split()) > 5 for _, given in page.images)
    floats = _holes._neighbours(0.3 * 4)
    alone = len(_holes.reachable(0.0, 4.0, floats) ^ _holes.reachable(2.0, 4.0, floats))
    assert f"of 48 neighbouring outputs {alone} give" in page.images[-1][1]["alt"]


def test_parameters(found, page):
    """What is said of the mechanism is what the mechanism says."""
    told = dict(page.tables["release", "Parameters of the release"])
    assert told["epsilon asked"] == "0.5"
    assert told["epsilon attained"].startswith(f"{float(found.mechanism.epsilon):.10g},")
    assert told["sensitivity"] == "2 in L1 norm"
    assert told["granularity"].startswith("2⁻²²:")
    assert found.mechanism.granularity == 2.0**-22
    sizes = dict(page.tables["noise", "Noise on one number"])
    assert sizes == {
        "scale": f"{found.mechanism.scale:.6g}",
        "standard deviation": f"{found.mechanism.std:.6g}",
        "mean squared error": f"{found.mechanism.mse:.6g}",
    }
    _, *rows = page.tables["noise", "How far a released number lies from the true one"]
    expected = [[f"{level:.1%}", f"{found.mechanism.interval(str(level)):.6g}"] for level in (0.5, 0.9, 0.95)]
    assert rows[:3] == expected
    assert f"more than {math.exp(0.5):.3g} times as sure" in page.words["guarantee"]


def test_comparison(found, page):
    """The comparison is `evaluate.compare`'s, without the mechanisms that need bounds where there are none."""
    expected = [row for row in evaluate.compare(epsilon="0.5", sensitivity=2) if "bounded" not in row.mechanism]
    expected = [row for row in expected if "clipped" not in row.mechanism]
    assert list(found.comparison) == expected
    _, *rows = page.tables["comparison", "At equal guarantees"]
    assert [row[0] for row in rows] == ["Laplace", "discrete Laplace", "truncated Laplace", "Gaussian"]
    assert [row[3:6] for row in rows] == [
        [f"{one.scale:.4g}", f"{one.error:.4g}", f"{one.half_width:.4g}"] for one in expected
    ]


def test_errors(found, page):
    """The errors are `evaluate.experiment`'s, at a quarter of epsilon to four times as much."""
    expected = evaluate.experiment(["1/8", "1/4", "1/2", 1, 2], sensitivity=2, seed=1)
    assert found.errors == expected
    header, *rows = page.tables["errors", "Standard deviation"]
    assert header == ["epsilon", "measured", "theory", "band"]
    assert rows == [
        [
            f"{float(row.epsilon):.6g}",
            f"{row.std.measured:.5g}",
            f"{row.std.theory:.5g}",
            f"{row.std.low:.5g} to {row.std.high:.5g}",
        ]
        for row in expected.rows
    ]


def test_audit_and_verification(found, page):
    """Audit and checks stand there as the functions give them."""
    told = dict(page.tables["audit", "What the outputs show"])
    assert told["verdict"] == found.audit.verdict
    assert found.audit == evaluate.audit("laplace", epsilon="0.5", sensitivity=2, seed=1)
    assert f"{found.audit.hits:,}" in told["counted"]
    _, *rows = page.tables["verification", "Checks of the installed sampler"]
    assert [row[:6] for row in rows] == [
        ["ok", one.subject, one.tested, one.measure, f"{one.statistic:.5g}", f"{one.threshold:.5g}"]
        for one in found.verification.checks
    ]
    assert len(rows) > 50
    assert found.sound


def test_without_data_nothing_is_revealed(found, page):
    """Without data there is no section on them, and the page says why."""
    assert found.answers is None
    assert "left out here, since it would tell true answers" in page.words["reveals"]
    assert not [given for _, given in page.tags if given.get("class") == "warning"]


def test_with_data(quick):
    """With data the errors are there, and so is the warning, at the top and beside them; every name is escaped."""
    values = np.array([1.0, 5.0, 9.0, np.nan] * 40)
    made = evaluate.report(
        mechanism="gaussian",
        epsilon="1/3",
        delta="1e-6",
        data=values,
        low=0,
        high=10,
        column=HOSTILE,
        title=HOSTILE,
        seed=2,
    )
    text = made.html()
    page = Page(text)
    assert page.sections == [*SECTIONS[:8], "data", *SECTIONS[8:]]
    assert page.title == HOSTILE
    assert HOSTILE in page.words["data"]
    assert HOSTILE in page.words[""]
    assert "<script" not in text.lower()
    warnings = [given for _, given in page.tags if given.get("class") == "warning"]
    assert len(warnings) == 2
    assert "tells true answers" in page.words[""]
    assert "tells true answers" in page.words["data"]
    expected = evaluate.query_errors(values, 0, 10, epsilons=["1/6", "1/3", "2/3"], seed=2)
    assert made.answers == expected
    _, *rows = page.tables["data", "Errors of private queries"]
    assert [[row[0], row[3], row[4]] for row in rows] == [
        [one.query, f"{one.bias:.4g}", f"{one.rmse.measured:.4g}"] for one in expected.rows
    ]
    names = [row[0] for row in page.tables["comparison", "At equal guarantees"]]
    assert "bounded Laplace" in names
    assert "Laplace, clipped" in names


@pytest.mark.parametrize(
    ("name", "given", "norm", "words"),
    [
        ("discrete-laplace", {}, "L1", "Pure"),
        ("gaussian", {"delta": "1e-6"}, "L2", "plus delta"),
        ("truncated-laplace", {"delta": "1e-3"}, "L1", "plus delta"),
        ("bounded-laplace", {"low": 0, "high": 30}, "L1", "Pure"),
        ("bounded-laplace", {"low": 0, "high": 30, "delta": "0.01"}, "L1", "plus delta"),
    ],
)
def test_other_mechanisms(name, given, norm, words, quick):
    """Each mechanism has its own noise, guarantee and errors, whose theory is that of its law."""
    made = evaluate.report(mechanism=name, epsilon=1, sensitivity=3, seed=4, **given)
    page = Page(made.html())
    told = dict(page.tables["release", "Parameters of the release"])
    assert type(made.mechanism).__name__ in told["mechanism"]
    assert told["sensitivity"] == f"3 in {norm} norm"
    assert words in page.words["guarantee"]
    assert ("delta" in told) == ("delta" in given)
    (curve,) = made.errors.curves
    assert [epsilon for epsilon, _ in curve.points] == [0.25, 0.5, 1.0, 2.0, 4.0]
    assert all(one.low < one.theory < one.high for _, one in curve.points)
    assert sum(one.within for _, one in curve.points) >= 4
    if name != "bounded-laplace":  # whose std is that of the worst value
        assert curve.points[2][1].theory == pytest.approx(made.mechanism.std, rel=1e-6)
    _, *rows = page.tables["errors", "Root mean squared error"]
    assert [row[1] for row in rows] == [f"{one.measured:.5g}" for _, one in curve.points]


def test_sensitivities_of_any_size(quick, monkeypatch):
    """One that is wider than the bounds of the data leaves those mechanisms out; integers are audited on integers."""
    inputs = []
    given = {"data": [41.0, 59.0], "low": 40, "high": 60, "sensitivity": 60}
    made = evaluate.report(**given)
    assert [row.mechanism for row in made.comparison] == [
        "Laplace",
        "discrete Laplace",
        "truncated Laplace",
        "Gaussian",
    ]
    monkeypatch.setattr(reporting, "audit", lambda *given, **named: inputs.append(named["inputs"]) or made.audit)
    evaluate.report(mechanism="discrete-laplace", sensitivity="2.5")
    evaluate.report(sensitivity="2.5")
    assert inputs == [(0, 2), None]


def test_noise_beyond_compiled_kernels(monkeypatch, found):
    """Where a draw takes 200 us there are fewer of them, so that a report takes no minutes."""
    sizes = []
    monkeypatch.setattr(reporting, "verify", lambda **given: found.verification)
    monkeypatch.setattr(reporting, "audit", lambda *given, **named: sizes.append(named["draws"]) or found.audit)
    monkeypatch.setattr(reporting, "draw_noise", lambda mechanism, n, seed: sizes.append(n))
    monkeypatch.setattr(reporting, "errors_of", lambda *given: found.errors)
    monkeypatch.setattr(reporting, "astray", lambda *given: ())
    evaluate.report(epsilon="1e-30")
    evaluate.report()
    assert sizes == [10_000, 10_000, 200_000, 1_000_000]


def test_a_broken_sampler_is_not_sound(monkeypatch, found):
    """A page on a Gaussian mechanism at 0.9 of its sigma is not sound, by its errors and by the checks of the sampler.

    Without its checks the errors alone say so.
    """
    kernel = _gaussian_noise.gaussian_kernel
    monkeypatch.setattr(_gaussian_noise, "gaussian_kernel", lambda sigma: kernel(0.9 * sigma))
    monkeypatch.setattr(reporting, "audit", lambda *given, **named: found.audit)
    made = evaluate.report(mechanism="gaussian", delta="1e-6", seed=1)
    assert len(made.astray) == 5
    assert {check.tested.split(" by ")[1] for check in made.verification.failed if " by " in check.tested} == {
        "GaussianMechanism",
        "GaussianMechanism on integers",
    }
    made = dataclasses.replace(made, verification=found.verification)
    assert not made.sound
    page = Page(made.html())
    assert "FAILED" in page.words[""]
    assert "At epsilon 0.25, 0.5, 1, 2, 4 errors are FAR OUT" in page.words["errors"]
    assert dataclasses.replace(made, astray=()).sound


def test_the_length_of_a_vector(quick, page, capsys, tmp_path):
    """A page says for how many coordinates it holds; for 1,000 granularity and scale are those of such a release."""
    assert "of which one record changes one coordinate" in page.words["release"]
    made = evaluate.report(epsilon=1, sensitivity=1000, changed=1000, seed=3)
    expected = LaplaceMechanism(epsilon=1, sensitivity=1000).for_length(1000)
    assert made.mechanism == expected
    told = Page(made.html())
    facts = dict(told.tables["release", "Parameters of the release"])
    assert facts["granularity"].startswith("2⁻²⁰:")
    assert facts["holds for"].startswith("vectors of which one record changes 1,000 coordinates at most")
    assert dict(told.tables["noise", "Noise on one number"])["scale"] == f"{expected.scale:.6g}"
    ((_, one),) = [point for point in made.errors.curves[0].points if point[0] == 1.0]
    assert one.theory == pytest.approx(expected.std, rel=1e-6)
    assert made.sound
    path = tmp_path / "x.html"
    assert main(["report", str(path), "--changed", "1000", "--sensitivity", "1000", "--quiet"]) == 0
    assert "1,000 coordinates at most" in path.read_text(encoding="utf-8")
    with pytest.raises(ValueError, match="changed must be >= 1, got 0"):
        evaluate.report(changed=0)
    counts = evaluate.report(mechanism="discrete-laplace", seed=3)
    assert "vectors of any length" in Page(counts.html()).words["release"]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("discrete-laplace", {}),
        ("gaussian", {"delta": "1e-6"}),
        ("truncated-laplace", {"delta": "1e-3"}),
        ("bounded-laplace", {"low": 0, "high": 30}),
    ],
)
def test_vectors_of_other_mechanisms(name, given, monkeypatch, found):
    """What is audited is the mechanism of the page, for as many coordinates, and it is sound."""
    monkeypatch.setattr(reporting, "verify", lambda **given: found.verification)
    monkeypatch.setattr(reporting, "AUDITED", 20_000)
    made = evaluate.report(mechanism=name, changed=40, seed=4, **given)
    assert made.sound
    assert made.mechanism.for_length(1) == made.mechanism
    alone = evaluate.report(mechanism=name, seed=4, **given)
    assert (made.mechanism.scale > alone.mechanism.scale) == (name != "discrete-laplace")


def test_what_the_audit_can_find(found, page):
    """The page says what an audit of its size finds, and what no audit of its size could show."""
    told = [cells for cells in page.tables["audit", "What the outputs show"] if cells[0] in ("finds", "can show")]
    power = found.audit.power
    assert ["finds", f"a scale 2 % small with probability {power.two_percent:.2g}"] in told
    assert any(f"an epsilon of {power.epsilon_found:.4g}" in cells[1] for cells in told)
    most = epsilon_at_least(750_000, 0, 750_000, 0.0)
    assert told[0] == ["can show", f"no epsilon above {float(most):.4g}, whatever the outputs: so few are 750,000"]


@pytest.mark.parametrize("epsilon", [3, 12, 200, 5000])
def test_counts_at_large_epsilon(quick, epsilon):
    """Bands of counts are in order, and hold, also where the noise is mostly 0 or always."""
    made = evaluate.report(mechanism="discrete-laplace", epsilon=epsilon, seed=6)
    assert all(0 <= one.low <= one.high and one.within for _, one in made.errors.curves[0].points)
    assert "of 5 do" in Page(made.html()).words["errors"]
    assert made.sound


def test_a_failed_check_is_said_first(found):
    """A page whose audit or verification failed says so at its top."""
    broken = dataclasses.replace(found.audit, shown=0.9)
    made = dataclasses.replace(found, audit=broken)
    assert broken.violated
    assert not made.sound
    assert "FAILED" in Page(made.html()).words[""]
    check = dataclasses.replace(found.verification.checks[0], statistic=3.0, look="at the words")
    failing = dataclasses.replace(found.verification, checks=(check, *found.verification.checks[1:]))
    page = Page(dataclasses.replace(found, verification=failing).html())
    assert "FAILED" in page.words[""]
    assert "Look at: at the words" in page.words["verification"]
    assert page.tables["verification", "Checks of the installed sampler"][1][0] == "FAILED"


def test_saving(found, tmp_path):
    """A page appears whole; one that is there stays, unless it is to be replaced."""
    path = tmp_path / "report.html"
    found.save(path)
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    path.write_text("mine")
    with pytest.raises(OutputError, match="target exists"):
        found.save(path)
    assert path.read_text() == "mine"
    found.save(path, force=True)
    assert path.stat().st_size > 100_000
    assert [one.name for one in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(ValueError, match=r"report must be a file that ends in \.html"):
        found.save(tmp_path / "report.txt")


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"mechanism": "planar"}, ValueError, "mechanism must be one of laplace, discrete-laplace"),
        ({"epsilon": 0}, ValueError, "epsilon must be finite and > 0"),
        ({"delta": "1e-6"}, ValueError, "delta must be 0 for laplace"),
        ({"mechanism": "gaussian"}, ValueError, "gaussian needs delta"),
        ({"mechanism": "bounded-laplace"}, ValueError, "bounded-laplace needs low and high"),
        ({"data": [1.0, 2.0]}, ValueError, "data need low and high"),
        ({"data": [1.0, 2.0], "low": 0}, ValueError, "data need low and high"),
        ({"data": [math.nan], "low": 0, "high": 1}, ValueError, "values must hold one number at least"),
        ({"low": 3, "high": 1}, ValueError, "low"),
        ({"low": "0"}, ValueError, "low and high must be given together, got low '0' alone"),
        ({"high": 1}, ValueError, "low and high must be given together, got high 1 alone"),
        ({"epsilon": "1e-200"}, OverflowError, r"for a report, .* got sensitivity 1 and epsilon 1e-200$"),
        ({"delta": "0.1"}, ValueError, r"delta must be 0 for laplace, which claims none, got 0\.1$"),
        ({"data": [1.0], "low": -1e300, "high": 1e300}, OverflowError, "sensitivity / epsilon of every query"),
        ({"mechanism": "discrete-laplace", "sensitivity": "0.5"}, ValueError, "sensitivity must be at least 1"),
        ({"title": ""}, ValueError, "title must have from 1 to 500 characters, got 0"),
        ({"column": 3}, TypeError, "column must be a str or None"),
    ],
)
def test_refused(given, error, message, monkeypatch):
    """Bad input is named before anything is drawn."""
    monkeypatch.setattr(reporting, "draw_noise", lambda *given: pytest.fail("noise was drawn"))
    with pytest.raises(error, match=message):
        evaluate.report(**given)


def test_the_command(quick, tmp_path, capsys):
    """The command writes the page that the function makes, and refuses to write over another."""
    path = tmp_path / "out.html"
    arguments = [
        "report",
        str(path),
        "--epsilon",
        "1/3",
        "--sensitivity",
        "2",
        "--seed",
        "5",
        "--title",
        "Count & more",
    ]
    assert main(arguments) == 0
    page = Page(path.read_text(encoding="utf-8"))
    assert page.title == "Count & more"
    assert dict(page.tables["release", "Parameters of the release"])["epsilon asked"] == "1/3"
    assert "with seed 5" in page.words[""]
    assert capsys.readouterr() == ("", "")
    path.write_text("mine")
    assert main(arguments) == 4
    assert "target exists" in capsys.readouterr().err
    assert path.read_text() == "mine"
    assert main([*arguments, "--force"]) == 0
    assert path.stat().st_size > 100_000


def test_the_command_on_data(quick, tmp_path, capsys):
    """With data the command warns as the page does; a column with a name of markup stays a name."""
    data = tmp_path / "x.csv"
    data.write_text("<b>age</b>\n" + "\n".join(map(str, range(100))) + "\n")
    path = tmp_path / "out.html"
    given = ["report", str(path), "--data", str(data), "--column", "<b>age</b>", "--low", "0", "--high", "100"]
    assert main(given) == 0
    assert "tells true answers" in capsys.readouterr().err
    text = path.read_text(encoding="utf-8")
    assert "<b>" not in text
    assert "column “<b>age</b>”" in Page(text).words["data"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["x.html", "--column", "x"], 2, "--column needs --data"),
        (["x.html", "--data", "x.csv"], 2, "--data needs --low and --high"),
        (["x.html", "--epsilon", "-1"], 2, "epsilon must be finite and > 0"),
        (["/proc/x.html"], 2, "target must be a file that can appear at once, got '/proc/x.html'"),
        (["x.html", "--data", "x.npy", "--low", "0", "--high", "1", "--column", "x"], 2, "column applies to CSV files"),
        (["x.txt"], 2, "report must be a file that ends in .html or .htm"),
        (["no/such/x.html"], 4, "directory of the target does not exist"),
        (["x.html", "--data", "absent.csv", "--low", "0", "--high", "1", "--column", "x"], 2, "data cannot be read"),
        (["x.html", "--data", "{bad}", "--low", "0", "--high", "1", "--column", "x"], 3, "data row 2"),
        (
            ["x.html", "--data", "{bad}", "--low", "0", "--high", "1", "--column", "y"],
            3,
            "column 'y' must be in the header",
        ),
        (["x.html", "--mechanism", "gaussian"], 2, "gaussian needs delta"),
    ],
)
def test_the_command_refuses(arguments, code, message, tmp_path, monkeypatch, capsys):
    """Bad input ends with the code of its kind, one line, and no page."""
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text("x\n1\nword\n")
    assert main(["report", *(one.format(bad="bad.csv") for one in arguments)]) == code
    assert message in capsys.readouterr().err
    assert not Path("x.html").exists()


def test_a_failed_audit_ends_with_one(found, monkeypatch, tmp_path, capsys):
    """The page is written, says what failed, and the exit code says so too."""
    monkeypatch.setattr(reporting, "verify", lambda **given: found.verification)
    monkeypatch.setattr(reporting, "audit", lambda *given, **named: dataclasses.replace(found.audit, shown=9.0))
    path = tmp_path / "x.html"
    assert main(["report", str(path)]) == 1
    assert "failed: the page says which" in capsys.readouterr().err
    assert "FAILED" in path.read_text(encoding="utf-8")


def test_without_matplotlib(monkeypatch, tmp_path, capsys):
    """Where matplotlib is absent the extra is named, before anything is drawn."""
    monkeypatch.setattr(_matplotlib, "find_spec", lambda name: None)
    monkeypatch.setattr(reporting, "draw_noise", None)
    assert main(["report", str(tmp_path / "x.html")]) == 1
    assert "pip install 'lapnoise[plots]'" in capsys.readouterr().err
    with pytest.raises(ImportError, match=r"lapnoise\[plots\]"):
        evaluate.report()
