// `npm run deploy` against a stand-in for the Cloudflare API: the words it translates are those of the pinned wrangler.
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test, type TestContext } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const account = { id: 'a', name: 'A' }

test.concurrent('deploy names an unverified e-mail address', async ({ expect, onTestFinished }) => {
  const { code, output } = await deploy(
    await startApi(onTestFinished, { upload: [10034, 'You need to verify your email address'] }),
  )
  expect(output).toMatch(/^cannot deploy: the e-mail address of the Cloudflare account is not verified/m)
  expect(code).toBe(1)
})

test.concurrent('deploy names a missing workers.dev subdomain', async ({ expect, onTestFinished }) => {
  const { code, output } = await deploy(await startApi(onTestFinished, { subdomain: [10007, 'There is no subdomain'] }))
  expect(output).toMatch(/^cannot deploy: the Cloudflare account has no workers.dev subdomain yet/m)
  expect(code).toBe(1)
})

test.concurrent('deploy names a refused token', async ({ expect, onTestFinished }) => {
  const { code, output } = await deploy(await startApi(onTestFinished, { service: [10000, 'Authentication error'] }))
  expect(output).toMatch(/^cannot deploy: Cloudflare refused the login/m)
  expect(code).toBe(1)
})

test.concurrent('deploy stops before wrangler runs where AUTH is not chosen', async ({ expect, onTestFinished }) => {
  const api = await startApi(onTestFinished, {})
  const config = await writeConfig(onTestFinished, '')
  const { code, output } = await deploy(api, ['-c', config])
  expect(output).toMatch(/^cannot deploy: \S+wrangler.toml: AUTH is not set in \[vars\]/m)
  expect(output).not.toContain('Total Upload')
  expect(code).toBe(1)
})

test.concurrent('deploy stops at an address that an example has', async ({ expect, onTestFinished }) => {
  const config = await writeConfig(onTestFinished, '[vars]\nAUTH = "none"\nPUBLIC_URL = "https://mcp.example.com"\n')
  const { code, output } = await deploy('http://127.0.0.1:1', ['-c', config, '--dry-run'])
  expect(output).toMatch(
    /^cannot deploy: \S+: vars\.PUBLIC_URL is still a placeholder: "https:\/\/mcp\.example\.com"$/m,
  )
  expect(output).not.toContain('Total Upload')
  expect(code).toBe(1)
})

test.concurrent('deploy takes what the command line says, and names the secrets that it cannot see', async (context) => {
  const { expect, onTestFinished } = context
  const config = await writeConfig(onTestFinished, '[vars]\nAUTH_ISSUERS = "<issuers>"\n')
  const introspection = { clientId: 'mcp', clientSecret: 'HUSH' }
  const issuers = [{ issuer: 'https://login.acme.dev', audience: 'https://mcp.acme.dev/mcp', introspection }]
  const vars = ['--var', 'AUTH:oauth', `AUTH_ISSUERS:${JSON.stringify(issuers)}`]
  const dryRun = ['--dry-run', '--outdir', join(config, '..', 'dist')]
  const { code, output } = await deploy('http://127.0.0.1:1', ['-c', config, ...vars, ...dryRun])
  expect(output).toMatch(/^the secret HUSH must be set: npx wrangler secret put HUSH -c \S+wrangler.toml$/m)
  expect(output).not.toContain('anybody who knows the URL')
  expect(output).toMatch(/^ready to deploy/m)
  expect(code).toBe(0)
})

/** A configuration of a Worker that only exists, with this at its end. @returns its path */
async function writeConfig(onTestFinished: TestContext['onTestFinished'], more: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'mcp-edge-deploy-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const objects = ['KEY_RING', 'SESSION', 'TASK', 'PRINCIPAL', 'LISTEN_HUB']
  const classes = objects.map((name) => `export class ${name} {}\n`).join('')
  await writeFile(join(folder, 'worker.js'), `${classes}export default { fetch: () => new Response("ok") }`)
  const config = join(folder, 'wrangler.toml')
  const calls = '[[ratelimits]]\nname = "CALLS"\nnamespace_id = "1001"\nsimple = { limit = 1000, period = 60 }\n'
  const bindings = objects.map((name) => `{ name = "${name}", class_name = "${name}" }`).join(', ')
  const durable = `[durable_objects]\nbindings = [${bindings}]\n`
  await writeFile(
    config,
    `name = "ours"\nmain = "worker.js"\ncompatibility_date = "2026-11-01"\n${durable}${calls}${more}`,
  )
  return config
}

type Failure = [code: number, message: string]

async function startApi(
  onTestFinished: TestContext['onTestFinished'],
  { upload, subdomain, service }: Record<string, Failure | undefined>,
): Promise<string> {
  const api = createServer((request, response) => {
    request.resume()
    const path = new URL(request.url!, 'http://api').pathname
    const send = (failure: Failure | undefined, result: unknown) => {
      const errors = failure ? [{ code: failure[0], message: failure[1] }] : []
      response.writeHead(failure ? 403 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ success: !failure, errors, messages: [], result }))
    }
    if (path === '/user') return send(undefined, { id: 'u', email: 'u@example.com' })
    if (path === '/user/tokens/verify') return send(undefined, { id: 't', status: 'active' })
    if (path === '/accounts') return send(undefined, [account])
    if (path === '/memberships') return send(undefined, [{ id: 'm', account, roles: [] }])
    if (path === '/accounts/a/workers/subdomain') return send(subdomain, { subdomain: 'example' })
    if (request.method === 'PUT') return send(upload, { id: 'w' })
    return send(service ?? [10007, 'not found'], null)
  })
  onTestFinished(() => void api.close())
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(api.address() as AddressInfo).port}`
}

function deploy(apiUrl: string, args: readonly string[] = []): Promise<{ code: number | null; output: string }> {
  const env = {
    ...process.env,
    CLOUDFLARE_API_BASE_URL: apiUrl,
    CLOUDFLARE_API_TOKEN: 't',
    // Without it wrangler would remember the stand-in's account for later deployments.
    CLOUDFLARE_ACCOUNT_ID: account.id,
    NO_COLOR: '1',
  }
  const child = spawn(process.execPath, ['scripts/run.mjs', 'node', 'scripts/deploy.mjs', ...args], { cwd: root, env })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}
