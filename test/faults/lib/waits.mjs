// What time does: objects are evicted while everybody waits, and what nobody came back for is ended by an alarm.

import { setTimeout as sleep } from 'node:timers/promises'
import { Activity } from './activity.mjs'
import { effectsOf } from './actors.mjs'
import { replay } from './audit.mjs'
import { Client } from './client.mjs'
import { createRandom } from '../../support/random.mjs'
import { KillableServer } from './server.mjs'
import { readEvents } from './sse.mjs'

/** The platform evicts after ten seconds without work. */
const evictedMs = 14_000
/** `limits.leaseMs` as the worker has it and the call itself, and much more. */
const leaseMs = 45_000
const sessions = 5

export async function runWaits({ bundleDir, ledger, seed }) {
  const work = [evictions, forgotten].map(async (run) => {
    const server = new KillableServer(bundleDir)
    const world = { server, ledger, activity: new Activity(), random: createRandom(seed), faults: 0 }
    await server.start()
    try {
      await run(world)
    } finally {
      await server.stop()
    }
  })
  await Promise.all(work)
}

/** A question and a standalone stream wait while their object is gone, on the connections they had. */
async function evictions(world) {
  await Promise.all(Array.from({ length: sessions }, (_, item) => evicted(world, item)))
}

/** @param item what no other session watches */
async function evicted(world, item) {
  const { ledger } = world
  const client = await new Client(world).open()
  await client.repeat('resources/subscribe', { uri: `item://${item}` })
  const listener = client.listen()
  await listener.transcript.placed
  let born
  const onAsk = async () => {
    born = await bornOf(client)
    await sleep(evictedMs)
  }
  const args = () => ({ key: `evicted-${client.tag}`, workMs: 0 })
  const call = await client.call('ask_once', args, { phase: 'asking', onAsk })
  ledger.check('the object was evicted while it waited', (await bornOf(client)) !== born)
  const isAnswered = call.text === `number ${call.answers['Which number?']}` && call.gets === 0
  ledger.check('a question survives the eviction of its object', isAnswered, () => `${call.text}, ${call.gets} GETs`)
  const effects = Object.values(await effectsOf(client, `evicted-${client.tag}`))
  ledger.check('effects happen once over an eviction', effects.join() === '1,1,1', () => effects.join())
  await sleep(evictedMs)
  await client.call('touch', () => ({ item }))
  for (const end = Date.now() + 5_000; listener.items.length === 0 && Date.now() < end;) await sleep(20)
  const isThere = listener.items.join() === String(item) && listener.gets === 1
  ledger.check(
    'an idle stream survives the eviction of its object',
    isThere,
    () => `${listener.items}, ${listener.gets}`,
  )
  ledger.check('the object was evicted while it was idle', (await bornOf(client)) !== born)
  await listener.stop()
}

async function bornOf(client) {
  const { result } = await client.repeat('tools/call', { name: 'born', arguments: {} })
  return result.content[0].text
}

/** Calls that were running when the server was killed, and whose client never comes back. */
async function forgotten(world) {
  const { ledger, server } = world
  const clients = await Promise.all(Array.from({ length: sessions }, () => new Client(world).open()))
  await Promise.all(clients.map(async (client, i) => forget(client, i)))
  await server.kill()
  const again = () => effectsOf(clients[0], 'forgotten-')
  let seen = {}
  const isDone = () => clients.every((_, i) => seen[`forgotten-${i}`] >= 2)
  for (const end = Date.now() + leaseMs; !isDone() && Date.now() < end; seen = await again()) await sleep(500)
  for (const [i, client] of clients.entries()) {
    const effects = [seen[`forgotten-${i}`], seen[`forgotten-once-${i}`]]
    ledger.check('an alarm repeats what nobody came back for', effects[0] === 2, () => effects.join())
    ledger.check('an alarm repeats nothing it may not', effects[1] === 1, () => effects.join())
    const ends = await Promise.all(
      [1, 2].map(async (stream) => (await replay(client, stream)).transcript.events.at(-1)),
    )
    const texts = ends.map(({ message }) => message?.result?.content[0].text ?? '')
    const isEnded =
      texts.some((text) => text.startsWith('waited')) && texts.some((text) => text.includes('interrupted'))
    ledger.check('a call nobody came back for ends', isEnded, () => texts.join())
  }
}

/** Starts two calls, waits until they are streams, and leaves. */
async function forget(client, i) {
  const calls = { wait: `forgotten-${i}`, wait_once: `forgotten-once-${i}` }
  for (const [name, key] of Object.entries(calls)) {
    const params = { name, arguments: { key, ms: 2_500 } }
    const response = await client.post({ method: 'tools/call', params })
    const { value: first } = await readEvents(response).next()
    client.tag = first.tag
    response.destroy()
  }
}
