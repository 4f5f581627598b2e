// What can be told about a deployment before and after wrangler tried it. Pure: no files, no processes, no network.

import { parseAuthorizationConfig } from '../src/authorization/config.ts'
import { parseConfig, type Config } from '../src/config.ts'
import { looksLikeName } from '../src/server/missing-secret.ts'
import { tableOf, tablesOf, type Deployment } from './deployment.ts'

const placeholder =
  /^<.*>$|\b(todo|fixme|placeholder|change[-_ ]?me|replace[-_ ]?(me|this|with))\b|\byour[-_ ]|^x{3,}$/i

/** The variables that hold addresses, of which none is at a domain that nobody can have. @see RFC 2606, 3 */
const ADDRESSES = /^vars\.(PUBLIC_URL|AUTH_ISSUERS|ISSUER|RESOURCES|UPSTREAM_ISSUER)\b/

function isOfExamples(text: string): boolean {
  return URL.canParse(text) && /(^|\.)example\.(com|org|net)\.?$/i.test(new URL(text).hostname)
}

/** Names every value of a wrangler.toml that is empty or still a placeholder, also in variables that hold JSON. */
export function findUnset(value: unknown, path = ''): string[] {
  if (typeof value === 'string') {
    if (value.trim() === '') return [`${path} is empty`]
    const inner = /^\s*[[{]/.test(value) ? parsed(value) : undefined
    if (inner !== undefined) return findUnset(inner, path)
    const isPlaceholder = placeholder.test(value) || (ADDRESSES.test(path) && textsIn(value).some(isOfExamples))
    return isPlaceholder ? [`${path} is still a placeholder: "${value}"`] : []
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    return findUnset(inner, Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`)
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON, so it is only text that begins like it.
    return undefined
  }
}

/** Names what would make a deployment fail each request, or let in who should not be. */
export function findProblems(deployment: Deployment): string[] {
  return deployment.role === 'authorization' ? problemsOfAuthorization(deployment) : problemsOfServer(deployment)
}

/** What workers/mcp.ts binds, beside the app's own. */
const OBJECTS = ['KEY_RING', 'SESSION', 'TASK', 'PRINCIPAL', 'LISTEN_HUB']

function problemsOfServer({ role, vars, ratelimits, services, objects }: Deployment): string[] {
  const problems: string[] = []
  const needed = vars['QUOTA'] === undefined ? OBJECTS : [...OBJECTS, 'QUOTA_OBJECT']
  const missing = needed.filter((binding) => !objects.some(({ name }) => name === binding))
  if (missing.length > 0) {
    problems.push(
      `[durable_objects] has no binding ${missing.join(', ')}, without which requests fail: add it again (a named environment inherits none)`,
    )
  }
  if (vars['AUTH'] === undefined) {
    problems.push(
      'AUTH is not set in [vars]: "none" lets in everybody who knows the URL, "oauth" takes tokens of the issuers in AUTH_ISSUERS (docs/authorization.md); choose one of them',
    )
  }
  if (vars['RATE_LIMIT'] !== 'off' && !ratelimits.some(({ name }) => name === 'CALLS')) {
    problems.push(
      'there is no [[ratelimits]] with name = "CALLS", so calls would have no limit: add it again, or set RATE_LIMIT = "off"',
    )
  }
  for (const { issuer, introspection } of tablesOf(listOf(vars['AUTH_ISSUERS']))) {
    if (isNoName(tableOf(introspection)['clientSecret'])) {
      problems.push(`AUTH_ISSUERS: ${String(issuer)}: introspection.clientSecret ${NO_NAME}`)
    }
  }
  // What cannot be seen from here counts as set: secrets, and what a service binding leads to.
  const secrets = Object.fromEntries(secretsOf({ role, vars }).map((name) => [name, 'set']))
  const bindings = Object.fromEntries(services.map(({ binding }) => [String(binding), {}]))
  const parse = (): string[] => {
    // That AUTH is not chosen has been said.
    const { issuers } = parseConfig({ ...secrets, ...vars, ...bindings, AUTH: vars['AUTH'] ?? 'none' })
    return (issuers ?? []).flatMap(onThisMachine)
  }
  return [...problems, ...problemsOf(parse)]
}

/** What a Worker's own parser says, which it throws. */
function problemsOf(parse: () => string[]): string[] {
  try {
    return parse()
  } catch (error) {
    if (error instanceof TypeError) return [error.message]
    throw error
  }
}

const NO_NAME = 'is no name of a secret: if it is the secret itself, take it out of wrangler.toml'

/** True for a text that cannot be the name of a secret. */
function isNoName(value: unknown): boolean {
  return typeof value === 'string' && !/^[A-Za-z_][A-Za-z0-9_]*$/.test(value)
}

/** What of an issuer leads back to the machine of who deploys. */
function onThisMachine({ issuer, audiences = [], check }: NonNullable<Config['issuers']>[number]): string[] {
  const problems = audiences
    .filter(isLoopback)
    .map((url) => `the audience "${url}" is on this machine: name the public one`)
  if (isLoopback(issuer)) problems.push('it is on this machine, where a deployed server cannot reach it')
  const asked = check.by === 'jwks' ? check.url : check.by === 'introspection' ? check.endpoint : undefined
  if (asked !== undefined && isLoopback(asked))
    problems.push(`"${asked}" is on this machine: a deployed server cannot ask it`)
  return problems.map((problem) => `AUTH_ISSUERS: ${issuer}: ${problem}`)
}

function problemsOfAuthorization({ role, vars, ratelimits, kvNamespaces }: Deployment): string[] {
  const problems: string[] = []
  if (!kvNamespaces.some(({ binding }) => binding === 'OAUTH_KV')) {
    problems.push(
      'there is no [[kv_namespaces]] with binding = "OAUTH_KV", where clients and grants are kept: add it again (a named environment inherits none)',
    )
  }
  for (const { clientId, clientSecret } of tablesOf(listOf(vars['INTROSPECTION_CLIENTS']))) {
    if (isNoName(clientSecret)) {
      problems.push(`INTROSPECTION_CLIENTS: the clientSecret of "${String(clientId)}" ${NO_NAME}`)
    }
  }
  if (vars['DEV_LOGIN'] === 'on') {
    problems.push('DEV_LOGIN is "on": everybody could sign in as anybody; remove it, and set up a login for real users')
  }
  for (const name of ['ISSUER', 'RESOURCES']) {
    const texts = textsIn(vars[name])
    const here = texts.filter(isLoopback)
    if (texts.length === 0) problems.push(`${name} is not set in [vars]: ${MEANINGS[name]}`)
    if (here.length > 0) problems.push(`${name} is on this machine (${here.join(', ')}): ${MEANINGS[name]}`)
  }
  if (vars['RATE_LIMIT'] !== 'off' && !ratelimits.some(({ name }) => name === 'REQUESTS')) {
    problems.push(
      'there is no [[ratelimits]] with name = "REQUESTS", so strangers would have no limit: add it again, or set RATE_LIMIT = "off"',
    )
  }
  if (problems.length > 0) return problems
  // Long enough for what a secret has to be.
  const secrets = Object.fromEntries(secretsOf({ role, vars }).map((name) => [name, 'set'.padEnd(32)]))
  return problemsOf(() => {
    parseAuthorizationConfig({ ...secrets, ...vars })
    return []
  })
}

const MEANINGS: { [name: string]: string } = {
  ISSUER: 'it is the public URL of this Worker, which tokens and metadata name',
  RESOURCES: 'it lists the public URLs of the servers that tokens are for, such as https://mcp.example.com/mcp',
}

/** The parts of a list, however it is written. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(textsIn)
  const inner = typeof value === 'string' && /^\s*\[/.test(value) ? parsed(value) : undefined
  if (inner !== undefined) return textsIn(inner)
  return typeof value === 'string' ? value.split(/[\s,]+/).filter(Boolean) : []
}

function isLoopback(text: string): boolean {
  if (!URL.canParse(text)) return false
  return /^((.*\.)?localhost\.?|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(new URL(text).hostname)
}

/** The secrets that a Worker needs for its variables. They are set in Cloudflare, where this cannot look. */
export function secretsOf({ role, vars }: Pick<Deployment, 'role' | 'vars'>): string[] {
  const named = (name: string): unknown[] => tablesOf(listOf(vars[name])).map(({ clientSecret }) => clientSecret)
  const names =
    role === 'authorization'
      ? ['COOKIE_SECRET', vars['UPSTREAM_ISSUER'] && 'UPSTREAM_CLIENT_SECRET', ...named('INTROSPECTION_CLIENTS')]
      : vars['AUTH'] === 'oauth'
        ? tablesOf(listOf(vars['AUTH_ISSUERS'])).map(({ introspection }) => tableOf(introspection)['clientSecret'])
        : []
  return [...new Set(names.filter((name) => typeof name === 'string'))]
}

/** A secret by its name. Somebody may have written the secret itself there, which must not be printed. */
export function shownSecret(name: string): string {
  return looksLikeName(name) ? name : '(what clientSecret names)'
}

/** A variable that holds a list, or its JSON. */
function listOf(value: unknown): unknown {
  return typeof value === 'string' ? parsed(value) : value
}

const failures: [pattern: RegExp, meaning: string][] = [
  [
    /code: 10034\]|email_verification_required|verify your (account's )?e-?mail/i,
    'the e-mail address of the Cloudflare account is not verified: open the link in their mail, or request a new one at https://dash.cloudflare.com/profile, then deploy again',
  ],
  [
    /code: 10063\]|(register|need) a workers\.dev subdomain/i,
    'the Cloudflare account has no workers.dev subdomain yet: choose one at https://dash.cloudflare.com/?to=/:account/workers/onboarding, then deploy again',
  ],
  [
    /not logged in|not authenticated|set a CLOUDFLARE_API_TOKEN/i,
    'not logged in to Cloudflare: run "npx wrangler login", or set CLOUDFLARE_API_TOKEN, then deploy again',
  ],
  [
    /more than one account|mandatory to specify an account ID/i,
    'the login can reach several Cloudflare accounts: set CLOUDFLARE_ACCOUNT_ID to the one to deploy to',
  ],
  [
    /code: (10000|9109|10001)\]|authentication error/i,
    'Cloudflare refused the login: run "npx wrangler login" again, or make a token from the template "Edit Cloudflare Workers"',
  ],
]

export const notLoggedIn = failures[2]![1]

/** One sentence with what to do, where the cause of a failed deployment is known. */
export function explainFailure(output: string): string | undefined {
  return failures.find(([pattern]) => pattern.test(output))?.[1]
}

const TEMPLATE_NAMES = ['mcp-edge', 'mcp-edge-authorization']

/** What deserves a second look, though the deployment may go on. */
export function findWarnings({ role, name, vars }: Deployment): string[] {
  const warnings: string[] = []
  if (role === 'server' && vars['AUTH'] === 'none') {
    warnings.push('there is no authorization: anybody who knows the URL can call every tool of this server')
    if (vars['AUTH_ISSUERS'] !== undefined) warnings.push('AUTH_ISSUERS is not used: that needs AUTH = "oauth"')
  }
  if (role === 'server' && vars['AUTH'] === 'oauth') warnings.push(...audiencesElsewhere(vars['AUTH_ISSUERS']))
  if (role === 'authorization' && textsIn(vars['SCOPES_SUPPORTED']).length === 0) {
    warnings.push('SCOPES_SUPPORTED is empty, so no scope can be granted: list those that your servers ask for')
  }
  for (const secret of secretsOf({ role, vars }).filter((each) => vars[each] !== undefined)) {
    warnings.push(`${secret} is a variable, which everybody can read who sees the configuration: make it a secret`)
  }
  if (name !== undefined && TEMPLATE_NAMES.includes(name)) {
    warnings.push(
      `name is still "${name}", as in the template: a Worker of that name in your account would be replaced`,
    )
  }
  return warnings
}

/** Audiences that look like the address of this server, and are another. */
function audiencesElsewhere(issuers: unknown): string[] {
  return tablesOf(listOf(issuers)).flatMap(({ issuer, audience }) => {
    const urls = [audience].flat().filter((each) => typeof each === 'string' && isElsewhere(each))
    return urls.map(
      (url) =>
        `AUTH_ISSUERS: ${String(issuer)}: the audience "${String(url)}" is not the endpoint, whose path is /mcp: hosts ask for tokens for that one`,
    )
  })
}

function isElsewhere(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, pathname } = new URL(text)
  return /^https?:$/.test(protocol) && !/^\/mcp\/?$/.test(pathname)
}
