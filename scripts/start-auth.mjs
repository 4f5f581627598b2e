// `npm run start:auth`: the MCP server with authorization on, beside the authorization server, both on this machine.
// It grants what the definitions of the MCP server name. Needs no account or secret. What follows the options below goes to the `wrangler dev` of the MCP server.
//
//   --port N           the MCP server, 8787
//   --auth-port N      the authorization server, 8788
//   --auth-var NAME:V  a variable of the authorization server; may be repeated
//   --persist-to DIR   where both keep what they store, .wrangler/state
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { experimental_readRawConfig as readRawConfig } from 'wrangler'
import { onEnd, quietWrangler, startGroup } from './process-group.mjs'

const readyTimeoutMs = 60_000
const bindingTimeoutMs = 10_000
const bindingName = 'AUTHORIZATION'
const root = fileURLToPath(new URL('..', import.meta.url))
const require = createRequire(import.meta.url)
const wrangler = join(dirname(require.resolve('wrangler/package.json')), 'wrangler-dist', 'cli.js')

const { port, authPort, authVars, persistTo, others } = parseArguments(process.argv.slice(2))
// Whoever answers there already would be taken for ours.
for (const each of [port, authPort]) if (!(await isFree(each))) stop(`port ${each} is taken`)
const endpoint = `http://localhost:${port}/mcp`
const issuer = `http://localhost:${authPort}`

// One folder a start: wrangler watches its configuration, and two starts must not share one.
mkdirSync(join(root, '.wrangler'), { recursive: true })
const folder = mkdtempSync(join(root, '.wrangler', 'start-auth-'))
const groups = []
let ending
onEnd(end)
process.on('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }))

const { name: service, vars: own = {} } = read('wrangler.authorization.toml')
const ownSecrets = join(root, '.dev.vars')
start(
  derive('wrangler.toml', ({ vars, services = [] }) => ({
    vars: {
      ...vars,
      AUTH: 'oauth',
      AUTH_ISSUERS: [{ issuer, id: 'local', service: bindingName, audience: endpoint }],
      // Where it is deployed, which is not here.
      PUBLIC_URL: undefined,
      // So that its metadata names what all definitions need. A `--var` of the command line wins.
      SCOPES_SUPPORTED: undefined,
    },
    services: [
      ...services.filter(({ binding }) => binding !== bindingName),
      { binding: bindingName, service, entrypoint: 'TokenValidator' },
    ],
  })),
  port,
  persistTo,
  // Secrets are looked for beside the configuration, which is derived and lies elsewhere.
  [...(existsSync(ownSecrets) ? [`--env-file=${ownSecrets}`] : []), ...others],
)
await isReady(new URL(endpoint).origin)

const scopes = await scopesOf(new URL('/.well-known/oauth-protected-resource/mcp', endpoint))
const authorization = derive('wrangler.authorization.toml', () => ({
  vars: {
    ...own,
    ISSUER: issuer,
    RESOURCES: [endpoint],
    SCOPES_SUPPORTED: [...new Set([...scopes, ...listOf(own.SCOPES_SUPPORTED), 'offline_access'])],
    UPSTREAM_ISSUER: undefined,
    UPSTREAM_CLIENT_ID: undefined,
    // They ask about tokens for other resources, with secrets that are not here.
    INTROSPECTION_CLIENTS: undefined,
    DEV_LOGIN: 'on',
    ...authVars,
  },
}))
const secrets = join(dirname(authorization), '.dev.vars')
writeFileSync(secrets, `COOKIE_SECRET=${cookieSecret()}\n`, { mode: 0o600 })
start(authorization, authPort, join(persistTo, 'authorization'))
await isReady(issuer)
await isBound()
console.log(`
ready: ${endpoint} and ${issuer}

  Paste ${endpoint} into an MCP host. It sends you to ${issuer} to sign in:
  type any user name, there is no password, and allow what the host asks for.
  A host that has to register, such as npx mcp-inspector, needs
    npm run start:auth -- --auth-var DYNAMIC_REGISTRATION:on
  The Inspector remembers what it found. If it was refused before, run once:
    npx mcp-inspector --cli ${endpoint} --relogin --method tools/list
  Whoever reaches port ${authPort} can sign in as anybody: put no tunnel in front of it.
  Ctrl-C ends both servers.
`)

function read(file) {
  return readRawConfig({ config: join(root, file) }).rawConfig
}

/** Writes the configuration of a file of this repository, with what `change` makes of it over it. */
function derive(file, change) {
  const config = read(file)
  Object.assign(config, change(config), { main: join(root, config.main) })
  const own = mkdtempSync(join(folder, 'worker-'))
  const path = join(own, 'wrangler.json')
  writeFileSync(path, JSON.stringify(config))
  return path
}

function start(config, onPort, state, flags = []) {
  const args = [
    '--no-warnings',
    wrangler,
    'dev',
    `--config=${config}`,
    `--port=${onPort}`,
    '--inspector-port=0',
    `--persist-to=${state}`,
    '--infer-origin-from-routes=false',
    '--show-interactive-dev-session=false',
    ...flags,
  ]
  const env = {
    ...process.env,
    ...quietWrangler,
    // A registry of their own, unless told: another clone may run Workers of the same names.
    WRANGLER_REGISTRY_PATH: process.env.WRANGLER_REGISTRY_PATH ?? join(folder, 'registry'),
  }
  const group = startGroup(process.execPath, args, { env })
  groups.push(group)
  void group.exited.then((code) => end(code === 0 ? 1 : code))
}

async function end(code) {
  if (ending) return groups.forEach((group) => void group.kill())
  ending = true
  await Promise.all(groups.map((group) => group.stop()))
  process.exit(code)
}

/** Any answer will do: the proxy of wrangler holds requests until the Worker is built. */
async function isReady(origin) {
  for (const deadline = Date.now() + readyTimeoutMs; Date.now() < deadline; await sleep(50)) {
    if (ending) await new Promise(() => {})
    const response = await fetch(origin, { signal: AbortSignal.timeout(readyTimeoutMs) }).catch(() => undefined)
    if (!response) continue
    await response.body?.cancel()
    return
  }
  console.error(`cannot start: nothing answers on ${origin}`)
  await end(1)
}

/** What the MCP server has hosts ask for. */
async function scopesOf(metadata) {
  const response = await fetch(metadata, { signal: AbortSignal.timeout(readyTimeoutMs) })
  if (response.ok) return (await response.json()).scopes_supported ?? []
  console.error(`cannot start: ${metadata} answers ${response.status}, see above`)
  return end(1)
}

/** The MCP server finds the other by name a moment after that has started; until then it takes no token. */
async function isBound() {
  const request = { method: 'POST', headers: { authorization: 'Bearer none', 'content-type': 'application/json' } }
  for (const deadline = Date.now() + bindingTimeoutMs; Date.now() < deadline; await sleep(100)) {
    const response = await fetch(endpoint, { ...request, body: '{}', signal: AbortSignal.timeout(readyTimeoutMs) })
    await response.body?.cancel()
    if (response.status !== 503) return
  }
}

/** As `[vars]` have lists: arrays, or text. */
function listOf(value = []) {
  return Array.isArray(value) ? value : value.split(/[\s,]+/).filter(Boolean)
}

function isFree(number) {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(number, 'localhost', () => server.close(() => resolve(true)))
  })
}

/** The same at the next start, so that a browser stays signed in. */
function cookieSecret() {
  const file = join(persistTo, 'authorization', 'cookie-secret')
  if (!existsSync(file)) {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600 })
  }
  return readFileSync(file, 'utf8')
}

function parseArguments(args) {
  const parsed = { port: 8787, authPort: 8788, authVars: {}, persistTo: join(root, '.wrangler', 'state'), others: [] }
  const take = {
    '--port': (value) => (parsed.port = toPort(value)),
    '--auth-port': (value) => (parsed.authPort = toPort(value)),
    '--auth-var': (value) => {
      const [, name, text] = /^([^:]+):(.*)$/s.exec(value) ?? stop(`--auth-var takes NAME:VALUE, not "${value}"`)
      parsed.authVars[name] = text
    },
    '--persist-to': (value) => (parsed.persistTo = resolve(value)),
  }
  for (let i = 0; i < args.length; i++) {
    const [, flag, inline] = /^(--[\w-]+)(?:=(.*))?$/s.exec(args[i]) ?? []
    if (take[flag] === undefined) parsed.others.push(args[i])
    else take[flag](inline ?? args[++i] ?? stop(`${flag} needs a value`))
  }
  return parsed
}

function toPort(text) {
  const number = Number(text)
  return Number.isInteger(number) && number > 0 && number < 65_536 ? number : stop(`"${text}" is no port`)
}

function stop(problem) {
  console.error(`cannot start: ${problem}`)
  process.exit(2)
}
