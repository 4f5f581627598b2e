// `npm run deploy`: names what would make the deployment fail or unsafe, then runs `wrangler deploy` with the same
// arguments. With --dry-run it does what needs no account, and nothing leaves the machine.
import { spawn, spawnSync } from 'node:child_process'
import { experimental_readRawConfig as readRawConfig } from 'wrangler'
import { readDeployment, valueOf } from './deployment.ts'
import {
  explainFailure,
  findProblems,
  findUnset,
  findWarnings,
  notLoggedIn,
  secretsOf,
  shownSecret,
} from './preflight.ts'

const args = process.argv.slice(2)
const dryRun = args.includes('--dry-run')
const config = valueOf(args, '--config', '-c') ?? 'wrangler.toml'
const { rawConfig } = readRawConfig({ config })
const deployment = readDeployment(rawConfig, args, process.env)

for (const warning of findWarnings(deployment)) console.warn(`warning: ${warning}`)
stopIf(findUnset(deployment.settings).map((problem) => `${config}: ${problem}`))
stopIf(findProblems(deployment).map((problem) => `${config}: ${problem}`))
for (const name of secretsOf(deployment).map(shownSecret)) {
  console.log(`the secret ${name} must be set: npx wrangler secret put ${[name, ...sameWorker()].join(' ')}`)
}
if (!dryRun && !args.includes('--temporary') && !isLoggedIn()) stopIf([notLoggedIn])

const { code, output } = await deploy(dryRun && !valueOf(args, '--outdir') ? ['--outdir', 'dist', ...args] : args)
const explanation = code === 0 ? undefined : explainFailure(output)
if (explanation) console.error(`\ncannot deploy: ${explanation}`)
if (code === 0 && dryRun) console.log('\nready to deploy, as far as this machine can tell')
process.exitCode = code

/** NODE_ENV ends up in the bundle, so what the shell has must not. */
function deploy(parameters) {
  const env = { ...process.env, NODE_ENV: 'production' }
  const child = spawn('wrangler', ['deploy', ...parameters], { env, shell: process.platform === 'win32' })
  let output = ''
  for (const name of ['stdout', 'stderr']) {
    child[name].on('data', (chunk) => {
      process[name].write(chunk)
      output += chunk
    })
  }
  return new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? 1, output })))
}

/** The arguments that name the same Worker to another command. */
function sameWorker() {
  const named = { '-c': valueOf(args, '-c', '--config'), '-e': valueOf(args, '-e', '--env') }
  return Object.entries(named).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value]))
}

/** Only a clear no counts: wrangler itself explains an unreachable network better. */
function isLoggedIn() {
  const { stdout } = spawnSync('wrangler', ['whoami', '--json'], {
    encoding: 'utf8',
    shell: process.platform === 'win32',
  })
  return !/"loggedIn":\s*false/.test(stdout)
}

function stopIf(problems) {
  if (problems.length === 0) return
  for (const problem of problems) console.error(`cannot deploy: ${problem}`)
  process.exit(1)
}
