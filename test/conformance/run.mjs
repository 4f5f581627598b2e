// Runs the official conformance suite against the fixture and holds the outcome against what this repository claims.
// Stricter than the suite: a warning, a skipped check, a scenario that never ran and a stale baseline entry fail too.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { experimental_readRawConfig as readRawConfig } from 'wrangler'
import { startGroup } from '../../scripts/process-group.mjs'
import { startWrangler } from '../support/server.mjs'
import { runAuthorizationSuite } from './authorization.mjs'
import { startIssuer } from './issuer.mjs'
import { judge } from './judge.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const suite = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const results = join(root, '.results', 'conformance')

const brokeOff = { id: 'scenario', status: 'FAILURE', errorMessage: 'the suite wrote no result: the scenario threw' }

const given = process.argv.slice(2)
const claims = ['2025-11-25', '2026-07-28'].map((revision) => ['--requirements', revision])
const baselines = JSON.parse(readFileSync(new URL('baseline.json', import.meta.url), 'utf8'))
const sum = { passed: 0, failed: 0 }

await runAll({})
if (given.length === 0) {
  const issuer = await startIssuer()
  try {
    console.log('\nonce more with AUTH = "oauth": the suite sends no tokens, so what stands in front does')
    await runAll(issuer.vars)
  } finally {
    await issuer.stop()
  }
  const { passed, failed } = await runAuthorizationSuite()
  sum.passed += passed
  sum.failed += failed
}
console.log(`\nconformance: ${sum.passed} passed, ${sum.failed} failed`)
process.exit(sum.failed === 0 ? 0 : 1)

/** Every claim, or what was asked for, against a fixture whose Workers have these variables. */
async function runAll(vars) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-edge-conformance-'))
  const [front, ...workers] = ['front.toml', 'toml', 'second.toml'].map((name) => configWith(vars, name, folder))
  try {
    const server = await startWrangler({ config: front, args: workers.map((worker) => `--config=${worker}`) })
    try {
      for (const args of given.length === 0 ? claims : [given]) await runSuite(args, server)
    } finally {
      await server.stop()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `--var` reaches the first of several Workers only, so each gets a configuration with the variables in it. */
function configWith(vars, name, folder) {
  const source = join(root, 'test/conformance', `wrangler.${name}`)
  const { rawConfig } = readRawConfig({ config: source })
  const main = join(dirname(source), rawConfig.main)
  const file = join(folder, `${name}.json`)
  writeFileSync(file, JSON.stringify({ ...rawConfig, main, vars: { ...rawConfig.vars, ...vars } }))
  return file
}

async function runSuite(args, server) {
  rmSync(results, { recursive: true, force: true })
  mkdirSync(results, { recursive: true })
  const code = await startGroup(process.execPath, [suite, 'server', '--url', server.url, '-o', results, ...args]).exited
  const required = valueOf(args, '--requirements')
  const baseline = baselines[required ?? valueOf(args, '--spec-version') ?? '2026-07-28'] ?? []
  const { passed, failed, unclaimed } = judge(readOutcomes(), required ? listRequired(required) : [], baseline)

  for (const { scenario, why } of unclaimed) console.log(`not claimed: ${scenario} (${why})`)
  for (const { scenario, reasons } of failed) console.log(`failed: ${scenario}\n  ${reasons.join('\n  ')}`)
  // The suite may end without a result for anything, for example because an argument is wrong.
  const broken = passed.length + failed.length === 0
  if (broken) console.log(`failed: the suite gave no results, exit code ${code}`)
  sum.passed += passed.length
  sum.failed += failed.length + (broken ? 1 : 0)
}

/** The suite writes `server-<scenario>-<time>/checks.json`; it writes none for a scenario that threw. */
function readOutcomes() {
  const outcomes = new Map()
  for (const folder of readdirSync(results)) {
    const scenario = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(folder)?.[1]
    if (!scenario) continue
    const file = join(results, folder, 'checks.json')
    const checks = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [brokeOff]
    outcomes.set(scenario, [...(outcomes.get(scenario) ?? []), ...checks])
  }
  return outcomes
}

/** Every server scenario the suite names for the revision, scored or not: none of them may silently not run. */
function listRequired(required) {
  const { stdout } = spawnSync(process.execPath, [suite, 'list', '--requirements', required], { encoding: 'utf8' })
  const scored = /^Server scenarios.*\n((?:\s+- .*\n)+)/m.exec(stdout)?.[1] ?? ''
  const names = [...scored.matchAll(/- (\S+)$/gm), ...stdout.matchAll(/- (\S+) \[server\]/g)].map(([, name]) => name)
  if (names.length === 0) throw new Error(`the suite lists no server scenarios for "${required}"`)
  return names
}

function valueOf(args, flag) {
  const index = args.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`))
  if (index === -1) return undefined
  return args[index].includes('=') ? args[index].slice(flag.length + 1) : args[index + 1]
}
