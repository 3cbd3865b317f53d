import type { Report } from "./check.js";
import { type Finding, isFault } from "./report.js";

/**
 * A report as JUnit's XML: a suite for the card, one for each binding, one for their comparison; a test case for each rule. What failed
 * but doesn't count (see `isFault`) is the output of a case that passes.
 */
export function junitXml({ url, findings }: Report, isStrict: boolean): string {
  const suites = new Map<string, Finding[]>();
  for (const finding of findings) suites.set(finding.where, [...(suites.get(finding.where) ?? []), finding]);
  const lines = [...suites].flatMap(([where, all]) => suiteOf(where, all, isStrict));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="nuncio check ${escaped(url)}" ${countsOf(findings, isStrict)}>`,
    ...lines,
    "</testsuites>",
    "",
  ].join("\n");
}

function suiteOf(where: string, findings: readonly Finding[], isStrict: boolean): string[] {
  return [
    `  <testsuite name="${escaped(where)}" ${countsOf(findings, isStrict)}>`,
    ...findings.flatMap((one) => caseOf(one, isStrict)),
    "  </testsuite>",
  ];
}

function caseOf(finding: Finding, isStrict: boolean): string[] {
  const { rule, where, severity, section, expected, verdict, seen, because } = finding;
  const open = `    <testcase name="${rule} ${section}" classname="${escaped(where)}"`;
  switch (verdict) {
    case "passed":
      return [`${open}/>`];
    case "not-checked":
      return [`${open}>`, `      <skipped message="${escaped(because ?? "")}"/>`, "    </testcase>"];
    case "failed": {
      const text = [`expected: ${expected}`, ...seen.map((one) => `seen: ${one}`)].join("\n");
      const said = isFault(finding, isStrict)
        ? `<failure type="${severity}" message="${escaped(expected)}">${escaped(text)}</failure>`
        : `<system-out>${escaped(`${severity}\n${text}`)}</system-out>`;
      return [`${open}>`, `      ${said}`, "    </testcase>"];
    }
  }
}

function countsOf(findings: readonly Finding[], isStrict: boolean): string {
  const failures = findings.filter((one) => isFault(one, isStrict)).length;
  const skipped = findings.filter(({ verdict }) => verdict === "not-checked").length;
  return `tests="${findings.length}" failures="${failures}" skipped="${skipped}"`;
}

/** XML has no form for most control characters, nor for half a surrogate pair. */
function escaped(text: string): string {
  return text
    .replace(/(?![\n\t])\p{Cc}|\p{Surrogate}|[\ufffe\uffff]/gu, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("\n", "&#10;");
}
