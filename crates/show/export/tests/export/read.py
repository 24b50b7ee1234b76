"""Reads an export with the library that others read it with, and prints what it saw as JSON."""

import json
import sys
from pathlib import Path


def junit(path):
    import junitparser
    import xmlschema

    xmlschema.XMLSchema(str(Path(__file__).parent / "JUnit.xsd")).validate(path)
    cases = []
    for suite in junitparser.JUnitXml.fromfile(path):
        for case in suite:
            kinds = [type(result).__name__ for result in case.result]
            messages = [result.message for result in case.result]
            cases.append([suite.name, case.name, kinds, messages])
    return cases


def openmetrics(path):
    from prometheus_client.openmetrics.parser import text_string_to_metric_families

    text = Path(path).read_text()
    families = text_string_to_metric_families(text)
    return [
        [family.name, family.type, family.unit, sample.labels, sample.value]
        for family in families
        for sample in family.samples
    ]


def xlsx(path):
    import openpyxl

    workbook = openpyxl.load_workbook(path)
    sheets = {}
    for sheet in workbook:
        cells = [[cell for cell in row] for row in sheet.iter_rows()]
        assert not any(cell.data_type == "f" for row in cells for cell in row), "a formula"
        sheets[sheet.title] = [[cell.value for cell in row] for row in cells]
    return sheets


print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
