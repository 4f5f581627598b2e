// Runs the official suite's scenarios for authorization servers against the local one (`npm run start:auth`). The suite
// prints an authorization URL and waits for its callback; a cookie jar does what a person would. As strict as run.mjs: a
// warning, a skipped check and a scenario that did not run are failures.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startGroup } from '../../scripts/process-group.mjs'
import { Browser } from '../authorization/browser.ts'
import { serveDocuments, startAuth } from '../authorization/start.mjs'
import { freePort } from '../support/server.mjs'
import { judge } from './judge.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const suite = join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
const results = join(root, '.results', 'conformance-authorization')

const scenarios = ['authorization-server-metadata-endpoint', 'authorization-code-grant']
const brokeOff = { id: 'scenario', status: 'FAILURE', errorMessage: 'the suite wrote no result: the scenario threw' }

/**
 * Starts both servers, runs the suite, and ends them. What failed is named on stdout.
 * @returns the numbers of scenarios that `passed` and `failed`
 */
export async function runAuthorizationSuite() {
  const callbackPort = await freePort()
  const documents = await serveDocuments(() => ({
    client_id: `${documents.origin}/client.json`,
    client_name: 'Conformance suite',
    redirect_uris: [`http://127.0.0.1:${callbackPort}/callback`],
  }))
  const site = await startAuth({ env: { NODE_EXTRA_CA_CERTS: documents.ca } })
  try {
    rmSync(results, { recursive: true, force: true })
    mkdirSync(results, { recursive: true })
    const settings = {
      url: site.auth,
      resource: site.mcp,
      'client-id': `${documents.origin}/client.json`,
      port: callbackPort,
      'output-dir': results,
    }
    const flags = Object.entries(settings).map(([name, value]) => `--${name}=${value}`)
    const code = await drive(
      startGroup(process.execPath, [suite, 'authorization', ...flags], { stdio: ['ignore', 'pipe', 'inherit'] }),
      site,
    )
    const { passed, failed } = judge(readOutcomes(), scenarios, [])
    for (const { scenario, reasons } of failed) console.log(`failed: ${scenario}\n  ${reasons.join('\n  ')}`)
    if (code !== 0 && failed.length === 0) console.log(`failed: the suite ended with exit code ${code}`)
    return { passed: passed.length, failed: failed.length + (code !== 0 && failed.length === 0 ? 1 : 0) }
  } finally {
    await site.stop()
    await documents.stop()
  }
}

/** Shows what the suite prints, and follows the URL it asks a person to open. */
async function drive(group, site) {
  let unfinished = ''
  group.child.stdout.on('data', (chunk) => {
    process.stdout.write(chunk)
    const lines = (unfinished + chunk).split('\n')
    unfinished = lines.pop()
    for (const url of lines.filter((line) => line.startsWith(`${site.auth}/authorize?`))) void allow(url, site)
  })
  return group.exited
}

async function allow(url, site) {
  try {
    const back = await new Browser(site.auth).authorize(url)
    await (await fetch(back)).body?.cancel()
  } catch (error) {
    // The suite would wait five minutes for a callback, then fail without a reason.
    console.log(`failed: the authorization URL of the suite: ${error.message}`)
    const callback = new URL(new URL(url).searchParams.get('redirect_uri'))
    callback.searchParams.set('error', 'access_denied')
    await fetch(callback)
  }
}

/** The suite writes `authorization-<scenario>-<time>/checks.json`. */
function readOutcomes() {
  const outcomes = new Map()
  for (const folder of readdirSync(results)) {
    const scenario = scenarios.find((name) => folder.includes(name))
    if (scenario === undefined) continue
    const file = join(results, folder, 'checks.json')
    outcomes.set(scenario, existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [brokeOff])
  }
  return outcomes
}
