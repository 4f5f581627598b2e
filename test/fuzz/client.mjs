// A client that does everything right: what the runner has to know of the server before the attack and after it.
import { exchange } from './http.mjs'
import { authorization, messageOf, MODERN, post, toBytes } from './requests.mjs'

const decoder = new TextDecoder()

/**
 * Sends one call and resolves to `{ status, headers, result, error, messages }`.
 * @param more `revision`, `principal`, `session` (an id), and `patienceMs`, after which a stream is left
 */
export async function ask(port, call, { revision = MODERN, principal, session, patienceMs } = {}) {
  const request = post('health', messageOf(call, revision), revision)
  request.headers.push(...authorization(principal), ...(session ? [['Mcp-Session-Id', session]] : []))
  const answer = await exchange(port, toBytes(request), { method: 'POST', patienceMs })
  const text = decoder.decode(answer.body ?? Buffer.from(''))
  const messages = text.startsWith('{') ? [JSON.parse(text)] : eventsOf(text)
  const { result, error } = messages.findLast(({ method }) => method === undefined) ?? {}
  return { ...answer, result, error, messages }
}

/** The same, for the result of a call nothing is wrong with. */
export async function resultOf(port, call, options) {
  const { result, status, error } = await ask(port, call, options)
  if (!result) throw new Error(`no result for a valid ${call.method}: ${status} ${JSON.stringify(error)}`)
  return result
}

/** What was sent of a stream, as far as its events are whole. */
function eventsOf(text) {
  const events = text.split('\n\n').slice(0, -1)
  const data = events.map((event) => /^data: ?(\S.*)$/m.exec(event)?.[1])
  return data.filter(Boolean).map((each) => JSON.parse(each))
}
