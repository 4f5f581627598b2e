// The deploy preflight's rules, with the words wrangler and the Cloudflare API use.
import { describe, expect, test } from 'vitest'
import { readDeployment, type Table } from '../../scripts/deployment.ts'
import {
  explainFailure,
  findProblems,
  findUnset,
  findWarnings,
  secretsOf,
  shownSecret,
} from '../../scripts/preflight.ts'

const CALLS = { name: 'CALLS', namespace_id: '1001', simple: { limit: 1000, period: 60 } }
const ISSUER = 'https://login.acme.dev'
const RESOURCE = 'https://mcp.acme.dev/mcp'

const OBJECTS = ['KEY_RING', 'SESSION', 'TASK', 'PRINCIPAL', 'LISTEN_HUB', 'QUOTA_OBJECT']
const durable_objects = { bindings: OBJECTS.map((name) => ({ name, class_name: name })) }

/** A wrangler.toml of the server with these variables, as wrangler reads it. */
const server = (vars: Table, more: Table = {}) =>
  readDeployment({ name: 'ours', main: 'workers/mcp.ts', vars, ratelimits: [CALLS], durable_objects, ...more }, [])
/** The same with AUTH = "oauth" and this issuer. */
const issuer = (setting: Table, more: Table = {}) =>
  server({ AUTH: 'oauth', AUTH_ISSUERS: [{ issuer: ISSUER, audience: RESOURCE, ...setting }] }, more)
const introspection = { clientId: 'mcp', clientSecret: 'INTROSPECTION_SECRET' }

describe('findUnset', () => {
  test('names empty values and placeholders by their path', () => {
    const config = {
      name: 'mcp-edge',
      vars: { PUBLIC_URL: '<https://mcp.example.org>', ISSUER: ' ', AUTH: 'none' },
      kv_namespaces: [{ binding: 'OAUTH_KV', id: 'your-id' }],
      exports: { SessionObject: { type: 'durable-object', storage: 'sqlite' } },
    }
    expect(findUnset(config)).toEqual([
      'vars.PUBLIC_URL is still a placeholder: "<https://mcp.example.org>"',
      'vars.ISSUER is empty',
      'kv_namespaces[0].id is still a placeholder: "your-id"',
    ])
  })

  test('looks into variables that hold JSON, and leaves alone what only looks like it', () => {
    const vars = { AUTH_ISSUERS: JSON.stringify([{ issuer: '<your issuer>', audience: ['', RESOURCE] }]), A: '[a]' }
    expect(findUnset({ vars })).toEqual([
      'vars.AUTH_ISSUERS[0].issuer is still a placeholder: "<your issuer>"',
      'vars.AUTH_ISSUERS[0].audience[0] is empty',
    ])
  })

  test('looks into the tables of issuers', () => {
    const AUTH_ISSUERS = [{ issuer: ISSUER, introspection: { ...introspection, clientId: 'your-client-id' } }]
    expect(findUnset({ vars: { AUTH_ISSUERS } })).toEqual([
      'vars.AUTH_ISSUERS[0].introspection.clientId is still a placeholder: "your-client-id"',
    ])
  })

  test('takes addresses at the domains of examples for placeholders, where an address belongs', () => {
    const vars = {
      PUBLIC_URL: 'https://mcp.example.com',
      ISSUER: 'https://EXAMPLE.org',
      RESOURCES: `${RESOURCE} https://a.b.example.net/mcp`,
      UPSTREAM_ISSUER: 'https://login.example.com/realms/a',
      AUTH_ISSUERS: [{ issuer: ISSUER, audience: ['https://mcp.example.com/mcp'], jwks: 'https://example.com/jwks' }],
      HELP: 'https://example.com',
    }
    expect(findUnset({ vars }).map((problem) => problem.replace(/ is still a placeholder: .*/, ''))).toEqual([
      'vars.PUBLIC_URL',
      'vars.ISSUER',
      'vars.RESOURCES',
      'vars.UPSTREAM_ISSUER',
      'vars.AUTH_ISSUERS[0].audience[0]',
      'vars.AUTH_ISSUERS[0].jwks',
    ])
    expect(findUnset({ vars: { AUTH_ISSUERS: JSON.stringify(vars.AUTH_ISSUERS) } })).toHaveLength(2)
    const others = ['https://myexample.com/mcp', 'https://example.com.acme.dev', 'https://example.dev', 'example.com']
    expect(findUnset({ vars: { RESOURCES: others } })).toEqual([])
  })

  test('leaves ordinary values alone', () => {
    expect(findUnset({ a: 'https://yours.example', b: 0, c: false, d: [300], e: 'notes:read todos:read' })).toEqual([])
  })
})

describe('explainFailure', () => {
  test.each([
    ['You need to verify your email address to use Workers. [code: 10034]', 'not verified'],
    ["Please verify your account's email address and try again.", 'not verified'],
    ['You need a workers.dev subdomain in order to proceed [code: 10063]', 'no workers.dev subdomain'],
    ['You need to register a workers.dev subdomain before publishing to workers.dev', 'no workers.dev subdomain'],
    ["it's necessary to set a CLOUDFLARE_API_TOKEN environment variable", 'not logged in'],
    ['Authentication error [code: 10000]', 'refused the login'],
  ])('explains %j', (output, meaning) => {
    expect(explainFailure(output)).toContain(meaning)
  })

  test('does not guess', () => {
    expect(explainFailure('Uncaught SyntaxError at worker.js:1 [code: 10021]')).toBeUndefined()
  })
})

describe('readDeployment', () => {
  const config = {
    name: 'ours',
    main: 'workers/mcp.ts',
    vars: { AUTH: 'none', LOG: '' },
    ratelimits: [CALLS],
    env: { staging: { vars: { AUTH: 'oauth' } }, other: { vars: { LOG: '<level>' } } },
  }

  test('puts the variables of the command line over those of the file', () => {
    const args = [
      '--var',
      'AUTH:oauth',
      'PUBLIC_URL:https://a.example:8443',
      '--minify',
      'B:1',
      '--var=C:2',
      '--dry-run',
    ]
    const { vars } = readDeployment(config, args)
    expect(vars).toEqual({ AUTH: 'oauth', LOG: '', PUBLIC_URL: 'https://a.example:8443', C: '2' })
    expect(findUnset(readDeployment(config, ['--var', 'LOG:off']).settings)).toEqual([])
  })

  test.each([
    [['--env', 'staging'], {}],
    [['-e', 'staging'], {}],
    [['--env=staging'], {}],
    [[], { CLOUDFLARE_ENV: 'staging' }],
  ])('takes what a named environment does not inherit from there alone: %j %j', (args, shell) => {
    const deployment = readDeployment(config, args, shell)
    expect(deployment).toMatchObject({ name: 'ours-staging', role: 'server', vars: { AUTH: 'oauth' }, ratelimits: [] })
    expect(findUnset(deployment.settings)).toEqual([])
  })

  test('takes the name of the command line', () => {
    expect(readDeployment({ name: 'mcp-edge' }, ['--name', 'ours']).name).toBe('ours')
  })

  test.each([
    ['workers/mcp.ts', 'server'],
    ['workers/authorization.ts', 'authorization'],
    ['./workers\\authorization.js', 'authorization'],
    ['workers/no-authorization.ts', 'server'],
    [undefined, 'server'],
  ])('tells the two Workers apart by main: %s', (main, role) => {
    expect(readDeployment({ main }, []).role).toBe(role)
  })
})

describe('findProblems of a server', () => {
  test('wants AUTH to be chosen, and says what the choices mean', () => {
    const [problem, ...others] = findProblems(server({}))
    expect(problem).toMatch(/^AUTH is not set in \[vars\]: "none" lets in everybody who knows the URL, "oauth" takes/)
    expect(others).toEqual([])
    expect(findProblems(server({ AUTH: 'none' }))).toEqual([])
    expect(findProblems(readDeployment({ ratelimits: [CALLS], durable_objects }, ['--var', 'AUTH:none']))).toEqual([])
  })

  test('says once that AUTH is not chosen, also where there are issuers', () => {
    const AUTH_ISSUERS = [{ issuer: ISSUER, audience: RESOURCE }]
    expect(findProblems(server({ AUTH_ISSUERS }))).toEqual([expect.stringMatching(/^AUTH is not set/)])
  })

  test('wants each binding that the Worker needs, and names the one that is missing', () => {
    const without = (...names: string[]): Table => ({
      durable_objects: { bindings: durable_objects.bindings.filter(({ name }) => !names.includes(name)) },
    })
    for (const name of OBJECTS) {
      expect(findProblems(server({ AUTH: 'none', QUOTA: '5/day' }, without(name)))).toEqual([
        expect.stringMatching(new RegExp(`^\\[durable_objects\\] has no binding ${name},`)),
      ])
    }
    expect(findProblems(server({ AUTH: 'none' }, without('QUOTA_OBJECT')))).toEqual([])
    expect(findProblems(server({ AUTH: 'none' }, { durable_objects: undefined }))).toEqual([
      expect.stringContaining(OBJECTS.slice(0, 5).join(', ')),
    ])
    const config = { env: { staging: { vars: { AUTH: 'none' }, ratelimits: [CALLS] } }, durable_objects }
    expect(findProblems(readDeployment(config, ['--env', 'staging']))).toHaveLength(1)
  })

  test('wants a name in place of a secret, and does not show what is there', () => {
    const settings = [
      { issuer: ISSUER, audience: RESOURCE, introspection: { ...introspection, clientSecret: 'hush-1' } },
    ]
    for (const AUTH_ISSUERS of [settings, JSON.stringify(settings)]) {
      expect(findProblems(server({ AUTH: 'oauth', AUTH_ISSUERS }))).toEqual([
        `AUTH_ISSUERS: ${ISSUER}: introspection.clientSecret is no name of a secret: if it is the secret itself, take it out of wrangler.toml`,
      ])
    }
  })

  test('refuses values that the server would refuse', () => {
    expect(findProblems(server({ AUTH: 'oath' }))).toEqual([expect.stringContaining('AUTH: ')])
    expect(findProblems(server({ AUTH: 'none', QUOTA: 'many' }))).toEqual([expect.stringContaining('QUOTA: ')])
  })

  test('wants the rate limit, or that it is switched off', () => {
    const none = { ratelimits: [{ ...CALLS, name: 'DEAR' }] }
    expect(findProblems(server({ AUTH: 'none' }, none))).toEqual([
      expect.stringMatching(/^there is no \[\[ratelimits\]\] with name = "CALLS"/),
    ])
    expect(findProblems(server({ AUTH: 'none' }, { ratelimits: undefined }))).toHaveLength(1)
    expect(findProblems(server({ AUTH: 'none', RATE_LIMIT: 'off' }, none))).toEqual([])
  })

  test.each([
    ['missing', undefined],
    ['empty', []],
    ['no list', { issuer: ISSUER }],
    ['no JSON', '[{"issuer":'],
    ['an empty list of JSON', '[]'],
  ])('wants issuers with AUTH = "oauth": %s', (_what, AUTH_ISSUERS) => {
    expect(findProblems(server({ AUTH: 'oauth', AUTH_ISSUERS }))).toEqual([expect.stringContaining('AUTH_ISSUERS')])
    expect(findProblems(server({ AUTH: 'none', AUTH_ISSUERS }))).toEqual([])
  })

  test('wants to know whom the tokens of each issuer are for', () => {
    const both = [{ issuer: ISSUER }, { issuer: 'https://other.example', audience: RESOURCE }]
    for (const AUTH_ISSUERS of [both, JSON.stringify(both)]) {
      const problems = findProblems(server({ AUTH: 'oauth', AUTH_ISSUERS }))
      expect(problems).toEqual([expect.stringMatching(/AUTH_ISSUERS: .*login\.acme\.dev.* has no audience/)])
      expect(problems[0]).not.toContain('other.example')
    }
    expect(findProblems(issuer({}))).toEqual([])
    expect(findProblems(issuer({ audience: undefined, anyAudience: true }))).toEqual([])
  })

  test('wants the binding of a service', () => {
    const services = [{ binding: 'AUTHORIZATION', service: 'authorization' }]
    expect(findProblems(issuer({ service: 'AUTHORIZATION' }, { services }))).toEqual([])
    expect(findProblems(issuer({ service: 'AUTHORISATION' }, { services }))).toEqual([
      expect.stringMatching(/AUTH_ISSUERS: .*login\.acme\.dev.*AUTHORISATION/),
    ])
  })

  test('takes secrets as set', () => {
    expect(findProblems(issuer({ introspection }))).toEqual([])
  })

  test('wants issuers that are https, and none on this machine', () => {
    expect(findProblems(issuer({ issuer: 'http://login.acme.dev' }))).toEqual([
      expect.stringMatching(/AUTH_ISSUERS: .*http:\/\/login\.acme\.dev.*https/),
    ])
    for (const url of [
      'http://localhost:8788',
      'https://localhost',
      'http://127.0.0.1:1',
      'http://[::1]:8788',
      'https://a.localhost',
    ]) {
      expect(findProblems(issuer({ issuer: url }))).toEqual([
        expect.stringContaining(`AUTH_ISSUERS: ${url}: it is on this machine`),
      ])
    }
  })

  test.each([
    ['audience', { audience: 'http://localhost:8787/mcp' }],
    ['one of several audiences', { audience: [RESOURCE, 'http://127.0.0.1:8787/mcp'] }],
    ['jwks', { jwks: 'http://localhost:8788/jwks' }],
    ['introspection', { introspection: { ...introspection, endpoint: 'http://localhost:8788/introspect' } }],
  ])('wants nothing else of an issuer on this machine: %s', (_what, setting) => {
    expect(findProblems(issuer(setting))).toEqual([expect.stringMatching(/^AUTH_ISSUERS: .* is on this machine/)])
  })

  test('leaves alone what only looks like this machine', () => {
    expect(
      findProblems(issuer({ audience: ['localhost', 'api://default', 'https://localhost.acme.dev/mcp'] })),
    ).toEqual([])
  })
})

describe('findProblems of the authorization Worker', () => {
  const ratelimits = [{ name: 'REQUESTS' }]
  const kv_namespaces = [{ binding: 'OAUTH_KV' }]
  const authorization = (vars: Table, more: Table = { ratelimits }) =>
    readDeployment({ name: 'auth', main: 'workers/authorization.ts', vars, kv_namespaces, ...more }, [])
  const good = {
    ISSUER: new URL(ISSUER).origin,
    RESOURCES: RESOURCE,
    UPSTREAM_ISSUER: ISSUER,
    UPSTREAM_CLIENT_ID: 'id',
  }

  test('wants neither AUTH nor CALLS', () => {
    expect(findProblems(authorization(good))).toEqual([])
  })

  test('wants a limit of requests, or that it is off', () => {
    expect(findProblems(authorization(good, {}))).toEqual([expect.stringContaining('"REQUESTS"')])
    expect(findProblems(authorization({ ...good, RATE_LIMIT: 'off' }, {}))).toEqual([])
  })

  test('wants where it keeps what it knows', () => {
    for (const none of [undefined, [{ binding: 'OTHER' }]]) {
      expect(findProblems(authorization(good, { ratelimits, kv_namespaces: none }))).toEqual([
        expect.stringContaining('[[kv_namespaces]] with binding = "OAUTH_KV"'),
      ])
    }
  })

  test('wants a name in place of the secret of who asks about tokens', () => {
    const clients = [{ clientId: 'mcp', clientSecret: 'hush-1', resource: RESOURCE }]
    const [problem, ...others] = findProblems(authorization({ ...good, INTROSPECTION_CLIENTS: clients }))
    expect(problem).toMatch(/^INTROSPECTION_CLIENTS: the clientSecret of "mcp" is no name of a secret/)
    expect(problem).not.toContain('hush')
    expect(others).toEqual([])
  })

  test('refuses what the Worker would', () => {
    const { UPSTREAM_ISSUER: _, ...nobody } = good
    expect(findProblems(authorization(nobody))).toEqual([expect.stringContaining('UPSTREAM_ISSUER')])
    expect(findProblems(authorization({ ...good, ISSUER: `${good.ISSUER}/path` }))).toEqual([
      expect.stringContaining('ISSUER: an origin'),
    ])
  })

  test('a secret in place of its name is not shown', () => {
    expect(shownSecret('MCP_SECRET')).toBe('MCP_SECRET')
    expect(shownSecret('hunter2-hunter2')).not.toContain('hunter2')
  })

  test('refuses the development login', () => {
    expect(findProblems(authorization({ ...good, DEV_LOGIN: 'on' }))).toEqual([
      expect.stringMatching(/^DEV_LOGIN is "on"/),
    ])
    expect(findProblems(authorization({ ...good, DEV_LOGIN: 'off' }))).toEqual([])
  })

  test('wants its own public URL and those of the servers', () => {
    expect(findProblems(authorization({}))).toEqual([
      expect.stringMatching(/^ISSUER is not set/),
      expect.stringMatching(/^RESOURCES is not set/),
    ])
  })

  test.each([
    ['ISSUER', 'http://localhost:8788'],
    ['RESOURCES', 'http://localhost:8787/mcp'],
    ['RESOURCES', `${RESOURCE} http://127.0.0.1:8787/mcp`],
    ['RESOURCES', [RESOURCE, 'http://localhost:8787/mcp']],
    ['RESOURCES', '["http://localhost:8787/mcp"]'],
  ])('refuses addresses of this machine: %s = %j', (name, value) => {
    expect(findProblems(authorization({ ...good, [name]: value }))).toEqual([
      expect.stringMatching(new RegExp(`^${name} is on this machine \\(http:`)),
    ])
  })
})

describe('secretsOf', () => {
  const other = { ...introspection, clientSecret: 'OTHER_SECRET' }

  test('names what the issuers of a server name, each once, where AUTH is "oauth"', () => {
    const AUTH_ISSUERS = [{ introspection }, { introspection }, { introspection: other }, { issuer: ISSUER }, 7]
    const names = ['INTROSPECTION_SECRET', 'OTHER_SECRET']
    expect(secretsOf(server({ AUTH: 'oauth', AUTH_ISSUERS }))).toEqual(names)
    expect(secretsOf(server({ AUTH: 'oauth', AUTH_ISSUERS: JSON.stringify(AUTH_ISSUERS) }))).toEqual(names)
    expect(secretsOf(server({ AUTH: 'none', AUTH_ISSUERS }))).toEqual([])
    expect(secretsOf(server({ AUTH: 'oauth', AUTH_ISSUERS: 'broken' }))).toEqual([])
  })

  test('names what the authorization Worker seals and signs in with, and what its clients show', () => {
    const secrets = (vars: Table): string[] => secretsOf({ role: 'authorization', vars })
    expect(secrets({})).toEqual(['COOKIE_SECRET'])
    const INTROSPECTION_CLIENTS = [introspection, other]
    const all = ['COOKIE_SECRET', 'UPSTREAM_CLIENT_SECRET', 'INTROSPECTION_SECRET', 'OTHER_SECRET']
    expect(secrets({ UPSTREAM_ISSUER: ISSUER, INTROSPECTION_CLIENTS })).toEqual(all)
    expect(secrets({ UPSTREAM_ISSUER: ISSUER, INTROSPECTION_CLIENTS: JSON.stringify([introspection, other]) })).toEqual(
      all,
    )
  })
})

describe('findWarnings', () => {
  test('says who can call a server, and whose name it still has', () => {
    expect(findWarnings(server({ AUTH: 'none' }))).toEqual([expect.stringContaining('anybody who knows the URL')])
    expect(findWarnings(server({ AUTH: 'none' }, { name: 'mcp-edge' }))).toEqual([
      expect.anything(),
      expect.stringContaining('would be replaced'),
    ])
    expect(findWarnings(issuer({}))).toEqual([])
    const vars = { SCOPES_SUPPORTED: ['notes:read'] }
    const authorization = readDeployment({ name: 'mcp-edge-authorization', main: 'workers/authorization.ts', vars }, [])
    expect(findWarnings(authorization)).toEqual([expect.stringContaining('would be replaced')])
  })

  test('says when issuers are not used', () => {
    expect(findWarnings(server({ AUTH: 'none', AUTH_ISSUERS: [{ issuer: ISSUER }] }))).toEqual([
      expect.stringContaining('anybody who knows the URL'),
      expect.stringMatching(/^AUTH_ISSUERS is not used/),
    ])
  })

  test.each([undefined, [], '[]'])('says when an authorization server can grant nothing: %j', (SCOPES_SUPPORTED) => {
    const auth = { name: 'auth', main: 'workers/authorization.ts', vars: { SCOPES_SUPPORTED } }
    expect(findWarnings(readDeployment(auth, []))).toEqual([expect.stringMatching(/^SCOPES_SUPPORTED is empty/)])
  })

  test('says when an audience looks like the endpoint, and is not', () => {
    const good = [RESOURCE, `${RESOURCE}/`, 'api://notes', 'notes', 'urn:a:b']
    expect(findWarnings(issuer({ audience: good }))).toEqual([])
    for (const audience of ['https://mcp.acme.dev', 'https://mcp.acme.dev/sse', 'https://mcp.acme.dev/mcp/x']) {
      for (const value of [audience, [RESOURCE, audience]]) {
        expect(findWarnings(issuer({ audience: value }))).toEqual([
          expect.stringContaining(`AUTH_ISSUERS: ${ISSUER}: the audience "${audience}" is not the endpoint`),
        ])
      }
    }
  })

  test('says when a secret is none', () => {
    const AUTH_ISSUERS = [{ issuer: ISSUER, audience: RESOURCE, introspection }]
    const [warning] = findWarnings(server({ AUTH: 'oauth', AUTH_ISSUERS, INTROSPECTION_SECRET: 'hush' }))
    expect(warning).toMatch(/^INTROSPECTION_SECRET is a variable/)
    expect(warning).not.toContain('hush')
  })
})
