// What the tests of isolation share: callers with tokens who must not be taken for one another, and whole answers to compare.

import { runInDurableObject } from 'cloudflare:test'
import { onTestFinished, vi } from 'vitest'
import * as z from 'zod'
import { createIssuer, type Issuer } from '../auth/issuer.ts'
import { BOTH_TYPES, envelope } from '../http/post.ts'
import type { Server, ServerOptions } from '../../src/server/index.ts'
import type { Fetcher, JsonObject } from '../support/client.ts'
import { serve } from '../support/serve.ts'

/** The headers of a client with a token. */
export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The headers of each caller. */
export interface People {
  alice: Record<string, string>
  /** Alice with her next token: other bytes, another end, other scopes. */
  aliceAgain: Record<string, string>
  strangers: [who: string, headers: Record<string, string>][]
}

export interface Realm {
  issuer: Issuer
  other: Issuer
  people: People
  /** Serves to whoever has a token of either issuer. */
  serve(server: Server | Partial<ServerOptions>, vars?: Record<string, unknown>): Fetcher
}

/** Two issuers, and those who have tokens of them. */
export async function createRealm(): Promise<Realm> {
  const [issuer, other] = await Promise.all([createIssuer(), createIssuer()])
  const issuers = [issuer.settings(), other.settings({ id: 'other' })]
  const token = async (of: Issuer, claims: JsonObject) => bearer(await of.mint(claims))
  const strangers: People['strangers'] = [
    ['Bob', await token(issuer, { sub: 'bob' })],
    ['Alice of another issuer', await token(other, { sub: 'alice' })],
    ['a program of that name', await token(issuer, { sub: undefined, client_id: 'alice' })],
    ['a program that is its own subject', await token(issuer, { sub: 'alice', client_id: 'alice' })],
    ['somebody whose name begins with hers', await token(issuer, { sub: 'alice ' })],
    ['somebody with her name in capitals', await token(issuer, { sub: 'ALICE' })],
  ]
  return {
    issuer,
    other,
    people: {
      alice: await token(issuer, { sub: 'alice' }),
      aliceAgain: await token(issuer, {
        sub: 'alice',
        client_id: 'another host',
        scope: 'notes:write else',
        exp: Math.floor(Date.now() / 1000) + 7200,
      }),
      strangers,
    },
    serve: (server, vars = {}) =>
      serve(server, { vars: { AUTH: 'oauth', AUTH_ISSUERS: JSON.stringify(issuers), ...vars } }),
  }
}

/** A whole HTTP answer as one text: status, headers and bytes. */
export async function whole(response: Response): Promise<string> {
  const headers = [...response.headers].toSorted(([a], [b]) => (a < b ? -1 : 1))
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  return `${response.status}\n${lines.join('\n')}\n\n${await response.text()}`
}

/** The status of a whole answer. */
export function statusOf(answer: string): number {
  return Number.parseInt(answer, 10)
}

/** A POST of a legacy client. */
export function legacyPost(
  body: unknown,
  headers: Record<string, string>,
  version: string = '2025-11-25',
  url = 'http://localhost/mcp',
): Request {
  const protocol = { accept: BOTH_TYPES, 'content-type': 'application/json', 'mcp-protocol-version': version }
  return new Request(url, { method: 'POST', headers: { ...protocol, ...headers }, body: JSON.stringify(body) })
}

/** A POST of a modern client, always with the same id. */
export function modernPost(
  method: string,
  params: JsonObject,
  headers: Record<string, string>,
  capabilities: JsonObject = {},
): Request {
  const target = params['name'] ?? params['uri'] ?? params['taskId']
  const protocol = {
    accept: BOTH_TYPES,
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof target === 'string' && { 'mcp-name': target }),
  }
  const _meta = envelope({ 'io.modelcontextprotocol/clientCapabilities': capabilities })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 'same', method, params: { ...params, _meta } })
  return new Request('http://localhost/mcp', { method: 'POST', headers: { ...protocol, ...headers }, body })
}

/** Everything an object stores, as text: rows, entries and its alarm. */
export function dumpOf(stub: DurableObjectStub<undefined>): Promise<string> {
  return runInDurableObject(stub, async (_object, { storage }) => {
    const names = storage.sql
      .exec<{ name: string }>(
        `select name from sqlite_master where type = 'table' and name not glob 'sqlite_*' and name not glob '_cf_*'`,
      )
      .toArray()
    const rows = names.map(({ name }) => [name, storage.sql.exec(`select * from "${name}"`).toArray()])
    const bytes = (_: string, value: unknown): unknown =>
      value instanceof Uint8Array ? new TextDecoder().decode(value) : value
    return JSON.stringify([rows, [...storage.kv.list()], await storage.getAlarm()], bytes)
  })
}

/** The lines that are logged until the test is over. */
export function logged(): string[] {
  const lines: string[] = []
  for (const level of ['log', 'error', 'warn', 'info', 'debug'] as const) {
    const spy = vi.spyOn(console, level).mockImplementation((...args: unknown[]) => void lines.push(args.join(' ')))
    onTestFinished(() => spy.mockRestore())
  }
  return lines
}

/** A question for a name. */
export const NAME = { message: 'Who?', schema: z.object({ name: z.string() }) }
