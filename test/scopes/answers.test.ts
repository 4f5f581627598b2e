// The answer to what a session's call asks goes on with that call, so it needs what the call does.
// @see basic/authorization, Scope Challenge Handling

import { beforeAll, expect, test } from 'vitest'
import { legacyPost } from '../isolation/support.ts'
import { CAPABILITIES, isAsk, sessionOf } from '../sessions/support.ts'
import { createScopeRealm, DEFINITIONS, expectRefused, insufficient, ran, type ScopeRealm } from './support.ts'

let realm: ScopeRealm
beforeAll(async () => {
  realm = await createScopeRealm()
})

/** A session of Ada, in which something is asked on a stream. */
async function asking(options: Parameters<ScopeRealm['serve']>[0], how: 'ask' | 'job') {
  const fetcher = realm.serve(options)
  const headers = await realm.ada('notes:write')
  const made = await sessionOf(fetcher, '2025-11-25', { headers, capabilities: CAPABILITIES['2025-11-25'] })
  const stream =
    how === 'ask'
      ? await made.callStream('ask')
      : await made.stream('tasks/result', { taskId: (await made.callTask('job')).taskId })
  const { id } = await stream.until(isAsk)
  const answer = async (scope: string) => {
    const token = await realm.ada(scope)
    const message = { jsonrpc: '2.0', id, result: { action: 'accept', content: { name: 'Ann' } } }
    return fetcher(legacyPost(message, { ...token, 'mcp-session-id': made.id }, '2025-11-25'))
  }
  return { stream, answer }
}

for (const how of ['ask', 'job'] as const) {
  for (const missingScopes of ['challenge', 'hide'] as const) {
    test(`a token that lacks it answers nothing [${how}, ${missingScopes}]`, async () => {
      const { stream, answer } = await asking({ ...DEFINITIONS, missingScopes }, how)
      ran.length = 0
      await expectRefused(await answer('notes:read'), 'notes:write notes:read')
      const refused = await answer('')
      expect(refused.headers.get('www-authenticate')).toBe(insufficient('notes:write'))
      await refused.body?.cancel()
      expect((await answer('notes:write')).status).toBe(202)
      const last = (await stream.rest()).at(-1)
      expect(JSON.stringify(last)).toContain('result')
    })
  }
}

test('what asks nothing any more is not spoken of', async () => {
  const { answer, stream } = await asking(DEFINITIONS, 'ask')
  expect((await answer('notes:write')).status).toBe(202)
  await stream.rest()
  expect((await answer('notes:read')).status).toBe(202)
})
