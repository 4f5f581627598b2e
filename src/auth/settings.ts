// AUTH_ISSUERS → the issuers whose tokens are taken, and how each is checked. What is missing or doubtful is refused here,
// so that nothing is taken by mistake. Worked settings for common providers: docs/authorization.md.

import * as z from 'zod'
import { isSafe } from '../network.ts'
import { missingSecret } from '../server/missing-secret.ts'

/** How the tokens of one issuer are checked. */
export type Check =
  | { by: 'discovery' }
  | { by: 'jwks'; url: string }
  | { by: 'introspection'; endpoint: string | undefined; clientId: string; secret: string; method: 'basic' | 'post' }
  | { by: 'service'; binding: string }

/** An issuer whose tokens are taken. */
export interface Issuer {
  /** Compared exactly with `iss` and with its metadata: every character counts. */
  issuer: string
  /** Names it in principals. */
  id: string
  /** For whom its tokens must be. Undefined: that is not checked, which was chosen. */
  audiences: readonly string[] | undefined
  check: Check
  /** Of signatures. Never symmetric. */
  algorithms: readonly string[]
  clockToleranceSeconds: number
  /** The claims that hold scopes: text with spaces, or a list. */
  scopeClaims: readonly string[]
  /** What stands before a scope when it is asked for, and not in tokens. Empty for most. */
  scopePrefix: string
  subjectClaim: string
  /** The media type a token must name. Undefined: any. */
  typ: string | undefined
  /** How long what an introspection or a service said is believed. */
  cacheSeconds: number
}

/** Signatures anybody can check. A shared secret in place of one would let whoever checks tokens make them. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const

/** A URL that may be asked: https, or http on this machine. */
const Url = z
  .url({ protocol: /^https?$/, error: 'a whole URL, such as https://login.example.com' })
  .refine((url) => !URL.canParse(url) || isSafe(new URL(url)), 'https, since anybody on the way could answer http')
const Text = z.string().trim().min(1)
const Names = z.union([Text.transform((one) => [one]), z.array(Text).min(1)])

const Introspection = z.strictObject({
  endpoint: Url.optional(),
  clientId: Text,
  clientSecret: Text,
  method: z.enum(['basic', 'post']).default('basic'),
})

/** @see RFC 8414, 2 */
const IssuerUrl = Url.refine((url) => !/[\s?#]/.test(url), 'without query, fragment or spaces')

const Setting = z.strictObject({
  issuer: IssuerUrl,
  id: z
    .string()
    .regex(/^[\x21-\x7e]{1,64}$/, '1 to 64 visible characters without spaces')
    .optional(),
  audience: Names.optional(),
  anyAudience: z.literal(true, 'true, or left out').optional(),
  jwks: Url.optional(),
  introspection: Introspection.optional(),
  service: Text.optional(),
  algorithms: z
    .array(z.enum(ALGORITHMS, `any of ${ALGORITHMS.join(', ')}`))
    .min(1)
    .default([...ALGORITHMS]),
  clockToleranceSeconds: z.number().min(0).max(300).default(30),
  scopeClaims: Names.default(['scope', 'scp']),
  scopePrefix: z
    .string()
    .regex(/^[\x21\x23-\x5b\x5d-\x7e]*$/, 'no spaces, quotes or backslashes')
    .default(''),
  subjectClaim: Text.default('sub'),
  typ: Text.optional(),
  cacheSeconds: z.number().min(0).max(300).default(30),
})
type Setting = z.output<typeof Setting>

const List = z.array(Setting).min(1, 'at least one issuer')

/**
 * Reads the value of AUTH_ISSUERS: a list, as `[[vars.AUTH_ISSUERS]]` gives it, or its JSON.
 * @param env where secrets and bindings are that it names
 * @returns the issuers, or every problem there is, each naming where
 */
export function parseIssuers(value: unknown, env: object): Issuer[] | { problems: string[] } {
  if (value === undefined) return { problems: ['not set: add [[vars.AUTH_ISSUERS]], see docs/authorization.md'] }
  const list = parseList(value)
  if (!Array.isArray(list)) return { problems: [problemOfList(value)] }
  const parsed = List.safeParse(list)
  if (!parsed.success) {
    return { problems: parsed.error.issues.map((issue) => `${placeOf(list, issue.path)}${textOf(issue)}`) }
  }
  const problems = [...parsed.data.flatMap((setting) => problemsOf(setting, env)), ...sameOf(parsed.data)]
  return problems.length > 0 ? { problems } : parsed.data.map((setting) => issuerOf(setting, env))
}

function parseList(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

function problemOfList(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? 'one table, where a list belongs: write [[vars.AUTH_ISSUERS]], with two brackets'
    : 'a list of issuers, or its JSON: see docs/authorization.md'
}

function textOf(issue: z.core.$ZodIssue): string {
  // No member is in upper case, and every variable is: TOML gives the last table what is written below it.
  const hasVariable = issue.code === 'unrecognized_keys' && issue.keys.some((key) => /^[A-Z][A-Z0-9_]*$/.test(key))
  return hasVariable ? `${issue.message}: a variable of [vars] belongs above [[vars.AUTH_ISSUERS]]` : issue.message
}

/** `[0].audience (https://…): `, as far as there is one. */
function placeOf(list: unknown, path: readonly PropertyKey[]): string {
  const [index, ...rest] = path
  if (index === undefined) return ''
  const { issuer } = (list as { [index: PropertyKey]: { issuer?: unknown } | undefined })[index] ?? {}
  const name = typeof issuer === 'string' ? ` (${issuer})` : ''
  return `[${String(index)}]${rest.map((key) => `.${String(key)}`).join('')}${name}: `
}

function problemsOf(setting: Setting, env: object): string[] {
  const { issuer, audience, anyAudience, jwks, introspection, service } = setting
  const named = (name: string): unknown => (env as { [name: string]: unknown })[name]
  const problems: string[] = []
  const say = (problem: string): void => void problems.push(`${issuer}: ${problem}`)
  if (!audience && !anyAudience) {
    say('has no audience: name whom its tokens are for, or its tokens for other servers would be taken here')
  }
  if (audience && anyAudience) say('has both audience and anyAudience')
  if (service !== undefined && !audience) say('needs an audience, which its service is asked about')
  if ([jwks, introspection, service].filter((each) => each !== undefined).length > 1) {
    say('is checked one way: by jwks, introspection or service')
  }
  if (introspection && !isFilled(named(introspection.clientSecret))) {
    say(
      missingSecret(introspection.clientSecret) ?? 'introspection.clientSecret is not the name of a secret that is set',
    )
  }
  if (service !== undefined && (typeof named(service) !== 'object' || named(service) === null)) {
    say(`there is no service binding ${service}`)
  }
  return problems
}

/** Two of one name would be one principal; two of one issuer, two ways into it. */
function sameOf(settings: readonly Setting[]): string[] {
  return (['issuer', 'id'] as const).flatMap((member) => {
    const names = settings.map((setting) => setting[member] ?? setting.issuer)
    const twice = names.filter((name, i) => names.indexOf(name) !== i)
    return twice.map((name) => `${name}: two issuers have this ${member}`)
  })
}

function issuerOf(setting: Setting, env: object): Issuer {
  const { issuer, id = issuer, audience, typ, algorithms, clockToleranceSeconds, scopeClaims } = setting
  const { scopePrefix, subjectClaim, cacheSeconds } = setting
  return {
    issuer,
    id,
    audiences: audience,
    check: checkOf(setting, env),
    algorithms,
    clockToleranceSeconds,
    scopeClaims,
    scopePrefix,
    subjectClaim,
    typ,
    cacheSeconds,
  }
}

function checkOf({ jwks, introspection, service }: Setting, env: object): Check {
  if (jwks !== undefined) return { by: 'jwks', url: jwks }
  if (service !== undefined) return { by: 'service', binding: service }
  if (!introspection) return { by: 'discovery' }
  const { endpoint, clientId, clientSecret, method } = introspection
  const secret = (env as { [name: string]: string })[clientSecret]!
  return { by: 'introspection', endpoint, clientId, secret, method }
}

function isFilled(value: unknown): boolean {
  return typeof value === 'string' && value !== ''
}
