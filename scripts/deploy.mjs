// `npm run deploy`: names what would make the deployment fail or unsafe, then runs `wrangler deploy` with the same
// arguments. With --dry-run it does what needs no account, and nothing leaves the machine.
import { spawn, spawnSync } from 'node:child_process'
import { experimental_readRawConfig as readRawConfig } from 'wrangler'
import { explainFailure, findUnset, findWarnings, notLoggedIn } from './preflight.ts'

const args = process.argv.slice(2)
const dryRun = args.includes('--dry-run')
const config = valueOf('--config') ?? valueOf('-c') ?? 'wrangler.toml'
const { rawConfig } = readRawConfig({ config })

for (const warning of findWarnings(rawConfig)) console.warn(`warning: ${warning}`)
stopIf(findUnset(rawConfig).map((problem) => `${config}: ${problem}`))
if (!dryRun && !args.includes('--temporary') && !isLoggedIn()) stopIf([notLoggedIn])

const { code, output } = await deploy(dryRun && !valueOf('--outdir') ? ['--outdir', 'dist', ...args] : args)
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

function valueOf(flag) {
  const index = args.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`))
  if (index === -1) return undefined
  return args[index].includes('=') ? args[index].slice(flag.length + 1) : args[index + 1]
}
