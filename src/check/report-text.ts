import type { Report } from "./check.js";
import type { Finding } from "./report.js";
import type { Severity } from "./rules.js";

/** How many rules of each kind failed. */
function failuresOf({ findings }: Report): Readonly<Record<Severity, number>> {
  const count = (severity: Severity) =>
    findings.filter((one) => one.verdict === "failed" && one.severity === severity).length;
  return { MUST: count("MUST"), SHOULD: count("SHOULD"), MAY: count("MAY") };
}

/** A report for a person: what failed first, worst first; then what wasn't checked, and why; then the sum. */
export function* reportLines(report: Report): Generator<string> {
  const { agent, url, interfaces, findings } = report;
  yield agent === undefined ? url : `${agent.name} ${agent.version}  ${url}`;
  for (const { protocolBinding, protocolVersion, url: at, because } of interfaces)
    yield `  ${protocolBinding} ${protocolVersion}  ${at}${because === undefined ? "" : `  not checked: ${because}`}`;

  for (const severity of ["MUST", "SHOULD", "MAY"] as const) {
    for (const finding of findings.filter((one) => one.verdict === "failed" && one.severity === severity))
      yield* failureLines(finding);
  }
  const unchecked = findings.filter(({ verdict }) => verdict === "not-checked");
  if (unchecked.length > 0) yield "\nnot checked";
  yield* uncheckedLines(unchecked);

  const { MUST, SHOULD, MAY } = failuresOf(report);
  const passed = findings.filter(({ verdict }) => verdict === "passed").length;
  const failed = MUST + SHOULD + MAY === 0 ? "nothing failed" : `failed: ${MUST} MUST, ${SHOULD} SHOULD, ${MAY} MAY`;
  yield `\n${passed} passed, ${failed}, ${unchecked.length} not checked${isRefused(report) ? REFUSED : ""}`;
}

const REFUSED = "; no send was answered, so little could be checked: say with --text what the agent takes";

/** Whether the agent refused what was sent, over every binding. */
function isRefused({ findings }: Report): boolean {
  const sent = findings.filter(({ rule }) => rule === "send.answers");
  return sent.length > 0 && sent.every(({ verdict }) => verdict === "not-checked");
}

/** The same rule isn't checked for the same reason over several bindings. */
function* uncheckedLines(findings: readonly Finding[]): Generator<string> {
  const places = new Map<string, string[]>();
  for (const { where, rule, because } of findings) {
    const what = `${rule}: ${because ?? "nothing to check"}`;
    places.set(what, [...(places.get(what) ?? []), where]);
  }
  for (const [what, where] of places) yield `  ${what} (${where.join(", ")})`;
}

function* failureLines({ severity, where, rule, section, expected, seen }: Finding): Generator<string> {
  yield `\n${severity}  ${where}  ${rule}  ${section}`;
  yield `  expected  ${expected}`;
  for (const one of seen) yield `  seen      ${one}`;
}
