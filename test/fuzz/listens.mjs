// Streams of `subscriptions/listen` by a client that does everything right: where hostile ones take their cursors from, and
// what must still work when the attack is over.
import { setTimeout as sleep } from 'node:timers/promises'
import { ask, resultOf } from './client.mjs'
import { exchange } from './http.mjs'

/** What every caller may listen to. */
export const SERVED = ['fuzz://fixed', 'fuzz://bytes', 'fuzz://item/1', 'fuzz://tree/me/a/b', 'fuzz://ask/1']

const LISTS = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
/** How long a stream is read whose beginning is all that is wanted. */
const beginningMs = 400

export function listenCall(notifications) {
  return { method: 'subscriptions/listen', params: { notifications } }
}

/** A call with every member of a filter. @param tasks known ones, of which one of nobody's is named */
export function fullListenCall(tasks) {
  const { id } = tasks.find(({ form, principal, kind }) => {
    return form === 'extension' && principal === 'anonymous' && kind === 'held'
  })
  return listenCall({ ...LISTS, resourceSubscriptions: ['fuzz://fixed', 'fuzz://item/1'], taskIds: [id] })
}

/** The id of the first event of a stream, for each caller: where they could go on. */
export function learnPlaces(port) {
  return Promise.all(
    ['anonymous', 'ann', 'bob'].map(async (principal) => {
      const { body } = await ask(port, listenCall(LISTS), { principal, patienceMs: beginningMs })
      const id = /^id: (\S+)$/m.exec(String(body))?.[1]
      if (id === undefined) throw new Error(`a stream of ${principal} begins without an id`)
      return { principal, id }
    }),
  )
}

/** What is wrong with listening after the attack. */
export async function checkListening(port) {
  const uri = 'fuzz://item/after'
  const filter = { toolsListChanged: true, resourceSubscriptions: [uri] }
  const heard = ask(port, listenCall(filter), { patienceMs: 3 * beginningMs })
  await sleep(beginningMs)
  await resultOf(port, { method: 'tools/call', params: { name: 'touch', arguments: { uris: [uri] } } })
  const { messages } = await heard
  const problems = []
  if (messages[0]?.method !== 'notifications/subscriptions/acknowledged') problems.push('nobody can listen any more')
  if (!messages.some(({ params }) => params?.uri === uri)) problems.push('a listener is not told of a change')
  if (!(await becomesZero(() => listeners(port)))) problems.push(`${await listeners(port)} listeners were never let go`)
  return problems
}

/** How many the hub has. */
export async function listeners(port) {
  const bytes = Buffer.from('GET /fuzz/listeners HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const { body } = await exchange(port, bytes, { method: 'GET' })
  return Number(body)
}

async function becomesZero(count) {
  for (let tries = 0; tries < 100; tries++) {
    if ((await count()) === 0) return true
    await sleep(50)
  }
  return false
}
