// What the tests of scopes share: a server some of whose definitions need scopes, tokens with any, and the answer of a 403.

import * as z from 'zod'
import { expect } from 'vitest'
import {
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  type CallContext,
  type ServerOptions,
} from '../../src/server/index.ts'
import { createIssuer, type Issuer } from '../auth/issuer.ts'
import { bearer, NAME, statusOf, whole } from '../isolation/support.ts'
import type { Fetcher } from '../support/client.ts'
import { serve } from '../support/serve.ts'

const METADATA = 'http://localhost/.well-known/oauth-protected-resource/mcp'

/** What handlers have done, by the names of their definitions. */
export const ran: string[] = []

const did = (name: string, result = name) => {
  ran.push(name)
  return result
}
const ask = async (name: string, ctx: CallContext) => {
  const { content } = await ctx.elicit('name', NAME)
  return did(name, content?.name ?? 'nobody')
}

const WRITE = ['notes:write']

/** The definitions that need no scope. */
export const OPEN = {
  tools: [
    defineTool('open', { description: 'Needs nothing.', handler: () => did('open') }),
    defineTool('open_job', { description: 'A task.', task: { support: 'optional' }, handler: () => did('open_job') }),
  ],
  prompts: [
    definePrompt('open_prompt', {
      description: 'Needs nothing.',
      arguments: z.object({ a: z.enum(['x', 'y']) }),
      get: () => did('open_prompt'),
    }),
  ],
  resources: [
    defineResource('test://open', { name: 'open', read: () => did('test://open') }),
    defineResourceTemplate('test://shelf/{id}', {
      name: 'shelf',
      complete: { id: () => ['1'] },
      read: ({ id }) => did(`test://shelf/${id}`),
    }),
  ],
} satisfies Partial<ServerOptions>

/** Those that need some. */
export const SCOPED = {
  tools: [
    defineTool('write', { description: 'Writes.', scopes: WRITE, handler: () => did('write') }),
    defineTool('both', { description: 'Both.', scopes: ['notes:read', ...WRITE], handler: () => did('both') }),
    defineTool('ask', { description: 'Asks.', scopes: WRITE, handler: (_input, ctx) => ask('ask', ctx) }),
    defineTool('job', {
      description: 'A task that asks.',
      scopes: WRITE,
      task: { support: 'optional', prepare: () => void did('prepare') },
      handler: (_input, ctx) => ask('job', ctx),
    }),
    defineTool('quick_job', {
      description: 'A task.',
      scopes: WRITE,
      task: { support: 'optional' },
      handler: () => did('quick_job'),
    }),
  ],
  prompts: [
    definePrompt('prompt', {
      description: 'A prompt.',
      scopes: ['prompts:use'],
      arguments: z.object({ a: z.string() }),
      complete: { a: () => [did('complete prompt')] },
      get: () => did('prompt'),
    }),
  ],
  resources: [
    defineResource('test://secret', { name: 'secret', scopes: ['secret:read'], read: () => did('test://secret') }),
    defineResourceTemplate('test://items/{id}', {
      name: 'items',
      scopes: ['items:read'],
      list: () => [{ uri: 'test://items/1', name: did('list items', 'one') }],
      complete: { id: () => [did('complete items')] },
      read: ({ id }) => did(`test://items/${id}`),
    }),
  ],
} satisfies Partial<ServerOptions>

export const DEFINITIONS = {
  tools: [...OPEN.tools, ...SCOPED.tools],
  prompts: [...OPEN.prompts, ...SCOPED.prompts],
  resources: [...OPEN.resources, ...SCOPED.resources],
} satisfies Partial<ServerOptions>

export interface ScopeRealm {
  issuer: Issuer
  serve(options?: Partial<ServerOptions>, vars?: Record<string, unknown>): Fetcher
  /** The headers of Ada with a token for these scopes. */
  ada(scope: string): Promise<Record<string, string>>
}

export async function createScopeRealm(): Promise<ScopeRealm> {
  const issuer = await createIssuer()
  const AUTH_ISSUERS = JSON.stringify([issuer.settings()])
  return {
    issuer,
    serve: (options = DEFINITIONS, vars = {}) => serve(options, { vars: { AUTH: 'oauth', AUTH_ISSUERS, ...vars } }),
    ada: async (scope) => bearer(await issuer.mint({ sub: 'ada', scope })),
  }
}

/** The challenge of a 403. */
export function insufficient(scope: string): string {
  return `Bearer error="insufficient_scope", error_description="This needs a token with more scopes", scope="${scope}", resource_metadata="${METADATA}"`
}

/** Judges a whole answer: a 403 that names these scopes to ask for, and nothing ran. */
export async function expectRefused(response: Response, scope: string): Promise<void> {
  expect(response.headers.get('www-authenticate')).toBe(insufficient(scope))
  const answer = await whole(response)
  expect(statusOf(answer)).toBe(403)
  expect(answer).toContain('content-type: application/json')
  expect(answer).toContain('Forbidden: this needs the scopes')
  expect(ran).toEqual([])
}
