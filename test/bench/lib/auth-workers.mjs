// The workers with authorization: how each is built, and how it is set up with and without.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { limits } from '../../../src/limits.ts'
import { readSettings } from './build.mjs'
import { opaqueKind, resource, signedKinds } from './issuer.mjs'

const define = { TOOL_COUNT: 50 }
/** The longest ours believes what an introspection said. */
const cacheSeconds = limits.issuerFreshMs / 1_000

/**
 * Each has `closed`, its settings with authorization, `kinds`, the tokens it is sent then, and, if there is such a thing,
 * `open`, its settings without.
 */
export function listAuthWorkers(root, issuer) {
  const shipped = readSettings(join(root, 'wrangler.toml'))
  const main = (name) => fileURLToPath(new URL(`../workers/${name}.ts`, import.meta.url))
  const settings = (vars, objects = {}) => {
    return { ...shipped, objects, vars: { ...shipped.vars, ...vars }, disk: true, isLocal: true }
  }
  const peer = (name) => ({
    name,
    scenario: 'authorized call',
    main: main(`auth-${name}`),
    define,
    kinds: signedKinds,
    open: settings({ BENCH_RESOURCE: resource }),
    closed: settings({ BENCH_RESOURCE: resource, BENCH_ISSUER: issuer.url(name) }),
  })
  const ours = (name, scenario, file, objects) => ({
    name,
    scenario,
    main: main(file),
    define,
    kinds: [...signedKinds, opaqueKind],
    open: settings({ AUTH: 'none' }, objects),
    closed: settings({ AUTH: 'oauth', AUTH_ISSUERS: issuersFor(issuer, name), BENCH_SECRET: 'secret' }, objects),
  })
  const { KEY_RING, SESSION, LISTEN_HUB } = shipped.objects
  return [
    peer('floor'),
    { ...peer('provider'), open: undefined },
    peer('sdk'),
    ours('ours', 'authorized call', 'ours'),
    ours('session', 'authorized session call', 'sessions', { KEY_RING, SESSION, LISTEN_HUB }),
  ]
}

/** AUTH_ISSUERS of ours: signed tokens are of one issuer, opaque ones of another. */
function issuersFor(issuer, name) {
  const [signed, opaque] = [issuer.url(name), issuer.url(name, opaqueKind)]
  const introspection = { endpoint: `${opaque}/introspect`, clientId: 'bench', clientSecret: 'BENCH_SECRET' }
  return [
    { issuer: signed, audience: resource, jwks: `${signed}/jwks` },
    { issuer: opaque, audience: resource, introspection, cacheSeconds },
  ]
}
