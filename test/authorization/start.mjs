// Starts `npm run start:auth` as a person does, and what its tests need around it: metadata documents on
// https://localhost, with a certificate made for the occasion, and a Worker bound to the authorization server's entrypoint.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { experimental_readRawConfig as readRawConfig } from 'wrangler'
import { startGroup } from '../../scripts/process-group.mjs'
import { freePort, startWrangler } from '../support/server.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readyTimeoutMs = 60_000

/**
 * Both servers. `vars(mcp)` gives variables of the authorization server, `flags` go to the MCP server's wrangler, and
 * `caller` also starts a Worker that calls the entrypoint. RATE_LIMIT is off there unless `vars` says otherwise: tests come
 * from one address.
 *
 * With `--var=SCOPES_SUPPORTED:…` among the flags, the MCP server no longer says what its definitions need: then the
 * example's scopes are granted, unless `vars` names others.
 */
export async function startAuth(options) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options)
    } catch (error) {
      // Somebody took the port between its being found and its being used.
      if (attempt === 3 || !/port \d+ is taken/.test(error.message)) throw error
    }
  }
}

async function startOnce({ vars = () => ({}), env = {}, flags: others = [], caller = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-edge-auth-'))
  const registry = join(folder, 'registry')
  const [port, authPort] = [await freePort(), await freePort()]
  const mcp = `http://localhost:${port}/mcp`
  const isNarrowed = others.some((flag) => flag.startsWith('--var=SCOPES_SUPPORTED:'))
  const settings = {
    RATE_LIMIT: 'off',
    ...(isNarrowed && { SCOPES_SUPPORTED: 'notes:read notes:write offline_access' }),
    ...vars(mcp),
  }
  const flags = [
    `--port=${port}`,
    `--auth-port=${authPort}`,
    `--persist-to=${join(folder, 'state')}`,
    ...Object.entries(settings).map(([name, value]) => `--auth-var=${name}:${value}`),
    ...others,
  ]
  const group = startGroup(process.execPath, [join(root, 'scripts/start-auth.mjs'), ...flags], {
    cwd: root,
    env: { ...process.env, WRANGLER_LOG_PATH: join(folder, 'logs'), WRANGLER_REGISTRY_PATH: registry, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const name of ['stdout', 'stderr']) group.child[name].on('data', (chunk) => (output += chunk))
  const stopAll = async () => {
    await callerServer?.stop()
    await group.stop(10_000)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
  let callerServer
  const ready = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`start:auth is not ready:\n${output}`)), readyTimeoutMs)
    group.child.stdout.on('data', () => {
      if (!/^ready: /m.test(output)) return
      clearTimeout(timer)
      resolve()
    })
    void group.exited.then((code) => reject(new Error(`start:auth ended with ${code}:\n${output}`)))
  })
  try {
    await ready
    if (caller) {
      callerServer = await startCaller(registry)
    }
  } catch (error) {
    await stopAll()
    throw error
  }
  const call = async (method, ...args) => {
    const response = await fetch(callerServer.origin, { method: 'POST', body: JSON.stringify({ method, args }) })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()).result
  }
  return {
    mcp,
    auth: `http://localhost:${authPort}`,
    call,
    output: () => output,
    exited: group.exited,
    pid: group.child.pid,
    stop: stopAll,
  }
}

/** A Worker bound to the entrypoint of the authorization server, whatever that is called, in the same registry. */
export async function startCaller(registry) {
  const { name: service } = readRawConfig({ config: join(root, 'wrangler.authorization.toml') }).rawConfig
  const { rawConfig } = readRawConfig({ config: join(root, 'test/authorization/wrangler.toml') })
  const folder = mkdtempSync(join(tmpdir(), 'mcp-edge-caller-'))
  const config = join(folder, 'wrangler.json')
  const main = join(root, 'test/authorization', rawConfig.main)
  const services = rawConfig.services.map((each) => ({ ...each, service }))
  writeFileSync(config, JSON.stringify({ ...rawConfig, main, services }))
  const server = await startWrangler({ config, env: { WRANGLER_REGISTRY_PATH: registry } })
  const stop = async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  }
  return { ...server, stop }
}

/**
 * An https server on localhost for metadata documents. `answer(path)` gives an object for a document, a Response for
 * anything else. `ca` is the path of the certificate, for NODE_EXTRA_CA_CERTS.
 */
export async function serveDocuments(answer) {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-edge-documents-'))
  const [key, ca] = [join(folder, 'key.pem'), join(folder, 'ca.pem')]
  const kind = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost'
  const name = ['-addext', 'subjectAltName=DNS:localhost', '-keyout', key, '-out', ca]
  const { status, stderr } = spawnSync('openssl', [...kind.split(' '), ...name])
  if (status !== 0) throw new Error(`cannot make a certificate: ${stderr}`)

  const seen = []
  const server = createServer({ key: readFileSync(key), cert: readFileSync(ca) }, async (request, response) => {
    seen.push(request.url)
    const given = await answer(request.url)
    const reply = given instanceof Response ? given : Response.json(given)
    response.writeHead(reply.status, Object.fromEntries(reply.headers))
    response.end(Buffer.from(await reply.arrayBuffer()))
  })
  await new Promise((listening) => server.listen(0, 'localhost', listening))
  return {
    origin: `https://localhost:${server.address().port}`,
    ca,
    /** The paths that were asked for. */
    seen,
    async stop() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
