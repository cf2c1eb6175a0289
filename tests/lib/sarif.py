# SPDX-License-Identifier: Apache-2.0
"""What SARIF 2.1.0 asks of a log, as far as such logs go: what must be there, what may be there, of which kind.

Written from the standard (OASIS, sections 3.13 to 3.49); the objects a scanner has no use for are only known by name.
"""
import re

LEVELS = ("none", "note", "warning", "error")
KINDS = ("notApplicable", "pass", "fail", "review", "open", "informational")
COLUMNS = ("utf16CodeUnits", "unicodeCodePoints")
# RFC 3986: what may stand in a reference, each byte that may not as %HH.
ADDRESS = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?:[A-Za-z0-9._~!$&'()*+,;=:@/?#\[\]-]|%[0-9A-Fa-f]{2})*")


class Wrong(Exception):
    """The place in the log, and what is wrong there."""


def need(holds, place, words):
    if not holds:
        raise Wrong(f"{place}: {words}")


def text(value, place):
    need(isinstance(value, str), place, "no text")


def filled(value, place):
    need(isinstance(value, str) and value, place, "no text, or an empty one")


def address(value, place):
    need(isinstance(value, str) and ADDRESS.fullmatch(value), place, f"no address: {value!r}")


def truth(value, place):
    need(isinstance(value, bool), place, "neither true nor false")


def number(least):
    def check(value, place):
        need(isinstance(value, int) and not isinstance(value, bool) and value >= least, place, f"no number from {least} on")
    return check


def one_of(*words):
    def check(value, place):
        need(value in words, place, f"{value!r} is none of {', '.join(words)}")
    return check


def each(check, least=0, unique=False):
    def check_all(value, place):
        need(isinstance(value, list) and len(value) >= least, place, f"no list of at least {least}")
        for i, item in enumerate(value):
            check(item, f"{place}[{i}]")
            need(not unique or item not in value[:i], f"{place}[{i}]", "stands there twice")
    return check_all


def known(_value, _place):
    """A member the standard has and these logs do not use."""


def bag(value, place):
    need(isinstance(value, dict), place, "no map")
    each(text, unique=True)(value.get("tags", []), place + ".tags")


def record(required, any_of=(), others="", **members):
    """A map with the REQUIRED members, one of ANY_OF, and none but MEMBERS and OTHERS."""
    allowed = {**{name: known for name in others.split()}, "properties": bag, **members}

    def check(value, place):
        need(isinstance(value, dict), place, "no map")
        for name in required.split():
            need(name in value, place, f"{name} is missing")
        need(not any_of or any(name in value for name in any_of), place, f"none of {', '.join(any_of)}")
        for name, item in value.items():
            need(name in allowed, place, f"{name} is no member of it")
            allowed[name](item, f"{place}.{name}")
    return check


MESSAGE = record("", any_of=("text", "id"), text=filled, markdown=text, id=text, arguments=each(text))
WORDS = record("text", text=filled, markdown=text)
REGION = record("", others="snippet message sourceLanguage", startLine=number(1), startColumn=number(1), endLine=number(1),
                endColumn=number(1), charOffset=number(-1), charLength=number(0), byteOffset=number(-1), byteLength=number(0))
ARTIFACT = record("", others="description", any_of=("uri", "index"), uri=address, uriBaseId=text, index=number(-1))
PHYSICAL = record("", any_of=("address", "artifactLocation"), others="address contextRegion", artifactLocation=ARTIFACT,
                  region=REGION)
LOCATION = record("", others="id logicalLocations annotations relationships", physicalLocation=PHYSICAL, message=MESSAGE)
RESULT = record("message", others="rule analysisTarget guid correlationGuid occurrenceCount partialFingerprints fingerprints "
                "stacks codeFlows graphs graphTraversals relatedLocations suppressions baselineState rank attachments "
                "hostedViewerUri workItemUris provenance fixes taxa webRequest webResponse",
                ruleId=filled, ruleIndex=number(-1), kind=one_of(*KINDS), level=one_of(*LEVELS), message=MESSAGE,
                locations=each(LOCATION))
RULE = record("id", others="deprecatedIds guid deprecatedGuids deprecatedNames messageStrings relationships", id=filled,
              name=filled, shortDescription=WORDS, fullDescription=WORDS, help=WORDS, helpUri=address,
              defaultConfiguration=record("", others="rank parameters", enabled=truth, level=one_of(*LEVELS)))
DRIVER = record("name", others="guid organization product productSuite shortDescription fullDescription fullName "
                "dottedQuadFileVersion releaseDateUtc globalMessageStrings notifications taxa locations language contents "
                "isComprehensive localizedDataSemanticVersion minimumRequiredLocalizedDataSemanticVersion "
                "associatedComponent translationMetadata supportedTaxonomies", name=filled, version=filled,
                semanticVersion=filled, informationUri=address, downloadUri=address, rules=each(RULE, unique=True))
RUN = record("tool", others="invocations conversion language versionControlProvenance originalUriBaseIds artifacts "
             "logicalLocations graphs automationDetails runAggregates baselineGuid redactionTokens defaultEncoding "
             "defaultSourceLanguage newlineSequences externalPropertyFileReferences threadFlowLocations taxonomies addresses "
             "translations policies webRequests webResponses specialLocations",
             tool=record("driver", others="extensions", driver=DRIVER), columnKind=one_of(*COLUMNS), results=each(RESULT))
LOG = record("version runs", others="inlineExternalProperties", **{"$schema": address}, version=one_of("2.1.0"),
             runs=each(RUN))


def check_rules(run, place):
    """What stands between the lines of the schema: a result's rule is the one at its index, and each rule has one id."""
    rules = run["tool"]["driver"].get("rules", [])
    ids = [rule["id"] for rule in rules]
    need(len(set(ids)) == len(ids), place, "two rules have one id")
    for i, result in enumerate(run.get("results", [])):
        index = result.get("ruleIndex", -1)
        need(index < len(rules), f"{place}.results[{i}]", "its rule is not in the list")
        need(index < 0 or result.get("ruleId", ids[index]) == ids[index], f"{place}.results[{i}]", "its rule is another one")
        need(result.get("kind", "fail") == "fail" or result.get("level", "none") == "none", f"{place}.results[{i}]",
             "a level without a failure")


def fault(log):
    """What is wrong with the log; None when it is as the standard wants it."""
    try:
        LOG(log, "log")
        for i, run in enumerate(log["runs"]):
            check_rules(run, f"log.runs[{i}]")
    except Wrong as wrong:
        return str(wrong)
    return None
