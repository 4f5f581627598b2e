// After an episode: everything a session stored is replayed and compared with what its client has seen.

import { Transcript } from './transcript.mjs'

const replayMs = 40_000

/** Replays every stream of a session; those whose client never heard of them must have ended too. */
export async function audit(client) {
  if (client.tag === undefined) return
  const { ledger } = client.world
  const stored = new Map()
  for (let stream = 1; ; stream++) {
    const { transcript } = await replay(client, stream)
    if (!transcript) break
    stored.set(stream, transcript)
    ledger.count('streams')
  }
  for (const { transcript } of client.calls) compare(client, stored, transcript)
  ledger.count('streams nobody came back to', stored.size)
  for (const transcript of stored.values()) checkEnd(ledger, transcript)
  if (client.listener) await auditListener(client, client.listener.transcript)
}

/** Reads a stream from its beginning to its end. There is no transcript where there is no such stream. */
export async function replay(client, stream) {
  const transcript = new Transcript({ ...client, tag: client.tag, world: { ...client.world, ledger: quiet } })
  const signal = AbortSignal.timeout(replayMs)
  for (;;) {
    const response = await client.get(`${client.tag}${stream}.0`, { signal })
    if (!response) {
      await client.backOff()
      continue
    }
    if (response.statusCode === 400) return response.resume() && {}
    client.world.ledger.check('a stream can be replayed', response.statusCode === 200, () => `${response.statusCode}`)
    if (response.statusCode === 200) await readToEnd(client, transcript, response)
    else response.resume()
    return { transcript }
  }
}

/** A stream nobody came back to may still ask. */
async function readToEnd(client, transcript, response) {
  const answers = []
  await transcript.read(response, ({ id, method }) => {
    const result = { action: 'accept', content: { number: 0 } }
    if (method === 'elicitation/create') answers.push(client.post({ id, result }).then((taken) => taken?.resume()))
  })
  await Promise.all(answers)
}

/** The replay must not count as events that were delivered, nor judge its own order twice. */
const quiet = { check: () => {}, count: () => {} }

function compare(client, stored, { events, stream }) {
  if (events.length === 0) return
  const { ledger } = client.world
  const kept = stored.get(stream)?.events.map(({ raw }) => raw)
  stored.delete(stream)
  const seen = events.map(({ raw }) => raw)
  const whole = events.at(-1).message?.method === undefined ? kept : kept?.slice(0, seen.length)
  const isSame = kept !== undefined && whole.join('') === seen.join('')
  const detail = () => `stream ${stream} (${client.version}): seen ${seen.length}, stored ${kept?.length}`
  ledger.check('what was delivered was stored, and nothing else', isSame, detail)
}

function checkEnd(ledger, { events, stream }) {
  const last = events.at(-1)?.message
  const isEnded = last !== undefined && last.method === undefined
  ledger.check('every call ends, also where nobody came back', isEnded, () => `${stream}: ${JSON.stringify(last)}`)
}

/** The standalone stream does not end, so only as much is read as its client has seen. */
async function auditListener(client, { events }) {
  if (events.length === 0) return
  const controller = new AbortController()
  const response = await client.get(`${client.tag}0.${events[0].sequence - 1}`, { signal: controller.signal })
  const transcript = new Transcript({ tag: client.tag, world: { ...client.world, ledger: quiet } })
  try {
    await transcript.read(response, () => {
      if (transcript.events.length === events.length) controller.abort()
    })
  } catch (error) {
    if (!controller.signal.aborted) throw error
  }
  // A change that was made twice may have been stored again after its client stopped listening, and one chunk may hold it.
  const stored = transcript.events.slice(0, events.length)
  const [kept, seen] = [stored, events].map((list) => list.map(({ raw }) => raw).join(''))
  client.world.ledger.check(
    'what was delivered was stored, and nothing else',
    kept === seen,
    () => `standalone: seen ${events.length}, stored ${transcript.events.length}`,
  )
}
