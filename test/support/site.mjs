// A web site for tests that need one elsewhere: an HTTP server whose answers the tests give it, and which tells them what
// it was asked. Tests share it, each under a random first segment of its own, its tenant. It knows no protocol.
import { once } from 'node:events'
import { createServer } from 'node:http'

/** Marks a request as one to the site itself. */
const CONTROL = 'x-site-control'

const maxBodyBytes = 1024 * 1024

/**
 * Starts a site on a free port of the loopback interface.
 *
 * With the header `x-site-control` a `PUT` of a `SiteAnswer` as JSON sets what its path answers from now on, a `DELETE`
 * removes that, and a `GET` of any path of a tenant returns the tenant's log. Every other request is answered by the
 * latest answer that fits it, else with 404, and is logged. What is set for `/<tenant>/*` goes before all else.
 */
export async function startSite() {
  const tenants = new Map()
  const server = createServer((request, response) => {
    handle(tenants, request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(String(error))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const stop = async () => {
    const closed = once(server, 'close')
    server.close()
    server.closeAllConnections()
    await closed
  }
  return { url: `http://127.0.0.1:${server.address().port}`, stop }
}

async function handle(tenants, request, response) {
  const body = await readBody(request)
  const path = request.url.split('?')[0]
  const name = tenantOf(path)
  const tenant = tenants.get(name) ?? { answers: [], log: [] }
  tenants.set(name, tenant)
  if (request.headers[CONTROL] !== undefined) return control(tenant, request, path, body, response)
  tenant.log.push({ method: request.method, path: request.url, headers: request.headers, body })
  const fits = (answer) =>
    answer.path === path &&
    (answer.method === undefined || answer.method === request.method) &&
    (answer.contains === undefined || body.includes(answer.contains))
  const everywhere = tenant.answers.find((answer) => answer.path === `/${name}/*`)
  return send(everywhere ?? tenant.answers.findLast(fits) ?? { status: 404, body: 'no answer' }, response)
}

/** `/tenant/…`, or `/.well-known/<document>/tenant…`, as RFC 8414 inserts the path of an issuer. */
function tenantOf(path) {
  const [, first, , third] = path.split('/')
  return (first === '.well-known' ? third : first) ?? ''
}

function control(tenant, request, path, body, response) {
  if (request.method === 'GET') return reply(response, 200, tenant.log)
  const given = request.method === 'PUT' ? JSON.parse(body) : undefined
  const isReplaced = (answer) =>
    answer.path === path && (!given || (answer.method === given.method && answer.contains === given.contains))
  tenant.answers = tenant.answers.filter((answer) => !isReplaced(answer))
  if (given) tenant.answers.push({ ...given, path })
  return reply(response, 200, {})
}

function reply(response, status, value) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
}

function send({ status = 200, headers = {}, body = '', delayMs = 0, hang, drop, stall }, response) {
  if (drop) response.destroy()
  if (drop || hang) return // a request that hangs ends with its client, or with the site
  const answer = () => {
    response.writeHead(status, headers)
    if (stall) response.write(body.slice(0, -1))
    else response.end(body)
  }
  if (delayMs === 0) answer()
  else setTimeout(answer, delayMs).unref()
}

async function readBody(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > maxBodyBytes) throw new RangeError(`a body of more than ${maxBodyBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
