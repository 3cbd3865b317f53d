import type { Report } from "./check.js";
import type { Finding } from "./report.js";

/** A report as JUnit's XML: a suite for the card, one for each binding, one for their comparison; a test case for each rule. */
export function junitXml({ url, findings }: Report): string {
  const suites = new Map<string, Finding[]>();
  for (const finding of findings) suites.set(finding.where, [...(suites.get(finding.where) ?? []), finding]);
  const lines = [...suites].flatMap(([where, all]) => suiteOf(where, all));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="nuncio check ${escaped(url)}" ${countsOf(findings)}>`,
    ...lines,
    "</testsuites>",
    "",
  ].join("\n");
}

function suiteOf(where: string, findings: readonly Finding[]): string[] {
  return [
    `  <testsuite name="${escaped(where)}" ${countsOf(findings)}>`,
    ...findings.flatMap(caseOf),
    "  </testsuite>",
  ];
}

function caseOf({ rule, where, severity, section, expected, verdict, seen, because }: Finding): string[] {
  const open = `    <testcase name="${rule} ${section}" classname="${escaped(where)}"`;
  switch (verdict) {
    case "passed":
      return [`${open}/>`];
    case "not-checked":
      return [`${open}>`, `      <skipped message="${escaped(because ?? "")}"/>`, "    </testcase>"];
    case "failed": {
      const text = escaped([`expected: ${expected}`, ...seen.map((one) => `seen: ${one}`)].join("\n"));
      return [
        `${open}>`,
        `      <failure type="${severity}" message="${escaped(expected)}">${text}</failure>`,
        "    </testcase>",
      ];
    }
  }
}

function countsOf(findings: readonly Finding[]): string {
  const count = (verdict: Finding["verdict"]) => findings.filter((one) => one.verdict === verdict).length;
  return `tests="${findings.length}" failures="${count("failed")}" skipped="${count("not-checked")}"`;
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
