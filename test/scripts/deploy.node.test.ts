// `npm run deploy` against a stand-in for the Cloudflare API: the words it translates are those of the pinned wrangler.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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

function deploy(apiUrl: string): Promise<{ code: number | null; output: string }> {
  const env = {
    ...process.env,
    CLOUDFLARE_API_BASE_URL: apiUrl,
    CLOUDFLARE_API_TOKEN: 't',
    // Without it wrangler would remember the stand-in's account for later deployments.
    CLOUDFLARE_ACCOUNT_ID: account.id,
    NO_COLOR: '1',
  }
  const child = spawn(process.execPath, ['scripts/run.mjs', 'node', 'scripts/deploy.mjs'], { cwd: root, env })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })))
}
