"""A verdict as JUnit XML, which every CI shows. One test case an expectation."""

from xml.etree import ElementTree

from openprogram.evaluation.verdict import RunVerdict

__all__ = ["junit_xml"]


def junit_xml(scenario: str, verdict: RunVerdict) -> bytes:
    """The report. An expectation that was refused or off is a skipped case, with the reason."""
    failures = sum(one.status == "failed" for one in verdict.judged)
    skipped = sum(one.status in ("refused", "off") for one in verdict.judged)
    counts = {"tests": str(len(verdict.judged)), "failures": str(failures), "errors": "0", "skipped": str(skipped)}
    suites = ElementTree.Element("testsuites")
    suite = ElementTree.SubElement(suites, "testsuite", {"name": f"{scenario} ({verdict.scope.name})", **counts})
    for one in verdict.judged:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": f"{scenario}.{one.about}", "name": _text(one.name)}
        )
        if one.status == "failed":
            ElementTree.SubElement(case, "failure", {"message": _text(one.why)})
        elif one.status != "passed":
            ElementTree.SubElement(case, "skipped", {"message": _text(f"{one.status}: {one.why}")})
    ElementTree.indent(suites)
    return bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True)) + b"\n"


def _text(text: str) -> str:
    """Without the characters that XML can't hold."""
    return "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text)
