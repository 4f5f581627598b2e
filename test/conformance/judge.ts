// Decides which conformance scenarios passed, failed or are not claimed. Pure: no files, no processes.

export type Check = { id: string; status: string; description?: string; errorMessage?: string }

/** Says that a check, or without `check` a whole scenario, is not claimed. */
export type BaselineEntry = { scenario: string; check?: string; why: string }

export type Verdict = {
  passed: string[]
  failed: { scenario: string; reasons: string[] }[]
  unclaimed: { scenario: string; why: string }[]
}

const notPassed = ['FAILURE', 'WARNING', 'SKIPPED']

/** A baseline entry whose scenario ran and that excuses nothing is stale, and fails. */
export function judge(outcomes: Map<string, Check[]>, expected: string[], baseline: BaselineEntry[]): Verdict {
  const verdict: Verdict = { passed: [], failed: [], unclaimed: [] }
  for (const scenario of new Set([...expected, ...outcomes.keys()])) {
    const checks = outcomes.get(scenario) ?? []
    const bad = checks.filter(({ status }) => notPassed.includes(status))
    const entries = baseline.filter((entry) => entry.scenario === scenario)
    const whole = entries.find(({ check }) => check === undefined)
    const excused = (id: string) => entries.some(({ check }) => check === id)

    const reasons = whole ? [] : bad.filter(({ id }) => !excused(id)).map(describe)
    if (!whole && checks.length === 0) reasons.push('did not run')
    else if (!whole && !checks.some(({ status }) => status === 'SUCCESS')) reasons.push('checked nothing')
    if (checks.length > 0) reasons.push(...entries.filter((entry) => isStale(entry, bad)).map(describeStale))

    if (reasons.length > 0) verdict.failed.push({ scenario, reasons })
    else if (whole) verdict.unclaimed.push({ scenario, why: whole.why })
    else verdict.passed.push(scenario)
  }
  return verdict
}

function isStale({ check }: BaselineEntry, bad: Check[]): boolean {
  return !bad.some(({ id }) => check === undefined || check === id)
}

function describe({ status, id, errorMessage, description }: Check): string {
  return `${status} ${id}: ${errorMessage ?? description ?? 'no reason given'}`
}

function describeStale({ check }: BaselineEntry): string {
  return `baseline.json does not claim ${check ?? 'this scenario'}, but it passes: remove the entry`
}
