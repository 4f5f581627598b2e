// The deploy preflight's rules, with the words wrangler and the Cloudflare API use.
import { describe, expect, test } from 'vitest'
import { explainFailure, findUnset, findWarnings } from '../../scripts/preflight.ts'

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

test('findWarnings says who can call a server, and whose name it still has', () => {
  expect(findWarnings({ name: 'ours' })).toEqual([expect.stringContaining('anybody who knows the URL')])
  expect(findWarnings({ name: 'mcp-edge' })).toEqual([expect.anything(), expect.stringContaining('would be replaced')])
})
