// Runs one command of this repository from any clone: installs what package-lock.json names if it is not there, then
// runs the command on the pinned Node. Must run on Node 18 and import no package.
import { existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onEnd, quietWrangler, startGroup } from './process-group.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const environment = {
  ...process.env,
  PATH: join(root, 'node_modules', '.bin') + delimiter + process.env.PATH,
  ...quietWrangler,
}

// Longer than what a runner needs to stop the servers it started.
const graceMs = 10_000

let group
let ending = false
onEnd(async (code) => {
  if (ending) return group?.kill()
  ending = true
  await group?.stop(graceMs)
  process.exit(code)
})

if (!isInstalled()) {
  console.error('installing what package-lock.json names')
  const code = await install()
  if (code !== 0) process.exit(code)
}
// There is a pinned Node for the usual platforms; elsewhere the machine's own must do.
if (!existsSync(join(root, 'node_modules', '.bin', 'node')) && Number(process.versions.node.split('.')[0]) < 22) {
  console.error(`cannot run on Node ${process.versions.node}: install Node 22 or later`)
  process.exit(1)
}
const [command, ...args] = process.argv.slice(2)
process.exit(await run(command, args))

async function run(program, parameters) {
  group = startGroup(program, parameters, { cwd: root, env: environment })
  const code = await group.exited
  if (ending) await new Promise(() => {})
  await group.stop(graceMs)
  return code
}

function install() {
  const flags = ['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = process.env.npm_execpath
  return npm?.endsWith('npm-cli.js') ? run(process.execPath, [npm, ...flags]) : run('npm', flags)
}

/** npm writes node_modules/.package-lock.json last, so an interrupted installation counts as none. */
function isInstalled() {
  const installed = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(installed)) return false
  const found = JSON.parse(readFileSync(installed, 'utf8')).packages
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === '' || (optional && !found[path])) return true
    return found[path]?.version === version && existsSync(join(root, path))
  })
}
